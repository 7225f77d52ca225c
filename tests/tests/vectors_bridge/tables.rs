//! Tables of the Bridge: methods, events, keys of cells, codes.

use std::collections::BTreeMap;

use rhizome_bridge::abi::Type;
use rhizome_bridge::dispatch::{Gas, METHODS, Method, headers_gas};
use rhizome_bridge::pegin::reasons::{RejectedPegin, UnrefundablePegin};
use rhizome_bridge::pegout::reasons::RejectedRequest;
use rhizome_bridge::storage::keys;
use rhizome_bridge::{events, federation_change, pegin, union, votes};
use rhizome_chainspec::Activations;
use rhizome_tests::text;
use serde_json::{Value, json};

use crate::{fork, list, same, same_hex};

fn type_name(kind: Type) -> &'static str {
    kind.canonical_name()
}

fn fixed_or_headers(method: &Method, activations: Activations) -> Value {
    match method.gas {
        Gas::Fixed(gas) => gas.into(),
        Gas::Headers => {
            let prices = [0, 1, 2, 10, 500].map(|n| (format!("{n} headers"), headers_gas(activations, n).into()));
            Value::Object(prices.into_iter().collect())
        }
        Gas::Confirmations => "depends on the chain: 27000 + 315*depth + 144*branchLength".into(),
    }
}

