//! Constants of the Bridge for each network (rskj's `BridgeConstants` and the constants of its parts).
//!
//! Facts only, one table a network. Where a value depends on the rules of a block there is a method, which says so.

mod mainnet;
mod regtest;
mod testnet;

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{Address as RskAddress, U256};

use crate::bitcoin::{BtcKey, BtcNetwork, Satoshi};
use crate::federation::FederationFormat;

/// Everything that differs between the Bridges of two networks.
#[derive(Debug)]
pub struct BridgeConstants {
    /// The Bitcoin network.
    pub network: BtcNetwork,
    /// Federations.
    pub federation: FederationConstants,
    /// Fee per kilobyte.
    pub fee_per_kb: FeePerKbConstants,
    /// Whitelist of peg-in senders.
    pub whitelist: WhitelistConstants,
    /// Locking cap.
    pub locking_cap: LockingCapConstants,
    /// Union bridge.
    pub union: UnionBridgeConstants,
    /// Confirmations in Bitcoin that a peg-in needs.
    pub btc_confirmations: i32,
    /// Confirmations in Rootstock that a peg-out needs.
    pub rsk_confirmations: i32,
    /// Milliseconds between two updates that a federator sends; no rule.
    pub update_period_ms: u32,
    /// Headers that a federator sends at once; no rule.
    pub max_btc_headers_per_block: u32,
    /// Smallest peg-in before RSKIP-219.
    pub legacy_minimum_pegin: Satoshi,
    /// Smallest peg-in.
    pub minimum_pegin_since_rskip219: Satoshi,
    /// Smallest peg-out before RSKIP-219.
    pub legacy_minimum_pegout: Satoshi,
    /// Smallest peg-out.
    pub minimum_pegout: Satoshi,
    /// Bitcoin height from which main chain blocks are indexed by height.
    pub btc_index_height: i32,
    /// How far below the index a search goes.
    pub max_depth_below_index: i32,
    /// Seconds between two headers by `receiveHeader`.
    pub min_seconds_between_headers: i64,
    /// How far below the head a header may be for `receiveHeader`.
    pub max_header_depth: i32,
    /// Per cent by which a peg-out must exceed its fee.
    pub minimum_pegout_fee_percentage: i64,
    /// Most inputs of a peg-out or migration.
    pub max_inputs_per_pegout: usize,
    /// Blocks between two batches of peg-outs.
    pub blocks_between_pegouts: u64,
    /// Bitcoin height from which peg-outs are recognised by their index.
    pub pegout_index_height: i32,
    /// Bitcoin blocks after that during which the old recognition is used, too.
    pub pegout_index_grace: i32,
    /// Bitcoin height from which the chain work does not fit its old form.
    pub too_much_chain_work_height: i32,
}

/// Amount that there ever will be.
pub const MAX_RBTC: Satoshi = 21_000_000 * 100_000_000;

impl BridgeConstants {
    /// Rootstock's main network.
    pub fn mainnet() -> &'static Self {
        &mainnet::CONSTANTS
    }

    /// Rootstock's test network.
    pub fn testnet() -> &'static Self {
        &testnet::CONSTANTS
    }

    /// Local networks.
    pub fn regtest() -> &'static Self {
        &regtest::CONSTANTS
    }

    /// Smallest peg-in (RSKIP-219).
    pub fn minimum_pegin(&self, activations: Activations) -> Satoshi {
        if activations.is_active(Rskip::R219) { self.minimum_pegin_since_rskip219 } else { self.legacy_minimum_pegin }
    }

    /// Each of the two outputs of a validation fund transaction.
    pub fn svp_fund_output(&self) -> Satoshi {
        2 * self.minimum_pegout
    }
}

/// Constants of federations.
#[derive(Debug)]
pub struct FederationConstants {
    /// The Bitcoin network.
    pub network: BtcNetwork,
    /// Bitcoin keys of the first federation; its members use them for everything.
    pub genesis_keys: &'static [BtcKey],
    /// Creation time of the first federation.
    pub genesis_creation_time_ms: i64,
    /// Format of the first federation, at every height.
    pub genesis_format: FederationFormat,
    /// Who votes on changes.
    pub change_authorizer: Authorizer,
    /// An address that migrations may come from until RSKIP-199.
    pub old_federation_address: &'static str,
    /// Blocks within which a proposed federation must prove that it can sign.
    pub validation_period: u64,
    /// Age of activation since RSKIP-383.
    pub activation_age_since_rskip383: u64,
    /// Age of activation before RSKIP-383.
    pub activation_age_legacy: u64,
    /// Age of activation between RSKIP-383 and RSKIP-419, where it differs.
    pub activation_age_before_rskip419: Option<u64>,
    /// Blocks from activation to the start of migration.
    pub migration_begin: u64,
    /// Blocks from activation to the end of migration.
    pub migration_end_normal: u64,
    /// The same while RSKIP-357 is active and RSKIP-374 is not.
    pub migration_end_special: u64,
    /// Emergency keys.
    pub erp_keys: &'static [BtcKey],
    /// Bitcoin blocks until the emergency keys can spend.
    pub erp_delay: i64,
}

