//! The development network, whose Bridge has no federation (rskj's `BridgeDevNetConstants`): what of it a block can hold.
//!
//! No vector has this network. What is expected was read from rskj: `BridgeUtils.isFreeBridgeTx` and `Bridge.init` throw where
//! nothing catches it, REMASC's payment throws inside the contract.
#![allow(clippy::unwrap_used, missing_docs)]

mod memory_chain;

use std::sync::Arc;

use memory_chain::MemoryChain;
use rhizome_chainspec::{ActivationHeights, ChainSpec, GenesisAccount, GenesisContract, Network, Rskip};
use rhizome_executor::block::{BlockExecutor, ExecutionError, ExecutionOutcome};
use rhizome_executor::genesis::{genesis_block, genesis_state};
use rhizome_primitives::signature::Signature;
use rhizome_primitives::transaction::{TransactionFields, remasc_transaction};
use rhizome_primitives::{
    Address, B256, BRIDGE_ADDRESS, Block, BlockHeader, Bytes, HeaderFields, HeaderRules, RecoveredBlock, Sender,
    Transaction, U256, address, hex,
};
use rhizome_trie::{MemoryTrieStore, Trie};

const SENDER: Address = address!("00000000000000000000000000000000000000aa");
const MINER: Address = address!("00000000000000000000000000000000000000bb");
/// Calls the Bridge with all its gas, and would end well whatever came of it.
const CALLER: Address = address!("00000000000000000000000000000000000000c1");
/// Calls the caller with 40,000 gas.
const OUTER: Address = address!("00000000000000000000000000000000000000c2");
const GAS_LIMIT: u64 = 100_000;

struct Devnet {
    spec: Arc<ChainSpec>,
    executor: BlockExecutor,
    chain: MemoryChain,
    state: Trie,
    head: B256,
    number: u64,
    nonce: u64,
}

fn contract(address: Address, code: &[u8]) -> GenesisAccount {
    let contract = GenesisContract { code: Bytes::copy_from_slice(code), storage: Vec::new() };
    GenesisAccount { address, balance: U256::ZERO, nonce: U256::ZERO, contract: Some(contract) }
}

fn number_bytes(number: u64) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes()[number.leading_zeros() as usize / 8..])
}

impl Devnet {
    fn new(paid_bridge: bool) -> Self {
        let mut spec = Network::Devnet.spec();
        let rich = GenesisAccount { address: SENDER, balance: U256::MAX >> 64, nonce: U256::ZERO, contract: None };
        let outer = hex!("600060006000600060007300000000000000000000000000000000000000c1619c40f100");
        spec.genesis.alloc.extend([
            rich,
            contract(CALLER, &hex!("6000600060006000600063010000065af100")),
            contract(OUTER, &outer),
        ]);
        spec.genesis.alloc.sort_by_key(|account| account.address);
        if paid_bridge {
            spec.heights = ActivationHeights::fixed(spec.activations(1).with(Rskip::BridgeTxsPaid));
        }
        let spec = Arc::new(spec);
        let state = genesis_state(&spec, Arc::new(MemoryTrieStore::default())).unwrap();
        let mut chain = MemoryChain::default();
        let head = chain.add(genesis_block(&spec, &state)).hash();
        Self { executor: BlockExecutor::new(Arc::clone(&spec)), spec, chain, state, head, number: 0, nonce: 0 }
    }

    fn transaction(&self, to: Address, gas_price: u64) -> Transaction {
        Transaction::new(TransactionFields {
            nonce: number_bytes(self.nonce),
            gas_price: Some(U256::from(gas_price)),
            gas_limit: number_bytes(GAS_LIMIT),
            to: Some(to),
            value: U256::ZERO,
            data: Bytes::new(),
            chain_id: self.spec.chain_id(),
            // Whose it is was found out before a block is executed.
            signature: Some(Signature { r: U256::from(1), s: U256::from(1), v: 27 }),
        })
    }

