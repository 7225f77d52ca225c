//! The rules composed as rskj composes them (`RskContext`, `BlockValidatorImpl`).
//!
//! A block's validation falls into a part that needs the block alone and one that needs its ancestors. The first can run ahead
//! on any thread; together they are the whole ([`BlockValidator::validate`]), in rskj's order. What needs the state (nonces,
//! balances) and what only execution shows (roots, gas, fees, bloom) is checked by the executor.

use std::sync::Arc;

use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{AncestorProvider, Block, BlockHeader};

use crate::body::{
    BlockParentNumberRule, BlockRootValidationRule, BlockTxsFieldsValidationRule, ExtraDataRule, RemascValidationRule,
    ValidTxExecutionSublistsEdgesRule,
};
use crate::difficulty::BlockDifficultyRule;
use crate::error::ConsensusError;
use crate::fork_detection::ForkDetection;
use crate::gas_limit::{BlockParentGasLimitRule, GasLimitRule, ValidGasUsedRule};
use crate::gas_price::{BlockTxsMaxGasPriceRule, PrevMinGasPriceRule, TxsMinGasPriceRule};
use crate::pow::ProofOfWorkRule;
use crate::rule::{BlockRule, HeaderRule, ParentRule, Rule};
use crate::timestamp::BlockTimeStampValidationRule;
use crate::uncles::BlockUnclesValidationRule;

/// Validates the blocks of one network; remembers the facts of recent ancestors that fork detection needs.
#[derive(Debug)]
pub struct BlockValidator {
    spec: Arc<ChainSpec>,
    fork_detection: ForkDetection,
}

/// Where a block stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: &'a BlockHeader,
    ancestors: &'a dyn AncestorProvider,
    fork_detection: &'a ForkDetection,
}

impl BlockValidator {
    /// A validator that remembers nothing yet.
    pub fn new(spec: Arc<ChainSpec>) -> Self {
        Self { spec, fork_detection: ForkDetection::default() }
    }

    /// The network.
    pub const fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// The fork detection data that a block on this parent must carry, for a miner.
    pub const fn fork_detection(&self) -> &ForkDetection {
        &self.fork_detection
    }

    /// All rules, in rskj's order. `clock` is the time now in seconds since 1970; without it the clock is not asked.
    ///
    /// # Errors
    /// [`ConsensusError`] with the first rule that the block breaks, or with the ancestor that cannot be read.
    pub fn validate(
        &self,
        block: &Block,
        parent: &BlockHeader,
        ancestors: &dyn AncestorProvider,
        clock: Option<u64>,
    ) -> Result<(), ConsensusError> {
        run(&self.spec, block, true, Some(self.place(parent, ancestors)), clock)
    }

    /// The rules that need the block alone. They may run ahead, on any thread; of a block that breaks one,
    /// [`BlockValidator::validate`] tells which one rskj names.
    ///
    /// # Errors
    /// [`ConsensusError::Invalid`] with the first rule that the block breaks.
    pub fn validate_alone(&self, block: &Block, clock: Option<u64>) -> Result<(), ConsensusError> {
        run(&self.spec, block, true, None, clock)
    }

    /// The rules that need the ancestors, for a block that [`BlockValidator::validate_alone`] found good.
    ///
    /// # Errors
    /// [`ConsensusError`] with the first rule that the block breaks, or with the ancestor that cannot be read.
    pub fn validate_in_chain(
        &self,
        block: &Block,
        parent: &BlockHeader,
        ancestors: &dyn AncestorProvider,
    ) -> Result<(), ConsensusError> {
        run(&self.spec, block, false, Some(self.place(parent, ancestors)), None)
    }

    const fn place<'a>(&'a self, parent: &'a BlockHeader, ancestors: &'a dyn AncestorProvider) -> Place<'a> {
        Place { parent, ancestors, fork_detection: &self.fork_detection }
    }
}

/// All rules for one block, without memory of other blocks: see [`BlockValidator::validate`].
///
/// # Errors
/// [`ConsensusError`] with the first rule that the block breaks, or with the ancestor that cannot be read.
pub fn validate_block(
    block: &Block,
    parent: &BlockHeader,
    spec: &ChainSpec,
    ancestors: &dyn AncestorProvider,
    clock: Option<u64>,
) -> Result<(), ConsensusError> {
    let fork_detection = ForkDetection::default();
    run(spec, block, true, Some(Place { parent, ancestors, fork_detection: &fork_detection }), clock)
}

