//! Executes every recorded chain in memory and compares each header and each receipt.
//!
//! A chain that reaches a call of a contract which is not built stops there: what came before must be right.
#![allow(clippy::unwrap_used, missing_docs)]

mod memory_chain;

use std::path::Path;
use std::sync::Arc;

use memory_chain::MemoryChain;
use rhizome_chainspec::ChainSpec;
use rhizome_executor::Fault;
use rhizome_executor::block::{BlockExecutor, ExecutionError};
use rhizome_executor::genesis::{genesis_block, genesis_state};
use rhizome_primitives::{B256, Block, Receipt, RecoveredBlock, Sender, hex};
use rhizome_tests::{Tally, chains, json_lines};
use rhizome_trie::MemoryTrieStore;
use serde_json::Value;

fn recovered(block: Block) -> RecoveredBlock {
    let senders = (0..block.transactions.len())
        .map(|index| {
            if block.is_remasc(index) {
                Sender::Remasc
            } else {
                Sender::Account(block.transactions[index].recover_sender().unwrap())
            }
        })
        .collect();
    RecoveredBlock { block, senders }
}

fn plain(value: &Value) -> Option<&str> {
    value.as_str().map(|text| text.strip_prefix("0x").unwrap_or(text))
}

/// One transaction's recorded result against ours.
fn compare_receipt(expected: &Value, receipt: &Receipt, cumulative: u64, used: u64) -> Result<(), String> {
    if let Some(raw) = plain(&expected["raw"]).or_else(|| plain(&expected["receipt"])) {
        let got = hex::encode(receipt.encode());
        return if got == raw { Ok(()) } else { Err(format!("receipt\n  expected {raw}\n  got      {got}")) };
    }
    let status = !receipt.status.is_empty();
    if expected["status"].as_u64().is_some_and(|expected| (expected == 1) != status) {
        return Err(format!("expected status {}, got {status}", expected["status"]));
    }
    if expected["gasUsed"].as_u64().is_some_and(|expected| expected != used) {
        return Err(format!("expected gas {}, got {used}", expected["gasUsed"]));
    }
    let recorded = expected["cumulativeGasUsed"].as_u64().or_else(|| expected["cumulativeGas"].as_u64());
    if recorded.is_some_and(|expected| expected != cumulative) {
        return Err(format!("expected cumulative gas {recorded:?}, got {cumulative}"));
    }
    let Some(logs) = expected["logs"].as_array() else { return Ok(()) };
    if logs.len() != receipt.logs.len() {
        return Err(format!("expected {} logs, got {}", logs.len(), receipt.logs.len()));
    }
    for (index, (expected, log)) in logs.iter().zip(&receipt.logs).enumerate() {
        let topics: Vec<String> = log.topics.iter().map(hex::encode).collect();
        let recorded: Vec<&str> =
            expected["topics"].as_array().map(|topics| topics.iter().filter_map(plain).collect()).unwrap_or_default();
        if plain(&expected["address"]) != Some(&hex::encode(log.address))
            || topics != recorded
            || plain(&expected["data"]).is_some_and(|data| data != hex::encode(&log.data))
        {
            return Err(format!("log {index}\n  expected {expected}\n  got      {log:?}"));
        }
    }
    Ok(())
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Executes one chain; the last block's number, and whether it stopped at a contract that is not built.
fn execute(folder: &Path) -> Result<(u64, Option<String>), String> {
    let spec = Arc::new(ChainSpec::from_file(&folder.join("chain.json")).map_err(|error| error.to_string())?);
    let executor = BlockExecutor::new(Arc::clone(&spec));
    let mut chain = MemoryChain::default();
    let mut state = genesis_state(&spec, Arc::new(MemoryTrieStore::default())).map_err(|error| error.to_string())?;
    chain.add(genesis_block(&spec, &state));
    let recorded = folder.join("expected.jsonl.gz");
    let mut recorded = recorded.exists().then(|| json_lines(&recorded)).into_iter().flatten().peekable();

    let mut last = 0;
    for line in chains::block_lines(&folder.join("blocks.csv.gz")) {
        let at = |what: String| format!("block {}: {what}", line.number);
        let block = Block::decode(&line.rlp, &*spec).map_err(|error| at(error.to_string()))?;
        if block.hash() != line.hash {
            return Err(at(format!("expected hash {}, got {}", line.hash, block.hash())));
        }
        let block = recovered(block);
        let outcome = match executor.execute(&block, &state, &chain) {
            Ok(outcome) => outcome,
            Err(ExecutionError::Fault(fault @ Fault::NotBuilt { .. })) => return Ok((last, Some(fault.to_string()))),
            Err(error) => return Err(at(error.to_string())),
        };
        while recorded.peek().is_some_and(|expected| expected["number"].as_u64() < Some(line.number)) {
            recorded.next();
        }
        let expected = recorded.next_if(|expected| {
            expected["number"].as_u64() == Some(line.number)
                && plain(&expected["hash"]) == Some(&hex::encode(line.hash))
        });
        if let Some(expected) = &expected {
            let transactions = expected["transactions"].as_array().or_else(|| expected["txs"].as_array());
            for (index, expected) in transactions.into_iter().flatten().enumerate() {
                let receipt = outcome.receipts.get(index).ok_or_else(|| at(format!("no receipt {index}")))?;
                compare_receipt(expected, receipt, number(&receipt.cumulative_gas), number(&receipt.gas_used))
                    .map_err(|difference| at(format!("transaction {index} ({}): {difference}", expected["hash"])))?;
            }
        }
        state = executor.commit(&block.block.header, &outcome, &state).map_err(|error| at(error.to_string()))?;
        // Before RSKIP-126 only the record knows the root.
        if let Some(root) = expected.as_ref().and_then(|expected| plain(&expected["trieRoot"])) {
            let root: B256 = root.parse().unwrap();
            if state.root_hash() != root {
                return Err(at(format!("expected state {root}, got {}", state.root_hash())));
            }
        }
        last = line.number;
        chain.add(block.block);
    }
    Ok((last, None))
}

#[test]
fn chains_execute() {
    let folders = chains::chain_folders();
    if folders.is_empty() {
        return;
    }
    let only = std::env::var("RHIZOME_CHAIN").ok();
    let mut tally = Tally::new("chains execute");
    for folder in folders {
        let name = folder.display().to_string();
        if only.as_ref().is_some_and(|only| !name.ends_with(only.as_str())) {
            continue;
        }
        let result = execute(&folder);
        match &result {
            Ok((last, None)) => println!("{name}: {last} blocks"),
            Ok((last, Some(stop))) => println!("{name}: {last} blocks, then {stop}"),
            Err(error) => println!("{name}: {error}"),
        }
        tally.case(result.map(|_| ()).map_err(|error| format!("{name}: {error}")));
    }
    tally.finish();
}
