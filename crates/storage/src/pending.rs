//! Writes that are visible at once and durable later: the layers between execution and the engines.
//!
//! A block's nodes and data enter the *open* layer. [`crate::Stores::seal`] turns the open layer into the *sealed* one, which a
//! writer thread makes durable (nodes first, block data and head last) while the next blocks fill a new open layer. Reads see
//! open, then sealed, then engine, so nothing above can tell what is durable. At most one layer is sealed at a time: memory is
//! bounded by two flush intervals.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use rhizome_primitives::map::B256Map;
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{StoreError, StoreStats, TrieStore};

use crate::error::Result;
use crate::kv::{Column, Entry, KvStore, WriteBatch};

/// Trie nodes on their way to an engine, in the order in which they came: what was written together is read together, and an
/// engine that keeps the order profits.
#[derive(Debug, Default)]
pub(crate) struct NodeLayer {
    nodes: Vec<(B256, Bytes)>,
    places: B256Map<u32>,
}

impl NodeLayer {
    fn get(&self, hash: &B256) -> Option<&Bytes> {
        self.places.get(hash).map(|place| &self.nodes[*place as usize].1)
    }

    /// Adds nodes, each once, and gives how many bytes are new here.
    fn extend(&mut self, nodes: impl ExactSizeIterator<Item = (B256, Bytes)>) -> u64 {
        self.nodes.reserve(nodes.len());
        self.places.reserve(nodes.len());
        let mut bytes = 0;
        for (hash, node) in nodes {
            let place = u32::try_from(self.nodes.len()).expect("a layer is sealed long before four billion nodes");
            if *self.places.entry(hash).or_insert(place) == place {
                bytes += node.len() as u64;
                self.nodes.push((hash, node));
            }
        }
        bytes
    }

    /// The empty layer that keeps the memory of this one.
    fn cleared(mut self) -> Self {
        self.nodes.clear();
        self.places.clear();
        self
    }

    /// The nodes in the order in which they came.
    pub(crate) fn nodes(&self) -> &[(B256, Bytes)] {
        &self.nodes
    }
}

/// A [`TrieStore`] that keeps new nodes in memory until the writer takes them.
#[derive(Debug)]
pub struct PendingNodes {
    engine: Arc<dyn TrieStore>,
    layers: RwLock<NodeLayers>,
    open_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct NodeLayers {
    open: NodeLayer,
    sealed: Option<Arc<NodeLayer>>,
    /// An empty layer for the next seal: fresh memory costs more than what is written to it.
    spare: NodeLayer,
}

impl NodeLayers {
    fn get(&self, hash: &B256) -> Option<Bytes> {
        self.open.get(hash).or_else(|| self.sealed.as_ref().and_then(|layer| layer.get(hash))).cloned()
    }
}

impl PendingNodes {
    /// Layers over an engine.
    pub fn new(engine: Arc<dyn TrieStore>) -> Self {
        Self { engine, layers: RwLock::default(), open_bytes: AtomicU64::new(0) }
    }

    /// The engine below the layers.
    pub fn engine(&self) -> &Arc<dyn TrieStore> {
        &self.engine
    }

    /// Bytes of nodes in the open layer.
    pub fn open_bytes(&self) -> u64 {
        self.open_bytes.load(Ordering::Relaxed)
    }

    /// Closes the open layer. The caller has released the layer sealed before.
    pub(crate) fn seal(&self) -> Arc<NodeLayer> {
        let mut layers = self.layers.write();
        debug_assert!(layers.sealed.is_none(), "one layer is sealed at a time");
        let next = std::mem::take(&mut layers.spare);
        let sealed = Arc::new(std::mem::replace(&mut layers.open, next));
        layers.sealed = Some(Arc::clone(&sealed));
        self.open_bytes.store(0, Ordering::Relaxed);
        sealed
    }

    /// Forgets the sealed layer, which the engine now holds.
    pub(crate) fn release(&self, layer: Arc<NodeLayer>) {
        self.layers.write().sealed = None;
        // Emptied outside the lock: it is many values.
        if let Some(layer) = Arc::into_inner(layer) {
            let spare = layer.cleared();
            self.layers.write().spare = spare;
        }
    }

    /// Adds nodes; they are durable with the layer.
    pub(crate) fn put_owned(&self, nodes: Vec<(B256, Bytes)>) {
        let bytes = self.layers.write().open.extend(nodes.into_iter());
        self.open_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Forgets what is not durable.
    pub(crate) fn discard(&self) {
        *self.layers.write() = NodeLayers::default();
        self.open_bytes.store(0, Ordering::Relaxed);
    }
}

impl TrieStore for PendingNodes {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let found = self.layers.read().get(hash);
        if found.is_some() {
            return Ok(found);
        }
        // A layer is released only after the engine has it, so what was in no layer a moment ago is in the engine or nowhere.
        self.engine.get(hash)
    }

    fn get_many(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut found: Vec<Option<Bytes>> = {
            let layers = self.layers.read();
            hashes.iter().map(|hash| layers.get(hash)).collect()
        };
        let (places, missing): (Vec<usize>, Vec<B256>) =
            hashes.iter().enumerate().filter(|(place, _)| found[*place].is_none()).unzip();
        if !missing.is_empty() {
            for (place, value) in places.into_iter().zip(self.engine.get_many(&missing)?) {
                found[place] = value;
            }
        }
        Ok(found)
    }

