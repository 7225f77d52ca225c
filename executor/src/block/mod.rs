//! Executes whole blocks.
//!
//! [`BlockExecutor::execute`] runs the transactions on the parent's state and gives receipts and a change set, and
//! [`BlockExecutor::validate`] compares what came out with the header; between the two the caller applies the changes to its
//! trie. [`BlockExecutor::commit`] does both steps at once.
//!
//! The strategy here is the sequential one. A split block (RSKIP-144) runs its lists one after another, each on its own state
//! on top of the parent's, and then looks whether they could have been in each other's way.

mod error;
mod lists;
mod supply;

use std::sync::Arc;

use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, Bloom, Receipt, RecoveredBlock, U256};
use rhizome_trie::{ChangeSet, Trie, ordered_root};

use crate::Fault;
use crate::evm::BlockEnv;
use crate::genesis::setup_precompiles;
use crate::precompiles::{RskPrecompiles, Stopwatch};
use crate::state::{CodeCache, WorldState};

pub use error::{BlockViolation, ExecutionError};

/// What a block did.
#[derive(Debug, Clone)]
pub struct ExecutionOutcome {
    /// A receipt for each transaction, in block order.
    pub receipts: Vec<Receipt>,
    /// Gas used by all transactions.
    pub gas_used: u64,
    /// Fees paid by all transactions, in wei. Not the sum of gas used times price: a failing call of a precompiled contract
    /// pays its whole limit.
    pub paid_fees: U256,
    /// The filters of all receipts together.
    pub logs_bloom: Bloom,
    /// The net effect on the parent's state.
    pub changes: ChangeSet,
}

/// Executes the blocks of a network.
#[derive(Debug)]
pub struct BlockExecutor {
    spec: Arc<ChainSpec>,
    precompiles: RskPrecompiles,
    codes: Arc<CodeCache>,
}

impl BlockExecutor {
    /// An executor with an empty cache of code.
    pub fn new(spec: Arc<ChainSpec>) -> Self {
        Self { precompiles: RskPrecompiles::new(Arc::clone(&spec)), spec, codes: Arc::new(CodeCache::default()) }
    }

    /// The same, with the time of the Bridge measured.
    #[must_use]
    pub fn with_stopwatch(self, watch: Arc<dyn Stopwatch>) -> Self {
        Self { precompiles: self.precompiles.with_stopwatch(watch), ..self }
    }

    /// The network.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// The network's precompiled contracts.
    pub fn precompiles(&self) -> &RskPrecompiles {
        &self.precompiles
    }

    /// The cache of code that all blocks share.
    pub fn codes(&self) -> &Arc<CodeCache> {
        &self.codes
    }

