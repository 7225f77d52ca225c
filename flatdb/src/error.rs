//! What can go wrong: the disk, the bytes on it, or the caller.

use std::io;
use std::path::PathBuf;

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("{operation} {}: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another process writes to the directory.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory does not exist or holds no store, and the options do not ask to create one.
    #[error("no store in {}", path.display())]
    NotFound {
        /// The directory.
        path: PathBuf,
    },
    /// A file is not what this version writes.
    #[error("{}: expected {expected}, got {got}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What this version writes there.
        expected: String,
        /// What is there.
        got: String,
    },
    /// Bytes on disk are damaged.
    #[error("{} is damaged at byte {offset}: {problem}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where the damaged record or field begins.
        offset: u64,
        /// What is wrong there.
        problem: String,
    },
    /// The heap has no room for a batch: offsets have 40 bits.
    #[error("the heap would grow to {needed} bytes, its limit is {limit}")]
    Full {
        /// The heap's length with the batch.
        needed: u64,
        /// The largest length.
        limit: u64,
    },
    /// A record is longer than a length field can say.
    #[error("a record has at most {limit} bytes, got {got}")]
    RecordLength {
        /// The largest length.
        limit: usize,
        /// The length of the record.
        got: usize,
    },
    /// An earlier write or flush failed. What it left on disk is unknown until the store is opened again.
    #[error("an earlier write failed; open the store again to continue from the last checkpoint")]
    Poisoned,
    /// The store was opened for reading only.
    #[error("the store was opened read-only")]
    ReadOnly,
}

impl Error {
    /// An [`Error::Io`] maker for `map_err`.
    pub(crate) fn io(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { operation, path, source }
    }
}
