//! What the storage crate asks of a trie engine beyond [`TrieStore`], and how engines are opened.
//!
//! The collector needs to know where a record lies, conversion needs all records, and a store that will only be read wants
//! to be left in its best form. Callers above this crate see [`TrieStore`] only.

use std::path::Path;
use std::sync::Arc;

use rhizome_primitives::B256;
use rhizome_trie::{MemoryTrieStore, StoreError, TrieStore};

use crate::datadir::TrieEngine;
use crate::error::{Result, StorageError};
use crate::flat::FlatTrieStore;
#[cfg(feature = "rocksdb")]
use crate::rocks::{RocksCache, RocksMemory, RocksTrieStore};

pub use rhizome_flatdb::VerifyPolicy;

/// Where a record lies in its engine: the same for all time, and no other record's.
pub type Place = u64;

/// Receives the answer to one of many look-ups: its index, the record, and its place where the engine has places.
pub type Visit<'a> = &'a mut dyn FnMut(usize, &[u8], Option<Place>);

/// An engine of trie nodes.
pub trait NodeEngine: TrieStore {
    /// Looks many hashes up and visits the records that are there, each at most once, in the order of the hashes. A record
    /// visited by an engine with places hashes to its key.
    ///
    /// # Errors
    /// When the engine fails.
    fn visit_many(&self, hashes: &[B256], visit: Visit<'_>) -> Result<(), StoreError>;

    /// [`TrieStore::get`] for a hash that the caller knows to be there. An engine that can save work by that knowledge may
    /// answer an absent hash with another record.
    ///
    /// # Errors
    /// When the engine fails.
    fn get_known(&self, hash: &B256) -> Result<Option<rhizome_primitives::Bytes>, StoreError> {
        self.get(hash)
    }

    /// Visits the record of a hash that the caller knows to be there, as of [`NodeEngine::get_known`], without copying it where
    /// the engine can. Returns whether it was there.
    ///
    /// # Errors
    /// When the engine fails.
    fn visit_known(&self, hash: &B256, visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        let found = self.get_known(hash)?;
        found.iter().for_each(|record| visit(record));
        Ok(found.is_some())
    }

    /// [`TrieStore::get_many`] for hashes that the caller knows to be there, as of [`NodeEngine::get_known`].
    ///
    /// # Errors
    /// When the engine fails.
    fn get_many_known(&self, hashes: &[B256]) -> Result<Vec<Option<rhizome_primitives::Bytes>>, StoreError> {
        self.get_many(hashes)
    }

    /// Whether [`NodeEngine::may_contain`] is cheap and its no certain.
    fn tells_absence(&self) -> bool {
        false
    }

    /// Whether there may be a record under a hash.
    fn may_contain(&self, _hash: &B256) -> bool {
        true
    }

    /// Announces that records from all over the engine will be read, so that an engine whose files can be read in order does so.
    /// `go_on` is told the bytes of each piece and says whether to go on.
    fn read_ahead(&self, _go_on: &mut dyn FnMut(u64) -> bool) {}

    /// Announces a look-up, so that the memory that it needs is loaded meanwhile.
    fn announce(&self, _hash: &B256) {}

    /// Visits every record with the hash that it is found under, in the engine's own order. Ends at the first error.
    ///
    /// # Errors
    /// When the engine or the visitor fails.
    fn for_each(&self, visit: &mut dyn FnMut(&B256, &[u8]) -> Result<()>) -> Result<()>;

    /// Makes everything durable in the form that later openings and reads like best: for a store that will rest.
    ///
    /// # Errors
    /// When the engine fails.
    fn seal(&self) -> Result<(), StoreError> {
        self.flush()
    }

    /// [`NodeEngine::seal`] that also makes the files as small as the engine can. For a store that will not be written soon: it
    /// costs some work for each record.
    ///
    /// # Errors
    /// When the engine fails.
    fn compact(&self) -> Result<(), StoreError> {
        self.seal()
    }

    /// How many records it holds, where the engine knows.
    fn records(&self) -> Option<u64>;

    /// The place behind all records written so far, where the engine has places.
    fn next_place(&self) -> Option<Place> {
        None
    }
}

impl NodeEngine for MemoryTrieStore {
    fn visit_many(&self, hashes: &[B256], visit: Visit<'_>) -> Result<(), StoreError> {
        for (index, found) in self.get_many(hashes)?.into_iter().enumerate() {
            if let Some(found) = found {
                visit(index, &found, None);
            }
        }
        Ok(())
    }

    fn for_each(&self, visit: &mut dyn FnMut(&B256, &[u8]) -> Result<()>) -> Result<()> {
        self.records().iter().try_for_each(|(hash, record)| visit(hash, record))
    }

    fn records(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

/// How engines of one data directory are opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// When FlatDB recomputes hashes.
    pub verify: VerifyPolicy,
    /// What RocksDB may take.
    #[cfg(feature = "rocksdb")]
    pub memory: RocksMemory,
    /// The block cache that all RocksDB stores of the directory share.
    #[cfg(feature = "rocksdb")]
    cache: RocksCache,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self::new(VerifyPolicy::default())
    }
}

impl EngineOptions {
    /// Options with a policy for FlatDB and the default memory for RocksDB.
    pub fn new(verify: VerifyPolicy) -> Self {
        #[cfg(feature = "rocksdb")]
        let memory = RocksMemory::default();
        Self {
            verify,
            #[cfg(feature = "rocksdb")]
            cache: RocksCache::of_trie(&memory),
            #[cfg(feature = "rocksdb")]
            memory,
        }
    }

    /// Opens the store in a directory, or makes it.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn open(&self, engine: TrieEngine, path: &Path) -> Result<Arc<dyn NodeEngine>> {
        self.open_sized(engine, path, 0)
    }

    /// [`EngineOptions::open`] for a store that, where it is made, will hold about so many records.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn open_sized(&self, engine: TrieEngine, path: &Path, records: u64) -> Result<Arc<dyn NodeEngine>> {
        match engine {
            #[cfg(feature = "rocksdb")]
            TrieEngine::RocksDb => Ok(Arc::new(RocksTrieStore::open_sharing(path, &self.memory, &self.cache)?)),
            TrieEngine::FlatDb => Ok(Arc::new(FlatTrieStore::open_sized(path, self.verify, records)?)),
            TrieEngine::Memory => {
                Err(StorageError::Refused("the memory engine keeps nothing in a data directory".into()))
            }
        }
    }
}
