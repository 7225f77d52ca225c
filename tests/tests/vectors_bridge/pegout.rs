//! Stored forms and order of peg-out requests and releases.

use rhizome_bridge::bitcoin::BtcNetwork;
use rhizome_bridge::pegout::queue::{Request, RequestQueue};
use rhizome_bridge::pegout::signatures::WaitingSignatures;
use rhizome_bridge::pegout::waiting::{WaitingConfirmations, WaitingRelease};
use rhizome_bridge::state_reports;
use rhizome_bridge::storage::forms;
use rhizome_chainspec::Rskip;
use rhizome_primitives::{B256, hex};
use rhizome_tests::{optional_bytes, text};
use serde_json::Value;

use crate::{address, fork, list, same, same_hex, tx, word};

pub(crate) fn check_queue(case: &Value) -> Result<(), String> {
    let request = |entry: &Value| Request {
        destination: address(text(entry, "address")),
        amount: entry["amount"].as_i64().unwrap(),
        rsk_tx: optional_bytes(entry, "rskTxHash").map(|hash| B256::from_slice(&hash)),
    };
    let queue = RequestQueue::new(list(&case["input"]).iter().map(request).collect());
    let (without, with) = (queue.encode_without_hash(), queue.encode_with_hash());
    same_hex(&without, &case["output"]["withoutHash"])?;
    same_hex(&with, &case["output"]["withHash"])?;
    let read = RequestQueue::decode(BtcNetwork::Mainnet, Some(&without), Some(&with)).map_err(|e| e.to_string())?;
    same(read.requests().len(), queue.requests().len())?;
    same(read.encode_without_hash(), without)?;
    same(read.encode_with_hash(), with)
}

fn releases(entries: &Value) -> Vec<WaitingRelease> {
    let release = |entry: &Value| {
        let rsk_tx = optional_bytes(entry, "rskTxHash").map(|hash| B256::from_slice(&hash));
        WaitingRelease::new(tx(entry, "tx"), entry["block"].as_i64().unwrap(), rsk_tx)
    };
    list(entries).iter().map(release).collect()
}

pub(crate) fn check_waiting_confirmations(case: &Value) -> Result<(), String> {
    let waiting = WaitingConfirmations::of(releases(&case["input"])).map_err(|error| error.to_string())?;
    let (without, with) = (waiting.encode_without_hash(), waiting.encode_with_hash());
    same_hex(&without, &case["output"]["withoutHash"])?;
    same_hex(&with, &case["output"]["withHash"])?;
    for sorted in [false, true] {
        let read = WaitingConfirmations::decode(Some(&without), Some(&with), sorted).map_err(|e| e.to_string())?;
        same(read.encode_without_hash(), without.clone())?;
        same(read.encode_with_hash(), with.clone())?;
    }
    Ok(())
}

pub(crate) fn check_next_confirmed(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let mut waiting = WaitingConfirmations::of(releases(&input["entries"])).map_err(|error| error.to_string())?;
    let sorted = fork(text(input, "fork")).is_active(Rskip::R559);
    let (block, confirmations) = (input["block"].as_i64().unwrap(), input["confirmations"].as_i64().unwrap());
    let next = waiting.take_confirmed(block, confirmations, sorted).map_err(|error| error.to_string())?;
    same(next.map(|release| hex::encode(release.tx.encode())), case["output"].as_str().map(str::to_owned))
}

pub(crate) fn waiting_signatures(case: &Value) -> WaitingSignatures {
    let mut waiting = WaitingSignatures::default();
    for entry in list(&case["input"]) {
        waiting.insert(word(entry, "rskTxHash"), tx(entry, "tx"));
    }
    waiting
}

pub(crate) fn check_waiting_signatures(case: &Value) -> Result<(), String> {
    let waiting = waiting_signatures(case);
    let encoded = waiting.encode();
    same_hex(&encoded, &case["output"])?;
    same(WaitingSignatures::decode(Some(&encoded)).map_err(|error| error.to_string())?, waiting)
}

pub(crate) fn check_proposed_state(case: &Value) -> Result<(), String> {
    let entry = (word(&case["input"], "rskTxHash"), tx(&case["input"], "tx"));
    let encoded = forms::hash_and_transaction(&entry.0, &entry.1);
    same_hex(&encoded, &case["output"]["serialized"])?;
    same_hex(&state_reports::for_svp_client(Some(&entry)), &case["output"]["state"])?;
    same(forms::read_hash_and_transaction(Some(&encoded)).map_err(|error| error.to_string())?, Some(entry))
}
