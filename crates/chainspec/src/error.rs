//! What can be wrong with a chain file or a genesis file; each error says where.

use std::path::PathBuf;

/// A chain that cannot be defined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainSpecError {
    /// The name is no built-in network and no file.
    #[error("unknown chain {name:?}: not one of mainnet, testnet, testnet2, devnet, regtest and not a file")]
    UnknownChain {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is not JSON, or a key stands in it twice.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What and where.
        source: serde_json::Error,
    },
    /// A key that means nothing at its place.
    #[error("{}: unknown key {key:?} in {place}; {}", path.display(), hint(nearest, known))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The object that the key stands in.
        place: String,
        /// The key.
        key: String,
        /// The known key that it is like, if there is one.
        nearest: Option<String>,
        /// The keys that may stand here.
        known: Vec<String>,
    },
    /// A key that must be there is not.
    #[error("{}: {place} has no {key:?}", path.display())]
    MissingKey {
        /// The file.
        path: PathBuf,
        /// The object that lacks it.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// A value that is not of the kind its key asks for.
    #[error("{}: {place} is {got}, expected {expected}", path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// The value's key with the objects around it.
        place: String,
        /// What may stand here.
        expected: String,
        /// What stands here.
        got: String,
    },
}

fn hint(nearest: &Option<String>, known: &[String]) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("expected one of {}", known.join(", ")),
    }
}
