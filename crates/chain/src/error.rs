//! Why an import ends without a verdict, and what a verdict of "invalid" says.
//!
//! Two types that never mix: [`InvalidBlock`] blames the block and who sent it, [`ChainError`] is this node's own trouble and
//! stops it.

use std::fmt;

use rhizome_consensus::ConsensusError;
use rhizome_executor::ExecutionError;
use rhizome_primitives::{Address, B256, DecodeError, ProviderError};
use rhizome_storage::StorageError;
use rhizome_trie::TrieError;

/// Shorthand for results of this crate.
pub type Result<T, E = ChainError> = std::result::Result<T, E>;

/// Trouble of the node itself. Nothing follows from it about a block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A store failed or holds damaged data.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The state trie could not be read or written.
    #[error(transparent)]
    Trie(#[from] TrieError),
    /// Headers or blocks of the chain could not be read.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A block calls a part of the protocol that this build does not have.
    #[error("not built: block {number} ({hash}) calls {to} with selector {selector} in transaction {tx}")]
    NotBuilt {
        /// The block.
        number: u64,
        /// Its hash.
        hash: B256,
        /// The called contract.
        to: Address,
        /// The first four bytes of the input, in hex.
        selector: String,
        /// The transaction.
        tx: B256,
    },
    /// An invariant of our own is broken while a block is looked at.
    #[error(
        "internal fault at block {number} ({hash}): {what}. This says nothing about the block; please report it with the output of `rhizome db info`, the block's line from `rhizome export`, and this message"
    )]
    Internal {
        /// The block.
        number: u64,
        /// Its hash.
        hash: B256,
        /// What contradicts what.
        what: String,
    },
}

/// A block that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidBlock {
    /// The block's number.
    pub number: u64,
    /// The block's hash.
    pub hash: B256,
    /// The rule's type name. What execution determines is StateRoot, ReceiptsRoot, GasUsed, PaidFees, LogsBloom.
    pub rule: &'static str,
    /// What the rule asks for.
    pub expected: String,
    /// What the block has.
    pub got: String,
    /// The transaction that breaks it, where it is one.
    pub tx: Option<B256>,
}

impl fmt::Display for InvalidBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, hash, rule, expected, got, tx } = self;
        write!(f, "block {number} ({hash}) is invalid: {rule}: expected {expected}, got {got}")?;
        match tx {
            Some(tx) => write!(f, ", transaction {tx}"),
            None => Ok(()),
        }
    }
}

/// Bytes that are no block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a block: {0}")]
pub struct NotABlock(#[from] pub DecodeError);

/// Why a block has no result: its own fault or ours.
#[derive(Debug)]
pub(crate) enum Failure {
    Invalid(Box<InvalidBlock>),
    Fault(ChainError),
}

impl<E: Into<ChainError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

impl Failure {
    pub(crate) fn consensus(error: ConsensusError) -> Self {
        match error {
            ConsensusError::Invalid(violation) => Self::Invalid(Box::new(InvalidBlock {
                number: violation.block,
                hash: violation.hash,
                rule: violation.rule,
                expected: violation.expected,
                got: violation.got,
                tx: None,
            })),
            ConsensusError::Provider(error) => Self::Fault(error.into()),
        }
    }

    pub(crate) fn execution(error: ExecutionError, number: u64, hash: B256) -> Self {
        match error {
            ExecutionError::InvalidBlock(violation) => Self::Invalid(Box::new(InvalidBlock {
                number,
                hash,
                rule: violation.rule,
                expected: violation.expected,
                got: violation.got,
                tx: violation.transaction.map(|(_, hash)| hash),
            })),
            ExecutionError::Fault(fault) => Self::Fault(fault_of(fault, number, hash)),
            other => Self::Fault(ChainError::Internal { number, hash, what: other.to_string() }),
        }
    }
}

fn fault_of(fault: rhizome_executor::Fault, number: u64, hash: B256) -> ChainError {
    use rhizome_executor::Fault;
    match fault {
        Fault::Trie(error) => ChainError::Trie(error),
        Fault::Provider(error) => ChainError::Provider(error),
        Fault::NotBuilt { to, selector, tx, .. } => ChainError::NotBuilt { number, hash, to, selector, tx },
        other => ChainError::Internal { number, hash, what: other.to_string() },
    }
}
