//! Block 0 of every network and of the recorded chains: state and hash.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use rhizome_chainspec::{ChainSpec, Network};
use rhizome_executor::genesis::{genesis_block, genesis_state};
use rhizome_primitives::hex;
use rhizome_tests::{Tally, chains, text, vectors};
use rhizome_trie::MemoryTrieStore;

#[test]
fn vectors_genesis() {
    let Some(cases) = vectors("genesis") else { return };
    let mut tally = Tally::new("genesis");
    for case in cases {
        let name = format!("{} {}", text(&case, "network"), text(&case, "variant"));
        let network = match text(&case, "network") {
            "main" => Network::Mainnet,
            other => Network::from_name(other).unwrap(),
        };
        let spec = network.spec();
        let state = genesis_state(&spec, Arc::new(MemoryTrieStore::default())).unwrap();
        let block = genesis_block(&spec, &state);
        let got = [
            state.root_hash(),
            state.orchid_root_hash(true).unwrap(),
            block.header.state_root,
            block.header.transactions_root,
            block.hash(),
        ]
        .map(hex::encode);
        let expected = ["unitrieRoot", "unitrieRootOrchidHash", "headerStateRoot", "txTrieRoot", "hash"]
            .map(|key| text(&case, key));
        tally.equal(&name, got.as_slice(), expected.map(str::to_owned).as_slice());
        tally.equal(&format!("{name} encoding"), hex::encode(block.encode()), text(&case, "encodedBlock").to_owned());
    }
    tally.finish();
}

/// The first block of a recorded chain stands on the genesis block of its rules.
#[test]
fn chains_genesis() {
    let folders = chains::chain_folders();
    if folders.is_empty() {
        return;
    }
    let mut tally = Tally::new("chains genesis");
    for folder in folders {
        let spec = ChainSpec::from_file(&folder.join("chain.json")).unwrap();
        let state = genesis_state(&spec, Arc::new(MemoryTrieStore::default())).unwrap();
        let block = genesis_block(&spec, &state);
        let line = chains::block_lines(&folder.join("blocks.csv.gz")).next().unwrap();
        if line.number != 1 {
            continue;
        }
        let first = rhizome_primitives::Block::decode(&line.rlp, &spec).unwrap();
        tally.equal(&folder.display().to_string(), block.hash(), first.header.parent_hash);
    }
    tally.finish();
}
