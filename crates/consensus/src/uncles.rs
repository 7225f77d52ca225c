//! Uncles: blocks beside the chain that a block names, so that their work counts.
//!
//! An uncle is a valid header by itself, a child of one of the last seven ancestors, none of them itself, and was not named before.

use rhizome_chainspec::ChainSpec;
use rhizome_chainspec::constants::{UNCLE_GENERATION_LIMIT, UNCLE_LIST_LIMIT};
use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, ProviderError};
use std::sync::Arc;

use crate::body::{BlockParentNumberRule, BlockUnclesHashValidationRule};
use crate::difficulty::BlockDifficultyRule;
use crate::error::{ConsensusError, RuleError};
use crate::fork_detection::ForkDetection;
use crate::gas_limit::{BlockParentGasLimitRule, ValidGasUsedRule};
use crate::gas_price::PrevMinGasPriceRule;
use crate::pow::ProofOfWorkRule;
use crate::rule::{BlockRule, HeaderRule, ParentRule, Rule};
use crate::timestamp::BlockTimeStampValidationRule;

/// Whether an uncle's height may stand in a block of this height: below it, and the uncle's parent at most
/// [`UNCLE_GENERATION_LIMIT`] below it.
pub const fn is_uncle_number(uncle: u64, block: u64) -> bool {
    uncle < block && uncle.saturating_add(UNCLE_GENERATION_LIMIT) > block
}

/// The ancestors that uncles are judged against.
#[derive(Debug, Default)]
pub struct Family {
    /// The last seven ancestors, the parent first.
    pub ancestors: Vec<(B256, Arc<Block>)>,
}

impl Family {
    /// Reads the family of a block (`FamilyUtils.getAncestors`, `getUsedUncles`).
    ///
    /// # Errors
    /// [`ProviderError`] where an ancestor cannot be read.
    pub fn of(block: &BlockHeader, ancestors: &dyn AncestorProvider) -> Result<Self, ProviderError> {
        let oldest = block.number.saturating_sub(UNCLE_GENERATION_LIMIT);
        let mut family = Self::default();
        let mut hash = block.parent_hash;
        // Numbers fall by one on a sound chain; the count bounds the walk on any other.
        while family.ancestors.len() < UNCLE_GENERATION_LIMIT as usize
            && let Some(ancestor) = ancestors.block(&hash)?
            && ancestor.number() >= oldest
        {
            let parent = ancestor.header.parent_hash;
            family.ancestors.push((hash, ancestor));
            hash = parent;
        }
        Ok(family)
    }

    fn ancestor(&self, hash: &B256) -> Option<&Block> {
        self.ancestors.iter().find(|(ancestor, _)| ancestor == hash).map(|(_, block)| block.as_ref())
    }

    fn has_used(&self, uncle: &B256) -> bool {
        self.ancestors.iter().any(|(_, block)| block.uncles.iter().any(|used| used.hash() == *uncle))
    }

    /// Asks whether an uncle has its place beside these ancestors, and gives its parent.
    ///
    /// # Errors
    /// [`RuleError::Broken`] where it has not.
    pub fn parent_of_uncle(&self, uncle: &BlockHeader) -> Result<&BlockHeader, RuleError> {
        let hash = uncle.hash();
        if self.ancestor(&hash).is_some() {
            return Err(RuleError::broken("an uncle beside the chain", format_args!("the ancestor {hash}")));
        }
        if self.has_used(&hash) {
            return Err(RuleError::broken("an uncle of no ancestor", format_args!("{hash}, used before")));
        }
        let parent = self.ancestor(&uncle.parent_hash);
        parent.map(|parent| &parent.header).ok_or_else(|| {
            let expected = format_args!("an uncle whose parent is one of the last {UNCLE_GENERATION_LIMIT} ancestors");
            RuleError::broken(expected, format_args!("{hash} with parent {}", uncle.parent_hash))
        })
    }
}

