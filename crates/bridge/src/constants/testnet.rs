//! The Bridge of Rootstock's test network.

use rhizome_primitives::{Address as RskAddress, U256, address};

use super::{
    Authorizer, BridgeConstants, FederationConstants, FeePerKbConstants, LockingCapConstants, Required,
    UnionBridgeConstants, WhitelistConstants, keys,
};
use crate::bitcoin::{BtcKey, BtcNetwork};
use crate::federation::FederationFormat;

pub(super) static CONSTANTS: BridgeConstants = BridgeConstants {
    network: BtcNetwork::Testnet,
    federation: FederationConstants {
        network: BtcNetwork::Testnet,
        genesis_keys: keys![
            "039a060badbeb24bee49eb2063f616c0f0f0765d4ca646b20a88ce828f259fcdb9",
            "02afc230c2d355b1a577682b07bc2646041b5d0177af0f98395a46018da699b6da",
            "0344a3c38cd59afcba3edcebe143e025574594b001700dec41e59409bdbd0f2a09",
            "034844a99cd7028aa319476674cc381df006628be71bc5593b8b5fdb32bb42ef85",
        ],
        genesis_creation_time_ms: 1_538_967_600,
        genesis_format: FederationFormat::StandardMultisig,
        change_authorizer: Authorizer {
            addresses: &[
                address!("112140a53537b49788456daffda2e20efd1865cd"),
                address!("5990aaedfccc88e2f7321a5b8d8db1f6e64abf03"),
                address!("5526529f386c4c77044f1c29bb965b37a7767c3d"),
            ],
            required: Required::Majority,
        },
        old_federation_address: "2N7ZgQyhFKm17RbaLqygYbS7KLrQfapyZzu",
        validation_period: 2_000,
        activation_age_since_rskip383: 2_400,
        activation_age_legacy: 60,
        activation_age_before_rskip419: Some(120),
        migration_begin: 60,
        migration_end_normal: 900,
        migration_end_special: 900,
        erp_keys: keys![
            "0216c23b2ea8e4f11c3f9e22711addb1d16a93964796913830856b568cc3ea21d3",
            "034db69f2112f4fb1bb6141bf6e2bd6631f0484d0bd95b16767902c9fe219d4a6f",
            "0275562901dd8faae20de0a4166362a4f82188db77dbed4ca887422ea1ec185f14",
        ],
        erp_delay: 52_560,
    },
    fee_per_kb: FeePerKbConstants {
        genesis: 100_000,
        max: 5_000_000,
        change_authorizer: Authorizer {
            addresses: &[
                address!("9e472a8b3f3c95736b0b255db2b7ba38c687c751"),
                address!("f7d8befef29878e5c35fee23e6889ed88afb56b8"),
                address!("4502d34c8e889b2be7e1bfe1a645df8fa3f9204b"),
            ],
            required: Required::Majority,
        },
    },
    whitelist: WhitelistConstants {
        change_authorizer: Authorizer {
            addresses: &[address!("54fdb399cf235c9b0d464ab4055af9251883bbfe")],
            required: Required::One,
        },
    },
    locking_cap: LockingCapConstants {
        initial: 20_000_000_000,
        increments_multiplier: 2,
        increase_authorizer: Authorizer {
            addresses: &[
                address!("9e472a8b3f3c95736b0b255db2b7ba38c687c751"),
                address!("f7d8befef29878e5c35fee23e6889ed88afb56b8"),
                address!("4502d34c8e889b2be7e1bfe1a645df8fa3f9204b"),
            ],
            required: Required::One,
        },
    },
    union: UnionBridgeConstants {
        address: RskAddress::ZERO,
        initial_locking_cap: U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]),
        locking_cap_increments_multiplier: 2,
        change_address_authorizer: Authorizer {
            addresses: &[address!("54fdb399cf235c9b0d464ab4055af9251883bbfe")],
            required: Required::One,
        },
        change_locking_cap_authorizer: Authorizer {
            addresses: &[address!("1a8109af0f019ed3045fbcdf45e5e90d6b6aafaf")],
            required: Required::One,
        },
        change_transfer_permissions_authorizer: Authorizer {
            addresses: &[address!("8db1f83e8119e4dce5bc708ec2f4390ffd910b19")],
            required: Required::One,
        },
    },
    btc_confirmations: 10,
    rsk_confirmations: 10,
    update_period_ms: 180_000,
    max_btc_headers_per_block: 500,
    legacy_minimum_pegin: 1_000_000,
    minimum_pegin_since_rskip219: 500_000,
    legacy_minimum_pegout: 500_000,
    minimum_pegout: 250_000,
    btc_index_height: 2_039_594,
    max_depth_below_index: 4_320,
    min_seconds_between_headers: 300,
    max_header_depth: 25,
    minimum_pegout_fee_percentage: 80,
    max_inputs_per_pegout: 50,
    blocks_between_pegouts: 360,
    pegout_index_height: 2_589_553,
    pegout_index_grace: 1_440,
    too_much_chain_work_height: i32::MAX,
};
