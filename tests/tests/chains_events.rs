//! What subscribers hear: the head's moves in order, and never at import's cost.
#![allow(clippy::unwrap_used, missing_docs)]

mod chain_support;

use chain_support::{Engine, TestChain};
use rhizome_chain::ChainEvent;
use rhizome_primitives::B256;
use rhizome_tests::chains::chain_folders;
use rhizome_tests::{bytes, json_lines};

#[test]
fn chains_events_lead_to_the_head() {
    for folder in chain_folders() {
        let file = folder.join("offchain.jsonl.gz");
        if !file.exists() {
            continue;
        }
        let chain = TestChain::open(&folder.join("chain.json"), Engine::Memory);
        let events = chain.chain.subscribe();
        let gone = chain.chain.subscribe();
        let mut main: Vec<B256> = vec![chain.best()];
        let (mut heads, mut sides, mut reorganisations) = (0, 0, 0);
        drop(gone);
        for line in json_lines(&file) {
            chain.offer(bytes(&line, "rlp")).unwrap();
            for event in events.try_iter() {
                match event {
                    ChainEvent::Head(change) => {
                        heads += 1;
                        reorganisations += usize::from(change.is_reorganisation());
                        for (number, hash) in change.retracted {
                            assert_eq!((main.len() as u64 - 1, main.pop()), (number, Some(hash)));
                        }
                        for (number, hash) in change.adopted {
                            assert_eq!(main.len() as u64, number);
                            main.push(hash);
                        }
                    }
                    ChainEvent::Side { .. } => sides += 1,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(main.last(), Some(&chain.best()));
        }
        println!("{}: {heads} heads, {reorganisations} reorganisations, {sides} side blocks", file.display());
        assert!(heads > 0 && reorganisations > 0 && sides > 0);
    }
}

#[test]
fn chains_events_drop_a_subscriber_that_sleeps() {
    let Some(folder) = chain_folders().into_iter().find(|folder| folder.join("offchain.jsonl.gz").exists()) else {
        return;
    };
    let chain = TestChain::open(&folder.join("chain.json"), Engine::Memory);
    let sleeping = chain.chain.subscribe();
    let blocks: Vec<Vec<u8>> = json_lines(&folder.join("offchain.jsonl.gz")).map(|line| bytes(&line, "rlp")).collect();
    // Back and forth until more happened than anybody may be behind.
    let mut offered = 0;
    while offered < 5_000 {
        for block in &blocks {
            chain.offer(block.clone()).unwrap();
            offered += 1;
        }
        chain.chain.rewind(0).unwrap();
    }
    let heard = sleeping.iter().count();
    assert!(heard < offered, "{heard} of {offered}");
}
