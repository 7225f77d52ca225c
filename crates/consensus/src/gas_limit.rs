//! Gas limit: how far it may move from the parent's, and how a miner moves it (`GasLimitCalculator`).

use rhizome_chainspec::constants::{GAS_LIMIT_BOUND_DIVISOR, MIN_GAS_LIMIT};
use rhizome_primitives::{Block, BlockHeader, U256};

use crate::error::RuleError;
use crate::rule::{BlockRule, HeaderRule, ParentRule, Rule};

const DIVISOR: U256 = U256::from_limbs([GAS_LIMIT_BOUND_DIVISOR, 0, 0, 0]);

/// The least and the greatest gas limit behind a parent: 1023 and 1025 of its 1024th parts, both rounded down.
pub fn gas_limit_bounds(parent: U256) -> (U256, U256) {
    let step = parent / DIVISOR;
    // Rounding 1023/1024 down takes one more off the parent where 1024 does not divide it.
    let rounding = U256::from(u8::from(!(parent % DIVISOR).is_zero()));
    (parent - step - rounding, parent.saturating_add(step))
}

/// The gas limit is within 1/1024 of the parent's.
#[derive(Clone, Copy, Debug)]
pub struct BlockParentGasLimitRule;

impl BlockParentGasLimitRule {
    /// Whether a gas limit may follow another.
    pub fn accepts(gas_limit: U256, parent_gas_limit: U256) -> bool {
        let (least, greatest) = gas_limit_bounds(parent_gas_limit);
        (least..=greatest).contains(&gas_limit)
    }
}

impl Rule for BlockParentGasLimitRule {
    const NAME: &'static str = "BlockParentGasLimitRule";
}

impl ParentRule for BlockParentGasLimitRule {
    fn check(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), RuleError> {
        let (limit, parent_limit) = (header.gas_limit_number(), parent.gas_limit_number());
        if Self::accepts(limit, parent_limit) {
            return Ok(());
        }
        let (least, greatest) = gas_limit_bounds(parent_limit);
        Err(RuleError::broken(format_args!("a gas limit from {least} to {greatest}"), limit))
    }
}

/// The gas limit is not below the protocol's least.
#[derive(Clone, Copy, Debug)]
pub struct GasLimitRule;

impl Rule for GasLimitRule {
    const NAME: &'static str = "GasLimitRule";
}

impl BlockRule for GasLimitRule {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        let limit = block.header.gas_limit_number();
        if limit >= U256::from(MIN_GAS_LIMIT) {
            return Ok(());
        }
        Err(RuleError::broken(format_args!("a gas limit of at least {MIN_GAS_LIMIT}"), limit))
    }
}

/// The gas used is not above the gas limit.
#[derive(Clone, Copy, Debug)]
pub struct ValidGasUsedRule;

impl Rule for ValidGasUsedRule {
    const NAME: &'static str = "ValidGasUsedRule";
}

impl HeaderRule for ValidGasUsedRule {
    fn check(&self, header: &BlockHeader) -> Result<(), RuleError> {
        // rskj takes the low 64 bits of the limit as a signed number.
        let low = header.gas_limit.iter().rev().take(8).enumerate();
        let limit = low.fold(0u64, |value, (at, byte)| value | u64::from(*byte) << (8 * at)) as i64;
        if header.gas_used as i64 >= 0 && header.gas_used as i64 <= limit {
            return Ok(());
        }
        Err(RuleError::broken(format_args!("gas used of at most {limit}"), header.gas_used))
    }
}

/// The gas limit that a miner gives the next block.
///
/// With `force` it goes for the target as fast as the rule allows; else it grows only while blocks are more than two thirds
/// full, up to the target. A target below `minimum` counts as that.
pub fn next_gas_limit(parent_limit: U256, parent_used: U256, minimum: U256, target: U256, force: bool) -> U256 {
    let step = parent_limit / DIVISOR;
    let target = target.max(minimum);
    let (least, greatest) = (parent_limit - step, parent_limit.saturating_add(step));
    if force {
        return target.clamp(least, greatest);
    }
    let used = parent_used.saturating_mul(U256::from(3)) / U256::from(2) / DIVISOR;
    let next = least.saturating_add(used).max(minimum).min(target);
    if (least..=greatest).contains(&next) { next } else { parent_limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_equal_the_products() {
        for parent in [0u64, 1, 1023, 1024, 1025, 2047, 3_000_000, 6_800_000, 10_485_760] {
            let (least, greatest) = gas_limit_bounds(U256::from(parent));
            assert_eq!(least, U256::from(parent * 1023 / 1024));
            assert_eq!(greatest, U256::from(parent * 1025 / 1024));
        }
        assert_eq!(gas_limit_bounds(U256::MAX).1, U256::MAX);
    }
}
