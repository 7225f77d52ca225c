//! Difficulty: what a block's must be, and the target that it stands for (`DifficultyCalculator`, `DifficultyUtils`).

use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::{BlockHeader, Difficulty, U256};

use crate::error::RuleError;
use crate::rule::{ParentRule, Rule};

/// A gap of this many seconds resets the difficulty until RSKIP97.
const RESET_GAP: i64 = 600;

/// The difficulty of the block at height `number` with this time and number of uncles.
pub fn calculate_difficulty(
    spec: &ChainSpec,
    number: u64,
    timestamp: u64,
    uncle_count: u32,
    parent_difficulty: Difficulty,
    parent_timestamp: u64,
) -> Difficulty {
    // rskj's times are signed, and its sums wrap.
    let (time, parent_time) = (timestamp as i64, parent_timestamp as i64);
    if !spec.is_active(Rskip::R97, number) && time >= parent_time.wrapping_add(RESET_GAP) {
        return Difficulty(spec.minimum_difficulty(number));
    }
    let gap = time.wrapping_sub(parent_time);
    if gap < 0 {
        return parent_difficulty;
    }
    // An `int` product there, which a hostile uncle count makes wrap.
    let spacing = (uncle_count as i32).wrapping_add(1).wrapping_mul(spec.constants.duration_limit as i32);
    let parent = parent_difficulty.value();
    let step = parent / U256::from(spec.difficulty_divisor(spec.activations(number)));
    let moved = match gap.cmp(&i64::from(spacing)) {
        std::cmp::Ordering::Equal => return parent_difficulty,
        std::cmp::Ordering::Less => parent.saturating_add(step),
        std::cmp::Ordering::Greater => parent - step,
    };
    Difficulty(moved.max(spec.minimum_difficulty(number)))
}

/// The greatest hash that is work enough: 2^256 over the difficulty, with difficulties below 3 as 3.
pub fn target(difficulty: Difficulty) -> U256 {
    let divisor = difficulty.value().max(U256::from(3));
    // 2^256 = MAX + 1: the quotient is one more where the division of MAX just misses.
    let quotient = U256::MAX / divisor;
    if U256::MAX % divisor == divisor - U256::ONE { quotient + U256::ONE } else { quotient }
}

/// The difficulty is the one that follows from the parent.
#[derive(Clone, Copy, Debug)]
pub struct BlockDifficultyRule<'a> {
    /// The network.
    pub spec: &'a ChainSpec,
}

impl Rule for BlockDifficultyRule<'_> {
    const NAME: &'static str = "BlockDifficultyRule";
}

impl ParentRule for BlockDifficultyRule<'_> {
    fn check(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), RuleError> {
        let expected = calculate_difficulty(
            self.spec,
            header.number,
            header.timestamp,
            header.uncle_count,
            parent.difficulty(),
            parent.timestamp,
        );
        if header.difficulty() == expected { Ok(()) } else { Err(RuleError::broken(expected, header.difficulty())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_at_the_edges() {
        let of = |difficulty: u64| target(Difficulty::from(difficulty));
        assert_eq!(of(0), of(3));
        assert_eq!(of(2), U256::MAX / U256::from(3));
        assert_eq!(of(4), U256::ONE << 254);
        assert_eq!(of(1 << 63), U256::ONE << 193);
        assert_eq!(target(Difficulty(U256::MAX)), U256::ONE);
        assert_eq!(target(Difficulty(U256::ONE << 255)), U256::from(2));
    }

    #[test]
    fn hostile_numbers_do_not_panic() {
        let spec = ChainSpec::mainnet();
        for uncles in [0, u32::MAX, i32::MAX as u32, 1 << 28] {
            for (time, parent) in [(0, u64::MAX), (u64::MAX, 0), (i64::MAX as u64, 0), (0, i64::MAX as u64), (1, 1)] {
                for difficulty in [U256::ZERO, U256::MAX] {
                    let _ = calculate_difficulty(&spec, 0, time, uncles, Difficulty(difficulty), parent);
                    let _ = calculate_difficulty(&spec, 5_000_000, time, uncles, Difficulty(difficulty), parent);
                }
            }
        }
    }
}
