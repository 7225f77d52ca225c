//! Executes every recorded chain in memory and compares each header and each receipt.
//!
//! A chain that reaches a call of a contract which is not built stops there: what came before must be right.
#![allow(clippy::unwrap_used, missing_docs)]

mod memory_chain;

use std::path::Path;
use std::sync::Arc;

use memory_chain::MemoryChain;
use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_executor::Fault;
use rhizome_executor::block::{BlockExecutor, ExecutionError, ExecutionOutcome};
use rhizome_executor::genesis::{genesis_block, genesis_state};
use rhizome_primitives::header::HeaderExtension;
use rhizome_primitives::{B256, Block, BlockHeader, HeaderFields, Receipt, RecoveredBlock, Sender, U256, hex};
use rhizome_tests::{Tally, chains, json_lines};
use rhizome_trie::{MemoryTrieStore, Trie};
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

/// A block that was executed.
struct Step<'a> {
    executor: &'a BlockExecutor,
    chain: &'a MemoryChain,
    block: &'a RecoveredBlock,
    outcome: &'a ExecutionOutcome,
    before: &'a Trie,
    after: &'a Trie,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Executes one chain and hands each block to `look`; the last block's number, and why it stopped if a contract is not built.
fn execute(
    folder: &Path,
    mut look: impl FnMut(&Step<'_>) -> Result<(), String>,
) -> Result<(u64, Option<String>), String> {
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
        let before = state;
        state = executor.commit(&block.block.header, &outcome, &before).map_err(|error| at(error.to_string()))?;
        // Before RSKIP-126 only the record knows the root.
        if let Some(root) = expected.as_ref().and_then(|expected| plain(&expected["trieRoot"])) {
            let root: B256 = root.parse().unwrap();
            if state.root_hash() != root {
                return Err(at(format!("expected state {root}, got {}", state.root_hash())));
            }
        }
        let (executor, after) = (&executor, &state);
        look(&Step { executor, chain: &chain, block: &block, outcome: &outcome, before: &before, after })
            .map_err(at)?;
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
        let result = execute(&folder, |_| Ok(()));
        match &result {
            Ok((last, None)) => println!("{name}: {last} blocks"),
            Ok((last, Some(stop))) => println!("{name}: {last} blocks, then {stop}"),
            Err(error) => println!("{name}: {error}"),
        }
        tally.case(result.map(|_| ()).map_err(|error| format!("{name}: {error}")));
    }
    tally.finish();
}

/// The rule that a validation names, or nothing where it finds all right.
fn refused(result: Result<(), ExecutionError>) -> Option<&'static str> {
    match result {
        Ok(()) => None,
        Err(ExecutionError::InvalidBlock(violation)) => Some(violation.rule),
        Err(other) => panic!("{other}"),
    }
}

/// Every field that execution determines is compared, in rskj's order; a block with a transaction twice is invalid.
#[test]
fn chains_execute_refuses_wrong_fields() {
    let folders = chains::chain_folders();
    if folders.is_empty() {
        return;
    }
    let mut tally = Tally::new("chains refused");
    for folder in folders {
        let name = folder.display().to_string();
        let mut looked = 0;
        let result = execute(&folder, |step| {
            // A few blocks of each kind are enough: early ones, and some with transactions later.
            if looked >= 12 || (step.block.block.transactions.len() < 2 && looked >= 3) {
                return Ok(());
            }
            looked += 1;
            let header = &step.block.block.header;
            let check = |change: &dyn Fn(&mut HeaderFields), expected: Option<&str>| {
                let mut fields = header.fields().clone();
                change(&mut fields);
                let got =
                    refused(step.executor.validate(&BlockHeader::new(fields), step.outcome, step.after.root_hash()));
                if got == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {got:?}")) }
            };
            let rules = step.executor.spec().activations(header.number);
            let rooted = rules.is_active(Rskip::R126) && rules.is_active(Rskip::R85);
            check(&|_| {}, None)?;
            check(&|fields| fields.paid_fees += U256::from(1), Some("PaidFees"))?;
            check(&|fields| (fields.gas_used, fields.paid_fees) = (fields.gas_used + 1, U256::MAX), Some("GasUsed"))?;
            check(&|fields| fields.receipts_root = B256::ZERO, Some("ReceiptsRoot"))?;
            check(&|fields| fields.state_root = B256::ZERO, rooted.then_some("StateRoot"))?;
            check(
                &|fields| (fields.state_root, fields.receipts_root) = (B256::ZERO, B256::ZERO),
                Some(if rooted { "StateRoot" } else { "ReceiptsRoot" }),
            )?;
            check(
                &|fields| {
                    fields.gas_used += 1;
                    fields.extension = HeaderExtension::for_layout(fields.layout);
                },
                Some(if step.outcome.logs_bloom.is_zero() { "GasUsed" } else { "LogsBloom" }),
            )?;
            if step.block.block.transactions.len() > 1 {
                let mut twice = step.block.clone();
                twice.block.transactions.insert(1, twice.block.transactions[0].clone());
                twice.senders.insert(1, twice.senders[0]);
                match step.executor.execute(&twice, step.before, step.chain) {
                    Err(ExecutionError::InvalidBlock(violation)) if violation.number == header.number => {}
                    other => return Err(format!("a transaction twice: {other:?}")),
                }
            }
            Ok(())
        });
        tally.case(result.map(|_| ()).map_err(|error| format!("{name}: {error}")));
    }
    tally.finish();
}
