//! What a rule says about a block, and what validation as a whole gives back.
//!
//! An invalid block and a store that failed are different things: the first is a verdict, the second stops the node.

use rhizome_primitives::{B256, BlockHeader, ProviderError};

/// Why a rule did not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RuleError {
    /// The block breaks the rule.
    #[error("expected {expected}, got {got}")]
    Broken {
        /// What the rule asks for.
        expected: String,
        /// What the block has.
        got: String,
    },
    /// The rule could not be asked.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl RuleError {
    /// The block breaks the rule.
    pub fn broken(expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Self {
        Self::Broken { expected: expected.to_string(), got: got.to_string() }
    }
}

/// A rule that a block breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {block} {hash} breaks {rule}: expected {expected}, got {got}")]
pub struct RuleViolation {
    /// rskj's class of the rule.
    pub rule: &'static str,
    /// The block's height.
    pub block: u64,
    /// The block's hash.
    pub hash: B256,
    /// What the rule asks for.
    pub expected: String,
    /// What the block has.
    pub got: String,
}

/// The outcome of a validation that did not pass: a verdict on the block, or a fault that says nothing about it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConsensusError {
    /// The block is invalid.
    #[error(transparent)]
    Invalid(#[from] RuleViolation),
    /// The ancestors could not be read; nothing is said about the block.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl ConsensusError {
    /// Puts the rule's name and the block to what the rule said.
    pub(crate) fn at(error: RuleError, rule: &'static str, header: &BlockHeader) -> Self {
        match error {
            RuleError::Broken { expected, got } => {
                Self::Invalid(RuleViolation { rule, block: header.number, hash: header.hash(), expected, got })
            }
            RuleError::Provider(error) => Self::Provider(error),
        }
    }
}
