//! Trie engines by name, each in a directory of its own.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use eyre::Result;
use rhizome_storage::{FlatTrieStore, NodeEngine, RocksMemory, RocksTrieStore, VerifyPolicy};

/// An engine that keeps nodes on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineKind {
    /// FlatDB with the default verification.
    Flatdb,
    /// RocksDB as the node configures it.
    Rocksdb,
}

impl EngineKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Flatdb, Self::Rocksdb];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flatdb => "flatdb",
            Self::Rocksdb => "rocksdb",
        }
    }
}

/// Opens an engine, or makes its store.
///
/// # Errors
/// When the engine refuses.
pub fn open_engine(kind: EngineKind, path: &Path) -> Result<Arc<dyn NodeEngine>> {
    Ok(match kind {
        EngineKind::Flatdb => Arc::new(FlatTrieStore::open(path, VerifyPolicy::default())?),
        EngineKind::Rocksdb => Arc::new(RocksTrieStore::open(path, &RocksMemory::default())?),
    })
}
