//! The definition of a network and the questions that the rest of the node asks it.

use std::path::Path;

use rhizome_primitives::{B256, U256};

use crate::activations::{ActivationHeights, Activations};
use crate::constants::{Constants, RemascConfig, SublistGasLimits};
use crate::error::ChainSpecError;
use crate::genesis::Genesis;
use crate::network::{Network, NetworkIdentity};
use crate::rskip::{NetworkUpgrade, Rskip};

/// The definition of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSpec {
    /// The built-in network's name, or the path of the chain file.
    pub name: String,
    /// The built-in network itself, or the one that the chain file is laid over.
    pub network: Network,
    /// Chain id, network id, and where peers are found.
    pub identity: NetworkIdentity,
    /// The constants in which networks differ.
    pub constants: Constants,
    /// The reward contract's parameters.
    pub remasc: RemascConfig,
    /// Block 0 and its state.
    pub genesis: Genesis,
    /// From which block on each rule is active.
    pub heights: ActivationHeights,
}

impl ChainSpec {
    /// The main network.
    pub fn mainnet() -> Self {
        Network::Mainnet.spec()
    }

    /// The public test network.
    pub fn testnet() -> Self {
        Network::Testnet.spec()
    }

    /// The local network whose blocks need no work.
    pub fn regtest() -> Self {
        Network::Regtest.spec()
    }

    /// The built-in network of this name, else the chain file at this path.
    ///
    /// # Errors
    /// [`ChainSpecError`] as of [`ChainSpec::from_file`]; a name that is neither is [`ChainSpecError::UnknownChain`].
    pub fn by_name_or_file(name: &str) -> Result<Self, ChainSpecError> {
        if let Some(network) = Network::from_name(name) {
            return Ok(network.spec());
        }
        let path = Path::new(name);
        if !path.exists() && path.extension().is_none() {
            return Err(ChainSpecError::UnknownChain { name: name.to_owned() });
        }
        Self::from_file(path)
    }

    /// The same network with the rules of `set` active from block 0 and no others, ever.
    #[must_use]
    pub fn with_fixed_rules(mut self, set: Activations) -> Self {
        self.heights = ActivationHeights::fixed(set);
        self
    }

    /// The number in signatures (EIP-155).
    pub const fn chain_id(&self) -> u8 {
        self.identity.chain_id
    }

    /// The number in status messages and discovery packets.
    pub const fn network_id(&self) -> u64 {
        self.identity.network_id
    }

    /// The rules active in a block.
    pub fn activations(&self, number: u64) -> Activations {
        self.heights.at(number)
    }

    /// Whether a rule is active in a block.
    pub fn is_active(&self, rule: Rskip, number: u64) -> bool {
        self.heights.rule(rule).is_some_and(|height| height <= number)
    }

    /// Whether a block is the first with this rule.
    pub fn is_activating(&self, rule: Rskip, number: u64) -> bool {
        self.heights.rule(rule) == Some(number)
    }

    /// The height a rule starts at; `None` is never.
    pub fn activation_height(&self, rule: Rskip) -> Option<u64> {
        self.heights.rule(rule)
    }

    /// The height an upgrade starts at; `None` is never.
    pub fn upgrade_height(&self, upgrade: NetworkUpgrade) -> Option<u64> {
        self.heights.upgrade(upgrade)
    }

    /// Least difficulty of a block (`Constants.getMinimumDifficulty`).
    pub fn minimum_difficulty(&self, number: u64) -> U256 {
        if self.network.is_testnet() && self.is_active(Rskip::R290, number) {
            self.constants.minimum_difficulty_rskip290
        } else {
            self.constants.minimum_difficulty
        }
    }

    /// The parent's difficulty over this is a block's step (`Constants.getDifficultyBoundDivisor`).
    pub fn difficulty_divisor(&self, activations: Activations) -> u64 {
        if activations.is_active(Rskip::R156) {
            self.constants.difficulty_divisor_rskip156
        } else {
            self.constants.difficulty_divisor
        }
    }

    /// A block's time is less than this many seconds from its Bitcoin header's, where RSKIP179 is active.
    pub fn max_timestamp_distance(&self, activations: Activations) -> u64 {
        if activations.is_active(Rskip::R297) {
            self.constants.max_timestamp_distance_rskip297
        } else {
            self.constants.max_timestamp_distance
        }
    }

    /// The version byte of a header built at this height (`ActivationConfig.getHeaderVersion`).
    pub fn header_version(&self, number: u64) -> u8 {
        match (self.is_active(Rskip::R351, number), self.is_active(Rskip::R535, number)) {
            (true, true) => 2,
            (true, false) => 1,
            (false, _) => 0,
        }
    }

    /// The gas limits of a split block's lists.
    pub const fn sublist_gas_limits(&self, block_gas_limit: u64) -> SublistGasLimits {
        SublistGasLimits::new(block_gas_limit, self.constants.min_sequential_gas)
    }

    /// A hash of everything in the spec that decides which blocks are valid: two specs with one fingerprint have one chain.
    pub fn fingerprint(&self) -> B256 {
        crate::fingerprint::of(self)
    }
}
