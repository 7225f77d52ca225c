//! The table of methods (`BridgeMethods`).

use rhizome_chainspec::Rskip as R;

use super::handlers as h;
use super::{Callers, Gas, Gate, Handler, Method};
use crate::abi::Type;

const BYTES: Type = Type::Bytes;
const BYTES32: Type = Type::Bytes32;
const STRING: Type = Type::String;
const ADDRESS: Type = Type::Address;
const BOOL: Type = Type::Bool;
const INT: Type = Type::Int("int");
const INT64: Type = Type::Int("int64");
const INT256: Type = Type::Int("int256");
const UINT256: Type = Type::Int("uint256");
const BYTES_ARRAY: Type = Type::BytesArray;
const BYTES32_ARRAY: Type = Type::Bytes32Array;
const STRING_ARRAY: Type = Type::StringArray;

/// A method that changes state.
const fn change(name: &'static str, selector: u32, inputs: &'static [Type], gas: u64, handler: Handler) -> Method {
    Method {
        name,
        selector: selector.to_be_bytes(),
        inputs,
        output: None,
        gas: Gas::Fixed(gas),
        gate: Gate::Always,
        local_only: None,
        is_view: false,
        callers: Callers::Anyone,
        handler,
    }
}

/// A method that answers.
const fn view(name: &'static str, selector: u32, inputs: &'static [Type], gas: u64, handler: Handler) -> Method {
    Method { is_view: true, ..change(name, selector, inputs, gas, handler) }
}

/// A method that answers calls over RPC only.
const fn local(name: &'static str, selector: u32, inputs: &'static [Type], gas: u64, handler: Handler) -> Method {
    Method { local_only: Some(Gate::Always), ..view(name, selector, inputs, gas, handler) }
}

impl Method {
    const fn gives(self, output: Type) -> Self {
        Method { output: Some(output), ..self }
    }

    const fn from(self, rule: R) -> Self {
        Method { gate: Gate::From(rule), ..self }
    }

    const fn until(self, rule: R) -> Self {
        Method { gate: Gate::Until(rule), ..self }
    }

    const fn only(self, callers: Callers) -> Self {
        Method { callers, ..self }
    }

    const fn priced(self, gas: Gas) -> Self {
        Method { gas, ..self }
    }

    const fn local_until(self, rule: R) -> Self {
        Method { local_only: Some(Gate::Until(rule)), ..self }
    }
}

