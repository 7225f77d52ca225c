//! Every recorded block is read and written back to the same bytes, hash, transaction hashes and receipts.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{Block, Receipt};
use rhizome_tests::chains::{BlockLine, block_lines, chain_folders};
use rhizome_tests::{Tally, json_lines, unhex};
use serde_json::Value;

fn check(line: &BlockLine, spec: &ChainSpec) -> Result<(), String> {
    let differs = |what: &str| Err(format!("block {}: {what}", line.number));
    let block = Block::decode(&line.rlp, spec).map_err(|error| format!("block {}: {error}", line.number))?;
    if block.encode() != line.rlp {
        return differs("re-encoding");
    }
    if block.hash() != line.hash || block.number() != line.number {
        return differs("hash or number");
    }
    if block.uncles_hash() != block.header.uncles_hash || block.uncles.len() as u32 != block.header.uncle_count {
        return differs("uncles");
    }
    let Some((remasc, transactions)) = block.transactions.split_last() else { return differs("no transactions") };
    if !block.is_remasc(transactions.len()) || remasc.signature.is_some() {
        return differs("last transaction");
    }
    let sound = |transaction: &rhizome_primitives::Transaction| {
        transaction.has_valid_fields(transaction.recover_sender().is_ok())
            && transaction.accepts_signature(spec.chain_id())
    };
    if !transactions.iter().all(sound) {
        return differs("signature");
    }
    Ok(())
}

/// The receipts of one line of `expected.jsonl.gz`, in whichever of its places they stand.
fn receipts(line: &Value) -> Vec<Vec<u8>> {
    let lists = ["transactions", "txs"].into_iter().filter_map(|member| line[member].as_array()).flatten();
    lists
        .filter_map(|transaction| ["receipt", "raw"].iter().find_map(|member| transaction[*member].as_str()))
        .map(unhex)
        .collect()
}

fn check_receipts(folder: &Path, tally: &mut Tally) {
    for line in json_lines(&folder.join("expected.jsonl.gz")) {
        for encoded in receipts(&line) {
            let receipt = Receipt::decode(&encoded).unwrap();
            let (cumulative, used) = (receipt.cumulative_gas_value(), receipt.gas_used_value());
            let built = Receipt::new(receipt.is_successful(), cumulative, used, receipt.logs);
            tally.case(if built.encode() == encoded { Ok(()) } else { Err("a receipt".to_owned()) });
        }
    }
}

#[test]
fn chains_blocks_and_receipts_survive() {
    for folder in chain_folders() {
        let spec = ChainSpec::from_file(&folder.join("chain.json")).unwrap();
        let mut tally = Tally::new(format!("{} (blocks, receipts)", folder.file_name().unwrap().display()));
        for line in block_lines(&folder.join("blocks.csv.gz")) {
            tally.case(check(&line, &spec));
        }
        if folder.join("expected.jsonl.gz").exists() {
            check_receipts(&folder, &mut tally);
        }
        tally.finish();
    }
}
