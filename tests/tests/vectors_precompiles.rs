//! Precompiled contracts against `vectors/precompiles`.
#![allow(clippy::unwrap_used, missing_docs)]

mod memory_chain;

use std::collections::HashMap;
use std::sync::Arc;

use memory_chain::MemoryChain;
use rhizome_chainspec::{Activations, ChainSpec};
use rhizome_executor::evm::{BlockEnv, CallKind, PrecompileCall, PrecompileError, PrecompileHost, Precompiles, TxEnv};
use rhizome_executor::precompiles::{Precompile, RskPrecompiles};
use rhizome_executor::state::{CodeCache, Location, WorldState};
use rhizome_primitives::{Address, B256, Block, BlockHeader, U256, hex};
use rhizome_tests::{Tally, text, unhex, vector_document, vectors};
use rhizome_trie::{MemoryTrieStore, Trie};
use serde_json::Value;

fn configs() -> HashMap<String, Activations> {
    let Some(document) = vector_document("evm_configs") else { return HashMap::new() };
    document["configs"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, rules)| {
            let rules = rules.as_array().unwrap().iter().map(|rule| rule.as_str().unwrap());
            (name.clone(), Activations::from_keys(rules).unwrap())
        })
        .collect()
}

fn address(low: &str) -> Address {
    Address::left_padding_from(&unhex(low))
}

struct Setting {
    configs: HashMap<String, Activations>,
    precompiles: RskPrecompiles,
    chain: MemoryChain,
    parent: BlockHeader,
}

impl Setting {
    fn block(&self, config: &str) -> BlockEnv {
        BlockEnv {
            number: self.parent.number + 1,
            parent_hash: self.parent.hash(),
            timestamp: self.parent.timestamp + 1,
            coinbase: Address::ZERO,
            difficulty: U256::from(1),
            gas_limit: 10_000_000,
            minimum_gas_price: U256::ZERO,
            chain_id: 33,
            activations: self.configs[config],
        }
    }

    fn run(&self, case: &Value) -> Result<(), String> {
        let place = || format!("{} {} {}", text(case, "config"), text(case, "address"), case["in"]);
        let block = self.block(text(case, "config"));
        let address = address(text(case, "address"));
        if case["absent"].as_bool() == Some(true) {
            let found = Precompile::at(&address, block.activations);
            return if found.is_none() { Ok(()) } else { Err(format!("{}: should be absent", place())) };
        }
        let input = if case["inNull"].as_bool() == Some(true) { None } else { case["in"].as_str().map(unhex) };
        let tx = TxEnv {
            hash: B256::ZERO,
            index: 0,
            sender: Location::Account(Address::ZERO),
            gas_price: U256::ZERO,
            gas_limit: 0,
            is_remasc: false,
            local_call: false,
        };
        let call = PrecompileCall {
            address,
            input: input.as_deref(),
            kind: CallKind::Direct,
            caller: Address::ZERO,
            value: U256::ZERO,
            depth: 0,
            tx_hash: B256::ZERO,
            tx: &tx,
            transaction: None,
            block: &block,
        };
        let store = Arc::new(MemoryTrieStore::default());
        let mut state = WorldState::new(Trie::empty(store), Arc::new(CodeCache::default()));
        let mut host = PrecompileHost { state: &mut state, ancestors: &self.chain };
        let skipped = case["skipped"].is_string();
        let mut price = None;
        let result = self.precompiles.call(&call, &mut host, &mut |gas| {
            price = Some(gas);
            !skipped
        });
        let expected_price = case["gas"].as_u64();
        if price != expected_price {
            return Err(format!("{}: expected gas {expected_price:?}, got {price:?}", place()));
        }
        let got = match (&result, skipped) {
            (Err(PrecompileError::OutOfGas), true) => return Ok(()),
            (Ok(output), false) => (true, hex::encode(output.clone().unwrap_or_default())),
            (Err(PrecompileError::Threw { .. } | PrecompileError::PriceThrew { .. }), false) => (false, String::new()),
            _ => return Err(format!("{}: {result:?}", place())),
        };
        let expected = (case["ok"].as_bool().unwrap(), case["out"].as_str().unwrap_or_default().to_owned());
        if got == expected { Ok(()) } else { Err(format!("{}: expected {expected:?}, got {got:?}", place())) }
    }
}

#[test]
fn vectors_precompiles_run_and_available() {
    let Some(cases) = vectors("precompiles") else { return };
    let cases: Vec<Value> = cases.collect();
    let configs = configs();
    let mut tally = Tally::new("precompiles");

    // The block header contract looks at these; without them nothing stands below the executing block.
    let mut chain = MemoryChain::default();
    let mut parent = None;
    for case in cases.iter().filter(|case| text(case, "kind") == "chain") {
        let rules = ChainSpec::mainnet().with_fixed_rules(configs[text(case, "config")]);
        for encoded in case["headers"].as_array().unwrap() {
            let header = BlockHeader::decode(&unhex(encoded.as_str().unwrap()), &rules).unwrap();
            chain.add(Block { header: header.clone(), transactions: Vec::new(), uncles: Vec::new() });
            parent = Some(header);
        }
        tally.case(Ok(()));
    }
    let Some(parent) = parent else { return tally.finish() };
    let spec = Arc::new(ChainSpec::regtest());
    let setting = Setting { configs, precompiles: RskPrecompiles::new(spec), chain, parent };

    for case in &cases {
        match text(case, "kind") {
            "run" => tally.case(setting.run(case)),
            "available" => {
                let config = text(case, "config");
                for (low, expected) in
                    case.as_object().unwrap().iter().filter(|(key, _)| key.len() != 4 && *key != "config")
                {
                    let found = Precompile::at(&address(low), setting.configs[config]).is_some();
                    tally.equal(&format!("{config} {low}"), found, expected.as_bool().unwrap());
                }
            }
            "chain" => {}
            other => tally.case(Err(format!("unknown kind {other}"))),
        }
    }
    tally.finish();
}
