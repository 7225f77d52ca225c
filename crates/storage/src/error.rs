//! What can go wrong in a store: never a statement about a block.

use std::path::PathBuf;

use rhizome_trie::StoreError;

use crate::datadir::DatadirError;

/// Shorthand for results of this crate.
pub type Result<T, E = StorageError> = std::result::Result<T, E>;

/// A fault of the node's own storage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The key/value engine failed; its text names file and cause.
    #[error("{engine} at {}: {message}", path.display())]
    Engine {
        /// The engine's name.
        engine: &'static str,
        /// Its directory.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// Stored data contradicts itself.
    #[error("damaged data: {what}")]
    Corrupt {
        /// Which record, and how.
        what: String,
    },
    /// The trie store failed.
    #[error(transparent)]
    Trie(#[from] StoreError),
    /// The data directory is not one that this program, or this chain, may use.
    #[error(transparent)]
    Datadir(#[from] DatadirError),
    /// An earlier write failed, so nothing more is written by this process.
    #[error("the store stopped after a failed write: {cause}")]
    Poisoned {
        /// The first failure.
        cause: String,
    },
    /// The operator asked for something that the stored chain cannot give.
    #[error("{0}")]
    Refused(String),
}

impl StorageError {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}
