//! Logs before RSKIP-146 (`BrigeEventLoggerLegacyImpl`): one topic, the padded name; RLP data; four kinds only.

use rhizome_primitives::{Address, B256, Bytes, rlp};

use crate::bitcoin::{BtcKey, BtcTransaction};
use crate::federation::Federation;
use crate::host::BridgeHost;
use crate::storage::codec;

/// Text of a topic, padded on the left.
fn topic(name: &[u8]) -> B256 {
    B256::left_padding_from(name)
}

fn log(host: &mut dyn BridgeHost, name: &[u8], data: Vec<u8>) {
    host.log(vec![topic(name)], Bytes::from(data));
}

pub(super) fn update_collections(host: &mut dyn BridgeHost, sender: Address) {
    log(host, b"update_collections_topic", codec::element(sender.as_slice()));
}

pub(super) fn add_signature(host: &mut dyn BridgeHost, key: &BtcKey, tx: &BtcTransaction, release: B256) {
    let data = codec::list(|out| {
        rlp::put_bytes(out, tx.txid().to_string().as_bytes());
        rlp::put_bytes(out, &key.hash160());
        rlp::put_bytes(out, release.as_slice());
    });
    log(host, b"add_signature_topic", data);
}

pub(super) fn release_btc(host: &mut dyn BridgeHost, tx: &BtcTransaction) {
    let data = codec::list(|out| {
        rlp::put_bytes(out, tx.txid().to_string().as_bytes());
        rlp::put_bytes(out, &tx.encode());
    });
    log(host, b"release_btc_topic", data);
}

pub(super) fn commit_federation(host: &mut dyn BridgeHost, old: &Federation, new: &Federation, activation: i64) {
    let put_federation = |out: &mut Vec<u8>, federation: &Federation| {
        rlp::put_list(out, |out| {
            rlp::put_bytes(out, &federation.address().hash);
            rlp::put_list(out, |out| {
                federation.members().iter().for_each(|member| rlp::put_bytes(out, member.btc_key().bytes()));
            });
        });
    };
    let data = codec::list(|out| {
        put_federation(out, old);
        put_federation(out, new);
        rlp::put_bytes(out, activation.to_string().as_bytes());
    });
    log(host, b"commit_federation_topic", data);
}
