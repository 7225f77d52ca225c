//! Headers, transactions and receipts of the public networks.

use std::collections::BTreeMap;

use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{Block, BlockHeader, Receipt, Transaction, hex};
use rhizome_tests::{Tally, bytes, optional_bytes, text, unhex, vectors};
use serde_json::Value;

use crate::Case;
use crate::headers::compare_merged_mining;

fn spec(network: &str) -> ChainSpec {
    ChainSpec::by_name_or_file(network).unwrap()
}

#[test]
fn vectors_real_headers_decode() {
    let Some(lines) = vectors("real_headers") else { return };
    let specs = BTreeMap::from(["mainnet", "testnet"].map(|network| (network, spec(network))));
    let mut tally = Tally::new("real_headers (decode)");
    for line in lines {
        let mut case = Case::default();
        let encoded = bytes(&line, "header");
        match BlockHeader::decode(&encoded, &specs[text(&line, "network")]) {
            Ok(header) => {
                case.require("re-encoding differs", header.encode_full() == encoded);
                case.require("unusual fields", header.is_usual());
                case.bytes("hash", header.hash().as_slice(), &line["hash"]);
                compare_merged_mining(&mut case, &header, &line["hashForMergedMining"]);
                case.equal("number", header.number, &line["number"]);
                case.bytes("parentHash", header.parent_hash.as_slice(), &line["parentHash"]);
                case.equal("difficulty", header.difficulty().to_string(), &line["difficulty"]);
                case.equal("timestamp", header.timestamp, &line["timestamp"]);
                case.equal("uncleCount", header.uncle_count, &line["uncleCount"]);
                case.equal("version", header.version(), &line["version"]);
                let data = header.mining_fork_detection_data().unwrap();
                let expected = line.get("forkDetectionData").unwrap_or(&Value::Null);
                case.bytes("forkDetectionData", &data.map(Vec::from).unwrap_or_default(), expected);
                // The compressed form has the same hash.
                let compressed =
                    BlockHeader::decode_compressed(&header.encode_compressed(), &specs[text(&line, "network")]);
                case.require("compressed hash", compressed.map(|compressed| compressed.hash()) == Ok(header.hash()));
            }
            Err(error) => case.require(&format!("refused: {error}"), false),
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

#[test]
fn vectors_real_transactions() {
    let Some(lines) = vectors("real_transactions") else { return };
    let mut tally = Tally::new("real_transactions");
    for line in lines {
        let mut case = Case::default();
        let spec = spec(text(&line, "network"));
        match text(&line, "kind") {
            "transaction" => {
                let transaction = Transaction::decode(&bytes(&line, "raw")).unwrap();
                case.bytes("reencoded", transaction.encoded(), &line["raw"]);
                case.bytes("hash", transaction.hash().as_slice(), &line["hash"]);
                case.equal("remasc", transaction.is_remasc(0, 1), &line["remasc"]);
                if let Some(sender) = line.get("sender") {
                    case.equal("sender", hex::encode(transaction.recover_sender().unwrap()), sender);
                    case.equal("chainId", transaction.chain_id(), &line["chainId"]);
                    case.require("signature", transaction.accepts_signature(spec.chain_id()));
                }
                check_real_receipt(&mut case, line["receipt"].as_str());
            }
            "block" => {
                let encoded = bytes(&line, "header");
                let header = BlockHeader::decode(&encoded, &spec).unwrap();
                case.require("re-encoding differs", header.encode_full() == encoded);
                case.bytes("hash", header.hash().as_slice(), &line["hash"]);
                for raw in line["transactions"].as_array().unwrap() {
                    let raw = unhex(raw.as_str().unwrap());
                    case.require("transaction", *Transaction::decode(&raw).unwrap().encoded() == raw);
                }
                for receipt in line["receipts"].as_array().unwrap() {
                    check_real_receipt(&mut case, receipt.as_str());
                }
                if let Some(encoded) = optional_bytes(&line, "block") {
                    let block = Block::decode(&encoded, &spec).unwrap();
                    case.require("block re-encoding differs", block.encode() == encoded);
                    case.require("uncles hash", block.uncles_hash() == block.header.uncles_hash);
                    case.require("remasc", block.is_remasc(block.transactions.len() - 1));
                }
            }
            kind => case.require(&format!("unknown kind {kind}"), false),
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

/// A real receipt is what an executed transaction would leave with the same parts.
fn check_real_receipt(case: &mut Case, encoded: Option<&str>) {
    let Some(encoded) = encoded.map(unhex) else { return };
    let receipt = Receipt::decode(&encoded).unwrap();
    let success = receipt.is_successful();
    let (cumulative, used) = (receipt.cumulative_gas_value(), receipt.gas_used_value());
    case.require("receipt", Receipt::new(success, cumulative, used, receipt.logs).encode() == encoded);
}