/// The list of rules: those that need the block alone, those that need its place, or all.
fn run(
    spec: &ChainSpec,
    block: &Block,
    alone: bool,
    place: Option<Place<'_>>,
    clock: Option<u64>,
) -> Result<(), ConsensusError> {
    let header = &block.header;
    if alone {
        BlockTxsFieldsValidationRule.enforce(block)?;
    }
    if let Some(Place { parent, .. }) = place {
        PrevMinGasPriceRule.enforce(header, parent)?;
        BlockParentNumberRule.enforce(header, parent)?;
        BlockDifficultyRule { spec }.enforce(header, parent)?;
        BlockParentGasLimitRule.enforce(header, parent)?;
    }
    let uncles = BlockUnclesValidationRule { spec, clock };
    let uncle_error = |error| ConsensusError::at(error, BlockUnclesValidationRule::NAME, header);
    if alone {
        TxsMinGasPriceRule.enforce(block)?;
        BlockTxsMaxGasPriceRule { spec }.enforce(block)?;
        uncles.check_alone(block).map_err(uncle_error)?;
    }
    if let Some(Place { ancestors, fork_detection, .. }) = place {
        uncles.check_in_chain(block, ancestors, fork_detection).map_err(uncle_error)?;
    }
    if alone {
        BlockRootValidationRule { spec }.enforce(block)?;
        ProofOfWorkRule { spec }.enforce(header)?;
        RemascValidationRule.enforce(block)?;
        HeaderRule::enforce(&BlockTimeStampValidationRule { spec, clock }, header)?;
        GasLimitRule.enforce(block)?;
        ExtraDataRule.enforce(header)?;
    }
    if let Some(Place { ancestors, fork_detection, .. }) = place {
        fork_detection.enforce(spec, header, ancestors)?;
    }
    if alone {
        ValidTxExecutionSublistsEdgesRule { spec }.enforce(block)?;
    }
    Ok(())
}

/// The rules for a header that came without its body: work, time, gas used.
///
/// # Errors
/// [`ConsensusError::Invalid`] with the first rule that the header breaks.
pub fn validate_header(spec: &ChainSpec, header: &BlockHeader, clock: Option<u64>) -> Result<(), ConsensusError> {
    ProofOfWorkRule { spec }.enforce(header)?;
    HeaderRule::enforce(&BlockTimeStampValidationRule { spec, clock }, header)?;
    ValidGasUsedRule.enforce(header)
}

/// The rules for a header behind its parent's, when both came without bodies.
///
/// # Errors
/// [`ConsensusError::Invalid`] with the first rule that the header breaks.
pub fn validate_header_link(
    spec: &ChainSpec,
    header: &BlockHeader,
    parent: &BlockHeader,
    clock: Option<u64>,
) -> Result<(), ConsensusError> {
    PrevMinGasPriceRule.enforce(header, parent)?;
    BlockParentNumberRule.enforce(header, parent)?;
    ParentRule::enforce(&BlockTimeStampValidationRule { spec, clock }, header, parent)?;
    BlockDifficultyRule { spec }.enforce(header, parent)?;
    BlockParentGasLimitRule.enforce(header, parent)
}

/// The rules that a block must keep before it is announced to peers, ahead of its execution (`BlockRelayValidatorImpl`).
///
/// # Errors
/// [`ConsensusError::Invalid`] with the first rule that the header breaks.
pub fn validate_for_relay(
    spec: &ChainSpec,
    header: &BlockHeader,
    parent: &BlockHeader,
    clock: Option<u64>,
) -> Result<(), ConsensusError> {
    ExtraDataRule.enforce(header)?;
    PrevMinGasPriceRule.enforce(header, parent)?;
    BlockParentGasLimitRule.enforce(header, parent)?;
    BlockDifficultyRule { spec }.enforce(header, parent)?;
    BlockParentNumberRule.enforce(header, parent)?;
    ParentRule::enforce(&BlockTimeStampValidationRule { spec, clock }, header, parent)
}
