//! The Bridge of local networks.

use rhizome_primitives::{Address as RskAddress, U256, address};

use super::{
    Authorizer, BridgeConstants, FederationConstants, FeePerKbConstants, LockingCapConstants, Required,
    UnionBridgeConstants, WhitelistConstants, keys,
};
use crate::bitcoin::{BtcKey, BtcNetwork};
use crate::federation::FederationFormat;

pub(super) static CONSTANTS: BridgeConstants = BridgeConstants {
    network: BtcNetwork::Regtest,
    federation: FederationConstants {
        network: BtcNetwork::Regtest,
        genesis_keys: keys![
            "0362634ab57dae9cb373a5d536e66a8c4f67468bbcfb063809bab643072d78a124",
            "03c5946b3fbae03a654237da863c9ed534e0878657175b132b8ca630f245df04db",
            "02cd53fc53a07f211641a677d250f6de99caf620e8e77071e811a28b3bcddf0be1",
        ],
        genesis_creation_time_ms: 1_451_606_400_000,
        genesis_format: FederationFormat::P2shP2wshErp,
        change_authorizer: Authorizer {
            addresses: &[
                address!("f0652637df184eca87e6bde29893825721dfb79f"),
                address!("0d8c44bd578a4e7148d1758b3332b529e93e48c1"),
                address!("566bca18df14ed75efcc1a8a4f3947e81132dbbc"),
                address!("2e7c9159614ddc0185e335d3343e92700c3e5a2d"),
                address!("5252403bca6ac3c104abdd320a736fa38282045d"),
            ],
            required: Required::Majority,
        },
        old_federation_address: "2N7ZgQyhFKm17RbaLqygYbS7KLrQfapyZzu",
        validation_period: 125,
        activation_age_since_rskip383: 150,
        activation_age_legacy: 10,
        activation_age_before_rskip419: None,
        migration_begin: 15,
        migration_end_normal: 150,
        migration_end_special: 150,
        erp_keys: keys![
            "03b9fc46657cf72a1afa007ecf431de1cd27ff5cc8829fa625b66ca47b967e6b24",
            "029cecea902067992d52c38b28bf0bb2345bda9b21eca76b16a17c477a64e43301",
            "03284178e5fbcc63c54c3b38e3ef88adf2da6c526313650041b0ef955763634ebd",
            "03ab0e2cd7ed158687fc13b88019990860cdb72b1f5777b58513312550ea1584bc",
        ],
        erp_delay: 500,
    },
    fee_per_kb: FeePerKbConstants {
        genesis: 100_000,
        max: 5_000_000,
        change_authorizer: Authorizer {
            addresses: &[address!("53f8f6dabd612b6137215ddd7758bb5cdd638922")],
            required: Required::Majority,
        },
    },
    whitelist: WhitelistConstants {
        change_authorizer: Authorizer {
            addresses: &[address!("87d2a0f33744929da08b65fd62b627ea52b25f8e")],
            required: Required::One,
        },
    },
    locking_cap: LockingCapConstants {
        initial: 100_000_000_000,
        increments_multiplier: 2,
        increase_authorizer: Authorizer {
            addresses: &[address!("6913bd4715eff3b25501f3212f15df38296d1f21")],
            required: Required::One,
        },
    },
    union: UnionBridgeConstants {
        address: RskAddress::ZERO,
        initial_locking_cap: U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]),
        locking_cap_increments_multiplier: 2,
        change_address_authorizer: Authorizer {
            addresses: &[address!("6c9dfd950bf748bb26f893f7e5f693c7f60a8f85")],
            required: Required::One,
        },
        change_locking_cap_authorizer: Authorizer {
            addresses: &[address!("ff6f4ff09c54561e1476203e56fcfc834911aa64")],
            required: Required::One,
        },
        change_transfer_permissions_authorizer: Authorizer {
            addresses: &[address!("ff6f4ff09c54561e1476203e56fcfc834911aa64")],
            required: Required::One,
        },
    },
    btc_confirmations: 3,
    rsk_confirmations: 3,
    update_period_ms: 15_000,
    max_btc_headers_per_block: 500,
    legacy_minimum_pegin: 1_000_000,
    minimum_pegin_since_rskip219: 500_000,
    legacy_minimum_pegout: 500_000,
    minimum_pegout: 250_000,
    btc_index_height: 10,
    max_depth_below_index: 5,
    min_seconds_between_headers: 300,
    max_header_depth: 25,
    minimum_pegout_fee_percentage: 20,
    max_inputs_per_pegout: 10,
    blocks_between_pegouts: 50,
    pegout_index_height: 250,
    pegout_index_grace: 100,
    too_much_chain_work_height: i32::MAX,
};
