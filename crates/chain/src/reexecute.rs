//! Stored blocks executed again, on states from wherever the caller has them.
//!
//! Nothing is stored and nothing is chosen: the block was valid when it came. What its header says is compared again all the
//! same, so a state that lacks something or is another one is found at the block where it matters.

use std::sync::Arc;

use rhizome_executor::BlockExecutor;
use rhizome_primitives::{B256, Block, RecoveredBlock};
use rhizome_storage::{BlockRecord, StorageError};
use rhizome_trie::{NodeBatch, Trie};

use crate::chain::Chain;
use crate::error::{ChainError, Failure, Result};
use crate::recover;

/// What executing a stored block again gave.
#[derive(Debug)]
pub struct Reexecuted {
    /// The state after the block. Its new nodes are in no store.
    pub state: Trie,
    /// The nodes that the block made.
    pub nodes: NodeBatch,
    /// Gas used.
    pub gas_used: u64,
}

/// Executes stored blocks again.
#[derive(Debug)]
pub struct Reexecution<'a> {
    chain: &'a Chain,
    executor: BlockExecutor,
}

impl<'a> Reexecution<'a> {
    /// With nothing remembered from earlier blocks, code neither: the first block reads from its state all that it needs.
    pub fn new(chain: &'a Chain) -> Self {
        Self { chain, executor: BlockExecutor::new(Arc::clone(&chain.spec)) }
    }

    /// Executes a block on its parent's state and compares what its header says.
    ///
    /// # Errors
    /// When the state or the stored chain cannot be read, or the block does not give what its header says.
    pub fn run(&self, block: &RecoveredBlock, parent_state: &Trie) -> Result<Reexecuted> {
        let header = &block.block.header;
        let (number, hash) = (header.number, header.hash());
        let fault = |error| match Failure::execution(error, number, hash) {
            Failure::Fault(fault) => fault,
            Failure::Invalid(verdict) => differs(number, hash, &verdict.to_string()),
        };
        let outcome = self.executor.execute(block, parent_state, &*self.chain.ancestors).map_err(fault)?;
        let state = self.executor.commit(header, &outcome, parent_state).map_err(fault)?;
        Ok(Reexecuted { nodes: state.commit(), state, gas_used: outcome.gas_used })
    }
}

/// A stored block, ready to be executed again.
#[derive(Debug)]
pub struct StoredBlock {
    /// The block with its senders.
    pub block: RecoveredBlock,
    /// Its parent.
    pub parent: BlockRecord,
    /// Whether it is on the main chain.
    pub main: bool,
}

impl Chain {
    /// The stored blocks of a height, those beside the main chain too, with their senders; block 0, which is never executed, is
    /// left out.
    ///
    /// # Errors
    /// When the store fails or holds damaged data.
    pub fn stored_blocks(&self, number: u64) -> Result<Vec<StoredBlock>> {
        let blocks = self.stores.blocks();
        let mut found = Vec::new();
        for entry in blocks.at_height(number)?.into_iter().filter(|entry| entry.record.number > 0) {
            let hash = entry.record.hash;
            let damaged = |what: &str| StorageError::Corrupt { what: format!("block {number} ({hash}): {what}") };
            let encoded = blocks.block(&hash)?.ok_or_else(|| damaged("no header or body"))?;
            let block =
                Block::decode_bytes(&encoded.into(), &*self.spec).map_err(|error| damaged(&error.to_string()))?;
            let parent = blocks.record(&block.header.parent_hash)?.ok_or_else(|| damaged("no parent"))?;
            let senders = recover::recover_batch(&[&block], &self.phases).pop().unwrap_or_else(|| Ok(Vec::new()));
            let senders = senders.map_err(|verdict| differs(number, hash, &verdict.to_string()))?;
            found.push(StoredBlock { block: RecoveredBlock { block, senders }, parent, main: entry.main });
        }
        Ok(found)
    }
}

fn differs(number: u64, hash: B256, verdict: &str) -> ChainError {
    ChainError::Internal { number, hash, what: format!("the stored block does not execute as it did: {verdict}") }
}
