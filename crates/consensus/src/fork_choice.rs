//! Which of two blocks becomes the best one, and what the reward contract makes of it later (`SelectionRule`).

use rhizome_primitives::{B256, BlockHeader, Coin, Difficulty};

/// A block that stands for election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Difficulty of the chain up to and with this block, uncles included.
    pub total_difficulty: Difficulty,
    /// Fees that the header states.
    pub paid_fees: Coin,
    /// Block hash.
    pub hash: B256,
}

impl Candidate {
    /// A block with its chain's total difficulty.
    pub fn new(header: &BlockHeader, total_difficulty: Difficulty) -> Self {
        Self { total_difficulty, paid_fees: header.paid_fees, hash: header.hash() }
    }
}

/// Whether `new` replaces `best` (`SelectionRule.shouldWeAddThisBlock`).
///
/// More difficulty wins. At a tie, fees of more than twice the other's win, else the lower hash, unless its fees are not more
/// than half of the best block's: of two blocks without fees the first one seen stays.
pub fn choose(new: &Candidate, best: &Candidate) -> bool {
    match new.total_difficulty.cmp(&best.total_difficulty) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => {
            more_than_twice(new.paid_fees, best.paid_fees)
                || (less_than_twice(best.paid_fees, new.paid_fees) && new.hash < best.hash)
        }
    }
}

/// A block at another block's height, as the reward contract remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiblingView {
    /// Block hash.
    pub hash: B256,
    /// Fees that its header states.
    pub paid_fees: Coin,
    /// Uncles that its header states.
    pub uncle_count: u32,
}

/// Whether a block should not have been preferred to its siblings (`SelectionRule.isBrokenSelectionRule`).
pub fn is_broken_selection_rule(block: SiblingView, siblings: impl IntoIterator<Item = SiblingView>) -> bool {
    let mut most_uncles = 0;
    for sibling in siblings {
        most_uncles = most_uncles.max(sibling.uncle_count);
        if more_than_twice(sibling.paid_fees, block.paid_fees)
            || (less_than_twice(block.paid_fees, sibling.paid_fees) && sibling.hash < block.hash)
        {
            return true;
        }
    }
    most_uncles > block.uncle_count
}

/// `fees > 2 * other`.
fn more_than_twice(fees: Coin, other: Coin) -> bool {
    other.checked_mul(Coin::from(2)).is_some_and(|twice| fees > twice)
}

/// `fees < 2 * other`.
fn less_than_twice(fees: Coin, other: Coin) -> bool {
    other.checked_mul(Coin::from(2)).is_none_or(|twice| fees < twice)
}

/// The total difficulty of a block whose parent's chain has `parent_total`, given its own cumulative difficulty
/// ([`Block::cumulative_difficulty`](rhizome_primitives::Block::cumulative_difficulty)).
pub fn total_difficulty(parent_total: Difficulty, cumulative: Difficulty) -> Difficulty {
    parent_total.saturating_add(cumulative)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(fees: Coin, hash: u8) -> Candidate {
        Candidate { total_difficulty: Difficulty::ONE, paid_fees: fees, hash: B256::repeat_byte(hash) }
    }

    #[test]
    fn the_first_of_two_blocks_without_fees_stays() {
        assert!(!choose(&candidate(Coin::ZERO, 1), &candidate(Coin::ZERO, 2)));
        assert!(!choose(&candidate(Coin::ZERO, 2), &candidate(Coin::ZERO, 1)));
        assert!(choose(&candidate(Coin::from(1), 1), &candidate(Coin::from(1), 2)));
        assert!(choose(&candidate(Coin::MAX, 1), &candidate(Coin::MAX, 2)));
        assert!(!choose(&candidate(Coin::MAX, 2), &candidate(Coin::MAX, 1)));
    }
}
