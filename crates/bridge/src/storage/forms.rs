//! Stored forms of single values (`BridgeSerializationUtils`).

use std::collections::BTreeMap;

use rhizome_primitives::{B256, Bytes, rlp};

use super::codec;
use crate::bitcoin::transaction::VerificationError;
use crate::bitcoin::{BtcHash, BtcTransaction, DecodeError, Script, ScriptError, Utxo};
use crate::failure::{Failure, Result};
use crate::federation::{FederationError, FlyoverInfo};
use crate::host::BridgeHost;
use crate::storage::cell::Raw;

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Failure::threw(error.to_string())
    }
}

impl From<VerificationError> for Failure {
    fn from(error: VerificationError) -> Self {
        Failure::threw(error.to_string())
    }
}

impl From<FederationError> for Failure {
    fn from(error: FederationError) -> Self {
        Failure::threw(error.to_string())
    }
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        Failure::threw(error.to_string())
    }
}

/// Sets a cell unless it holds these bytes.
pub fn put_if_changed(host: &mut dyn BridgeHost, key: B256, value: Vec<u8>) -> Result<()> {
    if host.cell(&key)?.raw() != Some(value.as_slice()) {
        host.set_cell(key, Some(Bytes::from(value)))?;
    }
    Ok(())
}

/// A Bitcoin hash of 32 bytes in display order.
pub fn btc_hash(bytes: &[u8]) -> Result<BtcHash> {
    BtcHash::from_display_slice(bytes).ok_or_else(|| Failure::threw("a hash has 32 bytes"))
}

/// A cell of one hash; `None` for an absent cell.
pub fn read_btc_hash(stored: Option<&[u8]>) -> Result<Option<BtcHash>> {
    stored.map(|bytes| btc_hash(rlp::first(bytes)?.data())).transpose()
}

/// A cell of one transaction; `None` for an absent cell.
pub fn read_transaction(stored: Option<&[u8]>) -> Result<Option<BtcTransaction>> {
    match stored {
        None | Some([]) => Ok(None),
        Some(bytes) => {
            let item = rlp::Items::new(bytes).next().ok_or(rlp::RlpError::End)??;
            Ok(Some(BtcTransaction::decode(item.data())?))
        }
    }
}

/// `[RSK hash, transaction]`.
pub fn hash_and_transaction(hash: &B256, tx: &BtcTransaction) -> Vec<u8> {
    codec::list(|out| put_hash_and_transaction(out, hash, tx))
}

/// The two elements of [`hash_and_transaction`].
pub fn put_hash_and_transaction(out: &mut Vec<u8>, hash: &B256, tx: &BtcTransaction) {
    rlp::put_bytes(out, hash.as_slice());
    rlp::put_bytes(out, &tx.encode());
}

/// Reads [`hash_and_transaction`]; `None` for an absent cell or an empty list.
pub fn read_hash_and_transaction(stored: Option<&[u8]>) -> Result<Option<(B256, BtcTransaction)>> {
    match codec::read_list(stored)?.as_slice() {
        [] => Ok(None),
        [hash, tx, ..] => Ok(Some((codec::hash(hash)?, BtcTransaction::decode(tx)?))),
        [_] => Err(Failure::threw("hash without its transaction")),
    }
}

/// `hash, number, …` sorted as bitcoinj compares hashes, which is the order of the map.
pub fn hashes_to_numbers(map: &BTreeMap<BtcHash, i64>) -> Vec<u8> {
    codec::list(|out| {
        for (hash, number) in map {
            rlp::put_bytes(out, hash.display_bytes());
            codec::put_long(out, *number);
        }
    })
}

/// Reads [`hashes_to_numbers`].
pub fn read_hashes_to_numbers(stored: Option<&[u8]>) -> Result<BTreeMap<BtcHash, i64>> {
    let elements = codec::read_list(stored)?;
    if elements.len() % 2 != 0 {
        return Err(Failure::threw("odd number of entries in the map of processed transactions"));
    }
    elements.chunks_exact(2).map(|pair| Ok((btc_hash(pair[0])?, codec::long_from_bytes(pair[1])))).collect()
}

/// A list of unspent outputs in insertion order.
pub fn utxos(utxos: &[Utxo]) -> Vec<u8> {
    codec::list(|out| utxos.iter().for_each(|utxo| rlp::put_bytes(out, &utxo.encode())))
}

/// Reads [`utxos`].
pub fn read_utxos(stored: Option<&[u8]>) -> Result<Vec<Utxo>> {
    codec::read_list(stored)?.into_iter().map(|bytes| Ok(Utxo::decode(bytes)?)).collect()
}

/// A list of one script.
pub fn script(script: &Script) -> Vec<u8> {
    codec::list(|out| rlp::put_bytes(out, script.as_bytes()))
}

/// Reads [`script`]; `None` for an absent cell.
pub fn read_script(stored: Option<&[u8]>) -> Result<Option<Script>> {
    if stored.is_none() {
        return Ok(None);
    }
    match codec::read_list(stored)?.as_slice() {
        [program] => Ok(Some(Script::parsed(*program)?)),
        other => Err(Failure::threw(format!("stored script with {} elements", other.len()))),
    }
}

/// A list of one witness merkle root.
pub fn coinbase(root: &BtcHash) -> Vec<u8> {
    codec::list(|out| rlp::put_bytes(out, root.display_bytes()))
}

/// Reads [`coinbase`]; `None` for an absent cell.
pub fn read_coinbase(stored: Option<&[u8]>) -> Result<Option<BtcHash>> {
    if stored.is_none() {
        return Ok(None);
    }
    match codec::read_list(stored)?.as_slice() {
        [root] => btc_hash(root).map(Some),
        other => Err(Failure::threw(format!("coinbase information with {} elements", other.len()))),
    }
}

/// `[derivation hash, hash of the federation's script]`.
pub fn flyover(info: &FlyoverInfo) -> Vec<u8> {
    codec::list(|out| {
        rlp::put_bytes(out, info.derivation_hash.as_slice());
        rlp::put_bytes(out, &info.federation_hash);
    })
}

/// Reads [`flyover`].
pub fn read_flyover(stored: &[u8], flyover_hash: &[u8; 20]) -> Result<FlyoverInfo> {
    match codec::read_list(Some(stored))?.as_slice() {
        [derivation_hash, federation_hash] => Ok(FlyoverInfo {
            derivation_hash: codec::hash(derivation_hash)?,
            federation_hash: (*federation_hash)
                .try_into()
                .map_err(|_| Failure::threw("a script's hash has 20 bytes"))?,
            flyover_hash: *flyover_hash,
        }),
        other => Err(Failure::threw(format!("flyover federation with {} elements", other.len()))),
    }
}
