//! The stores of one chain as a whole, and the order in which they become durable.
//!
//! The order is the crate's main promise (design §1.5): trie nodes are written and synced, then the block data of the same
//! interval goes in one atomic, synced batch whose last entry is the head pointer. A crash between the two leaves nodes that
//! nothing refers to; a crash before leaves nothing. So the head that is found after any crash has its state, and no tool is
//! needed.

use std::sync::Arc;

use parking_lot::Mutex;
use rhizome_primitives::B256;
use rhizome_trie::{MemoryTrieStore, NodeBatch, TrieStore};

use crate::blocks::BlockStore;
use crate::epochs::{Collector, EpochStore, GcControl, GcOptions, GcSummary, Pin};
use crate::error::{Result, StorageError};
use crate::kv::KvStore;
use crate::memory::MemoryKv;
use crate::pending::{KvLayer, NodeLayer, PendingKv, PendingNodes};
use crate::record::BlockRecord;

/// Trie nodes and block data of one chain.
#[derive(Debug)]
pub struct Stores {
    nodes: Arc<PendingNodes>,
    data: Arc<PendingKv>,
    blocks: BlockStore,
    /// The epochs under the nodes, where they are kept in epochs.
    epochs: Option<Arc<EpochStore>>,
    /// Rotates and collects them, where that is on.
    collector: Option<Collector>,
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
        let nodes = Arc::new(PendingNodes::new(nodes));
        Self { nodes, data, blocks, epochs: None, collector: None, poison: Mutex::new(None) }
    }

    /// Stores whose nodes are kept in epochs; with `gc` old states are given up.
    ///
    /// # Errors
    /// When the options make no sense.
    pub fn over_epochs(epochs: EpochStore, data: Arc<dyn KvStore>, gc: Option<(GcOptions, GcControl)>) -> Result<Self> {
        let epochs = Arc::new(epochs);
        let mut stores = Self::new(Arc::clone(&epochs) as Arc<dyn TrieStore>, data);
        stores.collector =
            gc.map(|(options, control)| Collector::new(Arc::clone(&epochs), options, control)).transpose()?;
        stores.epochs = Some(epochs);
        Ok(stores)
    }

    /// Stores that live in memory.
    pub fn memory() -> Self {
        Self::new(Arc::new(MemoryTrieStore::new()), Arc::new(MemoryKv::new()))
    }

    /// The store that tries read from and write to.
    pub fn nodes(&self) -> Arc<dyn TrieStore> {
        Arc::clone(&self.nodes) as Arc<dyn TrieStore>
    }

    /// Adds a tree's new nodes. What is read from [`Stores::nodes`] shows them at once.
    pub fn put_nodes(&self, nodes: NodeBatch) {
        self.nodes.put_owned(nodes.into_records());
    }

    /// Blocks and indexes, with what is not durable yet.
    pub fn blocks(&self) -> &BlockStore {
        &self.blocks
    }

    /// The epochs, where nodes are kept in epochs.
    pub fn epochs(&self) -> Option<&Arc<EpochStore>> {
        self.epochs.as_ref()
    }

    /// States of blocks from this height on are whole. Older ones may lack nodes even where their root is there.
    pub fn complete_from(&self) -> u64 {
        self.epochs.as_ref().map_or(0, |epochs| epochs.complete_from())
    }

    /// Keeps the state of a block whole while the pin lives; none when it is not whole any more.
    pub fn pin(&self, block: &BlockRecord) -> Option<Pin> {
        match &self.epochs {
            Some(epochs) => epochs.pin(block.number, block.state_root),
            None => Some(Pin::needless(block.number, block.state_root)),
        }
    }

    /// The blocks that are durable.
    pub fn durable_blocks(&self) -> BlockStore {
        BlockStore::new(Arc::clone(self.data.engine()))
    }

    /// Waits for a collection under way and runs those that are due; none where old states are not given up. To be called
    /// while nothing is written.
    ///
    /// # Errors
    /// When an engine fails.
    pub fn settle(&self) -> Result<Option<GcSummary>> {
        let Some(collector) = &self.collector else { return Ok(None) };
        collector.settle(&self.durable_blocks(), &self.blocks).map(Some)
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
        let written = self.write_in_order(&sealed).and_then(|()| match &self.collector {
            Some(collector) => collector.after_write(&self.durable_blocks(), &self.blocks),
            None => Ok(()),
        });
        if let Err(error) = &written {
            self.poison.lock().get_or_insert_with(|| error.to_string());
            return written;
        }
        self.nodes.release(sealed.nodes);
        self.data.release();
        Ok(())
    }

    fn write_in_order(&self, sealed: &Sealed) -> Result<()> {
        if !sealed.nodes.nodes().is_empty() {
            self.nodes.engine().put_batch(sealed.nodes.nodes())?;
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
        Ok(*root == rhizome_primitives::EMPTY_TRIE_HASH || self.nodes.contains(root)?)
    }
}
