//! Block 0: never executed, built from the chain's definition.

use std::sync::Arc;

use rhizome_chainspec::ChainSpec;
use rhizome_executor::genesis::{genesis_block, genesis_state};
use rhizome_primitives::{B256, Block, Bloom};
use rhizome_storage::{BlockRecord, ExecutedBlock, StorageError, Stores, WriteBatch};
use rhizome_trie::{MemoryTrieStore, NodeBatch};

use crate::error::{ChainError, Result};

/// The genesis block with its state.
#[derive(Debug)]
pub struct GenesisBlock {
    block: Block,
    state_root: B256,
    nodes: NodeBatch,
}

impl GenesisBlock {
    /// Builds a chain's block 0 and the state it starts from.
    ///
    /// # Errors
    /// When the state cannot be built.
    pub fn new(spec: &ChainSpec) -> Result<Self> {
        let state = genesis_state(spec, Arc::new(MemoryTrieStore::new())).map_err(|fault| ChainError::Internal {
            number: 0,
            hash: B256::ZERO,
            what: format!("the genesis state cannot be built: {fault}"),
        })?;
        Ok(Self { block: genesis_block(spec, &state), state_root: state.root_hash(), nodes: state.commit() })
    }

    /// The block's hash.
    pub fn hash(&self) -> B256 {
        self.block.hash()
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// The unitrie root of its state.
    pub fn state_root(&self) -> B256 {
        self.state_root
    }

    /// Puts block and state into empty stores and makes them durable.
    pub(crate) fn write(&self, stores: &Stores) -> Result<()> {
        stores.nodes().put_batch(self.nodes.records()).map_err(StorageError::from)?;
        let record = BlockRecord {
            number: 0,
            hash: self.hash(),
            state_root: self.state_root,
            total_difficulty: self.block.cumulative_difficulty().value(),
        };
        let mut batch = WriteBatch::new();
        let executed = ExecutedBlock {
            record,
            encoding: &self.block.encode(),
            transactions: &[],
            receipts: &[],
            logs_bloom: Bloom::ZERO,
        };
        stores.blocks().add(&mut batch, &executed)?;
        stores.blocks().set_head(&mut batch, &record.hash, &[(0, record.hash)], &[]);
        stores.blocks().write(batch)?;
        Ok(stores.commit()?)
    }
}
