//! Receipts, logs and their filters.

use rhizome_primitives::{Address, B256, Bloom, Bytes, Log, Receipt, bloom, hex, keccak256};
use rhizome_tests::{Tally, bytes, text, unhex, vectors};
use serde_json::Value;

use crate::Case;

fn logs_of(line: &Value) -> Vec<Log> {
    let log = |log: &Value| Log {
        address: Address::from_slice(&bytes(log, "address")),
        topics: log["topics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|topic| B256::from_slice(&unhex(topic.as_str().unwrap())))
            .collect(),
        data: bytes(log, "data").into(),
    };
    line["logs"].as_array().unwrap().iter().map(log).collect()
}

fn check_receipt(case: &mut Case, line: &Value) {
    let shared = |member| Bytes::from(bytes(line, member));
    match text(line, "kind") {
        "receipt" => {
            let logs = logs_of(line);
            for (log, expected) in logs.iter().zip(line["logs"].as_array().unwrap()) {
                case.bytes("log bloom", log.bloom().as_slice(), &expected["bloom"]);
            }
            let bloom = bloom::of_logs(&logs);
            case.bytes("bloom", bloom.as_slice(), &line["bloom"]);
            let receipt = Receipt::from_parts(
                Bytes::new(),
                shared("cumulativeGas"),
                shared("gasUsed"),
                bloom,
                logs,
                shared("status"),
            );
            case.bytes("enc", &receipt.encode(), &line["enc"]);
            case.equal("hash", hex::encode(keccak256(receipt.encode())), &line["hash"]);
            case.require("does not survive", Receipt::decode(&receipt.encode()) == Ok(receipt));
        }
        "status" => {
            let decoded = Receipt::decode(&bytes(line, "enc")).unwrap();
            case.bytes("status", &decoded.status, &line["status"]);
            case.bytes("postTxState", &decoded.post_state, &line["postTxState"]);
            case.equal("successful", decoded.is_successful(), &line["successful"]);
            case.equal("hasTxStatus", decoded.has_slot_status(), &line["hasTxStatus"]);
            let Receipt { cumulative_gas, gas_used, bloom, logs, .. } = decoded;
            let built =
                Receipt::from_parts(shared("postTxState"), cumulative_gas, gas_used, bloom, logs, shared("statusIn"));
            case.bytes("enc", &built.encode(), &line["enc"]);
        }
        "decode" => match Receipt::decode(&bytes(line, "in")) {
            Ok(receipt) if line["ok"] == true => {
                case.bytes("cumulativeGas", &receipt.cumulative_gas, &line["cumulativeGas"]);
                case.bytes("gasUsed", &receipt.gas_used, &line["gasUsed"]);
                case.bytes("status", &receipt.status, &line["status"]);
                case.bytes("postTxState", &receipt.post_state, &line["postTxState"]);
                case.equal("logs", receipt.logs.len(), &line["logs"]);
                case.bytes("bloom", receipt.bloom.as_slice(), &line["bloom"]);
                case.bytes("reencoded", &receipt.encode(), &line["reencoded"]);
            }
            Ok(_) => case.require("was read", false),
            Err(error) => case.require(&format!("refused: {error}"), line["ok"] == false),
        },
        "bloom" => {
            let filter = |item: &[u8]| bloom::of_hash(&keccak256(item));
            let mut bloom = Bloom::ZERO;
            for item in line["items"].as_array().unwrap() {
                bloom.accrue_bloom(&filter(&unhex(item.as_str().unwrap())));
            }
            case.bytes("bloom", bloom.as_slice(), &line["bloom"]);
            case.equal("matches", bloom.contains(&filter(&bytes(line, "probe"))), &line["matches"]);
        }
        kind => case.require(&format!("unknown kind {kind}"), false),
    }
}

#[test]
fn vectors_receipts() {
    let Some(lines) = vectors("receipts") else { return };
    let mut tally = Tally::new("receipts");
    for line in lines {
        let mut case = Case::default();
        check_receipt(&mut case, &line);
        case.end(&mut tally, &line);
    }
    tally.finish();
}
