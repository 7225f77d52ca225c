//! The memory twin of the block data engine, for tests and for replays that keep nothing.

use std::collections::BTreeMap;
use std::ops::Bound;

use parking_lot::RwLock;
use rhizome_primitives::Bytes;

use crate::error::Result;
use crate::kv::{Column, Entry, KvStore, WriteBatch};

/// A [`KvStore`] in memory. "Durable" means as long as the value lives.
#[derive(Debug, Default)]
pub struct MemoryKv {
    tables: RwLock<[BTreeMap<Vec<u8>, Bytes>; Column::ALL.len()]>,
}

impl MemoryKv {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl KvStore for MemoryKv {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Bytes>> {
        Ok(self.tables.read()[column.index()].get(key).cloned())
    }

    fn range(&self, column: Column, from: &[u8], to: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        if to.is_some_and(|to| to <= from) {
            return Ok(Vec::new());
        }
        let bounds = (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded));
        let tables = self.tables.read();
        let entries = tables[column.index()].range::<[u8], _>(bounds).take(limit);
        Ok(entries.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn write(&self, batch: WriteBatch) -> Result<()> {
        let mut tables = self.tables.write();
        for (column, key, value) in batch.operations {
            let table = &mut tables[column.index()];
            match value {
                Some(value) => table.insert(key, value),
                None => table.remove(&key),
            };
        }
        Ok(())
    }
}