pub(crate) fn check_method(case: &Value, forks: &mut BTreeMap<String, Activations>) -> Result<(), String> {
    let (name, output) = (text(case, "input"), &case["output"]);
    let method = METHODS.iter().find(|method| method.name == name).ok_or("no such method")?;
    same(method.signature().as_str(), text(output, "signature"))?;
    same_hex(&method.selector, &output["selector"])?;
    let inputs: Vec<_> = method.inputs.iter().copied().map(type_name).collect();
    let outputs: Vec<_> = method.output.into_iter().map(type_name).collect();
    let canonical = |value: &Value| -> Vec<String> {
        let widen = |name: &str| match name {
            "int" => "int256".to_owned(),
            "uint" => "uint256".to_owned(),
            other => other.to_owned(),
        };
        list(value).iter().map(|name| widen(name.as_str().unwrap())).collect()
    };
    same(inputs, canonical(&output["inputs"]).iter().map(String::as_str).collect())?;
    same(outputs, canonical(&output["outputs"]).iter().map(String::as_str).collect())?;
    same(&output["acceptsCALL"], &json!(true))?;
    same(&output["acceptsSTATICCALL"], &json!(method.is_view))?;
    for kind in ["acceptsCALLCODE", "acceptsDELEGATECALL", "acceptsPOST"] {
        same(&output[kind], &json!(false))?;
    }
    for (name, expected) in output["forks"].as_object().unwrap() {
        let active = *forks.entry(name.clone()).or_insert_with(|| fork(name));
        let got = json!({
            "enabled": method.gate.is_open(active),
            "cost": fixed_or_headers(method, active),
            "onlyLocalCalls": method.is_local_only(active),
        });
        same(&got, expected).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

pub(crate) fn check_event(case: &Value) -> Result<(), String> {
    let (id, output) = (text(case, "input"), &case["output"]);
    let event = events::ALL.iter().find(|event| event.id == id).ok_or("no such event")?;
    same(event.signature().as_str(), text(output, "signature"))?;
    same_hex(event.topic().as_slice(), &output["topic0"])?;
    let parameters: Vec<_> = event
        .parameters
        .iter()
        .map(|p| json!({ "name": p.name, "type": type_name(p.kind), "indexed": p.indexed }))
        .collect();
    same(&Value::from(parameters), &output["params"])
}

/// rskj's name of a key and the text behind it.
const CELLS: [(&str, &str); 35] = [
    ("BTC_TX_HASHES_ALREADY_PROCESSED_KEY", "btcTxHashesAP"),
    ("RELEASE_REQUEST_QUEUE", "releaseRequestQueue"),
    ("PEGOUTS_WAITING_FOR_CONFIRMATIONS", "releaseTransactionSet"),
    ("RELEASES_OUTPOINTS_VALUES", "releasesOutpointsValues"),
    ("PEGOUTS_WAITING_FOR_SIGNATURES", "rskTxsWaitingFS"),
    ("RELEASE_REQUEST_QUEUE_WITH_TXHASH", "releaseRequestQueueWithTxHash"),
    ("PEGOUTS_WAITING_FOR_CONFIRMATIONS_WITH_TXHASH_KEY", "releaseTransactionSetWithTxHash"),
    ("RECEIVE_HEADERS_TIMESTAMP", "receiveHeadersLastTimestamp"),
    ("NEXT_PEGOUT_HEIGHT_KEY", "nextPegoutHeight"),
    ("BTC_TX_HASH_AP", "btcTxHashAP"),
    ("COINBASE_INFORMATION", "coinbaseInformation"),
    ("BTC_BLOCK_HEIGHT", "btcBlockHeight"),
    ("FAST_BRIDGE_HASH_USED_IN_BTC_TX", "fastBridgeHashUsedInBtcTx"),
    ("FAST_BRIDGE_FEDERATION_INFORMATION", "fastBridgeFederationInformation"),
    ("PEGOUT_TX_SIG_HASH", "pegoutTxSigHash"),
    ("SVP_FUND_TX_HASH_UNSIGNED", "svpFundTxHashUnsigned"),
    ("SVP_FUND_TX_SIGNED", "svpFundTxSigned"),
    ("SVP_SPEND_TX_HASH_UNSIGNED", "svpSpendTxHashUnsigned"),
    ("SVP_SPEND_TX_WAITING_FOR_SIGNATURES", "svpSpendTxWaitingForSignatures"),
    ("NEW_FEDERATION_BTC_UTXOS_KEY", "newFederationBtcUTXOs"),
    ("NEW_FEDERATION_BTC_UTXOS_KEY_FOR_TESTNET_PRE_HOP", "newFederationBtcUTXOsForTestnet"),
    ("NEW_FEDERATION_BTC_UTXOS_KEY_FOR_TESTNET_POST_HOP", "newFedBtcUTXOsForTestnetPostHop"),
    ("OLD_FEDERATION_BTC_UTXOS_KEY", "oldFederationBtcUTXOs"),
    ("NEW_FEDERATION_KEY", "newFederation"),
    ("OLD_FEDERATION_KEY", "oldFederation"),
    ("PENDING_FEDERATION_KEY", "pendingFederation"),
    ("PROPOSED_FEDERATION", "proposedFederation"),
    ("FEDERATION_ELECTION_KEY", "federationElection"),
    ("ACTIVE_FEDERATION_CREATION_BLOCK_HEIGHT_KEY", "activeFedCreationBlockHeight"),
    ("NEXT_FEDERATION_CREATION_BLOCK_HEIGHT_KEY", "nextFedCreationBlockHeight"),
    ("LAST_RETIRED_FEDERATION_P2SH_SCRIPT_KEY", "lastRetiredFedP2SHScript"),
    ("NEW_FEDERATION_FORMAT_VERSION", "newFederationFormatVersion"),
    ("OLD_FEDERATION_FORMAT_VERSION", "oldFederationFormatVersion"),
    ("PENDING_FEDERATION_FORMAT_VERSION", "pendingFederationFormatVersion"),
    ("PROPOSED_FEDERATION_FORMAT_VERSION", "proposedFederationFormatVersion"),
];

pub(crate) fn cell_name(constant: &str) -> Result<&'static str, String> {
    let name = CELLS.iter().find(|(known, _)| *known == constant).map(|(_, name)| *name);
    let name = name.ok_or_else(|| format!("no cell {constant}"))?;
    let compound = [
        keys::Compound::ProcessedHeight,
        keys::Compound::Coinbase,
        keys::Compound::BlockAtHeight,
        keys::Compound::FlyoverHashUsed,
        keys::Compound::FlyoverFederation,
        keys::Compound::PegoutSigHash,
        keys::Compound::OutpointValues,
    ];
    let known = keys::PADDED.iter().any(|(known, key)| *known == name && *key == keys::padded(name))
        || compound.iter().any(|key| key.name() == name);
    if known { Ok(name) } else { Err(format!("{name} is no key of ours")) }
}

pub(crate) fn check_compound(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let key = keys::compound(cell_name(text(input, "key"))?, text(input, "identifier"));
    same_hex(key.as_slice(), &case["output"])
}

pub(crate) fn enum_codes() -> BTreeMap<&'static str, i64> {
    use federation_change::election::code as federation;
    use pegin::flyover::code as flyover;
    use union::code as union_code;
    use votes::fee_per_kb::code as fee;
    use votes::whitelist_methods::code as whitelist;
    BTreeMap::from([
        ("RejectedPeginReason.PEGIN_CAP_SURPASSED", RejectedPegin::CapSurpassed.code().into()),
        ("RejectedPeginReason.LEGACY_PEGIN_MULTISIG_SENDER", RejectedPegin::LegacyMultisigSender.code().into()),
        ("RejectedPeginReason.LEGACY_PEGIN_UNDETERMINED_SENDER", RejectedPegin::LegacyUndeterminedSender.code().into()),
        ("RejectedPeginReason.PEGIN_V1_INVALID_PAYLOAD", RejectedPegin::InvalidPayload.code().into()),
        ("RejectedPeginReason.INVALID_AMOUNT", RejectedPegin::InvalidAmount.code().into()),
        (
            "NonRefundablePeginReason.LEGACY_PEGIN_UNDETERMINED_SENDER",
            UnrefundablePegin::LegacyUndeterminedSender.code().into(),
        ),
        (
            "NonRefundablePeginReason.PEGIN_V1_REFUND_ADDRESS_NOT_SET",
            UnrefundablePegin::RefundAddressNotSet.code().into(),
        ),
        ("NonRefundablePeginReason.INVALID_AMOUNT", UnrefundablePegin::InvalidAmount.code().into()),
        (
            "NonRefundablePeginReason.OUTPUTS_SENT_TO_DIFFERENT_TYPES_OF_FEDS",
            UnrefundablePegin::DifferentFederations.code().into(),
        ),
        ("RejectedPegoutReason.LOW_AMOUNT", RejectedRequest::LowAmount.code().into()),
        ("RejectedPegoutReason.CALLER_CONTRACT", RejectedRequest::CallerContract.code().into()),
        ("RejectedPegoutReason.FEE_ABOVE_VALUE", RejectedRequest::FeeAboveValue.code().into()),
        ("FederationChangeResponseCode.SUCCESSFUL", federation::SUCCESSFUL),
        ("FederationChangeResponseCode.PENDING_FEDERATION_ALREADY_EXISTS", federation::PENDING_EXISTS),
        ("FederationChangeResponseCode.EXISTING_FEDERATION_AWAITING_ACTIVATION", federation::AWAITING_ACTIVATION),
        ("FederationChangeResponseCode.RETIRING_FEDERATION_ALREADY_EXISTS", federation::RETIRING_EXISTS),
        ("FederationChangeResponseCode.PROPOSED_FEDERATION_ALREADY_EXISTS", federation::PROPOSED_EXISTS),
        ("FederationChangeResponseCode.FEDERATION_NON_EXISTENT", federation::NO_PENDING),
        ("FederationChangeResponseCode.FEDERATOR_ALREADY_PRESENT", federation::ALREADY_MEMBER),
        ("FederationChangeResponseCode.INSUFFICIENT_MEMBERS", federation::TOO_FEW_MEMBERS),
        ("FederationChangeResponseCode.PENDING_FEDERATION_MISMATCHED_HASH", federation::WRONG_HASH),
        ("FederationChangeResponseCode.NON_EXISTING_FUNCTION_CALLED", federation::GENERIC_ERROR),
        ("FederationChangeResponseCode.UNAUTHORIZED_CALLER", federation::UNAUTHORIZED),
        ("FederationChangeResponseCode.GENERIC_ERROR", federation::GENERIC_ERROR),
        ("FlyoverTxResponseCodes.REFUNDED_USER_ERROR", flyover::REFUNDED_USER),
        ("FlyoverTxResponseCodes.REFUNDED_LP_ERROR", flyover::REFUNDED_PROVIDER),
        ("FlyoverTxResponseCodes.UNPROCESSABLE_TX_NOT_CONTRACT_ERROR", flyover::NOT_FROM_CONTRACT),
        ("FlyoverTxResponseCodes.UNPROCESSABLE_TX_INVALID_SENDER_ERROR", flyover::WRONG_SENDER),
        ("FlyoverTxResponseCodes.UNPROCESSABLE_TX_ALREADY_PROCESSED_ERROR", flyover::ALREADY_PROCESSED),
        ("FlyoverTxResponseCodes.UNPROCESSABLE_TX_VALIDATIONS_ERROR", flyover::NOT_PROVED),
        ("FlyoverTxResponseCodes.UNPROCESSABLE_TX_VALUE_ZERO_ERROR", flyover::NOTHING_SENT),
        ("FlyoverTxResponseCodes.UNPROCESSABLE_TX_UTXO_AMOUNT_SENT_BELOW_MINIMUM_ERROR", flyover::BELOW_MINIMUM),
        ("FlyoverTxResponseCodes.GENERIC_ERROR", flyover::GENERIC_ERROR),
        // Not an answer: what rskj hands on when an amount is fine.
        ("FlyoverTxResponseCodes.VALID_TX", 0),
        ("UnionResponseCode.SUCCESS", union_code::SUCCESS),
        ("UnionResponseCode.UNAUTHORIZED_CALLER", union_code::UNAUTHORIZED),
        ("UnionResponseCode.INVALID_VALUE", union_code::INVALID_VALUE),
        ("UnionResponseCode.REQUEST_DISABLED", union_code::DISABLED),
        ("UnionResponseCode.RELEASE_DISABLED", union_code::DISABLED),
        // Never answered.
        ("UnionResponseCode.GENERIC_ERROR", -10),
        ("FeePerKbResponseCode.SUCCESSFUL_VOTE", fee::COUNTED),
        ("FeePerKbResponseCode.UNSUCCESSFUL_VOTE", fee::REPEATED),
        ("FeePerKbResponseCode.EXCESSIVE_FEE_VOTED", fee::EXCESSIVE),
        ("FeePerKbResponseCode.NEGATIVE_FEE_VOTED", fee::NOT_POSITIVE),
        ("FeePerKbResponseCode.UNAUTHORIZED_CALLER", fee::UNAUTHORIZED),
        ("FeePerKbResponseCode.GENERIC_ERROR", fee::GENERIC_ERROR),
        ("WhitelistResponseCode.GENERIC_ERROR", whitelist::UNAUTHORIZED),
        ("WhitelistResponseCode.UNAUTHORIZED_CALLER", whitelist::UNAUTHORIZED),
        ("WhitelistResponseCode.INVALID_ADDRESS_FORMAT", whitelist::BAD_ADDRESS),
        ("WhitelistResponseCode.DISABLE_BLOCK_DELAY_INVALID", whitelist::BAD_DELAY),
        ("WhitelistResponseCode.ADDRESS_ALREADY_WHITELISTED", whitelist::ALREADY_LISTED),
        ("WhitelistResponseCode.ADDRESS_NOT_EXIST", whitelist::NOT_LISTED),
        ("WhitelistResponseCode.DELAY_ALREADY_SET", whitelist::DELAY_ALREADY_SET),
        ("WhitelistResponseCode.UNLIMITED_MODE", whitelist::UNLIMITED),
        ("WhitelistResponseCode.SUCCESS", whitelist::SUCCESS),
    ])
}
