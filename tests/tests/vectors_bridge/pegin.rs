//! Instructions, senders and derivation hashes of peg-ins.

use rhizome_bridge::pegin::flyover::derivation_hash;
use rhizome_bridge::pegin::instructions::find_instructions;
use rhizome_bridge::pegin::sender::{SenderKind, find_sender};
use rhizome_chainspec::Rskip;
use rhizome_primitives::hex;
use rhizome_tests::text;
use serde_json::{Value, json};

use crate::{address, fork, network, same, same_hex, tx, word};

pub(crate) fn check_instructions(case: &Value) -> Result<(), String> {
    let network = network(text(&case["input"], "network"));
    let got = match find_instructions(&tx(&case["input"], "tx"), network) {
        Err(_) => Value::Null,
        Ok(None) => "none".into(),
        Ok(Some(found)) => json!({
            "version": 1,
            "rsk": hex::encode(found.receiver),
            "refund": found.refund.map(|address| address.to_string()),
        }),
    };
    same(case["error"].is_string(), got.is_null())?;
    same(&got, &case["output"])
}

pub(crate) fn check_sender(case: &Value) -> Result<(), String> {
    let network = network(text(&case["input"], "network"));
    let sender = find_sender(&tx(&case["input"], "tx"), network);
    let got = match sender {
        Err(error) => {
            return same(true, case["output"].as_str().is_some_and(|text| text.starts_with('!')))
                .map_err(|_| error.to_string());
        }
        Ok(None) => "none".into(),
        Ok(Some(sender)) => json!({
            "type": match sender.kind {
                SenderKind::P2pkh => "P2PKH",
                SenderKind::P2shP2wpkh => "P2SHP2WPKH",
                SenderKind::P2shMultisig => "P2SHMULTISIG",
                SenderKind::P2shP2wsh => "P2SHP2WSH",
            },
            "btc": sender.address.to_string(),
            "rsk": sender.rsk_address.map(hex::encode),
        }),
    };
    same(&got, &case["output"])
}

pub(crate) fn check_derivation_hash(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let exact = fork(text(input, "fork")).is_active(Rskip::R284);
    let (user, provider) = (address(text(input, "userRefund")), address(text(input, "lp")));
    let contract = text(input, "lbc").parse().unwrap();
    let hash = derivation_hash(word(input, "argumentsHash"), &user, &provider, contract, exact);
    same_hex(hash.as_slice(), &case["output"])
}
