//! Trie engines by name, each in a directory of its own.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use eyre::Result;
use rhizome_storage::{RocksMemory, RocksTrieStore};
use rhizome_trie::TrieStore;

/// An engine that keeps nodes on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineKind {
    /// RocksDB as the node configures it.
    Rocksdb,
}

impl EngineKind {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Rocksdb];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rocksdb => "rocksdb",
        }
    }
}

/// Opens an engine, or makes its store.
///
/// # Errors
/// When the engine refuses.
pub fn open_engine(kind: EngineKind, path: &Path) -> Result<Arc<dyn TrieStore>> {
    Ok(match kind {
        EngineKind::Rocksdb => Arc::new(RocksTrieStore::open(path, &RocksMemory::default())?),
    })
}
