//! Every recorded chain through the chain's door: heads, total difficulties, receipts, states. By folder, not by name.
#![allow(clippy::unwrap_used, missing_docs)]

mod chain_support;

use std::io::BufRead;
use std::path::Path;

use chain_support::{Engine, Fed, TestChain};
use rhizome_chain::ChainEvent;
use rhizome_primitives::{B256, Bytes, Receipt, hex};
use rhizome_tests::chains::{chain_folder, chain_folders};
use rhizome_tests::{Tally, bytes, json_lines, number, open, optional_bytes};
use serde_json::Value;

#[test]
fn chains_replay_on_memory() {
    replay_all(Engine::Memory);
}

#[test]
fn chains_replay_on_rocksdb() {
    replay_all(Engine::RocksDb);
}

#[test]
fn chains_replay_on_flatdb() {
    replay_all(Engine::FlatDb);
}

fn replay_all(engine: Engine) {
    for folder in chain_folders() {
        let name = format!("{} ({engine:?})", folder.display());
        let chain = TestChain::open(&folder.join("chain.json"), engine);
        let last = match chain.feed(&folder.join("blocks.csv.gz")) {
            Ok(Fed::Whole { last }) => last,
            Ok(Fed::NotBuilt(what)) => {
                println!("{name}: stops: {what}");
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        assert_eq!(chain.best(), last, "{name}: head");
        check_receipts(&name, &folder, &chain);
        check_states(&name, &folder, &chain);
        let summary = chain.chain.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(summary.blocks, chain.chain.head().record.number + 1);
    }
}

fn hash(value: &Value, member: &str) -> B256 {
    B256::from_slice(&bytes(value, member))
}

fn check_receipts(name: &str, folder: &Path, chain: &TestChain) {
    let file = folder.join("expected.jsonl.gz");
    if !file.exists() {
        println!("{}: absent", file.display());
        return;
    }
    let mut tally = Tally::new(format!("{name} receipts"));
    for line in json_lines(&file) {
        let block = hash(&line, "hash");
        let stored = chain.chain.stores().blocks().receipts(&block).unwrap();
        let Some(receipts) = stored else {
            tally.case(Err(format!("block {block} is not there")));
            continue;
        };
        let expected = line.get("transactions").or_else(|| line.get("txs")).and_then(Value::as_array).unwrap();
        tally.equal(&format!("block {block}: receipts"), receipts.len(), expected.len());
        for (index, (receipt, expected)) in receipts.iter().zip(expected).enumerate() {
            let case = format!("block {block} transaction {index}");
            let place = chain.chain.stores().blocks().transaction(&hash(expected, "hash")).unwrap();
            tally.equal(
                &format!("{case}: place"),
                place.map(|place| (place.block, place.index)),
                Some((block, index as u32)),
            );
            tally.case(check_receipt(receipt, expected).map_err(|error| format!("{case}: {error}")));
        }
    }
    tally.finish();
}

fn check_receipt(encoded: &Bytes, expected: &Value) -> Result<(), String> {
    if let Some(raw) = optional_bytes(expected, "raw").or_else(|| optional_bytes(expected, "receipt")) {
        return if encoded[..] == raw { Ok(()) } else { Err(format!("expected {}, got {encoded}", hex::encode(raw))) };
    }
    let receipt = Receipt::decode(encoded).map_err(|error| error.to_string())?;
    let status = u64::from(receipt.is_successful());
    if (status, receipt.gas_used_value()) != (number(expected, "status"), number(expected, "gasUsed")) {
        return Err(format!("expected {expected}, got status {status}, gas {}", receipt.gas_used_value()));
    }
    let logs = expected["logs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let same = |log: &rhizome_primitives::Log, expected: &Value| {
        let topics: Vec<Vec<u8>> = expected["topics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|topic| rhizome_tests::unhex(topic.as_str().unwrap()))
            .collect();
        log.address[..] == bytes(expected, "address")
            && log.data[..] == bytes(expected, "data")
            && log.topics.iter().map(|topic| topic.to_vec()).collect::<Vec<_>>() == topics
    };
    let equal =
        logs.len() == receipt.logs.len() && receipt.logs.iter().zip(logs).all(|(log, expected)| same(log, expected));
    if equal { Ok(()) } else { Err(format!("expected logs {logs:?}, got {:?}", receipt.logs)) }
}

fn check_states(name: &str, folder: &Path, chain: &TestChain) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let file = entry.file_name().into_string().unwrap();
        let Some(number) = file.strip_prefix("state-").and_then(|rest| rest.strip_suffix(".txt.gz")) else { continue };
        let number: u64 = number.parse().unwrap();
        let blocks = chain.chain.stores().blocks();
        let record = blocks.record(&blocks.canonical_hash(number).unwrap().unwrap()).unwrap().unwrap();
        let mut got = Vec::new();
        chain
            .chain
            .state(&record)
            .unwrap()
            .export_lines(|line| {
                got.push(hex::encode(line));
                Ok::<_, rhizome_trie::TrieError>(())
            })
            .unwrap();
        let expected: Vec<String> = open(&entry.path()).lines().map(|line| line.unwrap()).collect();
        let first = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        assert_eq!(first, None, "{name} {file}: first different line");
        assert_eq!(got.len(), expected.len(), "{name} {file}: lines");
        println!("{name} {file}: {} lines", got.len());
    }
}

#[test]
fn chains_reorg_ends_on_b_either_way() {
    let (Some(a), Some(b)) = (chain_folder("reorg/a"), chain_folder("reorg/b")) else { return };
    for (first, second) in [(&a, &b), (&b, &a)] {
        let chain = TestChain::open(&a.join("chain.json"), Engine::Memory);
        let events = chain.chain.subscribe();
        let mut expected = B256::ZERO;
        for folder in [first, second] {
            match chain.feed(&folder.join("blocks.csv.gz")).unwrap() {
                Fed::Whole { last } if folder == &b => expected = last,
                Fed::Whole { .. } => {}
                Fed::NotBuilt(what) => panic!("{what}"),
            }
        }
        assert_eq!(chain.best(), expected);
        check_main_chain(&chain);
        check_events(&chain, events.try_iter());
        chain.chain.check().unwrap();
    }
}

/// The main chain's entries are the head and its ancestors, and nothing above.
fn check_main_chain(chain: &TestChain) {
    use rhizome_primitives::AncestorProvider;
    let blocks = chain.chain.stores().blocks();
    let head = chain.chain.head().record;
    assert_eq!(blocks.canonical_hash(head.number + 1).unwrap(), None);
    let mut hash = head.hash;
    for number in (0..=head.number).rev() {
        assert_eq!(blocks.canonical_hash(number).unwrap(), Some(hash));
        let header = chain.chain.ancestors().header(&hash).unwrap().unwrap();
        hash = header.parent_hash;
    }
}

/// Following the events leads to the same main chain.
fn check_events(chain: &TestChain, events: impl Iterator<Item = ChainEvent>) {
    let mut followed = vec![chain.chain.stores().blocks().canonical_hash(0).unwrap().unwrap()];
    for event in events {
        let ChainEvent::Head(change) = event else { continue };
        for (number, hash) in change.retracted {
            assert_eq!((followed.len() as u64 - 1, followed.pop()), (number, Some(hash)));
        }
        for (number, hash) in change.adopted {
            assert_eq!(followed.len() as u64, number);
            followed.push(hash);
        }
    }
    assert_eq!(followed.last(), Some(&chain.best()));
}
