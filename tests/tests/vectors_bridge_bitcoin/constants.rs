//! The Bridge's part of `constants`.

use rhizome_bridge::bitcoin::BtcKey;
use rhizome_bridge::constants::{Authorizer, BridgeConstants, Required};
use rhizome_chainspec::Activations;
use rhizome_primitives::hex;
use rhizome_tests::{Tally, text, vector_document};
use serde_json::{Value, json};

use crate::constants;

fn authorizer_json(authorizer: &Authorizer) -> Value {
    let mut addresses: Vec<_> = authorizer.addresses.iter().map(hex::encode).collect();
    addresses.sort();
    let required = if authorizer.required == Required::One { "ONE" } else { "MAJORITY" };
    json!({ "authorizedAddresses": addresses, "requiredCalculation": required })
}

fn key_texts(keys: &[BtcKey]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// Everything that `constants` says of a Bridge, from our tables.
fn constants_json(c: &BridgeConstants) -> Vec<(&'static str, Value)> {
    let sat = |value: i64| json!({ "satoshi": value });
    let (f, none, all) = (&c.federation, Activations::NONE, Activations::ALL);
    vec![
        ("/btcParamsString", c.network.id().into()),
        ("/blockWithTooMuchChainWorkHeight", c.too_much_chain_work_height.into()),
        ("/btc2RskMinimumAcceptableConfirmations", c.btc_confirmations.into()),
        ("/rsk2BtcMinimumAcceptableConfirmations", c.rsk_confirmations.into()),
        ("/updateBridgeExecutionPeriod", c.update_period_ms.into()),
        ("/maxBtcHeadersPerRskBlock", c.max_btc_headers_per_block.into()),
        ("/legacyMinimumPeginTxValue", sat(c.legacy_minimum_pegin)),
        ("/minimumPeginTxValue", sat(c.minimum_pegin_since_rskip219)),
        ("/legacyMinimumPegoutTxValue", sat(c.legacy_minimum_pegout)),
        ("/minimumPegoutTxValue", sat(c.minimum_pegout)),
        ("/btcHeightWhenBlockIndexActivates", c.btc_index_height.into()),
        ("/maxDepthToSearchBlocksBelowIndexActivation", c.max_depth_below_index.into()),
        ("/minSecondsBetweenCallsReceiveHeader", c.min_seconds_between_headers.into()),
        ("/maxDepthBlockchainAccepted", c.max_header_depth.into()),
        ("/minimumPegoutValuePercentageToReceiveAfterFee", c.minimum_pegout_fee_percentage.into()),
        ("/maxInputsPerPegoutTransaction", c.max_inputs_per_pegout.into()),
        ("/numberOfBlocksBetweenPegouts", c.blocks_between_pegouts.into()),
        ("/btcHeightWhenPegoutTxIndexActivates", c.pegout_index_height.into()),
        ("/pegoutTxIndexGracePeriodInBtcBlocks", c.pegout_index_grace.into()),
        ("/federationConstants/btcParams", f.network.id().into()),
        ("/federationConstants/genesisFederationPublicKeys", key_texts(f.genesis_keys).into()),
        ("/federationConstants/erpFedPubKeysList", key_texts(f.erp_keys).into()),
        ("/federationConstants/erpFedActivationDelay", f.erp_delay.into()),
        ("/federationConstants/federationActivationAge", f.activation_age_since_rskip383.into()),
        ("/federationConstants/federationActivationAgeLegacy", f.activation_age_legacy.into()),
        ("/federationConstants/fundsMigrationAgeSinceActivationBegin", f.migration_begin.into()),
        ("/federationConstants/fundsMigrationAgeSinceActivationEnd", f.migration_end_normal.into()),
        ("/federationConstants/specialCaseFundsMigrationAgeSinceActivationEnd", f.migration_end_special.into()),
        ("/federationConstants/validationPeriodDurationInBlocks", f.validation_period.into()),
        ("/federationConstants/oldFederationAddress", f.old_federation_address.into()),
        ("/federationConstants/federationChangeAuthorizer", authorizer_json(&f.change_authorizer)),
        ("/feePerKbConstants/genesisFeePerKb", sat(c.fee_per_kb.genesis)),
        ("/feePerKbConstants/maxFeePerKb", sat(c.fee_per_kb.max)),
        ("/feePerKbConstants/feePerKbChangeAuthorizer", authorizer_json(&c.fee_per_kb.change_authorizer)),
        ("/whitelistConstants/lockWhitelistChangeAuthorizer", authorizer_json(&c.whitelist.change_authorizer)),
        ("/lockingCapConstants/initialValue", sat(c.locking_cap.initial)),
        ("/lockingCapConstants/incrementsMultiplier", c.locking_cap.increments_multiplier.into()),
        ("/lockingCapConstants/increaseAuthorizer", authorizer_json(&c.locking_cap.increase_authorizer)),
        ("/unionBridgeConstants/unionBridgeAddress", hex::encode(c.union.address).into()),
        ("/unionBridgeConstants/initialLockingCap", c.union.initial_locking_cap.to_string().into()),
        ("/unionBridgeConstants/lockingCapIncrementsMultiplier", c.union.locking_cap_increments_multiplier.into()),
        (
            "/unionBridgeConstants/changeUnionBridgeContractAddressAuthorizer",
            authorizer_json(&c.union.change_address_authorizer),
        ),
        ("/unionBridgeConstants/changeLockingCapAuthorizer", authorizer_json(&c.union.change_locking_cap_authorizer)),
        (
            "/unionBridgeConstants/changeTransferPermissionsAuthorizer",
            authorizer_json(&c.union.change_transfer_permissions_authorizer),
        ),
        ("/minimumPeginTxValue(0)", c.minimum_pegin(none).into()),
        ("/minimumPeginTxValue(latest)", c.minimum_pegin(all).into()),
        ("/federationActivationAge(0)", f.activation_age(none).into()),
        ("/federationActivationAge(latest)", f.activation_age(all).into()),
        ("/fundsMigrationAgeEnd(0)", f.migration_end(none).into()),
        ("/fundsMigrationAgeEnd(latest)", f.migration_end(all).into()),
    ]
}

#[test]
fn vectors_constants_bridge() {
    let Some(document) = vector_document("constants") else { return };
    let mut tally = Tally::new("constants bridge");
    for network in ["main", "testnet", "regtest"] {
        let bridge = &document[network]["bridge"];
        // On regtest every rule that matters is active from block 0.
        let from_start = network == "regtest";
        for (pointer, ours) in constants_json(constants(network)) {
            if from_start && pointer.ends_with("(0)") {
                continue;
            }
            let mut theirs = bridge.pointer(pointer).cloned().unwrap_or_default();
            if let Some(list) = theirs.pointer_mut("/authorizedAddresses").and_then(Value::as_array_mut) {
                list.sort_by_key(ToString::to_string);
            }
            tally.equal(&format!("{network} {pointer}"), ours, theirs);
        }
        let time = text(&bridge["federationConstants"], "genesisFederationCreationTime").to_owned();
        let ours = constants(network).federation.genesis_creation_time_ms;
        tally.equal(&format!("{network} time of the first federation"), iso_time(ours), time);
    }
    tally.finish();
}

/// Text of a time as Java writes it.
fn iso_time(ms: i64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    let (mut year, mut day) = (1970, days);
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    while day >= 365 + i64::from(leap(year)) {
        day -= 365 + i64::from(leap(year));
        year += 1;
    }
    assert!(day < 31, "only January is needed");
    let (h, m, s, ms) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60, rest % 1_000);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    format!("{year}-01-{:02}T{h:02}:{m:02}:{s:02}{fraction}Z", day + 1)
}
