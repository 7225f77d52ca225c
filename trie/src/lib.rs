//! The unitrie: Rootstock's state tree as a persistent value.
//!
//! One binary radix tree holds accounts, code and storage (RSKIP107). A [`Trie`] is one version of it: cheap to clone,
//! never changed, sharing with other versions every subtree that is equal. [`Trie::apply`] takes the changes of a whole
//! block and gives the next version with its root hash; [`Trie::commit`] hands out the new nodes for the [`TrieStore`].
//!
//! - Nodes are read when needed and kept with their parents; [`Trie::prune`] bounds what is kept.
//! - A missing node is a fault of the store ([`TrieError`]), never an absent key, and absence is never remembered.
//! - The crate knows no engine: what stores nodes implements [`TrieStore`].
//!
//! ```
//! use std::sync::Arc;
//! use alloy_primitives::Bytes;
//! use rhizome_trie::{ChangeSet, MemoryTrieStore, Trie, TrieKey};
//!
//! let trie = Trie::empty(Arc::new(MemoryTrieStore::new()));
//! let mut changes = ChangeSet::builder();
//! changes.put(TrieKey::new(b"key"), Some(Bytes::from_static(b"value")));
//! let next = trie.apply(&changes.build())?;
//! assert_eq!(next.get(b"key")?, Some(Bytes::from_static(b"value")));
//! next.save()?;
//! let again = Trie::open(next.root_hash(), next.store().clone())?;
//! assert_eq!(again.get(b"key")?, next.get(b"key")?);
//! # Ok::<(), rhizome_trie::TrieError>(())
//! ```

mod apply;
mod batch;
/// Strings of bits: paths and keys.
pub mod bits;
mod change;
/// A node as bytes.
pub mod codec;
mod draft;
mod error;
/// Keys of accounts, code and storage.
pub mod key;
mod node;
/// The form of a node before RSKIP107.
pub mod orchid;
mod ordered;
mod prefetch;
mod proof;
#[cfg(test)]
mod properties;
mod prune;
mod seal;
mod store;
mod tree;
mod walk;

pub use batch::NodeBatch;
pub use change::{ChangeSet, ChangeSetBuilder, TrieKey};
pub use codec::EMPTY_ROOT;
pub use error::TrieError;
pub use key::AccountKeys;
pub use ordered::{index_key, ordered_root};
pub use proof::{ProofError, Proven, verify_proof};
pub use store::{MemoryTrieStore, StoreError, StoreStats, TrieStore};
pub use tree::{Entry, Trie};
pub use walk::{NodeItem, NodeIter, ValueIter};
