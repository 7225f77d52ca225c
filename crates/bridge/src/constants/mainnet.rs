//! The Bridge of Rootstock's main network.

use rhizome_primitives::{Address as RskAddress, U256, address};

use super::{
    Authorizer, BridgeConstants, FederationConstants, FeePerKbConstants, LockingCapConstants, Required,
    UnionBridgeConstants, WhitelistConstants, keys,
};
use crate::bitcoin::{BtcKey, BtcNetwork};
use crate::federation::FederationFormat;

pub(super) static CONSTANTS: BridgeConstants = BridgeConstants {
    network: BtcNetwork::Mainnet,
    federation: FederationConstants {
        network: BtcNetwork::Mainnet,
        genesis_keys: keys![
            "03b53899c390573471ba30e5054f78376c5f797fda26dde7a760789f02908cbad2",
            "027319afb15481dbeb3c426bcc37f9a30e7f51ceff586936d85548d9395bcc2344",
            "0355a2e9bf100c00fc0a214afd1bf272647c7824eb9cb055480962f0c382596a70",
            "02566d5ded7c7db1aa7ee4ef6f76989fb42527fcfdcddcd447d6793b7d869e46f7",
            "0294c817150f78607566e961b3c71df53a22022a80acbb982f83c0c8baac040adc",
            "0372cd46831f3b6afd4c044d160b7667e8ebf659d6cb51a825a3104df6ee0638c6",
            "0340df69f28d69eef60845da7d81ff60a9060d4da35c767f017b0dd4e20448fb44",
            "02ac1901b6fba2c1dbd47d894d2bd76c8ba1d296d65f6ab47f1c6b22afb53e73eb",
            "031aabbeb9b27258f98c2bf21f36677ae7bae09eb2d8c958ef41a20a6e88626d26",
            "0245ef34f5ee218005c9c21227133e8568a4f3f11aeab919c66ff7b816ae1ffeea",
            "02550cc87fa9061162b1dd395a16662529c9d8094c0feca17905a3244713d65fe8",
            "02481f02b7140acbf3fcdd9f72cf9a7d9484d8125e6df7c9451cfa55ba3b077265",
            "03f909ae15558c70cc751aff9b1f495199c325b13a9e5b934fd6299cd30ec50be8",
            "02c6018fcbd3e89f3cf9c7f48b3232ea3638eb8bf217e59ee290f5f0cfb2fb9259",
            "03b65694ccccda83cbb1e56b31308acd08e993114c33f66a456b627c2c1c68bed6",
        ],
        genesis_creation_time_ms: 1_514_948_400,
        genesis_format: FederationFormat::StandardMultisig,
        change_authorizer: Authorizer {
            addresses: &[
                address!("56bc5087ac97bc85a877bd20dfef910b78b1dc5a"),
                address!("6fe1cd06a80fa52eb34d7e4d1845881c2b5de89a"),
                address!("d41f4d4c7fc8d5fa9468d0c466c9a726397f91b6"),
            ],
            required: Required::Majority,
        },
        old_federation_address: "35JUi1FxabGdhygLhnNUEFG4AgvpNMgxK1",
        validation_period: 20_000,
        activation_age_since_rskip383: 40_320,
        activation_age_legacy: 18_500,
        activation_age_before_rskip419: None,
        migration_begin: 0,
        migration_end_normal: 10_585,
        migration_end_special: 172_800,
        erp_keys: keys![
            "0257c293086c4d4fe8943deda5f890a37d11bebd140e220faa76258a41d077b4d4",
            "03c2660a46aa73078ee6016dee953488566426cf55fc8011edd0085634d75395f9",
            "03cd3e383ec6e12719a6c69515e5559bcbe037d0aa24c187e1e26ce932e22ad7b3",
            "02370a9838e4d15708ad14a104ee5606b36caaaaf739d833e67770ce9fd9b3ec80",
        ],
        erp_delay: 52_560,
    },
    fee_per_kb: FeePerKbConstants {
        genesis: 500_000,
        max: 5_000_000,
        change_authorizer: Authorizer {
            addresses: &[
                address!("8418edc8fea47183116b4c8cd6a12e51a7e169c1"),
                address!("a02db0ed94a5894bc6f9079bb9a2d93ada1917f3"),
                address!("180a7edda4e640ea5a3e495e17a1efad260c39e9"),
            ],
            required: Required::Majority,
        },
    },
    whitelist: WhitelistConstants {
        change_authorizer: Authorizer {
            addresses: &[address!("6ba9d41b07da470fe340cbd439a42538795eb75b")],
            required: Required::One,
        },
    },
    locking_cap: LockingCapConstants {
        initial: 30_000_000_000,
        increments_multiplier: 2,
        increase_authorizer: Authorizer {
            addresses: &[
                address!("8418edc8fea47183116b4c8cd6a12e51a7e169c1"),
                address!("a02db0ed94a5894bc6f9079bb9a2d93ada1917f3"),
                address!("180a7edda4e640ea5a3e495e17a1efad260c39e9"),
            ],
            required: Required::One,
        },
    },
    union: UnionBridgeConstants {
        address: RskAddress::ZERO,
        initial_locking_cap: U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]),
        locking_cap_increments_multiplier: 2,
        change_address_authorizer: Authorizer {
            addresses: &[address!("0000000000000000000000000000000000000000")],
            required: Required::One,
        },
        change_locking_cap_authorizer: Authorizer {
            addresses: &[address!("0000000000000000000000000000000000000000")],
            required: Required::One,
        },
        change_transfer_permissions_authorizer: Authorizer {
            addresses: &[address!("0000000000000000000000000000000000000000")],
            required: Required::One,
        },
    },
    btc_confirmations: 100,
    rsk_confirmations: 4_000,
    update_period_ms: 180_000,
    max_btc_headers_per_block: 500,
    legacy_minimum_pegin: 1_000_000,
    minimum_pegin_since_rskip219: 500_000,
    legacy_minimum_pegout: 800_000,
    minimum_pegout: 400_000,
    btc_index_height: 696_022,
    max_depth_below_index: 4_320,
    min_seconds_between_headers: 300,
    max_header_depth: 25,
    minimum_pegout_fee_percentage: 80,
    max_inputs_per_pegout: 50,
    blocks_between_pegouts: 360,
    pegout_index_height: 837_589,
    pegout_index_grace: 4_320,
    too_much_chain_work_height: 849_138,
};
