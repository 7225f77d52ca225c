//! The header and body rules on recorded chains: every block keeps them, and each damaged block breaks those that rskj names.
#![allow(clippy::unwrap_used, missing_docs)]

mod memory_chain;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use memory_chain::MemoryChain;
use rhizome_chainspec::ChainSpec;
use rhizome_consensus::{BlockValidator, ConsensusError, validate_block};
use rhizome_executor::genesis::{genesis_block, genesis_state};
use rhizome_primitives::{AncestorProvider, Block, hex};
use rhizome_tests::{Tally, bytes, chains, number, optional_bytes, text, vectors};
use rhizome_trie::MemoryTrieStore;
use serde_json::Value;

/// A chain's rules and its blocks with their bytes, genesis first.
struct Recorded {
    spec: Arc<ChainSpec>,
    blocks: Vec<(Arc<Block>, Vec<u8>)>,
    known: MemoryChain,
}

impl Recorded {
    /// Reads a chain; `visit` sees each block before it is added.
    fn read(folder: &Path, mut visit: impl FnMut(&Arc<ChainSpec>, &MemoryChain, &Block, &chains::BlockLine)) -> Self {
        let spec = Arc::new(ChainSpec::from_file(&folder.join("chain.json")).unwrap());
        let state = genesis_state(&spec, Arc::new(MemoryTrieStore::default())).unwrap();
        let mut known = MemoryChain::default();
        let genesis = known.add(genesis_block(&spec, &state));
        let mut blocks = vec![(genesis, Vec::new())];
        for line in chains::block_lines(&folder.join("blocks.csv.gz")) {
            let block = Block::decode(&line.rlp, &*spec).unwrap();
            visit(&spec, &known, &block, &line);
            blocks.push((known.add(block), line.rlp));
        }
        Self { spec, blocks, known }
    }
}

#[test]
fn chains_rules() {
    let folders = chains::chain_folders();
    if folders.is_empty() {
        return;
    }
    let mut tally = Tally::new("chains (rules)");
    for folder in folders {
        let mut validator = None;
        Recorded::read(&folder, |spec, known, block, line| {
            let validator = validator.get_or_insert_with(|| BlockValidator::new(Arc::clone(spec)));
            let name = format!("{} {}", folder.display(), line.number);
            let Some(parent) = known.header(&block.header.parent_hash).unwrap() else {
                // A branch whose fork is in another folder.
                return;
            };
            let whole =
                validator.validate(block, &parent, known, Some(u64::MAX / 2)).map_err(|error| error.to_string());
            tally.equal(&name, whole, Ok(()));
            let parts = validator
                .validate_alone(block, None)
                .and_then(|()| validator.validate_in_chain(block, &parent, known))
                .map_err(|error| error.to_string());
            tally.equal(&name, parts, Ok(()));
            let total = known.total_difficulty(&parent.hash()).unwrap().unwrap();
            let total = rhizome_consensus::total_difficulty(total, block.cumulative_difficulty());
            let got = (block.hash(), hex::encode(&*total.to_signed_bytes()));
            tally.equal(&name, got, (line.hash, line.total_difficulty.clone()));
        });
    }
    tally.finish();
}

/// The bytes of a damaged block.
fn damaged(case: &Value, chain: &Recorded) -> Vec<u8> {
    optional_bytes(case, "rlp").unwrap_or_else(|| {
        let valid = &chain.blocks[usize::try_from(number(case, "number")).unwrap()].1;
        let delta = &case["delta"];
        let [prefix, suffix] = ["prefix", "suffix"].map(|key| usize::try_from(number(delta, key)).unwrap());
        [&valid[..prefix], &bytes(delta, "middle"), &valid[valid.len() - suffix..]].concat()
    })
}

/// What the rules say about a damaged block, against what rskj's said; execution is not asked.
fn judge(case: &Value, chain: &Recorded) -> Result<(), String> {
    let block = Block::decode(&damaged(case, chain), &*chain.spec);
    let verdict = text(case, "result");
    let block = match (block, verdict) {
        (Err(_), "DECODE_ERROR") => return Ok(()),
        (Err(error), _) => return Err(format!("does not decode: {error}")),
        (Ok(block), _) => block,
    };
    let Some(parent) = chain.known.header(&block.header.parent_hash).unwrap() else {
        // A parent hash of another length is an exception in rskj and no known parent here.
        let refused = verdict == "NO_PARENT" || !block.header.is_usual();
        return if refused { Ok(()) } else { Err("its parent is not known".to_owned()) };
    };
    let broken = match validate_block(&block, &parent, &chain.spec, &chain.known, None) {
        Ok(()) => None,
        Err(ConsensusError::Invalid(violation)) => Some(violation.rule),
        Err(error) => return Err(error.to_string()),
    };
    // rskj compares the transactions root while it decodes; a header of height 0 has the empty one, whatever it says.
    if verdict == "DECODE_ERROR" {
        return match broken {
            Some("BlockRootValidationRule") => Ok(()),
            Some("BlockParentNumberRule") if block.number() == 0 => Ok(()),
            other => Err(format!("expected a wrong transactions root, got {other:?}")),
        };
    }
    // "Rule" or "Rule:Exception"; "error:..." came from somewhere else. Nonces are checked by the executor.
    let failed: Vec<&str> = case["failedRules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule.as_str().unwrap())
        .filter(|rule| !rule.starts_with("BlockTxsValidationRule"))
        .map(|rule| rule.split(':').next().unwrap())
        .collect();
    match broken {
        None if failed.is_empty() || failed == ["error"] => Ok(()),
        Some(rule) if failed.contains(&rule) || failed == ["error"] => Ok(()),
        // rskj's composition stops at the first broken rule; the list has them all.
        other => Err(format!("expected one of {failed:?}, got {other:?}")),
    }
}

#[test]
fn vectors_invalid_rules() {
    let Some(cases) = vectors("invalid") else { return };
    let mut tally = Tally::new("invalid (rules)");
    let mut chains: HashMap<String, Option<Recorded>> = HashMap::new();
    for case in cases {
        let name = text(&case, "chain");
        let chain = chains
            .entry(name.to_owned())
            .or_insert_with(|| chains::chain_folder(name).map(|folder| Recorded::read(&folder, |_, _, _, _| {})));
        let Some(chain) = chain else { continue };
        let case_name = format!("{name} {}: {}", number(&case, "number"), text(&case, "name"));
        tally.case(judge(&case, chain).map_err(|difference| format!("{case_name}: {difference}")));
    }
    tally.finish();
}
