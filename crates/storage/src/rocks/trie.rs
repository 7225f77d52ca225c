//! Trie nodes in RocksDB.
//!
//! Durable order: `put_batch` may leave nodes in memory, `flush` returns when every earlier `put_batch` is durable. A large
//! batch, as bulk import makes them, is sorted, written as a table file and taken into the database as it is: each node is
//! written once, and neither the log nor the write buffer's search tree (a quarter of a replay's CPU before) sees it. A small
//! batch goes through log and buffer, because a table file for a few nodes (one a block near the tip) would cost more in
//! compaction than the log's second copy. Mixing is sound: nodes are found by their hash, so it does not matter which of two
//! unconfirmed batches survives a crash.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{StoreError, StoreStats, TrieStore};
use rocksdb::{ColumnFamilyDescriptor, DB, IngestExternalFileOptions, Options, SstFileWriter, WriteBatch};

use super::options::{self, RocksMemory};
use crate::error::{Result, StorageError};

/// The engine's name in messages and in the FORMAT file.
pub(crate) const ENGINE: &str = "rocksdb";

/// Batches of at least this many bytes become table files.
const TABLE_BATCH: usize = 8 << 20;

/// Where a table file is written before the database takes it.
const INCOMING: &str = "incoming.table";

/// A [`TrieStore`] in a RocksDB directory.
pub struct RocksTrieStore {
    db: DB,
    path: PathBuf,
    /// For table files: the same as for the database's own.
    options: Options,
    /// Held while a table file is written: there is one name for it.
    incoming: Mutex<()>,
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
        Ok(Self { db, path: path.to_owned(), options, incoming: Mutex::new(()), counters: Counters::default() })
    }

    fn fault(&self, operation: &str, error: &rocksdb::Error) -> StoreError {
        StoreError::new(operation, engine_error(&self.path, error))
    }
}

impl RocksTrieStore {
    /// Writes a batch as a table file and hands it to the database, which then has it durably.
    fn ingest(&self, nodes: &[&(B256, Bytes)]) -> Result<(), rocksdb::Error> {
        let _one = self.incoming.lock();
        // A file that an earlier process left is written over.
        let file = self.path.join(INCOMING);
        let mut table = SstFileWriter::create(&self.options);
        table.open(&file)?;
        for (hash, node) in nodes {
            table.put(hash, node)?;
        }
        table.finish()?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        self.db.ingest_external_file_opts(&options, vec![file])
    }

    /// Writes a batch through log and write buffer.
    fn write(&self, nodes: &[&(B256, Bytes)], bytes: usize) -> Result<(), rocksdb::Error> {
        let mut batch = WriteBatch::with_capacity_bytes(bytes + nodes.len() * 40);
        for (hash, node) in nodes {
            batch.put(hash, node);
        }
        self.db.write(batch)
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
        // In order: a table file must be, and a write buffer is filled faster.
        let mut sorted: Vec<&(B256, Bytes)> = nodes.iter().collect();
        sorted.sort_unstable_by_key(|(hash, _)| *hash);
        sorted.dedup_by_key(|(hash, _)| *hash);
        let written = if bytes >= TABLE_BATCH { self.ingest(&sorted) } else { self.write(&sorted, bytes) };
        written.map_err(|error| self.fault("put_batch", &error))?;
        self.counters.records_written.fetch_add(nodes.len() as u64, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
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