/// Every method of the Bridge, once.
#[rustfmt::skip]
pub const METHODS: &[Method] = &[
    // Bitcoin's chain of headers.
    change("receiveHeaders", 0xe540_0e7b, &[BYTES_ARRAY], 0, h::receive_headers).priced(Gas::Headers)
        .only(Callers::FederatorsUntil(|active| active.is_active(R::R124) && !active.is_active(R::R200))),
    change("receiveHeader", 0x884b_dd86, &[BYTES], 10_600, h::receive_header).gives(INT256).from(R::R200),
    local("getBtcBlockchainBestChainHeight", 0x14c8_9c01, &[], 19_000, h::best_chain_height).gives(INT).local_until(R::R220),
    local("getBtcBlockchainInitialBlockHeight", 0x4897_193f, &[], 20_000, h::initial_block_height).gives(INT).from(R::R89),
    local("getBtcBlockchainBlockLocator", 0xcf4f_f2d2, &[], 76_000, h::block_locator).gives(STRING_ARRAY).until(R::R89),
    local("getBtcBlockchainBlockHashAtDepth", 0xefd4_4418, &[INT256], 20_000, h::block_hash_at_depth).gives(BYTES).from(R::R89),
    view("getBtcTransactionConfirmations", 0x5b64_4587, &[BYTES32, BYTES32, UINT256, BYTES32_ARRAY], 0, h::transaction_confirmations)
        .gives(INT256).from(R::R122).priced(Gas::Confirmations),
    view("getBtcBlockchainBestBlockHeader", 0xf0b2_424b, &[], 3_800, h::best_block_header).gives(BYTES).from(R::R220),
    view("getBtcBlockchainBlockHeaderByHash", 0x739e_364a, &[BYTES32], 4_600, h::block_header_by_hash).gives(BYTES).from(R::R220),
    view("getBtcBlockchainBlockHeaderByHeight", 0xbd0c_1fff, &[UINT256], 5_000, h::block_header_by_height).gives(BYTES).from(R::R220),
    view("getBtcBlockchainParentBlockHeaderByHash", 0xe023_6724, &[BYTES32], 4_900, h::parent_block_header).gives(BYTES).from(R::R220),
    change("registerBtcCoinbaseTransaction", 0xccf4_17ae, &[BYTES, BYTES32, BYTES, BYTES32, BYTES32], 10_000, h::register_coinbase)
        .from(R::R143),
    view("hasBtcBlockCoinbaseTransactionInformation", 0x253b_944b, &[BYTES32], 5_000, h::has_coinbase).gives(BOOL).from(R::R143),

    // Peg-in.
    change("registerBtcTransaction", 0x43dc_0656, &[BYTES, INT, BYTES], 22_000, h::register_transaction)
        .only(Callers::FederatorsUntil(|active| active.is_active(R::R199))),
    change("registerFastBridgeBtcTransaction", 0x6adc_0133, &[BYTES, UINT256, BYTES, BYTES32, BYTES, ADDRESS, BYTES, BOOL], 25_000,
        h::register_flyover).gives(INT256).from(R::R176),
    local("isBtcTxHashAlreadyProcessed", 0x248a_982d, &[STRING], 23_000, h::is_processed).gives(BOOL),
    local("getBtcTxHashProcessedHeight", 0x97fc_ca7d, &[STRING], 22_000, h::processed_height).gives(INT64),
    local("getMinimumLockTxValue", 0x2f8d_158f, &[], 2_000, h::minimum_pegin).gives(INT),

    // Peg-out.
    change("releaseBtc", 0x80af_2871, &[], super::DEFAULT_GAS, h::release_btc),
    change("updateCollections", 0x0c5a_9990, &[], 48_000, h::update_collections).only(Callers::Federators),
    change("addSignature", 0xf10b_9c59, &[BYTES, BYTES_ARRAY, BYTES], 70_000, h::add_signature).only(Callers::Signers),
    local("getStateForBtcReleaseClient", 0xc4fb_ca20, &[], 4_000, h::state_for_release_client).gives(BYTES),
    local("getStateForSvpClient", 0x4c72_3e89, &[], 4_000, h::state_for_svp_client).gives(BYTES).from(R::R419),
    local("getStateForDebugging", 0x0d0c_ee93, &[], 3_000_000, h::state_for_debugging).gives(BYTES),
    view("getNextPegoutCreationBlockNumber", 0xe34f_834f, &[], 3_000, h::next_pegout_height).gives(UINT256).from(R::R271),
    view("getQueuedPegoutsCount", 0xf4e4_f963, &[], 3_000, h::queued_pegouts).gives(UINT256).from(R::R271),
    view("getEstimatedFeesForNextPegOutEvent", 0x7817_d854, &[], 10_000, h::estimated_fees).gives(UINT256).from(R::R271),
    view("getEstimatedFeesForPegOutAmount", 0xd2b7_12f4, &[UINT256], 10_000, h::estimated_fees_for_amount).gives(UINT256).from(R::R540),

    // The federations in force.
    local("getFederationAddress", 0x6923_fa85, &[], 11_000, h::federation_address).gives(STRING),
    local("getFederationSize", 0x802a_d4b6, &[], 10_000, h::federation_size).gives(INT256),
    local("getFederationThreshold", 0x0fd4_7456, &[], 11_000, h::federation_threshold).gives(INT256),
    local("getFederationCreationTime", 0x5e2d_b9d4, &[], 10_000, h::federation_creation_time).gives(INT256),
    local("getFederationCreationBlockNumber", 0x1b20_45ee, &[], 10_000, h::federation_creation_block).gives(INT256),
    local("getFederatorPublicKey", 0x6b89_a1af, &[INT256], 10_000, h::federator_key).gives(BYTES).until(R::R123),
    local("getFederatorPublicKeyOfType", 0x549c_fd1c, &[INT256, STRING], 10_000, h::federator_key_of_type).gives(BYTES).from(R::R123),
    view("getActivePowpegRedeemScript", 0x1d73_d5dd, &[], 30_000, h::active_redeem_script).gives(BYTES).from(R::R293),
    view("getActiveFederationCreationBlockHeight", 0x177d_6e18, &[], 3_000, h::active_creation_height).gives(UINT256).from(R::R186),
    local("getRetiringFederationAddress", 0x4722_7286, &[], 3_000, h::retiring_address).gives(STRING),
    local("getRetiringFederationSize", 0xd970_b0fd, &[], 3_000, h::retiring_size).gives(INT256),
    local("getRetiringFederationThreshold", 0x07bb_dfc4, &[], 3_000, h::retiring_threshold).gives(INT256),
    local("getRetiringFederationCreationTime", 0x3f0c_e9b1, &[], 3_000, h::retiring_creation_time).gives(INT256),
    local("getRetiringFederationCreationBlockNumber", 0xd905_153f, &[], 3_000, h::retiring_creation_block).gives(INT256),
    local("getRetiringFederatorPublicKey", 0x4675_d6de, &[INT256], 3_000, h::retiring_key).gives(BYTES).until(R::R123),
    local("getRetiringFederatorPublicKeyOfType", 0x68bc_2b2b, &[INT256, STRING], 3_000, h::retiring_key_of_type).gives(BYTES).from(R::R123),

    // Federation change.
    change("createFederation", 0x1183_d5d1, &[], 11_000, h::create_federation).gives(INT256),
    change("addFederatorPublicKey", 0xecef_d339, &[BYTES], 13_000, h::add_federator).gives(INT256).until(R::R123),
    change("addFederatorPublicKeyMultikey", 0x444f_f9da, &[BYTES, BYTES, BYTES], 13_000, h::add_federator_multikey)
        .gives(INT256).from(R::R123),
    change("commitFederation", 0x1533_330f, &[BYTES], 38_000, h::commit_federation).gives(INT256),
    change("rollbackFederation", 0x8dec_3d32, &[], 12_000, h::rollback_federation).gives(INT256),
    local("getPendingFederationHash", 0x6ce0_ed5a, &[], 3_000, h::pending_hash).gives(BYTES),
    local("getPendingFederationSize", 0x3ac7_2b38, &[], 3_000, h::pending_size).gives(INT256),
    local("getPendingFederatorPublicKey", 0x492f_7c44, &[INT256], 3_000, h::pending_key).gives(BYTES).until(R::R123),
    local("getPendingFederatorPublicKeyOfType", 0xc612_95d9, &[INT256, STRING], 3_000, h::pending_key_of_type).gives(BYTES).from(R::R123),
    local("getProposedFederationAddress", 0x956d_9713, &[], 3_000, h::proposed_address).gives(STRING).from(R::R419),
    local("getProposedFederationSize", 0x06eb_eb8c, &[], 3_000, h::proposed_size).gives(INT256).from(R::R419),
    local("getProposedFederationCreationTime", 0xfa2d_f78c, &[], 3_000, h::proposed_creation_time).gives(INT256).from(R::R419),
    local("getProposedFederationCreationBlockNumber", 0x2b16_9b23, &[], 3_000, h::proposed_creation_block).gives(INT256).from(R::R419),
    local("getProposedFederatorPublicKeyOfType", 0xe322_8fab, &[INT256, STRING], 3_000, h::proposed_key_of_type).gives(BYTES).from(R::R419),

    // Votes and limits.
    local("getFeePerKb", 0x724e_c886, &[], 2_000, h::fee_per_kb).gives(INT256),
    change("voteFeePerKbChange", 0x0461_313e, &[INT256], 10_000, h::vote_fee_per_kb).gives(INT256),
    local("getLockingCap", 0x3f9d_b977, &[], 3_000, h::locking_cap).gives(INT256).from(R::R134),
    change("increaseLockingCap", 0x2910_aeb2, &[INT256], 8_000, h::increase_locking_cap).gives(BOOL).from(R::R134),
    local("getLockWhitelistSize", 0xe9e6_58dc, &[], 16_000, h::whitelist_size).gives(INT256),
    local("getLockWhitelistAddress", 0x9398_8b76, &[INT256], 16_000, h::whitelist_address).gives(STRING),
    local("getLockWhitelistEntryByAddress", 0x251c_5f7b, &[STRING], 16_000, h::whitelist_entry).gives(INT256).from(R::R87),
    change("addLockWhitelistAddress", 0x502b_bbce, &[STRING, INT256], 25_000, h::add_one_off).gives(INT256).until(R::R87),
    change("addOneOffLockWhitelistAddress", 0x8482_06d9, &[STRING, INT256], 25_000, h::add_one_off).gives(INT256).from(R::R87),
    change("addUnlimitedLockWhitelistAddress", 0xb906_c938, &[STRING], 25_000, h::add_unlimited).gives(INT256).from(R::R87),
    change("removeLockWhitelistAddress", 0xfcde_b46f, &[STRING], 24_000, h::remove_from_whitelist).gives(INT256),
    change("setLockWhitelistDisableBlockDelay", 0xc1cc_54f5, &[INT256], 24_000, h::set_whitelist_delay).gives(INT256),

    // The Union Bridge.
    change("setUnionBridgeContractAddressForTestnet", 0xcc55_d66f, &[ADDRESS], 8_000, h::set_union_address).gives(INT).from(R::R502),
    view("getUnionBridgeContractAddress", 0xd3af_747c, &[], 3_000, h::union_address).gives(ADDRESS).from(R::R502),
    view("getUnionBridgeLockingCap", 0x33e0_8fed, &[], 3_000, h::union_locking_cap).gives(UINT256).from(R::R502),
    change("increaseUnionBridgeLockingCap", 0xa57a_0ada, &[UINT256], 8_000, h::increase_union_locking_cap).gives(INT).from(R::R502),
    change("requestUnionBridgeRbtc", 0x5521_647a, &[UINT256], 8_000, h::request_union_rbtc).gives(INT).from(R::R502),
    change("releaseUnionBridgeRbtc", 0x4304_62a8, &[], 8_000, h::release_union_rbtc).gives(INT).from(R::R502),
    change("setUnionBridgeTransferPermissions", 0x5fcc_6d24, &[BOOL, BOOL], 8_000, h::set_union_permissions).gives(INT).from(R::R502),
    view("getSuperEvent", 0xf8cf_da8e, &[], 3_000, h::super_event).gives(BYTES).from(R::R529),
    change("setSuperEvent", 0x9996_1ea5, &[BYTES], 8_000, h::set_super_event).from(R::R529),
    change("clearSuperEvent", 0xd2ba_1e45, &[], 8_000, h::clear_super_event).from(R::R529),
    view("getBaseEvent", 0xa25b_94cb, &[], 3_000, h::base_event).gives(BYTES).from(R::R529),
    change("setBaseEvent", 0xfe43_e2f8, &[BYTES], 8_000, h::set_base_event).from(R::R529),
    change("clearBaseEvent", 0x93e7_a33b, &[], 8_000, h::clear_base_event).from(R::R529),
];
