//! Trie nodes in FlatDB: no keys on disk, records in the order they were written.
//!
//! `put_batch` leaves nodes in the kernel's memory, `flush` makes them durable with a checkpoint. A plain read proves by its
//! hash that a record is the one asked for; where the record is known to be there ([`NodeEngine::get_known`]), the policy
//! decides how often.

use std::path::Path;

use rhizome_flatdb::{Digest, Error, FlatDb, Key, Located, Options, Verification, VerifyPolicy};
use rhizome_keccak::keccak256_batch;
use rhizome_primitives::{B256, Bytes, keccak256};
use rhizome_trie::{StoreError, StoreStats, TrieStore};

use crate::counters::Counters;
use crate::engine::{NodeEngine, Place, Visit};
use crate::error::{Result, StorageError};

/// The engine's name in messages and in the FORMAT file.
pub(crate) const ENGINE: &str = "flatdb";

/// Records handed on together when all are visited.
const GROUP: usize = 256;

/// Keccak-256, many records at once where the processor can.
#[derive(Debug)]
pub struct Keccak;

impl Digest for Keccak {
    const ID: [u8; 8] = *b"keccak\0\0";

    fn digest(bytes: &[u8]) -> Key {
        keccak256(bytes).0
    }

    fn digest_many(records: &[&[u8]], keys: &mut [Key]) {
        let mut digests = vec![B256::ZERO; records.len()];
        keccak256_batch(records, &mut digests);
        for (key, digest) in keys.iter_mut().zip(digests) {
            *key = digest.0;
        }
    }
}

/// A [`TrieStore`] in a FlatDB directory.
#[derive(Debug)]
pub struct FlatTrieStore {
    db: FlatDb<Keccak>,
    counters: Counters,
}

impl FlatTrieStore {
    /// Opens the store in a directory, or makes it.
    ///
    /// # Errors
    /// When the directory is in use, belongs to another program, or is damaged beyond what recovery repairs.
    pub fn open(path: &Path, verify: VerifyPolicy) -> Result<Self> {
        Self::open_sized(path, verify, 0)
    }

    /// [`FlatTrieStore::open`] with an index for so many records, where the store is made.
    ///
    /// # Errors
    /// As of [`FlatTrieStore::open`].
    pub fn open_sized(path: &Path, verify: VerifyPolicy, records: u64) -> Result<Self> {
        let mut options = Options::default().verify(verify);
        if records > 0 {
            options = options.expected_records(records);
        }
        let db: FlatDb<Keccak> = options.open(path).map_err(|error| fault(path, error))?;
        if let Some(damage) = &db.recovery().damage {
            // What the last flush wrote is lost; whether that matters is seen when the chain's head is checked.
            tracing::warn!(path = %path.display(), %damage, "the last flush is not whole on disk, by damage or because power failed during it, and is given up");
        }
        Ok(Self { db, counters: Counters::default() })
    }

    /// The store itself, for what only it can do.
    pub fn db(&self) -> &FlatDb<Keccak> {
        &self.db
    }

    /// Hashes every record and looks it up.
    ///
    /// # Errors
    /// At the first damaged record.
    pub fn verify(&self, progress: impl FnMut(u64, u64)) -> Result<Verification> {
        self.db.verify(progress).map_err(|error| fault(self.db.path(), error))
    }

    fn store_error(operation: &str, error: Error) -> StoreError {
        StoreError::new(operation, format!("{ENGINE}: {error}"))
    }
}

fn fault(path: &Path, error: Error) -> StorageError {
    StorageError::Engine { engine: ENGINE, path: path.to_owned(), message: error.to_string() }
}

fn keys(hashes: &[B256]) -> Vec<Key> {
    hashes.iter().map(|hash| hash.0).collect()
}

