//! Every recorded chain with old states given up: the same heads and states, whatever the engine, over many rotations.
#![allow(clippy::unwrap_used, missing_docs)]

mod chain_support;

use chain_support::{Engine, Fed, TestChain};
use rhizome_storage::{GcControl, GcOptions, GcSettings, GcSummary};
use rhizome_tests::chains::chain_folders;
use rhizome_trie::Trie;

#[test]
fn chains_replay_with_collection_on_flatdb() {
    replay_all(Engine::FlatDb);
}

#[test]
fn chains_replay_with_collection_on_rocksdb() {
    replay_all(Engine::RocksDb);
}

fn replay_all(engine: Engine) {
    for folder in chain_folders() {
        let name = format!("{} ({engine:?})", folder.display());
        let reference = TestChain::open(&folder.join("chain.json"), Engine::Memory);
        let Fed::Whole { last } = reference.feed(&folder.join("blocks.csv.gz")).unwrap() else {
            println!("{name}: stops");
            continue;
        };
        let written = nodes_of(&reference);
        // Small enough for several rotations; deep enough for the reorganisations that these chains have.
        let options = GcOptions { epochs: 3, epoch_size: (written / 12).max(1), depth: 20, rate: 0 };
        let gc = GcSettings { options, control: GcControl::new() };
        let chain = TestChain::open_collecting(&folder.join("chain.json"), engine, &gc);
        match chain.feed(&folder.join("blocks.csv.gz")) {
            Ok(Fed::Whole { last: got }) => assert_eq!(got, last, "{name}"),
            Ok(Fed::NotBuilt(what)) => panic!("{name}: {what}"),
            Err(error) => panic!("{name}: {error}"),
        }
        assert_eq!(chain.best(), reference.best(), "{name}: head");
        chain.chain.flush().unwrap();
        let summary = chain.chain.stores().settle().unwrap().unwrap();
        println!("{name}: {}", told(&summary));
        assert_eq!(summary.declined, None, "{name}");
        if reference.chain.head().record.number > 60 {
            assert!(summary.rotations >= 3 && summary.collections >= 1, "{name}: {summary:?}");
        }
        check_states(&name, &chain, &reference);
    }
}

fn told(summary: &GcSummary) -> String {
    let GcSummary { rotations, collections, last, .. } = summary;
    let last = last.as_ref().map_or_else(String::new, |last| {
        format!(", the last kept {} records and copied {}", last.live_records, last.copied_records)
    });
    format!("{rotations} rotations, {collections} collections{last}")
}

/// Bytes of nodes that a chain wrote.
fn nodes_of(chain: &TestChain) -> u64 {
    chain.chain.flush().unwrap();
    chain.chain.stores().nodes().stats().bytes_written
}

/// Every kept state is whole and the same as without collection; older ones are refused by their number.
fn check_states(name: &str, chain: &TestChain, reference: &TestChain) {
    let (blocks, kept) = (chain.chain.stores().blocks(), chain.chain.stores().complete_from());
    let head = chain.chain.head().record.number;
    let mut walked = 0;
    for number in 0..=head {
        for entry in blocks.at_height(number).unwrap() {
            let record = entry.record;
            if number < kept {
                let error = chain.chain.state(&record).unwrap_err().to_string();
                assert!(error.contains("was collected"), "{name}: block {number}: {error}");
                continue;
            }
            // A full walk of every recent state is quadratic in the chain's length: some of them, and always the edges.
            if number != kept && number != head && number % 7 != 0 {
                continue;
            }
            let lines = |trie: Trie| {
                let mut lines = Vec::new();
                trie.export_lines(|line| {
                    lines.push(line.to_vec());
                    Ok::<_, rhizome_trie::TrieError>(())
                })
                .unwrap();
                lines
            };
            let expected = lines(reference.chain.state(&record).unwrap());
            assert!(lines(chain.chain.state(&record).unwrap()) == expected, "{name}: state of block {number}");
            walked += 1;
        }
    }
    assert!(walked > 0);
    if kept > 0 {
        let error = chain.chain.rewind(kept - 1).unwrap_err().to_string();
        assert!(error.contains("was collected"), "{name}: {error}");
        assert_eq!(chain.chain.rewind(kept).unwrap().record.number, kept);
    }
}
