//! What a validity rule is: a type with rskj's class name and one question.

use rhizome_primitives::{Block, BlockHeader};

use crate::error::{ConsensusError, RuleError};

/// A validity rule.
pub trait Rule {
    /// rskj's class of the rule.
    const NAME: &'static str;
}

/// A rule that needs a header only (`BlockHeaderValidationRule`).
pub trait HeaderRule: Rule {
    /// Asks the rule.
    ///
    /// # Errors
    /// [`RuleError`] where the header breaks it.
    fn check(&self, header: &BlockHeader) -> Result<(), RuleError>;

    /// Asks the rule and names it in the error.
    ///
    /// # Errors
    /// [`ConsensusError`] where the header breaks it.
    fn enforce(&self, header: &BlockHeader) -> Result<(), ConsensusError> {
        self.check(header).map_err(|error| ConsensusError::at(error, Self::NAME, header))
    }
}

/// A rule that compares a header with its parent's (`BlockHeaderParentDependantValidationRule`).
pub trait ParentRule: Rule {
    /// Asks the rule.
    ///
    /// # Errors
    /// [`RuleError`] where the header breaks it.
    fn check(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), RuleError>;

    /// Asks the rule and names it in the error.
    ///
    /// # Errors
    /// [`ConsensusError`] where the header breaks it.
    fn enforce(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), ConsensusError> {
        self.check(header, parent).map_err(|error| ConsensusError::at(error, Self::NAME, header))
    }
}

/// A rule that needs the body (`BlockValidationRule`).
pub trait BlockRule: Rule {
    /// Asks the rule.
    ///
    /// # Errors
    /// [`RuleError`] where the block breaks it.
    fn check(&self, block: &Block) -> Result<(), RuleError>;

    /// Asks the rule and names it in the error.
    ///
    /// # Errors
    /// [`ConsensusError`] where the block breaks it.
    fn enforce(&self, block: &Block) -> Result<(), ConsensusError> {
        self.check(block).map_err(|error| ConsensusError::at(error, Self::NAME, &block.header))
    }
}