impl TrieStore for FlatTrieStore {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let found = self.db.get(&hash.0).map_err(|error| Self::store_error("get", error))?;
        self.counters.read(found);
        Ok(found.map(Bytes::copy_from_slice))
    }

    fn get_many(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let found = self.db.get_many(&keys(hashes)).map_err(|error| Self::store_error("get_many", error))?;
        Ok(self.copied(found))
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        self.db
            .put_batch(nodes.iter().map(|(hash, node)| (&hash.0, &node[..])))
            .map_err(|error| Self::store_error("put_batch", error))?;
        self.counters.written(nodes.len(), nodes.iter().map(|(_, node)| node.len()).sum());
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.counters.flushed();
        self.db.flush().map_err(|error| Self::store_error("flush", error))
    }

    fn stats(&self) -> StoreStats {
        self.counters.stats()
    }
}

impl FlatTrieStore {
    fn copied(&self, found: Vec<Option<&[u8]>>) -> Vec<Option<Bytes>> {
        let copy = |found: Option<&[u8]>| {
            self.counters.read(found);
            found.map(Bytes::copy_from_slice)
        };
        found.into_iter().map(copy).collect()
    }
}

impl NodeEngine for FlatTrieStore {
    fn visit_many(&self, hashes: &[B256], visit: Visit<'_>) -> Result<(), StoreError> {
        let found = self.db.locate_many(&keys(hashes)).map_err(|error| Self::store_error("visit_many", error))?;
        for (index, found) in found.into_iter().enumerate() {
            if let Some(Located { offset, record, .. }) = found {
                visit(index, record, Some(offset));
            }
        }
        Ok(())
    }

    fn visit_known(&self, hash: &B256, visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        let found = self.db.get_known(&hash.0).map_err(|error| Self::store_error("get", error))?;
        self.counters.read(found);
        found.into_iter().for_each(visit);
        Ok(found.is_some())
    }

    fn get_known(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let found = self.db.get_known(&hash.0).map_err(|error| Self::store_error("get", error))?;
        self.counters.read(found);
        Ok(found.map(Bytes::copy_from_slice))
    }

    fn get_many_known(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let found = self.db.get_many_known(&keys(hashes)).map_err(|error| Self::store_error("get_many", error))?;
        Ok(self.copied(found))
    }

    fn tells_absence(&self) -> bool {
        true
    }

    fn may_contain(&self, hash: &B256) -> bool {
        self.db.may_contain(&hash.0)
    }

    fn read_ahead(&self, go_on: &mut dyn FnMut(u64) -> bool) {
        self.db.read_ahead(go_on);
    }

    fn announce(&self, hash: &B256) {
        self.db.prefetch_slot(&hash.0);
    }

    fn for_each(&self, visit: &mut dyn FnMut(&B256, &[u8]) -> Result<()>) -> Result<()> {
        let mut records = self.db.iter();
        loop {
            let group: Result<Vec<_>, Error> = records.by_ref().take(GROUP).collect();
            let group = group.map_err(|error| fault(self.db.path(), error))?;
            if group.is_empty() {
                return Ok(());
            }
            // The hash is not stored: it is what the bytes say it is. Only what the index leads to counts, or damage in the
            // heap would come out as a record of another hash.
            let bytes: Vec<&[u8]> = group.iter().map(|(_, record)| *record).collect();
            let mut keys = vec![Key::default(); bytes.len()];
            Keccak::digest_many(&bytes, &mut keys);
            let found = self.db.get_many(&keys).map_err(|error| fault(self.db.path(), error))?;
            for ((key, (offset, record)), found) in keys.iter().zip(group).zip(found) {
                if found.is_none() {
                    let message = format!("damaged at byte {offset}: no slot of the index leads to the record there");
                    return Err(StorageError::Engine { engine: ENGINE, path: self.db.path().to_owned(), message });
                }
                visit(&B256::from(*key), record)?;
            }
        }
    }

    fn seal(&self) -> Result<(), StoreError> {
        self.counters.flushed();
        self.db.seal().map_err(|error| Self::store_error("seal", error))
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.counters.flushed();
        self.db.compact().map_err(|error| Self::store_error("compact", error))
    }

    fn records(&self) -> Option<u64> {
        Some(self.db.stats().records)
    }

    fn next_place(&self) -> Option<Place> {
        Some(self.db.stats().heap_bytes)
    }
}