/// The uncles are named by the header's hash, few, valid by themselves, near the chain, and new.
///
/// An uncle's own failure is reported as this rule's, with the uncle and the inner rule in what was got.
#[derive(Clone, Copy, Debug)]
pub struct BlockUnclesValidationRule<'a> {
    /// The network.
    pub spec: &'a ChainSpec,
    /// Seconds since 1970; without it the clock is not asked.
    pub clock: Option<u64>,
}

impl Rule for BlockUnclesValidationRule<'_> {
    const NAME: &'static str = "BlockUnclesValidationRule";
}

impl BlockUnclesValidationRule<'_> {
    /// The part that needs the block only: hash, count, numbers, and the uncles' proofs of work, times and gas.
    ///
    /// # Errors
    /// [`RuleError::Broken`] where the block breaks it.
    pub fn check_alone(&self, block: &Block) -> Result<(), RuleError> {
        BlockUnclesHashValidationRule.check(block)?;
        let uncles = &block.uncles;
        if uncles.len() > UNCLE_LIST_LIMIT {
            return Err(RuleError::broken(format_args!("at most {UNCLE_LIST_LIMIT} uncles"), uncles.len()));
        }
        for (index, uncle) in uncles.iter().enumerate() {
            let hash = uncle.hash();
            if !is_uncle_number(uncle.number, block.number()) {
                let expected = format_args!("an uncle's number within {UNCLE_GENERATION_LIMIT} of {}", block.number());
                return Err(RuleError::broken(expected, uncle.number));
            }
            if uncles[..index].iter().any(|other| other.hash() == hash) {
                return Err(RuleError::broken("different uncles", format_args!("{hash} twice")));
            }
            within(uncle, HeaderRule::enforce(&ProofOfWorkRule { spec: self.spec }, uncle))?;
            within(uncle, HeaderRule::enforce(&self.time_rule(), uncle))?;
            within(uncle, ValidGasUsedRule.enforce(uncle))?;
        }
        Ok(())
    }

    /// The part that needs the ancestors.
    ///
    /// # Errors
    /// [`RuleError`] where the block breaks it or an ancestor cannot be read.
    pub fn check_in_chain(
        &self,
        block: &Block,
        ancestors: &dyn AncestorProvider,
        fork_detection: &ForkDetection,
    ) -> Result<(), RuleError> {
        if block.uncles.is_empty() {
            return Ok(());
        }
        let family = Family::of(&block.header, ancestors)?;
        for uncle in &block.uncles {
            let parent = family.parent_of_uncle(uncle)?;
            within(uncle, fork_detection.enforce(self.spec, uncle, ancestors))?;
            within(uncle, PrevMinGasPriceRule.enforce(uncle, parent))?;
            within(uncle, BlockParentNumberRule.enforce(uncle, parent))?;
            let order = self.time_rule().check_order(uncle, parent);
            within(uncle, order.map_err(|error| ConsensusError::at(error, BlockTimeStampValidationRule::NAME, uncle)))?;
            within(uncle, BlockDifficultyRule { spec: self.spec }.enforce(uncle, parent))?;
            within(uncle, BlockParentGasLimitRule.enforce(uncle, parent))?;
        }
        Ok(())
    }

    const fn time_rule(&self) -> BlockTimeStampValidationRule<'_> {
        BlockTimeStampValidationRule { spec: self.spec, clock: self.clock }
    }
}

/// An uncle's violation in the words of the uncle rule.
fn within(uncle: &BlockHeader, result: Result<(), ConsensusError>) -> Result<(), RuleError> {
    result.map_err(|error| match error {
        ConsensusError::Invalid(violation) => RuleError::broken(
            format_args!("an uncle that keeps {}: {}", violation.rule, violation.expected),
            format_args!("{} in uncle {} {}", violation.got, uncle.number, violation.hash),
        ),
        ConsensusError::Provider(error) => RuleError::Provider(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncle_numbers() {
        assert!(is_uncle_number(99, 100) && is_uncle_number(94, 100));
        assert!(!is_uncle_number(100, 100) && !is_uncle_number(93, 100));
        assert!(!is_uncle_number(u64::MAX, u64::MAX));
        assert!(is_uncle_number(0, 1) && is_uncle_number(0, 6) && !is_uncle_number(0, 7));
    }
}
