//! Trie nodes in RocksDB.
//!
//! Durable order: `put_batch` may leave nodes in memory, `flush` returns when every earlier `put_batch` is durable. A large
//! batch goes around the write-ahead log and is made durable by flushing the write buffer to a table file: each node is then
//! written once, not twice. A small batch goes through the log, because a table file for a few nodes (one a block near the
//! tip) would cost more in compaction than the log's second copy. Mixing is sound: nodes are found by their hash, so it does
//! not matter which of two unconfirmed batches survives a crash.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{StoreError, StoreStats, TrieStore};
use rocksdb::{ColumnFamilyDescriptor, DB, WriteBatch, WriteOptions};

use super::options::{self, RocksMemory};
use crate::error::{Result, StorageError};

/// The engine's name in messages and in the FORMAT file.
pub(crate) const ENGINE: &str = "rocksdb";

/// Batches of at least this many bytes go around the log.
const UNLOGGED_BATCH: usize = 16 << 20;

/// A [`TrieStore`] in a RocksDB directory.
pub struct RocksTrieStore {
    db: DB,
    path: PathBuf,
    /// Whether the write buffer holds nodes that are not in the log.
    unlogged: AtomicBool,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    reads: AtomicU64,
    hits: AtomicU64,
    bytes_read: AtomicU64,
    records_written: AtomicU64,
    bytes_written: AtomicU64,
    flushes: AtomicU64,
}

impl Counters {
    fn read(&self, found: Option<&[u8]>) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(node) = found {
            self.hits.fetch_add(1, Ordering::Relaxed);
            self.bytes_read.fetch_add(node.len() as u64, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for RocksTrieStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksTrieStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RocksTrieStore {
    /// Opens the database in a directory, or makes it.
    ///
    /// # Errors
    /// When RocksDB refuses.
    pub fn open(path: &Path, memory: &RocksMemory) -> Result<Self> {
        let options = options::trie(memory);
        // By descriptor, or the handle that batched reads need is not there.
        let table = ColumnFamilyDescriptor::new(rocksdb::DEFAULT_COLUMN_FAMILY_NAME, options.clone());
        let db = DB::open_cf_descriptors(&options, path, [table]).map_err(|error| engine_error(path, &error))?;
        Ok(Self { db, path: path.to_owned(), unlogged: AtomicBool::new(false), counters: Counters::default() })
    }

    fn fault(&self, operation: &str, error: &rocksdb::Error) -> StoreError {
        StoreError::new(operation, engine_error(&self.path, error))
    }
}

pub(super) fn engine_error(path: &Path, error: &rocksdb::Error) -> StorageError {
    // RocksDB puts line breaks into some messages; a fault is one line everywhere in this program.
    let message = error.to_string().replace(['\n', '\r'], " ");
    StorageError::Engine { engine: ENGINE, path: path.to_owned(), message }
}

impl TrieStore for RocksTrieStore {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let found = self.db.get_pinned(hash.as_slice()).map_err(|error| self.fault("get", &error))?;
        self.counters.read(found.as_deref());
        Ok(found.map(|node| Bytes::copy_from_slice(&node)))
    }

    fn get_many(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let Some(column) = self.db.cf_handle(rocksdb::DEFAULT_COLUMN_FAMILY_NAME) else {
            return Err(StoreError::new("get_many", format!("{ENGINE} at {}: no default table", self.path.display())));
        };
        let found = self.db.batched_multi_get_cf(&column, hashes.iter().map(B256::as_slice), false);
        found
            .into_iter()
            .map(|node| {
                let node = node.map_err(|error| self.fault("get_many", &error))?;
                self.counters.read(node.as_deref());
                Ok(node.map(|node| Bytes::copy_from_slice(&node)))
            })
            .collect()
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        if nodes.is_empty() {
            return Ok(());
        }
        let bytes: usize = nodes.iter().map(|(_, node)| node.len()).sum();
        let mut batch = WriteBatch::with_capacity_bytes(bytes + nodes.len() * 40);
        for (hash, node) in nodes {
            batch.put(hash.as_slice(), node);
        }
        let mut options = WriteOptions::default();
        if bytes >= UNLOGGED_BATCH {
            options.disable_wal(true);
            self.unlogged.store(true, Ordering::Release);
        }
        self.db.write_opt(batch, &options).map_err(|error| self.fault("put_batch", &error))?;
        self.counters.records_written.fetch_add(nodes.len() as u64, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        if self.unlogged.load(Ordering::Acquire) {
            self.db.flush().map_err(|error| self.fault("flush", &error))?;
            self.unlogged.store(false, Ordering::Release);
        }
        self.db.flush_wal(true).map_err(|error| self.fault("flush", &error))
    }

    fn stats(&self) -> StoreStats {
        let mut stats = StoreStats::default();
        stats.reads = self.counters.reads.load(Ordering::Relaxed);
        stats.hits = self.counters.hits.load(Ordering::Relaxed);
        stats.bytes_read = self.counters.bytes_read.load(Ordering::Relaxed);
        stats.records_written = self.counters.records_written.load(Ordering::Relaxed);
        stats.bytes_written = self.counters.bytes_written.load(Ordering::Relaxed);
        stats.flushes = self.counters.flushes.load(Ordering::Relaxed);
        stats
    }
}
