//! What can go wrong while reading the tree: always a fault of the store or of its bytes, never an absent key.

use alloy_primitives::B256;

use crate::StoreError;
use crate::codec::NodeError;

/// A fault met on the way through the tree.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TrieError {
    /// A node that another node, or the caller, refers to is not in the store.
    #[error("trie node {hash} is missing from the store")]
    MissingNode {
        /// The hash that was asked for.
        hash: B256,
    },
    /// A long value whose hash a node holds is not in the store, or is of another length than the node says.
    #[error("trie value {hash} of {length} bytes is missing from the store or has another length")]
    MissingValue {
        /// The hash of the value.
        hash: B256,
        /// The length that the node gives, in bytes.
        length: u32,
    },
    /// A value put is longer than a node can say (16 MiB): a mistake of the caller, nothing was changed.
    #[error("a value of {length} bytes is longer than the tree can hold")]
    ValueTooLong {
        /// The length of the value, in bytes.
        length: usize,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bytes stored under a hash are no node.
    #[error("trie node {hash} is corrupt: {reason}")]
    Corrupt {
        /// The hash under which the bytes are stored.
        hash: B256,
        /// What is wrong with them.
        reason: NodeError,
    },
}
