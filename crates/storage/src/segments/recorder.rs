//! What execution reads and makes, recorded under the trie.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rhizome_primitives::map::{B256Map, B256Set};
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{StoreError, StoreStats, TrieStore};

/// What was read and written between two calls of [`RecordingStore::take`].
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// Records asked for, repeated ones included.
    pub reads: u64,
    /// The records that were there, each once, in the order in which they were first asked for.
    pub touched: Vec<(B256, Bytes)>,
    /// The records that were written and not known to the recorder before, in their order.
    pub made: Vec<(B256, Bytes)>,
}

/// A store over another one that remembers what passes. What is written stays in memory and never reaches the store below.
#[derive(Debug)]
pub struct RecordingStore {
    inner: Arc<dyn TrieStore>,
    made: RwLock<B256Map<Bytes>>,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    footprint: Footprint,
    seen: B256Set,
}

impl Record {
    fn read(&mut self, hash: &B256, found: Option<&Bytes>) {
        self.footprint.reads += 1;
        if let Some(found) = found
            && self.seen.insert(*hash)
        {
            self.footprint.touched.push((*hash, found.clone()));
        }
    }
}

impl RecordingStore {
    /// A recorder with an empty record.
    pub fn new(inner: Arc<dyn TrieStore>) -> Self {
        Self { inner, made: RwLock::default(), record: Mutex::default() }
    }

    /// Hands the record out and begins a new one. What was written stays readable.
    pub fn take(&self) -> Footprint {
        std::mem::take(&mut *self.record.lock()).footprint
    }
}

impl TrieStore for RecordingStore {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let made = self.made.read().get(hash).cloned();
        let found = if made.is_some() { made } else { self.inner.get(hash)? };
        self.record.lock().read(hash, found.as_ref());
        Ok(found)
    }

    fn get_many(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut found: Vec<Option<Bytes>> = {
            let made = self.made.read();
            hashes.iter().map(|hash| made.get(hash).cloned()).collect()
        };
        let (places, missing): (Vec<usize>, Vec<B256>) =
            hashes.iter().enumerate().filter(|(place, _)| found[*place].is_none()).unzip();
        for (place, value) in places.into_iter().zip(self.inner.get_many(&missing)?) {
            found[place] = value;
        }
        let mut record = self.record.lock();
        for (hash, found) in hashes.iter().zip(&found) {
            record.read(hash, found.as_ref());
        }
        Ok(found)
    }

    /// Not a use of the node, and not recorded.
    fn contains(&self, hash: &B256) -> Result<bool, StoreError> {
        Ok(self.made.read().contains_key(hash) || self.inner.contains(hash)?)
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        let mut made = self.made.write();
        let mut record = self.record.lock();
        for (hash, node) in nodes {
            if made.insert(*hash, node.clone()).is_none() {
                record.footprint.made.push((*hash, node.clone()));
            }
        }
        Ok(())
    }

    /// Nothing to do: what was written is in memory.
    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn stats(&self) -> StoreStats {
        self.inner.stats()
    }
}