impl FederationConstants {
    /// Blocks from creation to activation (RSKIP-383, RSKIP-419).
    pub fn activation_age(&self, activations: Activations) -> u64 {
        if !activations.is_active(Rskip::R383) {
            return self.activation_age_legacy;
        }
        match self.activation_age_before_rskip419 {
            Some(age) if !activations.is_active(Rskip::R419) => age,
            _ => self.activation_age_since_rskip383,
        }
    }

    /// Blocks from activation to the end of migration (RSKIP-357, RSKIP-374).
    pub fn migration_end(&self, activations: Activations) -> u64 {
        if activations.is_active(Rskip::R357) && !activations.is_active(Rskip::R374) {
            self.migration_end_special
        } else {
            self.migration_end_normal
        }
    }
}

/// Constants of the fee per kilobyte.
#[derive(Debug)]
pub struct FeePerKbConstants {
    /// Fee until the first vote.
    pub genesis: Satoshi,
    /// Largest fee that can be voted.
    pub max: Satoshi,
    /// Who votes.
    pub change_authorizer: Authorizer,
}

/// Constants of the whitelist.
#[derive(Debug)]
pub struct WhitelistConstants {
    /// Who changes it.
    pub change_authorizer: Authorizer,
}

/// Constants of the locking cap.
#[derive(Debug)]
pub struct LockingCapConstants {
    /// First value.
    pub initial: Satoshi,
    /// Largest factor of an increase.
    pub increments_multiplier: i64,
    /// Who increases it.
    pub increase_authorizer: Authorizer,
}

/// Constants of the union bridge.
#[derive(Debug)]
pub struct UnionBridgeConstants {
    /// Address of the contract; zero where it is not known yet.
    pub address: RskAddress,
    /// First locking cap in wei.
    pub initial_locking_cap: U256,
    /// Largest factor of an increase.
    pub locking_cap_increments_multiplier: u64,
    /// Who sets the contract's address on test networks.
    pub change_address_authorizer: Authorizer,
    /// Who increases the locking cap.
    pub change_locking_cap_authorizer: Authorizer,
    /// Who allows and forbids transfers.
    pub change_transfer_permissions_authorizer: Authorizer,
}

/// How many of the authorised must agree (`AddressBasedAuthorizer.MinimumRequiredCalculation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    /// Any of them.
    One,
    /// More than half.
    Majority,
}

/// A set of accounts that decide something (`AddressBasedAuthorizer`).
#[derive(Debug)]
pub struct Authorizer {
    /// The accounts.
    pub addresses: &'static [RskAddress],
    /// How many are needed.
    pub required: Required,
}

impl Authorizer {
    /// Whether the account is one of them.
    pub fn is_authorized(&self, sender: &RskAddress) -> bool {
        self.addresses.contains(sender)
    }

    /// Number of accounts that must agree.
    pub fn required_count(&self) -> usize {
        match self.required {
            Required::One => 1,
            Required::Majority => self.addresses.len() / 2 + 1,
        }
    }
}

/// Compressed keys in hexadecimal digits.
macro_rules! keys {
    ($($key:literal),* $(,)?) => {
        &[$(BtcKey::from_checked(rhizome_primitives::hex!($key))),*]
    };
}
use keys;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_keys_are_points() {
        for constants in [BridgeConstants::mainnet(), BridgeConstants::testnet(), BridgeConstants::regtest()] {
            let federation = &constants.federation;
            for key in federation.genesis_keys.iter().chain(federation.erp_keys) {
                assert_eq!(BtcKey::decode(key.bytes()).unwrap(), *key);
            }
        }
    }

    #[test]
    fn ages_follow_the_rules() {
        let testnet = &BridgeConstants::testnet().federation;
        let none = Activations::NONE;
        assert_eq!(testnet.activation_age(none), 60);
        assert_eq!(testnet.activation_age(none.with(Rskip::R383)), 120);
        assert_eq!(testnet.activation_age(Activations::ALL), 2_400);
        let mainnet = &BridgeConstants::mainnet().federation;
        assert_eq!(mainnet.activation_age(none.with(Rskip::R383)), 40_320);
        assert_eq!(mainnet.migration_end(none.with(Rskip::R357)), 172_800);
        assert_eq!(mainnet.migration_end(Activations::ALL), 10_585);
        assert_eq!(mainnet.change_authorizer.required_count(), 2);
    }
}
