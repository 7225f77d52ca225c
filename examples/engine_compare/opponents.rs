//! The stores under comparison behind one interface, and how each is configured.

use std::path::Path;
use std::sync::Arc;

use eyre::{Result, eyre};
use parity_db::{ColumnOptions, CompressionType, Db, Options};
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{FlatTrieStore, NodeEngine, RocksMemory, RocksTrieStore, VerifyPolicy};

use crate::btree::BTree;

/// A store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flat,
    /// With so many bytes of block cache.
    Rocks {
        cache: usize,
    },
    Parity,
    /// With so many bytes of cache.
    Redb {
        cache: usize,
    },
}

impl Kind {
    /// All of them, FlatDB first; those that have caches of their own with so many bytes.
    pub(crate) const fn all(cache: usize) -> [Self; 4] {
        [Self::Flat, Self::Rocks { cache }, Self::Parity, Self::Redb { cache }]
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Flat => "flatdb",
            Self::Rocks { .. } => "rocksdb",
            Self::Parity => "parity-db",
            Self::Redb { .. } => "redb",
        }
    }

    pub(crate) fn open(self, path: &Path) -> Result<Store> {
        Ok(match self {
            Self::Flat => Store::Node(Arc::new(FlatTrieStore::open(path, VerifyPolicy::default())?)),
            Self::Rocks { cache } => {
                let memory = RocksMemory { trie_cache: cache, ..RocksMemory::default() };
                Store::Node(Arc::new(RocksTrieStore::open(path, &memory)?))
            }
            Self::Parity => Store::Parity(Box::new(Db::open_or_create(&parity_options(path))?)),
            Self::Redb { cache } => Store::Redb(Box::new(BTree::open(path, cache)?)),
        })
    }

    /// What differs from the store's defaults, read back from the store where it tells.
    pub(crate) fn options(self, path: &Path) -> Result<Vec<String>> {
        Ok(match self {
            Self::Flat => {
                vec![
                    "verify = first (reads of nodes known to be there), index grows at load 0.7, compacted to 0.8"
                        .into(),
                ]
            }
            Self::Rocks { cache } => {
                let mut options = rocksdb_options(path)?;
                options.push(format!("block cache = {} MiB", cache >> 20));
                options
            }
            Self::Parity => {
                let options = parity_options(path);
                vec![
                    format!("{:?}", options.columns[0]),
                    format!("sync_wal = {}, sync_data = {}", options.sync_wal, options.sync_data),
                ]
            }
            Self::Redb { cache } => {
                let mut options = BTree::options();
                options.push(format!("cache = {} MiB", cache >> 20));
                options
            }
        })
    }
}

fn parity_options(path: &Path) -> Options {
    let mut options = Options::with_columns(path, 1);
    // Keys are hashes of their values: no second hash, and a repeated write is recognised.
    options.columns[0] = ColumnOptions {
        uniform: true,
        preimage: true,
        compression: CompressionType::NoCompression,
        ..ColumnOptions::default()
    };
    options
}

/// The lines of RocksDB's own options file that matter for point reads.
fn rocksdb_options(path: &Path) -> Result<Vec<String>> {
    const SHOWN: [&str; 12] = [
        "max_open_files=",
        "compression=",
        "write_buffer_size=",
        "max_write_buffer_number=",
        "level_compaction_dynamic_level_bytes=",
        "memtable_prefix_bloom_size_ratio=",
        "block_size=",
        "data_block_index_type=",
        "data_block_hash_table_util_ratio=",
        "filter_policy=",
        "cache_index_and_filter_blocks=",
        "whole_key_filtering=",
    ];
    let mut files: Vec<_> = std::fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("OPTIONS-")));
    let newest = files.into_iter().max().ok_or_else(|| eyre!("RocksDB left no options file"))?;
    let text = std::fs::read_to_string(newest)?;
    let mut lines: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| SHOWN.iter().any(|name| line.starts_with(name)))
        .map(str::to_owned)
        .collect();
    lines.dedup();
    Ok(lines)
}

/// An open store.
pub(crate) enum Store {
    Node(Arc<dyn NodeEngine>),
    Parity(Box<Db>),
    Redb(Box<BTree>),
}

impl Store {
    /// A record that is known to be there.
    pub(crate) fn get(&self, hash: &B256) -> Result<Option<Bytes>> {
        Ok(match self {
            Self::Node(store) => store.get_known(hash)?,
            Self::Parity(db) => db.get(0, hash.as_slice())?.map(Bytes::from),
            Self::Redb(db) => db.with(hash, Bytes::copy_from_slice)?,
        })
    }

    /// What a function makes of a record that is known to be there, in the form in which the store hands it out: FlatDB lends its
    /// own bytes, RocksDB pins its block, redb its page, parity-db has copies only.
    pub(crate) fn with<T>(&self, hash: &B256, mut each: impl FnMut(&[u8]) -> T) -> Result<T> {
        let mut made = None;
        match self {
            Self::Node(store) => drop(store.visit_known(hash, &mut |record| made = Some(each(record)))?),
            Self::Parity(db) => made = db.get(0, hash.as_slice())?.map(|record| each(&record)),
            Self::Redb(db) => made = db.with(hash, each)?,
        }
        made.ok_or_else(|| eyre!("{hash} is missing"))
    }

    /// A record that may be absent.
    pub(crate) fn find(&self, hash: &B256) -> Result<Option<Bytes>> {
        Ok(match self {
            Self::Node(store) => store.get(hash)?,
            Self::Parity(db) => db.get(0, hash.as_slice())?.map(Bytes::from),
            Self::Redb(db) => db.with(hash, Bytes::copy_from_slice)?,
        })
    }

    pub(crate) fn get_many(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>> {
        match self {
            Self::Node(store) => Ok(store.get_many_known(hashes)?),
            Self::Parity(_) | Self::Redb(_) => hashes.iter().map(|hash| self.get(hash)).collect(),
        }
    }

    /// Writes records, which reads find after the next [`Store::flush`].
    pub(crate) fn put(&mut self, records: &[(B256, Bytes)]) -> Result<()> {
        match self {
            Self::Node(store) => store.put_batch(records)?,
            Self::Parity(db) => {
                db.commit(records.iter().map(|(hash, record)| (0, hash.as_slice(), Some(record.to_vec()))))?
            }
            Self::Redb(db) => db.put(records)?,
        }
        Ok(())
    }

    /// Brings the files into the form for a store that rests. parity-db has no such call.
    pub(crate) fn compact(&mut self) -> Result<()> {
        match self {
            Self::Node(store) => store.compact()?,
            Self::Parity(_) => {}
            Self::Redb(db) => db.compact()?,
        }
        Ok(())
    }

    /// Makes everything durable. parity-db has no such call: it syncs in the background, and closing waits for it.
    pub(crate) fn flush(&mut self) -> Result<()> {
        match self {
            Self::Node(store) => store.flush()?,
            Self::Parity(_) => {}
            Self::Redb(db) => db.flush()?,
        }
        Ok(())
    }
}
