//! Minimum gas price: how far it may move from the parent's, what it asks of transactions, and how a miner moves it.

use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::{Block, BlockHeader, Coin, SignedCoin};

use crate::error::RuleError;
use crate::rule::{BlockRule, ParentRule, Rule};

/// The minimum gas prices that may follow another (`BlockGasPriceRange`): 1 % both ways, at least 1 wei, never below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasPriceRange {
    /// The least.
    pub lower: SignedCoin,
    /// The greatest.
    pub upper: SignedCoin,
}

impl GasPriceRange {
    /// The range behind a parent's minimum gas price.
    pub fn around(parent: SignedCoin) -> Self {
        let percent = parent / SignedCoin::unchecked_from(100);
        let step = if percent.is_zero() { SignedCoin::ONE } else { percent };
        let lower = parent.saturating_sub(step).max(SignedCoin::ZERO);
        Self { lower, upper: parent.saturating_add(step) }
    }

    /// Whether a price is within.
    pub fn contains(&self, price: SignedCoin) -> bool {
        price <= self.upper && price >= self.lower
    }
}

/// The minimum gas price that a miner who prefers `target` gives the block behind `parent` (`MinimumGasPriceCalculator`).
pub fn next_minimum_gas_price(parent: SignedCoin, target: SignedCoin) -> SignedCoin {
    let range = GasPriceRange::around(parent);
    if range.contains(target) {
        target
    } else if parent < target {
        range.upper
    } else {
        range.lower
    }
}

/// Greatest gas price as a multiple of the block's minimum (`TxGasPriceCap`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GasPriceCap {
    /// In a block.
    Block,
    /// In the transaction pool.
    Transaction,
}

impl GasPriceCap {
    /// How many times the minimum gas price.
    pub const fn times(self) -> u64 {
        match self {
            Self::Block => 100,
            Self::Transaction => 80,
        }
    }

    /// Whether a gas price is above the cap. Without a minimum there is none.
    pub fn is_surpassed(self, gas_price: Coin, minimum: SignedCoin) -> bool {
        if minimum.is_zero() {
            return false;
        }
        if minimum.is_negative() {
            return true;
        }
        // A cap that needs more than 256 bits is above every price.
        minimum.into_raw().checked_mul(Coin::from(self.times())).is_some_and(|cap| gas_price > cap)
    }
}

/// The minimum gas price is within 1 % of the parent's.
#[derive(Clone, Copy, Debug)]
pub struct PrevMinGasPriceRule;

impl Rule for PrevMinGasPriceRule {
    const NAME: &'static str = "PrevMinGasPriceRule";
}

impl ParentRule for PrevMinGasPriceRule {
    fn check(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), RuleError> {
        if header.number == 0 {
            return Ok(());
        }
        let (Some(price), Some(parent_price)) = (header.minimum_gas_price, parent.minimum_gas_price) else {
            return Err(RuleError::broken("a minimum gas price", "an empty field"));
        };
        let range = GasPriceRange::around(parent_price);
        if range.contains(price) {
            return Ok(());
        }
        let GasPriceRange { lower, upper } = range;
        Err(RuleError::broken(format_args!("a minimum gas price from {lower} to {upper}"), price))
    }
}

/// Every transaction but REMASC's pays at least the block's minimum gas price.
#[derive(Clone, Copy, Debug)]
pub struct TxsMinGasPriceRule;

impl Rule for TxsMinGasPriceRule {
    const NAME: &'static str = "TxsMinGasPriceRule";
}

impl BlockRule for TxsMinGasPriceRule {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        let Some(minimum) = block.header.minimum_gas_price else {
            return Err(RuleError::broken("a minimum gas price", "an empty field"));
        };
        if minimum.is_negative() {
            return Ok(());
        }
        let minimum = minimum.into_raw();
        for (index, transaction) in block.transactions.iter().enumerate() {
            let price = transaction.gas_price();
            if price < minimum && !block.is_remasc(index) {
                let got = format_args!("{price} in transaction {index} {}", transaction.hash());
                return Err(RuleError::broken(format_args!("a gas price of at least {minimum}"), got));
            }
        }
        Ok(())
    }
}

/// Since RSKIP252 no transaction but REMASC's pays more than 100 times the block's minimum gas price.
#[derive(Clone, Copy, Debug)]
pub struct BlockTxsMaxGasPriceRule<'a> {
    /// The network.
    pub spec: &'a ChainSpec,
}

impl Rule for BlockTxsMaxGasPriceRule<'_> {
    const NAME: &'static str = "BlockTxsMaxGasPriceRule";
}

impl BlockRule for BlockTxsMaxGasPriceRule<'_> {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        if !self.spec.is_active(Rskip::R252, block.number()) {
            return Ok(());
        }
        let Some(minimum) = block.header.minimum_gas_price else {
            return Err(RuleError::broken("a minimum gas price", "an empty field"));
        };
        for (index, transaction) in block.transactions.iter().enumerate() {
            let price = transaction.gas_price();
            if GasPriceCap::Block.is_surpassed(price, minimum) && !block.is_remasc(index) {
                let expected = format_args!("a gas price of at most {} times {minimum}", GasPriceCap::Block.times());
                let got = format_args!("{price} in transaction {index} {}", transaction.hash());
                return Err(RuleError::broken(expected, got));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_at_the_edges() {
        let range = |price: i64| GasPriceRange::around(SignedCoin::unchecked_from(price));
        let of = |lower: i64, upper: i64| GasPriceRange {
            lower: SignedCoin::unchecked_from(lower),
            upper: SignedCoin::unchecked_from(upper),
        };
        assert_eq!(range(0), of(0, 1));
        assert_eq!(range(1), of(0, 2));
        assert_eq!(range(199), of(198, 200));
        assert_eq!(range(200), of(198, 202));
        assert_eq!(GasPriceRange::around(SignedCoin::MAX).upper, SignedCoin::MAX);
        assert!(!GasPriceCap::Block.is_surpassed(Coin::MAX, SignedCoin::MAX));
    }
}
