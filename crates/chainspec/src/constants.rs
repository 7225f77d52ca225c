//! Constants of the protocol: those of every network, and those that differ (`org.ethereum.config.Constants`).
//!
//! What the Bridge needs (federations, peg values) is in the bridge crate.

use rhizome_primitives::{Address, U256};

/// Smallest gas limit of a block.
pub const MIN_GAS_LIMIT: u64 = 3_000_000;
/// A block's gas limit moves by at most the parent's limit over this.
pub const GAS_LIMIT_BOUND_DIVISOR: u64 = 1024;
/// Longest extra data of a header, bytes.
pub const MAX_EXTRA_DATA_SIZE: usize = 32;
/// How many generations back an uncle's parent may be.
pub const UNCLE_GENERATION_LIMIT: u64 = 7;
/// Most uncles of a block.
pub const UNCLE_LIST_LIMIT: usize = 10;
/// A block this far from the best one is not processed (`getBestNumberDiffLimit`).
pub const BEST_NUMBER_DIFF_LIMIT: u64 = 100;
/// Least gas that a REMASC payment must be worth.
pub const MINIMUM_PAYABLE_GAS: u64 = 200_000;
/// Least gas that a federator's share must be worth.
pub const FEDERATOR_MINIMUM_PAYABLE_GAS: u64 = 50_000;
/// The transaction pool's cap on a gas limit: 2^60 as rskj computes it, over a double and back, hence the 4.
pub const TRANSACTION_GAS_CAP: u64 = 1_152_921_504_606_846_980;
/// Longest deployed code, bytes.
pub const MAX_CONTRACT_SIZE: usize = 0x6000;
/// Longest initcode since RSKIP438, bytes.
pub const MAX_INITCODE_SIZE: usize = 2 * MAX_CONTRACT_SIZE;
/// Longest merge-mining proof since RSKIP180, bytes.
pub const MAX_MERKLE_PROOF_LENGTH: usize = 960;
/// Parallel lists of a block since RSKIP144.
pub const TRANSACTION_EXECUTION_THREADS: usize = 2;
/// Ancestors that fork detection data needs, counted with the block itself (`MiningConfig`).
pub const FORK_DETECTION_BLOCKS: u64 = 449;
/// Difficulty divisor since RSKIP156, except on regtest.
const DIFFICULTY_DIVISOR_RSKIP156: u64 = 400;

/// The uncompressed key that signs fallback-mined blocks with an even number (RSKIP98 ended fallback mining).
pub const FALLBACK_MINING_KEY_EVEN: [u8; 65] = rhizome_primitives::hex!(
    "041e2b148c024770e19c4f31db2233cac791583df95b4d14a5e9fd4b38dc8254b3048f937f169446b19d2eca40db1dd93fab34c0cd8a310afd6e6211f9a89e4bca"
);
/// The uncompressed key that signs fallback-mined blocks with an odd number.
pub const FALLBACK_MINING_KEY_ODD: [u8; 65] = rhizome_primitives::hex!(
    "04b55031870df5de88bdb84f65bd1c6f8331c633e759caa5ac7cad3fa4f8a36791e995804bba1558ddcf330a67ff5bfa253fa1d8789735f97a97e849686527976e"
);

/// The constants in which networks differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constants {
    /// Seconds between blocks that the difficulty aims at, without uncles.
    pub duration_limit: u64,
    /// Least difficulty.
    pub minimum_difficulty: U256,
    /// Least difficulty since RSKIP290, where the network has another.
    pub minimum_difficulty_rskip290: U256,
    /// Difficulty below which fallback mining is possible before RSKIP98.
    pub fallback_mining_difficulty: U256,
    /// The difficulty moves by the parent's over this.
    pub difficulty_divisor: u64,
    /// The same since RSKIP156.
    pub difficulty_divisor_rskip156: u64,
    /// Seconds that a block may lead the clock by; 0 switches the whole timestamp rule off.
    pub new_block_max_seconds_in_the_future: u64,
    /// A block's time is less than this many seconds from its Bitcoin header's, since RSKIP179.
    pub max_timestamp_distance: u64,
    /// The same since RSKIP297.
    pub max_timestamp_distance_rskip297: u64,
    /// Gas that the sequential list of a split block gets at least.
    pub min_sequential_gas: u64,
    /// Whether rskj's node wallet starts with the well-known test accounts ("cow").
    pub seed_cow_accounts: bool,
}

