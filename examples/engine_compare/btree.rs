//! redb, a copy-on-write B-tree, as a store of trie nodes.
//!
//! What is written between two flushes is one transaction, and a flush commits it durably. Reads go through one read transaction
//! that lives from commit to commit, so that no read pays for beginning one.

use std::path::Path;

use eyre::{Result, ensure};
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition, TableError, WriteTransaction};
use rhizome_primitives::{B256, Bytes};

type Key = &'static [u8; 32];
type Value = &'static [u8];

/// Keys of a fixed width: no lengths in the pages.
const NODES: TableDefinition<'static, Key, Value> = TableDefinition::new("nodes");
/// A commit returns when it is on disk.
const DURABILITY: Durability = Durability::Immediate;

/// An open database. The transactions are dropped first: the database closes with the last of them.
pub(crate) struct BTree {
    /// What was put since the last flush.
    writing: Option<WriteTransaction>,
    /// What the last flush left; none only while a commit or a compaction runs.
    committed: Option<ReadOnlyTable<Key, Value>>,
    database: Database,
}

impl BTree {
    pub(crate) fn open(directory: &Path, cache: usize) -> Result<Self> {
        let database = Database::builder().set_cache_size(cache).create(directory.join("nodes.redb"))?;
        let mut store = Self { writing: None, committed: None, database };
        match store.database.begin_read()?.open_table(NODES) {
            Ok(table) => store.committed = Some(table),
            Err(TableError::TableDoesNotExist(_)) => {
                store.put(&[])?;
                store.flush()?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(store)
    }

    /// What differs from the defaults or matters most.
    pub(crate) fn options() -> Vec<String> {
        vec![
            format!("durability = {DURABILITY:?}, a transaction from flush to flush"),
            "two-phase commit and quick repair off (redb's defaults), keys of fixed width, puts sorted by key".into(),
        ]
    }

    /// What a function makes of a record, without copying it.
    pub(crate) fn with<T>(&self, hash: &B256, each: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        let Some(table) = &self.committed else { return Ok(None) };
        Ok(table.get(&hash.0)?.map(|found| each(found.value())))
    }

    pub(crate) fn put(&mut self, records: &[(B256, Bytes)]) -> Result<()> {
        let writing = match &mut self.writing {
            Some(writing) => writing,
            none => {
                let mut begun = self.database.begin_write()?;
                begun.set_durability(DURABILITY)?;
                none.insert(begun)
            }
        };
        // Neighbours one after the other: their pages are still in the processor's caches.
        let mut sorted: Vec<&(B256, Bytes)> = records.iter().collect();
        sorted.sort_unstable_by_key(|record| record.0);
        let mut table = writing.open_table(NODES)?;
        for (hash, record) in sorted {
            table.insert(&hash.0, &record[..])?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        if let Some(writing) = self.writing.take() {
            // A live reader would hold back the pages that this commit could free.
            self.committed = None;
            writing.commit()?;
            self.committed = Some(self.database.begin_read()?.open_table(NODES)?);
        }
        Ok(())
    }

    /// Moves pages to the front of the file and cuts it.
    pub(crate) fn compact(&mut self) -> Result<()> {
        ensure!(self.writing.is_none(), "redb compacts between transactions only");
        self.committed = None;
        self.database.compact()?;
        self.committed = Some(self.database.begin_read()?.open_table(NODES)?);
        Ok(())
    }
}
