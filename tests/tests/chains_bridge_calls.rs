//! Calls of the Bridge that were recorded over `eth_call` while the chains grew, repeated on the state of their block.
#![allow(clippy::unwrap_used, missing_docs)]

mod memory_chain;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use memory_chain::MemoryChain;
use rhizome_bridge::{BlockView, Bridge, BridgeCall, BridgeOutcome, CallKind};
use rhizome_chainspec::ChainSpec;
use rhizome_executor::block::BlockExecutor;
use rhizome_executor::genesis::{genesis_block, genesis_state};
use rhizome_executor::precompiles::BridgeState;
use rhizome_executor::state::{CodeCache, WorldState};
use rhizome_primitives::{Address, B256, Block, BlockHeader, RecoveredBlock, Sender, U256, address, hex};
use rhizome_tests::{Tally, bytes, chains, json_lines, number, text};
use rhizome_trie::{MemoryTrieStore, Trie};
use serde_json::Value;

const BRIDGE: Address = address!("0000000000000000000000000000000001000006");

/// The calls of a chain by the block whose state they saw.
fn recorded_calls(folder: &Path) -> BTreeMap<u64, Vec<Value>> {
    let mut calls = BTreeMap::<u64, Vec<Value>>::new();
    let file = folder.join("rpc.jsonl.gz");
    for call in file.exists().then(|| json_lines(&file)).into_iter().flatten() {
        if call["to"].as_str().is_some_and(|to| to.parse() == Ok(BRIDGE)) && call["data"].is_string() {
            calls.entry(number(&call, "block")).or_default().push(call);
        }
    }
    calls
}

fn check(spec: &ChainSpec, bridge: &Bridge, head: &BlockHeader, state: &Trie, case: &Value) -> Result<(), String> {
    let data = bytes(case, "data");
    let call = BridgeCall {
        sender: text(case, "from").parse().unwrap(),
        value: U256::ZERO,
        data: &data,
        kind: CallKind::Direct,
        tx_hash: B256::ZERO,
        origin_tx_hash: B256::ZERO,
        block: BlockView { number: head.number, timestamp: head.timestamp },
        local_call: true,
        activations: spec.activations(head.number),
    };
    let mut world = WorldState::new(state.clone(), Arc::new(CodeCache::default()));
    let mut host = BridgeState::new(&mut world, None);
    let mut session = bridge.session(call);
    session.required_gas(&mut host).map_err(|error| error.to_string())?;
    let got = match session.execute(&mut host).map_err(|error| error.to_string())? {
        BridgeOutcome::Returned(output) => hex::encode_prefixed(output.unwrap_or_default()),
        BridgeOutcome::Threw { .. } => "0x".to_owned(),
    };
    let expected = text(case, "result");
    if got == expected { Ok(()) } else { Err(format!("{}: got {got}, expected {expected}", case["label"])) }
}

fn recovered(block: Block) -> RecoveredBlock {
    let sender = |index| {
        if block.is_remasc(index) {
            return Sender::Remasc;
        }
        Sender::Account(block.transactions[index].recover_sender().unwrap())
    };
    let senders = (0..block.transactions.len()).map(sender).collect();
    RecoveredBlock { block, senders }
}

/// Replays a chain and repeats the calls after the block of each.
fn replay(folder: &Path, mut calls: BTreeMap<u64, Vec<Value>>, tally: &mut Tally) {
    let spec = Arc::new(ChainSpec::from_file(&folder.join("chain.json")).unwrap());
    let (executor, bridge) = (BlockExecutor::new(Arc::clone(&spec)), Bridge::for_spec(&spec));
    let mut chain = MemoryChain::default();
    let mut state = genesis_state(&spec, Arc::new(MemoryTrieStore::default())).unwrap();
    chain.add(genesis_block(&spec, &state));
    for line in chains::block_lines(&folder.join("blocks.csv.gz")) {
        if calls.is_empty() {
            break;
        }
        let block = recovered(Block::decode(&line.rlp, &*spec).unwrap());
        let outcome = executor.execute(&block, &state, &chain).unwrap();
        let header = &block.block.header;
        state = executor.commit(header, &outcome, &state).unwrap();
        for case in calls.remove(&line.number).unwrap_or_default() {
            let result = check(&spec, &bridge, header, &state, &case);
            tally.case(result.map_err(|difference| format!("block {}: {difference}", line.number)));
        }
        chain.add(block.block);
    }
    assert!(calls.is_empty(), "calls at blocks that the chain does not have: {:?}", calls.keys());
}

#[test]
fn chains_bridge_calls() {
    for folder in chains::chain_folders() {
        let calls = recorded_calls(&folder);
        if calls.is_empty() {
            continue;
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut tally = Tally::new(format!("Bridge calls of {name}"));
        replay(&folder, calls, &mut tally);
        tally.finish();
    }
}
