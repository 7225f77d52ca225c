//! Every block that a node was offered, in order, with its answer and the best block after it.
#![allow(clippy::unwrap_used, missing_docs)]

mod chain_support;

use chain_support::{Engine, TestChain};
use rhizome_chain::ImportOutcome;
use rhizome_primitives::hex;
use rhizome_tests::chains::chain_folders;
use rhizome_tests::{Tally, bytes, json_lines, text};

#[test]
fn chains_offchain_answers() {
    for folder in chain_folders() {
        let file = folder.join("offchain.jsonl.gz");
        if !file.exists() {
            continue;
        }
        let chain = TestChain::open(&folder.join("chain.json"), Engine::Memory);
        let mut tally = Tally::new(file.display().to_string());
        for (index, line) in json_lines(&file).enumerate() {
            let answer = answer(chain.offer(bytes(&line, "rlp")).as_ref());
            let case = format!("line {} (block {})", index + 1, line["number"]);
            tally.equal(
                &case,
                (answer, hex::encode(chain.best())),
                (text(&line, "result"), text(&line, "best").to_owned()),
            );
        }
        tally.finish();
        chain.chain.check().unwrap();
    }
}

/// rskj's name of an outcome.
fn answer(outcome: Option<&ImportOutcome>) -> &'static str {
    match outcome {
        Some(ImportOutcome::Best(_)) => "IMPORTED_BEST",
        Some(ImportOutcome::NotBest) => "IMPORTED_NOT_BEST",
        Some(ImportOutcome::Exists) => "EXIST",
        Some(ImportOutcome::NoParent) => "NO_PARENT",
        Some(ImportOutcome::ParentCollected { complete_from }) => {
            panic!("nothing is collected here, yet {complete_from}")
        }
        Some(ImportOutcome::Invalid(_)) => "INVALID_BLOCK",
        None => "DECODE_ERROR",
    }
}
