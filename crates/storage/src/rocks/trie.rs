//! Trie nodes in RocksDB.
//!
//! Durable order: `put_batch` may leave nodes in memory, `flush` returns when every earlier `put_batch` is durable. A large
//! batch, as bulk import makes them, is sorted, written as a table file and taken into the database as it is: each node is
//! written once, and neither the log nor the write buffer's search tree (a quarter of a replay's CPU before) sees it. A small
//! batch goes through log and buffer, because a table file for a few nodes (one a block near the tip) would cost more in
//! compaction than the log's second copy. Mixing is sound: nodes are found by their hash, so it does not matter which of two
//! unconfirmed batches survives a crash.

use std::fs::File;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{StoreError, StoreStats, TrieStore};
use rocksdb::{
    ColumnFamilyDescriptor, DB, IngestExternalFileOptions, IteratorMode, Options, ReadOptions, SstFileWriter,
    WriteBatch,
};
use rustix::fs::{Advice, fadvise};

use super::options::{self, RocksCache, RocksMemory};
use crate::counters::Counters;
use crate::engine::{NodeEngine, Visit};
use crate::error::{Result, StorageError};

/// The engine's name in messages and in the FORMAT file.
pub(crate) const ENGINE: &str = "rocksdb";

/// Batches of at least this many bytes become table files: a third of the CPU that log and buffer take.
const TABLE_BATCH: usize = 2 << 20;

/// How many records are brought into the processor's caches at a time.
const OVERLAP: usize = 16;

/// Threads that read side by side when reads wait for the disk.
const READERS: usize = 16;
/// Reads of this time each, one after another, wait for the disk.
const SLOW: Duration = Duration::from_micros(10);
/// Reads of this time each, side by side, do not.
const QUICK: Duration = Duration::from_micros(3);

/// Bytes of a table that the kernel is asked for at a time.
const AHEAD: u64 = 1 << 20;

/// Where a table file is written before the database takes it.
const INCOMING: &str = "incoming.table";

/// The engine's name for the number of tables that are not merged into the levels.
const UNMERGED: &str = "rocksdb.num-files-at-level0";

/// And for the number of merges and flushes that failed.
const FAILURES: &str = "rocksdb.background-errors";

/// A [`TrieStore`] in a RocksDB directory.
pub struct RocksTrieStore {
    db: DB,
    path: PathBuf,
    /// For table files: the same as for the database's own.
    options: Options,
    /// Held while a table file is written: there is one name for it.
    incoming: Mutex<()>,
    /// Whether the last look-ups of many hashes waited for the disk.
    waits: AtomicBool,
    counters: Counters,
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
        Self::open_sharing(path, memory, &RocksCache::of_trie(memory))
    }

    /// [`RocksTrieStore::open`] with a block cache that several stores share.
    ///
    /// # Errors
    /// When RocksDB refuses.
    pub fn open_sharing(path: &Path, memory: &RocksMemory, cache: &RocksCache) -> Result<Self> {
        let options = options::trie(memory, cache);
        // By descriptor, or the handle that batched reads need is not there.
        let table = ColumnFamilyDescriptor::new(rocksdb::DEFAULT_COLUMN_FAMILY_NAME, options.clone());
        let db = DB::open_cf_descriptors(&options, path, [table]).map_err(|error| engine_error(path, &error))?;
        Ok(Self {
            db,
            path: path.to_owned(),
            options,
            incoming: Mutex::new(()),
            waits: AtomicBool::new(false),
            counters: Counters::default(),
        })
    }

    /// [`TrieStore::get_many`] on several threads.
    fn get_side_by_side(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let share = hashes.len().div_ceil(READERS);
        let parts: Vec<_> = std::thread::scope(|scope| {
            let readers: Vec<_> =
                hashes.chunks(share).map(|hashes| scope.spawn(move || self.get_many(hashes))).collect();
            readers.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        let mut found = Vec::with_capacity(hashes.len());
        for part in parts {
            found.extend(part.unwrap_or_else(|_| Err(StoreError::new("visit_many", "a reading thread panicked")))?);
        }
        Ok(found)
    }

    fn fault(&self, operation: &str, error: &rocksdb::Error) -> StoreError {
        StoreError::new(operation, engine_error(&self.path, error))
    }
}

impl RocksTrieStore {
    /// Writes a batch as a table file and hands it to the database, which then has it durably.
    fn ingest(&self, nodes: &[&(B256, Bytes)]) -> Result<(), StoreError> {
        let _one = self.incoming.lock();
        let file = self.path.join(INCOMING);
        // A file that an earlier process left may be a table of the database under a second name: a kill came between the
        // manifest that lists it and the removal of this name. So the name goes; written over, it would be a lost table.
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::new(
                    "put_batch",
                    format!("{ENGINE}: cannot remove {}: {error}", file.display()),
                ));
            }
            _ => {}
        }
        self.ingest_as(&file, nodes).map_err(|error| self.fault("put_batch", &error))
    }

    fn ingest_as(&self, file: &Path, nodes: &[&(B256, Bytes)]) -> Result<(), rocksdb::Error> {
        let mut table = SstFileWriter::create(&self.options);
        table.open(file)?;
        for run in nodes.chunks(OVERLAP) {
            // The records lie in memory in another order. Reads that nothing waits for, so that their cache misses overlap.
            let seen = run.iter().fold(0, |seen, (_, node)| seen ^ node.first().copied().unwrap_or_default());
            std::hint::black_box(seen);
            for (hash, node) in run {
                table.put(hash, node)?;
            }
        }
        table.finish()?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        self.db.ingest_external_file_opts(&options, vec![file])?;
        self.wait_for_merging()
    }

    /// Holds the writer while there are many unmerged tables: each costs every read of an old node a probe. Where merging
    /// has failed, the next write tells.
    fn wait_for_merging(&self) -> Result<(), rocksdb::Error> {
        let value = |name: &str| self.db.property_int_value(name).map(Option::unwrap_or_default);
        while value(UNMERGED)? > options::LEVEL_ZERO_MOST && value(FAILURES)? == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
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

/// The records by hash, each hash once.
fn in_order(nodes: &[(B256, Bytes)]) -> Vec<&(B256, Bytes)> {
    // Hashes differ in their first bytes: sorted beside their places, these are compared without going to the records.
    let front = |hash: &B256| u64::from_be_bytes(std::array::from_fn(|index| hash[index]));
    let mut places: Vec<(u64, &(B256, Bytes))> = nodes.iter().map(|node| (front(&node.0), node)).collect();
    places.sort_unstable_by(|(a, left), (b, right)| a.cmp(b).then_with(|| left.0.cmp(&right.0)));
    places.dedup_by(|(a, left), (b, right)| a == b && left.0 == right.0);
    places.into_iter().map(|(_, node)| node).collect()
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
        let sorted = in_order(nodes);
        if bytes >= TABLE_BATCH {
            self.ingest(&sorted)?;
        } else {
            self.write(&sorted, bytes).map_err(|error| self.fault("put_batch", &error))?;
        }
        self.counters.written(nodes.len(), bytes);
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.counters.flushed();
        self.db.flush_wal(true).map_err(|error| self.fault("flush", &error))
    }

    fn stats(&self) -> StoreStats {
        self.counters.stats()
    }
}

