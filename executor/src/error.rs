//! What can end the execution of a block without a result: the block is invalid, or the node itself is in trouble.
//!
//! The two never mix: a [`Fault`] says nothing about the block, and a rule that a block breaks is never a fault.

use rhizome_primitives::provider::ProviderError;
use rhizome_primitives::{Address, B256};
use rhizome_trie::TrieError;

/// Trouble of the node itself: its store, or an invariant of its own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The parent state could not be read.
    #[error("the state cannot be read: {0}")]
    Trie(#[from] TrieError),
    /// A header or a block of the chain could not be read.
    #[error("the chain's blocks cannot be read: {0}")]
    Provider(#[from] ProviderError),
    /// A value in the state trie does not decode, though its node has the right hash.
    #[error("the state holds an unreadable {what} of account {account}")]
    CorruptState {
        /// What does not decode.
        what: &'static str,
        /// The account, as hex; the reward transaction's sender has one byte.
        account: String,
    },
    /// The Bridge's state could not be read or written.
    #[error("the Bridge's state cannot be used: {0}")]
    Bridge(Box<dyn std::error::Error + Send + Sync>),
    /// A call needs a part of the protocol that this build does not have.
    #[error("not built: the call of {to} with selector {selector} in transaction {tx} of block {block}")]
    NotBuilt {
        /// The called contract.
        to: Address,
        /// The first four bytes of the input, as hex; shorter where the input is.
        selector: String,
        /// The outermost transaction.
        tx: B256,
        /// The block under execution.
        block: u64,
    },
    /// An invariant of our own is broken.
    #[error("internal fault: {0}")]
    Internal(String),
}
