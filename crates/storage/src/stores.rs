//! The stores of one chain as a whole, and the order in which they become durable.
//!
//! The order is the crate's main promise (design §1.5): trie nodes are written and synced, then the block data of the same
//! interval goes in one atomic, synced batch whose last entry is the head pointer. A crash between the two leaves nodes that
//! nothing refers to; a crash before leaves nothing. So the head that is found after any crash has its state, and no tool is
//! needed.

use std::sync::Arc;

use parking_lot::Mutex;
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{MemoryTrieStore, TrieStore};

use crate::blocks::BlockStore;
use crate::error::{Result, StorageError};
use crate::kv::KvStore;
use crate::memory::MemoryKv;
use crate::pending::{KvLayer, NodeLayer, PendingKv, PendingNodes};

/// Trie nodes and block data of one chain.
#[derive(Debug)]
pub struct Stores {
    nodes: Arc<PendingNodes>,
    data: Arc<PendingKv>,
    blocks: BlockStore,
    /// The first failed write. After it nothing more is written: what is in memory may already rest on what was lost.
    poison: Mutex<Option<String>>,
}

/// A closed layer of writes that waits to become durable.
#[derive(Debug)]
#[must_use = "a sealed layer becomes durable only when it is written"]
pub struct Sealed {
    nodes: Arc<NodeLayer>,
    data: Arc<KvLayer>,
}

impl Stores {
    /// Stores over two engines.
    pub fn new(nodes: Arc<dyn TrieStore>, data: Arc<dyn KvStore>) -> Self {
        let data = Arc::new(PendingKv::new(data));
        let blocks = BlockStore::new(Arc::clone(&data) as Arc<dyn KvStore>);
        Self { nodes: Arc::new(PendingNodes::new(nodes)), data, blocks, poison: Mutex::new(None) }
    }

    /// Stores that live in memory.
    pub fn memory() -> Self {
        Self::new(Arc::new(MemoryTrieStore::new()), Arc::new(MemoryKv::new()))
    }

    /// The store that tries read from and write to.
    pub fn nodes(&self) -> Arc<dyn TrieStore> {
        Arc::clone(&self.nodes) as Arc<dyn TrieStore>
    }

    /// Blocks and indexes, with what is not durable yet.
    pub fn blocks(&self) -> &BlockStore {
        &self.blocks
    }

    /// Bytes that wait in the open layer.
    pub fn open_bytes(&self) -> u64 {
        self.nodes.open_bytes() + self.data.open_bytes()
    }

    /// Closes the open layer. To be called between blocks, and only after the layer before was written.
    pub fn seal(&self) -> Sealed {
        // Nodes last: a node that is sealed too late belongs to block data that is sealed too late as well.
        let data = self.data.seal();
        Sealed { nodes: self.nodes.seal(), data }
    }

    /// Makes a sealed layer durable: nodes, then block data with the head.
    ///
    /// # Errors
    /// When an engine fails, and at every call after that.
    pub fn write(&self, sealed: Sealed) -> Result<()> {
        self.healthy()?;
        let written = self.write_in_order(&sealed);
        if let Err(error) = &written {
            self.poison.lock().get_or_insert_with(|| error.to_string());
            return written;
        }
        self.nodes.release();
        self.data.release();
        Ok(())
    }

    fn write_in_order(&self, sealed: &Sealed) -> Result<()> {
        if !sealed.nodes.is_empty() {
            let nodes: Vec<(B256, Bytes)> = sealed.nodes.iter().map(|(hash, node)| (*hash, node.clone())).collect();
            self.nodes.engine().put_batch(&nodes)?;
            self.nodes.engine().flush()?;
        }
        if !sealed.data.is_empty() {
            self.data.engine().write(sealed.data.batch())?;
        }
        Ok(())
    }

    /// Makes everything durable that was written before the call.
    ///
    /// # Errors
    /// As of [`Stores::write`].
    pub fn commit(&self) -> Result<()> {
        self.healthy()?;
        let sealed = self.seal();
        self.write(sealed)
    }

    /// Forgets everything that is not durable, so that reads show what a restart would find.
    pub fn discard_pending(&self) {
        self.data.discard();
        self.nodes.discard();
    }

    /// # Errors
    /// When an earlier write failed.
    pub fn healthy(&self) -> Result<()> {
        match &*self.poison.lock() {
            Some(cause) => Err(StorageError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// Whether the root node of a state is there; the empty state needs none.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn has_state(&self, root: &B256) -> Result<bool> {
        Ok(*root == rhizome_primitives::EMPTY_TRIE_HASH || self.nodes.get(root)?.is_some())
    }
}
