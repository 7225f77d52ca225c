//! The engines a trie can be kept in.

use std::fmt;
use std::str::FromStr;

/// Where trie nodes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TrieEngine {
    /// RocksDB.
    #[cfg_attr(feature = "rocksdb", default)]
    #[cfg(feature = "rocksdb")]
    RocksDb,
    /// FlatDB.
    #[cfg_attr(not(feature = "rocksdb"), default)]
    FlatDb,
    /// The process's memory; nothing is kept.
    Memory,
}

impl TrieEngine {
    /// Every engine of this build.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "rocksdb")]
        Self::RocksDb,
        Self::FlatDb,
        Self::Memory,
    ];

    /// The name on the command line and in FORMAT.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => "rocksdb",
            Self::FlatDb => "flatdb",
            Self::Memory => "memory",
        }
    }

    /// Whether what it holds outlives the process.
    pub const fn is_kept(self) -> bool {
        !matches!(self, Self::Memory)
    }
}

impl fmt::Display for TrieEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TrieEngine {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().copied().find(|engine| engine.name() == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|engine| engine.name()).collect();
            format!("unknown trie engine {name:?}, possible: {}", known.join(", "))
        })
    }
}
