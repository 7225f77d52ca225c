//! The state of block 0, and the block itself (rskj `GenesisLoaderImpl`).
//!
//! Genesis is not executed: accounts, code and storage are written straight into an empty trie. Where RSKIP-126 starts at
//! block 0, the precompiled contracts that exist there get their accounts as at any other activation block.

use std::sync::Arc;

use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::{Block, Bytes};
use rhizome_trie::{Trie, TrieStore};

use crate::Fault;
use crate::precompiles::{GENESIS_ADDRESSES, RULE_ADDRESSES};
use crate::state::{CodeCache, WorldState};

/// Builds the state trie of block 0. Its nodes are new: the caller saves them.
///
/// # Errors
/// [`Fault`] when the store fails.
pub fn genesis_state(spec: &ChainSpec, store: Arc<dyn TrieStore>) -> Result<Trie, Fault> {
    let empty = Trie::empty(store);
    let mut state = WorldState::new(empty.clone(), Arc::new(CodeCache::default()));
    for account in &spec.genesis.alloc {
        let address = account.address;
        state.create_account(address, false)?;
        if let Some(contract) = &account.contract {
            state.setup_contract(address);
            state.save_code(address, contract.code.clone())?;
            for (slot, value) in &contract.storage {
                state.set_cell(address, slot, Some(Bytes::clone(value)))?;
            }
        }
        state.add_balance(address, account.balance)?;
        state.set_nonce(address, account.nonce)?;
    }
    if spec.is_activating(Rskip::R126, 0) {
        setup_precompiles(spec, 0, &mut state)?;
    }
    Ok(empty.apply(&state.changes())?)
}

/// Block 0, whose header states the root of `state` unless the network fixes another one.
pub fn genesis_block(spec: &ChainSpec, state: &Trie) -> Block {
    Block { header: spec.genesis_header(state.root_hash()), transactions: Vec::new(), uncles: Vec::new() }
}

/// Gives the precompiled contracts their accounts and markers in the block that activates them
/// (`BlockExecutor.maintainPrecompiledContractStorageRoots`).
///
/// The original ones keep a balance that they have; a later one's account is written anew and loses it.
pub(crate) fn setup_precompiles(spec: &ChainSpec, number: u64, state: &mut WorldState) -> Result<(), Fault> {
    if spec.is_activating(Rskip::R126, number) {
        for address in GENESIS_ADDRESSES {
            if !state.exists(address)? {
                state.create_account(address, false)?;
            }
            state.setup_contract(address);
        }
    }
    for (address, rule) in RULE_ADDRESSES {
        if spec.is_activating(rule, number) {
            state.create_account(address, false)?;
            state.setup_contract(address);
        }
    }
    Ok(())
}
