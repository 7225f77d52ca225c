//! How the execution of a block ends without a result.

use rhizome_primitives::B256;

use crate::Fault;

/// A block that breaks a rule which only execution can check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("block {number} ({hash}) breaks {rule}: expected {expected}, got {got}{}", at_transaction(.transaction))]
pub struct BlockViolation {
    /// The rule: a header field such as `StateRoot`, or rskj's class.
    pub rule: &'static str,
    /// The block's number.
    pub number: u64,
    /// The block's hash.
    pub hash: B256,
    /// What the block should have: the executed value for a header field.
    pub expected: String,
    /// What the block has.
    pub got: String,
    /// Position and hash of the transaction that breaks the rule, where it is one.
    pub transaction: Option<(usize, B256)>,
}

fn at_transaction(transaction: &Option<(usize, B256)>) -> String {
    transaction.map(|(index, hash)| format!(" (transaction {index}, {hash})")).unwrap_or_default()
}

/// A block without a result: it is invalid, or the node is in trouble. The two never mix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutionError {
    /// The block is invalid.
    #[error(transparent)]
    InvalidBlock(#[from] Box<BlockViolation>),
    /// The node's own trouble, or a part of the protocol that is not built ([`Fault::NotBuilt`]). Says nothing of the block.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<BlockViolation> for ExecutionError {
    fn from(violation: BlockViolation) -> Self {
        Self::InvalidBlock(Box::new(violation))
    }
}
