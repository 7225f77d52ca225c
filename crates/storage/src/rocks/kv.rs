//! Block data in RocksDB, one column family a table.

use std::path::{Path, PathBuf};

use rhizome_primitives::Bytes;
use rocksdb::{Cache, ColumnFamily, ColumnFamilyDescriptor, DB, Direction, IteratorMode, ReadOptions, WriteOptions};

use super::options::{self, RocksMemory};
use super::trie::{ENGINE, engine_error};
use crate::error::{Result, StorageError};
use crate::kv::{Column, Entry, KvStore, WriteBatch};

/// A [`KvStore`] in a RocksDB directory.
pub struct RocksKv {
    db: DB,
    path: PathBuf,
}

impl std::fmt::Debug for RocksKv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksKv").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RocksKv {
    /// Opens the database in a directory, or makes it with all its tables.
    ///
    /// # Errors
    /// When RocksDB refuses.
    pub fn open(path: &Path, memory: &RocksMemory) -> Result<Self> {
        let cache = Cache::new_lru_cache(memory.chain_cache);
        let columns = Column::ALL.map(|column| ColumnFamilyDescriptor::new(column.name(), options::column(&cache)));
        let db = DB::open_cf_descriptors(&options::chain(memory), path, columns)
            .map_err(|error| engine_error(path, &error))?;
        Ok(Self { db, path: path.to_owned() })
    }

    fn column(&self, column: Column) -> Result<&ColumnFamily> {
        self.db.cf_handle(column.name()).ok_or_else(|| StorageError::Engine {
            engine: ENGINE,
            path: self.path.clone(),
            message: format!("no table {}", column.name()),
        })
    }

    fn fault(&self, error: &rocksdb::Error) -> StorageError {
        engine_error(&self.path, error)
    }
}

impl KvStore for RocksKv {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Bytes>> {
        let found = self.db.get_pinned_cf(self.column(column)?, key).map_err(|error| self.fault(&error))?;
        Ok(found.map(|value| Bytes::copy_from_slice(&value)))
    }

    fn range(&self, column: Column, from: &[u8], to: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        let mut read = ReadOptions::default();
        // The engine stops at the bound by itself and skips files beyond it.
        if let Some(to) = to {
            read.set_iterate_upper_bound(to);
        }
        let entries = self.db.iterator_cf_opt(self.column(column)?, read, IteratorMode::From(from, Direction::Forward));
        let mut found = Vec::new();
        for entry in entries.take(limit) {
            let (key, value) = entry.map_err(|error| self.fault(&error))?;
            found.push((key.into_vec(), Bytes::from(value)));
        }
        Ok(found)
    }

    fn write(&self, batch: WriteBatch) -> Result<()> {
        let mut changes = rocksdb::WriteBatch::default();
        for (column, key, value) in &batch.operations {
            let column = self.column(*column)?;
            match value {
                Some(value) => changes.put_cf(column, key, value),
                None => changes.delete_cf(column, key),
            }
        }
        // Through the log and synced: this batch moves the head, which is what makes its blocks real.
        let mut options = WriteOptions::default();
        options.set_sync(true);
        self.db.write_opt(changes, &options).map_err(|error| self.fault(&error))
    }
}