impl NodeEngine for RocksTrieStore {
    fn visit_many(&self, hashes: &[B256], visit: Visit<'_>) -> Result<(), StoreError> {
        let parallel = self.waits.load(Ordering::Relaxed) && hashes.len() >= 2 * READERS;
        let start = Instant::now();
        let found = if parallel { self.get_side_by_side(hashes)? } else { self.get_many(hashes)? };
        // The engine reads one block after another. While reads wait for the disk, threads wait side by side; as long as
        // they do not, threads would cost more than they bring.
        let each = start.elapsed() / u32::try_from(hashes.len().max(1)).unwrap_or(u32::MAX);
        if hashes.len() >= READERS {
            self.waits.store(each > if parallel { QUICK } else { SLOW }, Ordering::Relaxed);
        }
        for (index, found) in found.into_iter().enumerate() {
            if let Some(found) = found {
                visit(index, &found, None);
            }
        }
        Ok(())
    }

    fn read_ahead(&self, go_on: &mut dyn FnMut(u64) -> bool) {
        // A hint, so what cannot be listed or opened is passed over: whoever reads it is told.
        for table in self.db.live_files().unwrap_or_default() {
            let Ok(file) = File::open(self.path.join(table.name.trim_start_matches('/'))) else { continue };
            let bytes = table.size as u64;
            for start in (0..bytes).step_by(AHEAD as usize) {
                fadvise(&file, start, NonZeroU64::new(AHEAD), Advice::WillNeed).ok();
                if !go_on(AHEAD.min(bytes - start)) {
                    return;
                }
            }
        }
    }

    fn for_each(&self, visit: &mut dyn FnMut(&B256, &[u8]) -> Result<()>) -> Result<()> {
        let mut read = ReadOptions::default();
        // One pass over everything: what it reads is not read again, and would push out what is.
        read.fill_cache(false);
        read.set_readahead_size(4 << 20);
        for entry in self.db.iterator_opt(IteratorMode::Start, read) {
            let (key, node) = entry.map_err(|error| engine_error(&self.path, &error))?;
            let hash = B256::try_from(&key[..]).map_err(|_| StorageError::Engine {
                engine: ENGINE,
                path: self.path.clone(),
                message: format!("a key of {} bytes", key.len()),
            })?;
            visit(&hash, &node)?;
        }
        Ok(())
    }

    fn visit_known(&self, hash: &B256, visit: &mut dyn FnMut(&[u8])) -> Result<bool, StoreError> {
        let found = self.db.get_pinned(hash.as_slice()).map_err(|error| self.fault("get", &error))?;
        let found = found.as_deref();
        self.counters.read(found);
        found.into_iter().for_each(visit);
        Ok(found.is_some())
    }

    fn seal(&self) -> Result<(), StoreError> {
        self.counters.flushed();
        // The write buffer becomes a table, so that the next opening has no log to read.
        self.db.flush().map_err(|error| self.fault("seal", &error))
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.seal()?;
        self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }

    fn records(&self) -> Option<u64> {
        // The engine only estimates.
        None
    }
}
