//! Blocks with one fault each, offered on top of their valid parent.
#![allow(clippy::unwrap_used, missing_docs)]

mod chain_support;

use std::collections::BTreeMap;

use chain_support::{Engine, TestChain};
use rhizome_chain::ImportOutcome;
use rhizome_tests::chains::{BlockLine, block_lines, chain_folder};
use rhizome_tests::{Tally, bytes, number, optional_bytes, text, vectors};
use serde_json::Value;

#[test]
fn vectors_invalid() {
    let Some(lines) = vectors("invalid") else { return };
    let mut cases: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in lines {
        cases.entry(text(&line, "chain").to_owned()).or_default().push(line);
    }
    for (name, cases) in cases {
        if let Some(folder) = chain_folder(&name) {
            let valid: Vec<BlockLine> = block_lines(&folder.join("blocks.csv.gz")).collect();
            let chain = TestChain::open(&folder.join("chain.json"), Engine::Memory);
            offer(&name, &chain, &valid, cases);
        }
    }
}

fn offer(name: &str, chain: &TestChain, valid: &[BlockLine], mut cases: Vec<Value>) {
    cases.sort_by_key(|case| number(case, "number"));
    let mut tally = Tally::new(format!("invalid ({name})"));
    let mut known = valid.iter().peekable();
    for case in &cases {
        let height = number(case, "number");
        while let Some(block) = known.next_if(|block| block.number < height) {
            let outcome = chain.offer(block.rlp.clone());
            assert!(is_accepted(outcome.as_ref()), "valid block {} of {name}: {outcome:?}", block.number);
        }
        let encoded = optional_bytes(case, "rlp").unwrap_or_else(|| mutated(valid, height, &case["delta"]));
        let outcome = chain.offer(encoded);
        let accepted = case["accepted"].as_bool().unwrap();
        let same = is_accepted(outcome.as_ref()) == accepted;
        tally.case(if same {
            Ok(())
        } else {
            Err(format!(
                "block {height}, {:?}: expected {} {}, got {outcome:?}",
                text(case, "name"),
                case["result"],
                case["failedRules"]
            ))
        });
    }
    tally.finish();
}

/// The valid block of a height with its middle replaced.
fn mutated(valid: &[BlockLine], height: u64, delta: &Value) -> Vec<u8> {
    let block = &valid.iter().find(|block| block.number == height).unwrap().rlp;
    let (prefix, suffix) = (number(delta, "prefix") as usize, number(delta, "suffix") as usize);
    [&block[..prefix], &bytes(delta, "middle"), &block[block.len() - suffix..]].concat()
}

fn is_accepted(outcome: Option<&ImportOutcome>) -> bool {
    matches!(outcome, Some(ImportOutcome::Best(_) | ImportOutcome::NotBest))
}