    /// Runs a block's transactions on the state of its parent. The header and the body have passed their rules before.
    ///
    /// # Errors
    /// [`ExecutionError::InvalidBlock`] for a transaction that may not be in the block and for lists that are in each other's
    /// way; [`ExecutionError::Fault`] for the node's own trouble and for a contract that is not built.
    pub fn execute(
        &self,
        block: &RecoveredBlock,
        parent_state: &Trie,
        ancestors: &dyn AncestorProvider,
    ) -> Result<ExecutionOutcome, ExecutionError> {
        let header = &block.block.header;
        let env = self.block_env(header)?;
        let mut state = WorldState::new(parent_state.clone(), Arc::clone(&self.codes));
        setup_precompiles(&self.spec, header.number, &mut state)?;
        let run = lists::Run { block, env: &env, spec: &self.spec, precompiles: &self.precompiles, ancestors };
        let done = run.execute(state)?;
        supply::check(header.number, &done.state)?;
        let logs_bloom = done.receipts.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom);
        Ok(ExecutionOutcome {
            receipts: done.receipts,
            gas_used: done.gas_used,
            paid_fees: done.paid_fees,
            logs_bloom,
            changes: done.state.changes(),
        })
    }

    /// Applies an outcome to the parent's state and checks it against the header. Returns the new state, whose new nodes are
    /// not saved yet.
    ///
    /// # Errors
    /// As [`BlockExecutor::validate`], and [`ExecutionError::Fault`] when the store fails.
    pub fn commit(
        &self,
        header: &BlockHeader,
        outcome: &ExecutionOutcome,
        parent_state: &Trie,
    ) -> Result<Trie, ExecutionError> {
        let state = parent_state.apply(&outcome.changes).map_err(Fault::from)?;
        self.validate(header, outcome, state.root_hash())?;
        Ok(state)
    }

    /// Compares an outcome with the header, in rskj's order (`BlockExecutor.validate`). The state root counts from RSKIP-126
    /// on; headers before state the root of another trie form, and the state of such a block is known by the block alone.
    ///
    /// # Errors
    /// [`ExecutionError::InvalidBlock`] with the first field that differs: `StateRoot`, `ReceiptsRoot`, `LogsBloom`,
    /// `GasUsed` or `PaidFees`.
    pub fn validate(
        &self,
        header: &BlockHeader,
        outcome: &ExecutionOutcome,
        state_root: B256,
    ) -> Result<(), ExecutionError> {
        self.validate_encoded(header, outcome, &encode_all(&outcome.receipts), state_root)
    }

    /// [`BlockExecutor::validate`] for a caller who needs the receipts' encodings anyway.
    ///
    /// # Errors
    /// As [`BlockExecutor::validate`].
    pub fn validate_encoded(
        &self,
        header: &BlockHeader,
        outcome: &ExecutionOutcome,
        receipts: &[Vec<u8>],
        state_root: B256,
    ) -> Result<(), ExecutionError> {
        let activations = self.spec.activations(header.number);
        let unitrie = activations.is_active(Rskip::R126);
        if unitrie && activations.is_active(Rskip::R85) {
            compare(header, "StateRoot", state_root, header.state_root)?;
        }
        compare(header, "ReceiptsRoot", root_of_encoded(receipts, !unitrie), header.receipts_root)?;
        match header.logs_bloom() {
            Some(bloom) if *bloom == outcome.logs_bloom => {}
            bloom => {
                let got = bloom.map_or_else(|| "no bloom".to_owned(), |bloom| bloom.to_string());
                return Err(violation(header, "LogsBloom", outcome.logs_bloom.to_string(), got).into());
            }
        }
        compare(header, "GasUsed", outcome.gas_used, header.gas_used)?;
        compare(header, "PaidFees", outcome.paid_fees, header.paid_fees)
    }

    /// The block as its transactions see it.
    fn block_env(&self, header: &BlockHeader) -> Result<BlockEnv, ExecutionError> {
        let gas_limit = header
            .gas_limit_value()
            .map_err(|error| violation(header, "GasLimitRule", "a gas limit".to_owned(), error.to_string()))?;
        Ok(BlockEnv {
            number: header.number,
            parent_hash: header.parent_hash,
            timestamp: header.timestamp,
            coinbase: header.coinbase.unwrap_or_default(),
            difficulty: header.difficulty().value(),
            gas_limit,
            minimum_gas_price: header
                .minimum_gas_price
                .filter(|price| !price.is_negative())
                .map_or(U256::ZERO, |price| price.into_raw()),
            chain_id: self.spec.chain_id(),
            activations: self.spec.activations(header.number),
        })
    }
}

/// The root over receipts, in the form of the old trie before RSKIP-126.
pub fn receipts_root(receipts: &[Receipt], orchid: bool) -> B256 {
    root_of_encoded(&encode_all(receipts), orchid)
}

fn encode_all(receipts: &[Receipt]) -> Vec<Vec<u8>> {
    receipts.iter().map(Receipt::encode).collect()
}

fn root_of_encoded(receipts: &[Vec<u8>], orchid: bool) -> B256 {
    ordered_root(receipts.iter().map(Vec::as_slice), orchid)
}

fn compare<T: PartialEq + std::fmt::Display>(
    header: &BlockHeader,
    rule: &'static str,
    executed: T,
    stated: T,
) -> Result<(), ExecutionError> {
    if executed == stated {
        return Ok(());
    }
    Err(violation(header, rule, executed.to_string(), stated.to_string()).into())
}

fn violation(header: &BlockHeader, rule: &'static str, expected: String, got: String) -> BlockViolation {
    BlockViolation { rule, number: header.number, hash: header.hash(), expected, got, transaction: None }
}

/// A violation by one of a block's transactions.
fn violation_at(block: &Block, index: usize, rule: &'static str, expected: String, got: String) -> BlockViolation {
    let transaction = block.transactions.get(index).map(|transaction| (index, transaction.hash()));
    BlockViolation { transaction, ..violation(&block.header, rule, expected, got) }
}