    /// Executes the next block, with a call and the payment of the fees, and goes on from it.
    fn mine(&mut self, to: Address, gas_price: u64) -> Result<ExecutionOutcome, ExecutionError> {
        let number = self.number + 1;
        let mut fields = HeaderFields::new(number, self.spec.header_layout(number));
        fields.parent_hash = self.head;
        fields.coinbase = Some(MINER);
        fields.gas_limit = number_bytes(6_800_000);
        let transactions = vec![self.transaction(to, gas_price), remasc_transaction(number)];
        let senders = vec![Sender::Account(SENDER), Sender::Remasc];
        let block = Block { header: BlockHeader::new(fields.clone()), transactions, uncles: Vec::new() };
        let block = RecoveredBlock { block, senders };
        let outcome = self.executor.execute(&block, &self.state, &self.chain)?;
        self.state = self.state.apply(&outcome.changes).unwrap();
        fields.paid_fees = outcome.paid_fees;
        let block = Block { header: BlockHeader::new(fields), ..block.block };
        self.head = self.chain.add(block).hash();
        (self.number, self.nonce) = (number, self.nonce + 1);
        Ok(outcome)
    }
}

fn used(outcome: &ExecutionOutcome) -> u64 {
    outcome.receipts[0].gas_used.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn succeeded(outcome: &ExecutionOutcome, index: usize) -> bool {
    !outcome.receipts[index].status.is_empty()
}

#[test]
fn no_block_holds_a_transaction_to_the_bridge() {
    for paid in [false, true] {
        let refused = Devnet::new(paid).mine(BRIDGE_ADDRESS, 1).unwrap_err();
        let ExecutionError::InvalidBlock(violation) = &refused else { panic!("{refused}") };
        assert_eq!((violation.rule, violation.transaction.map(|(index, _)| index)), ("TransactionExecutor", Some(0)));
    }
}

#[test]
fn a_call_from_code_fails_its_frame_alone() {
    let mut net = Devnet::new(false);
    let failed = net.mine(CALLER, 1).unwrap();
    assert!(!succeeded(&failed, 0) && succeeded(&failed, 1));
    assert_eq!(used(&failed), GAS_LIMIT);
    // The frame around it loses what it gave, and no more.
    let outer = net.mine(OUTER, 1).unwrap();
    assert!(succeeded(&outer, 0));
    assert!((61_000..63_000).contains(&used(&outer)), "{}", used(&outer));
}

#[test]
fn the_reward_transaction_pays_the_labs_alone_and_saves_nothing() {
    let mut net = Devnet::new(false);
    let (maturity, span) = (net.spec.remasc.maturity, net.spec.remasc.synthetic_span);
    assert_eq!((maturity, span), (20, 10));
    let fee = |number: u64| U256::from(21_000 * 1_000_000 * number);
    let mut rewards = U256::ZERO;
    for number in 1..maturity + span + 3 {
        let outcome = net.mine(SENDER, 1_000_000 * number).unwrap();
        assert!(succeeded(&outcome, 0) && succeeded(&outcome, 1));
        assert_eq!(outcome.paid_fees, fee(number));
        let logs = &outcome.receipts[1].logs;
        let Some(candidate) = number.checked_sub(maturity).filter(|candidate| *candidate > 0) else { continue };
        if candidate < span {
            rewards += fee(candidate);
            assert!(logs.is_empty());
            continue;
        }
        // The balance of the last block that ended well, and the candidate's own fees.
        let reward = (rewards + fee(candidate)) / U256::from(span);
        let to_labs = (reward / U256::from(5)).to_be_bytes::<32>();
        let digits = to_labs.iter().position(|byte| *byte != 0).unwrap();
        assert_eq!(logs.len(), 1);
        assert_eq!(logs[0].topics[1], net.spec.remasc.labs_address_rskip218.into_word());
        assert!(logs[0].data.ends_with(&to_labs[digits..]));
    }
}