    fn contains(&self, hash: &B256) -> Result<bool, StoreError> {
        if self.layers.read().get(hash).is_some() {
            return Ok(true);
        }
        self.engine.contains(hash)
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        let bytes = self.layers.write().open.extend(nodes.iter().cloned());
        self.open_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Flushes the engine. Layers become durable through [`crate::Stores::seal`] only, which knows the order.
    fn flush(&self) -> Result<(), StoreError> {
        self.engine.flush()
    }

    fn stats(&self) -> StoreStats {
        self.engine.stats()
    }
}

/// Block data on its way to an engine: the last change of each key, `None` a deletion.
#[derive(Debug, Default)]
pub(crate) struct KvLayer {
    tables: [BTreeMap<Vec<u8>, Option<Bytes>>; Column::ALL.len()],
}

impl KvLayer {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.iter().all(BTreeMap::is_empty)
    }

    /// Everything in one batch, the head pointer as its last entry.
    pub(crate) fn batch(&self) -> WriteBatch {
        let operations = Column::ALL
            .iter()
            .flat_map(|&column| {
                self.tables[column.index()].iter().map(move |(key, value)| (column, key.clone(), value.clone()))
            })
            .collect();
        WriteBatch { operations }
    }
}

/// A [`KvStore`] that keeps writes in memory until the writer takes them.
#[derive(Debug)]
pub struct PendingKv {
    engine: Arc<dyn KvStore>,
    layers: RwLock<KvLayers>,
    open_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct KvLayers {
    open: KvLayer,
    sealed: Option<Arc<KvLayer>>,
}

impl PendingKv {
    /// Layers over an engine.
    pub fn new(engine: Arc<dyn KvStore>) -> Self {
        Self { engine, layers: RwLock::default(), open_bytes: AtomicU64::new(0) }
    }

    /// The engine below the layers.
    pub fn engine(&self) -> &Arc<dyn KvStore> {
        &self.engine
    }

    /// Bytes of keys and values in the open layer.
    pub fn open_bytes(&self) -> u64 {
        self.open_bytes.load(Ordering::Relaxed)
    }

    /// Closes the open layer. The caller has released the layer sealed before.
    pub(crate) fn seal(&self) -> Arc<KvLayer> {
        let mut layers = self.layers.write();
        debug_assert!(layers.sealed.is_none(), "one layer is sealed at a time");
        let sealed = Arc::new(std::mem::take(&mut layers.open));
        layers.sealed = Some(Arc::clone(&sealed));
        self.open_bytes.store(0, Ordering::Relaxed);
        sealed
    }

    /// Forgets the sealed layer, which the engine now holds.
    pub(crate) fn release(&self) {
        // Freed behind the lock: it is many values.
        let released = self.layers.write().sealed.take();
        drop(released);
    }

    /// Forgets what is not durable.
    pub(crate) fn discard(&self) {
        *self.layers.write() = KvLayers::default();
        self.open_bytes.store(0, Ordering::Relaxed);
    }
}

impl KvStore for PendingKv {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Bytes>> {
        {
            let layers = self.layers.read();
            let open = layers.open.tables[column.index()].get(key);
            if let Some(value) =
                open.or_else(|| layers.sealed.as_ref().and_then(|layer| layer.tables[column.index()].get(key)))
            {
                return Ok(value.clone());
            }
        }
        self.engine.get(column, key)
    }

    fn range(&self, column: Column, from: &[u8], to: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        if to.is_some_and(|to| to <= from) {
            return Ok(Vec::new());
        }
        // The lock is held over the engine's read, so that a layer cannot move into the engine between the two.
        let layers = self.layers.read();
        let bounds = (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded));
        let mut changes: BTreeMap<&[u8], &Option<Bytes>> = BTreeMap::new();
        for layer in layers.sealed.as_deref().into_iter().chain([&layers.open]) {
            changes.extend(
                layer.tables[column.index()].range::<[u8], _>(bounds).map(|(key, value)| (key.as_slice(), value)),
            );
        }
        // Every deletion can cost one entry of the engine's answer.
        let deleted = changes.values().filter(|value| value.is_none()).count();
        let stored = self.engine.range(column, from, to, limit.saturating_add(deleted))?;
        let mut merged: BTreeMap<Vec<u8>, Bytes> = stored.into_iter().collect();
        for (key, value) in changes {
            match value {
                Some(value) => merged.insert(key.to_vec(), value.clone()),
                None => merged.remove(key),
            };
        }
        Ok(merged.into_iter().take(limit).collect())
    }

    /// Makes the batch visible. It becomes durable through [`crate::Stores::seal`] only, which knows the order.
    fn write(&self, batch: WriteBatch) -> Result<()> {
        let mut layers = self.layers.write();
        let mut bytes = 0;
        for (column, key, value) in batch.operations {
            bytes += key.len() + value.as_ref().map_or(0, |value| value.len());
            layers.open.tables[column.index()].insert(key, value);
        }
        self.open_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }
}