impl Constants {
    const fn public(minimum_difficulty: u64) -> Self {
        Self {
            duration_limit: 14,
            minimum_difficulty: U256::from_limbs([minimum_difficulty, 0, 0, 0]),
            minimum_difficulty_rskip290: U256::from_limbs([minimum_difficulty, 0, 0, 0]),
            fallback_mining_difficulty: U256::from_limbs([14_000_000_000_000_000, 0, 0, 0]),
            difficulty_divisor: 50,
            difficulty_divisor_rskip156: DIFFICULTY_DIVISOR_RSKIP156,
            new_block_max_seconds_in_the_future: 540,
            max_timestamp_distance: 300,
            max_timestamp_distance_rskip297: 300,
            min_sequential_gas: 10_000_000,
            seed_cow_accounts: false,
        }
    }

    pub(crate) const fn mainnet() -> Self {
        let mut constants = Self::public(7_000_000_000_000_000);
        constants.new_block_max_seconds_in_the_future = 60;
        constants
    }

    /// Both testnets.
    pub(crate) const fn testnet() -> Self {
        let mut constants = Self::public(131_072);
        constants.minimum_difficulty_rskip290 = U256::from_limbs([550_000_000, 0, 0, 0]);
        constants.max_timestamp_distance_rskip297 = 7_200;
        constants
    }

    pub(crate) const fn devnet() -> Self {
        Self::public(131_072)
    }

    pub(crate) const fn regtest() -> Self {
        let mut constants = Self::public(1);
        constants.duration_limit = 10;
        constants.fallback_mining_difficulty = U256::ZERO;
        constants.difficulty_divisor = 2048;
        constants.difficulty_divisor_rskip156 = 2048;
        constants.new_block_max_seconds_in_the_future = 0;
        constants.min_sequential_gas = 6_800_000;
        constants.seed_cow_accounts = true;
        constants
    }
}

/// The reward contract's parameters (`co.rsk.config.RemascConfig`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemascConfig {
    /// Blocks until a block's fees are shared.
    pub maturity: u64,
    /// Blocks that a reward is smoothed over.
    pub synthetic_span: u64,
    /// Address of the labs' share.
    pub labs_address: Address,
    /// The same since RSKIP218.
    pub labs_address_rskip218: Address,
    /// The labs get the reward over this.
    pub labs_divisor: u64,
    /// The federation gets what is left then over this.
    pub federation_divisor: u64,
    /// Punishment of a broken selection rule: the reward over this.
    pub punishment_divisor: u64,
    /// Those who include siblings get the reward over this.
    pub publishers_divisor: u64,
    /// Punishment for each block that a sibling was included late.
    pub late_uncle_inclusion_punishment_divisor: u64,
    /// Factor of the selection rule's comparison of fees.
    pub paid_fees_multiplier: u64,
    /// Divisor of the same.
    pub paid_fees_divisor: u64,
}

impl RemascConfig {
    pub(crate) const fn new(
        maturity: u64,
        synthetic_span: u64,
        labs_address: Address,
        labs_address_rskip218: Address,
    ) -> Self {
        Self {
            maturity,
            synthetic_span,
            labs_address,
            labs_address_rskip218,
            labs_divisor: 5,
            federation_divisor: 100,
            punishment_divisor: 10,
            publishers_divisor: 10,
            late_uncle_inclusion_punishment_divisor: 20,
            paid_fees_multiplier: 2,
            paid_fees_divisor: 1,
        }
    }
}

/// How a block's gas limit is divided when its transactions are split (RSKIP144, `BlockUtils.getSublistGasLimit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SublistGasLimits {
    /// Limit of each parallel list.
    pub parallel: u64,
    /// Limit of the sequential list.
    pub sequential: u64,
}

impl SublistGasLimits {
    /// Divides a block's gas limit among the parallel lists and the sequential one, which gets `min_sequential` at least.
    pub const fn new(block_gas_limit: u64, min_sequential: u64) -> Self {
        const LISTS: u64 = TRANSACTION_EXECUTION_THREADS as u64;
        let share = block_gas_limit / (LISTS + 1);
        let parallel = if share >= min_sequential {
            share
        } else if block_gas_limit <= min_sequential {
            0
        } else {
            (block_gas_limit - min_sequential) / LISTS
        };
        Self { parallel, sequential: block_gas_limit - LISTS * parallel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sublists_share_the_gas_limit() {
        const M: u64 = 6_800_000;
        assert_eq!(SublistGasLimits::new(M, M), SublistGasLimits { parallel: 0, sequential: M });
        assert_eq!(
            SublistGasLimits::new(10_000_000, M),
            SublistGasLimits { parallel: 1_600_000, sequential: 6_800_000 }
        );
        assert_eq!(
            SublistGasLimits::new(20_400_001, M),
            SublistGasLimits { parallel: 6_800_000, sequential: 6_800_001 }
        );
        let huge = SublistGasLimits::new(u64::MAX, M);
        assert_eq!(2 * huge.parallel + huge.sequential, u64::MAX);
    }
}
