//! Siblings of a rewarded block: which they are, how they break the selection rule, and how a reward is divided among them
//! (rskj `Sibling`, `SelectionRule`, `SiblingPaymentCalculator`).

use rhizome_chainspec::RemascConfig;
use rhizome_primitives::{B256, BlockHeader, U256};

use super::{Receiver, divide};

/// A block at the height of the candidate that a descendant included as an uncle.
#[derive(Debug, Clone)]
pub(super) struct Sibling {
    pub(super) hash: B256,
    pub(super) miner: Receiver,
    /// Miner of the block that included it.
    pub(super) publisher: Receiver,
    pub(super) paid_fees: U256,
    /// Height of the block that included it.
    pub(super) included_height: u64,
    /// As its header states it.
    pub(super) uncle_count: u32,
}

/// Whether a sibling should have been chosen over the candidate: by fees, by the lower hash where the fees are near, or by its
/// number of uncles.
pub(super) fn is_broken_selection_rule(config: &RemascConfig, candidate: &BlockHeader, siblings: &[Sibling]) -> bool {
    let factor = U256::from(config.paid_fees_multiplier);
    let fees = candidate.paid_fees;
    siblings.iter().any(|sibling| {
        sibling.paid_fees > fees.saturating_mul(factor)
            || (fees < sibling.paid_fees.saturating_mul(factor) && sibling.hash < candidate.hash())
            || sibling.uncle_count > candidate.uncle_count
    })
}

/// What each one gets of a reward with siblings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// For each inclusion of a sibling, to the miner of the including block.
    pub(super) publisher: U256,
    /// What the division among the publishers leaves, to burn.
    pub(super) publishers_surplus: U256,
    /// For the candidate's miner and each sibling's, before a late sibling's loss.
    pub(super) miner: U256,
    /// What the division among the miners leaves, to burn.
    pub(super) miners_surplus: U256,
    /// What all miners together lose for a broken selection rule, to burn.
    pub(super) punishment: U256,
}

impl Shares {
    pub(super) fn new(config: &RemascConfig, reward: U256, siblings: u64, was_broken: bool) -> Self {
        let publishers = divide(reward, config.publishers_divisor);
        let (publisher, publishers_surplus) = publishers.div_rem(U256::from(siblings));
        let miners = U256::from(siblings + 1);
        let (mut miner, miners_surplus) = (reward - publishers).div_rem(miners);
        let mut punishment = U256::ZERO;
        if was_broken {
            let each = divide(miner, config.punishment_divisor);
            miner -= each;
            punishment = each * miners;
        }
        Self { publisher, publishers_surplus, miner, miners_surplus, punishment }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhizome_chainspec::ChainSpec;

    #[test]
    fn nothing_is_lost_in_the_division() {
        let config = ChainSpec::regtest().remasc;
        for reward in [0u64, 1, 9, 10, 99, 12_345_678_901] {
            for siblings in 1..5 {
                for broken in [false, true] {
                    let shares = Shares::new(&config, U256::from(reward), siblings, broken);
                    let paid = shares.publisher * U256::from(siblings) + shares.miner * U256::from(siblings + 1);
                    let burnt = shares.publishers_surplus + shares.miners_surplus + shares.punishment;
                    assert_eq!(paid + burnt, U256::from(reward));
                }
            }
        }
    }
}
