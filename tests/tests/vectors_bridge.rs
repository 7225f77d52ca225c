//! The contract half of the Bridge against the reference: methods, events, cells, senders and instructions of `bridge`. The
//! other kinds are those of `vectors_bridge_bitcoin`; together they are all there are.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};

use rhizome_bridge::abi::Type;
use rhizome_bridge::bitcoin::{Address, BtcHash, BtcNetwork, BtcTransaction, Script};
use rhizome_bridge::constants::{Authorizer, BridgeConstants, Required};
use rhizome_bridge::dispatch::{Gas, METHODS, Method, headers_gas};
use rhizome_bridge::federation::FlyoverInfo;
use rhizome_bridge::pegin::flyover::derivation_hash;
use rhizome_bridge::pegin::instructions::find_instructions;
use rhizome_bridge::pegin::reasons::{RejectedPegin, UnrefundablePegin};
use rhizome_bridge::pegin::sender::{SenderKind, find_sender};
use rhizome_bridge::pegout::queue::{Request, RequestQueue};
use rhizome_bridge::pegout::reasons::RejectedRequest;
use rhizome_bridge::pegout::signatures::WaitingSignatures;
use rhizome_bridge::pegout::waiting::{WaitingConfirmations, WaitingRelease};
use rhizome_bridge::storage::{codec, forms, keys};
use rhizome_bridge::votes::election::{CallSpec, Election};
use rhizome_bridge::votes::whitelist::{Entry, LockWhitelist, one_off_cell, unlimited_cell};
use rhizome_bridge::{events, federation_change, pegin, state_reports, union, votes};
use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{B256, U256, hex};
use rhizome_tests::{Tally, bytes, optional_bytes, text, unhex, vectors};
use serde_json::{Value, json};

/// Kinds that the other half checks.
const OTHER_HALF: [&str; 13] = [
    "federation",
    "genesisFederation",
    "pendingFederation",
    "flyoverFederation",
    "pegoutSize",
    "utxoList",
    "outpointsValues",
    "storedBlock",
    "merkleBranch",
    "btcAddressParse",
    "btcAddressSerialize",
    "releaseTx",
    "constants",
];

fn network(name: &str) -> BtcNetwork {
    match name {
        "main" | "mainnet" => BtcNetwork::Mainnet,
        "testnet" => BtcNetwork::Testnet,
        "regtest" => BtcNetwork::Regtest,
        other => panic!("no network {other}"),
    }
}

/// Upgrades in the order in which the reference's tests pile them up, on no network in particular.
const UPGRADES: [&str; 18] = [
    "bahamas",
    "afterBridgeSync",
    "orchid",
    "orchid060",
    "wasabi100",
    "twoToThree",
    "papyrus200",
    "iris300",
    "hop400",
    "hop401",
    "fingerroot500",
    "arrowhead600",
    "arrowhead631",
    "lovell700",
    "reed800",
    "reed810",
    "vetiver900",
    "tbd1000",
];

/// The rules that an upgrade and those before it carry.
fn fork(name: &str) -> Activations {
    let place = |name: &str| UPGRADES.iter().position(|known| *known == name);
    let until = place(name).unwrap_or_else(|| panic!("no upgrade {name}"));
    let carried = |rule: &Rskip| rule.upgrade().and_then(|upgrade| place(upgrade.key())) <= Some(until);
    Rskip::ALL.iter().copied().filter(carried).collect()
}

fn tx(value: &Value, member: &str) -> BtcTransaction {
    BtcTransaction::decode(&bytes(value, member)).unwrap()
}

fn word(value: &Value, member: &str) -> B256 {
    text(value, member).parse().unwrap()
}

/// An address of whatever network.
fn address(text: &str) -> Address {
    [BtcNetwork::Mainnet, BtcNetwork::Testnet].into_iter().find_map(|n| Address::from_base58(n, text).ok()).unwrap()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn same<T: PartialEq + std::fmt::Debug>(got: T, expected: T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("got {got:?}, expected {expected:?}")) }
}

fn same_hex(got: &[u8], expected: &Value) -> Result<(), String> {
    same(hex::encode(got).as_str(), expected.as_str().unwrap())
}

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

fn check_method(case: &Value, forks: &mut BTreeMap<String, Activations>) -> Result<(), String> {
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

fn check_event(case: &Value) -> Result<(), String> {
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

fn cell_name(constant: &str) -> Result<&'static str, String> {
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

fn check_compound(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let key = keys::compound(cell_name(text(input, "key"))?, text(input, "identifier"));
    same_hex(key.as_slice(), &case["output"])
}

fn enum_codes() -> BTreeMap<&'static str, i64> {
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

fn check_queue(case: &Value) -> Result<(), String> {
    let request = |entry: &Value| Request {
        destination: address(text(entry, "address")),
        amount: entry["amount"].as_i64().unwrap(),
        rsk_tx: optional_bytes(entry, "rskTxHash").map(|hash| B256::from_slice(&hash)),
    };
    let queue = RequestQueue::new(list(&case["input"]).iter().map(request).collect());
    let (without, with) = (queue.encode_without_hash(), queue.encode_with_hash());
    same_hex(&without, &case["output"]["withoutHash"])?;
    same_hex(&with, &case["output"]["withHash"])?;
    let read = RequestQueue::decode(BtcNetwork::Mainnet, Some(&without), Some(&with)).map_err(|e| e.to_string())?;
    same(read.requests().len(), queue.requests().len())?;
    same(read.encode_without_hash(), without)?;
    same(read.encode_with_hash(), with)
}

fn releases(entries: &Value) -> Vec<WaitingRelease> {
    let release = |entry: &Value| {
        let rsk_tx = optional_bytes(entry, "rskTxHash").map(|hash| B256::from_slice(&hash));
        WaitingRelease::new(tx(entry, "tx"), entry["block"].as_i64().unwrap(), rsk_tx)
    };
    list(entries).iter().map(release).collect()
}

fn check_waiting_confirmations(case: &Value) -> Result<(), String> {
    let waiting = WaitingConfirmations::of(releases(&case["input"])).map_err(|error| error.to_string())?;
    let (without, with) = (waiting.encode_without_hash(), waiting.encode_with_hash());
    same_hex(&without, &case["output"]["withoutHash"])?;
    same_hex(&with, &case["output"]["withHash"])?;
    for sorted in [false, true] {
        let read = WaitingConfirmations::decode(Some(&without), Some(&with), sorted).map_err(|e| e.to_string())?;
        same(read.encode_without_hash(), without.clone())?;
        same(read.encode_with_hash(), with.clone())?;
    }
    Ok(())
}

fn check_next_confirmed(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let mut waiting = WaitingConfirmations::of(releases(&input["entries"])).map_err(|error| error.to_string())?;
    let sorted = fork(text(input, "fork")).is_active(Rskip::R559);
    let (block, confirmations) = (input["block"].as_i64().unwrap(), input["confirmations"].as_i64().unwrap());
    let next = waiting.take_confirmed(block, confirmations, sorted).map_err(|error| error.to_string())?;
    same(next.map(|release| hex::encode(release.tx.encode())), case["output"].as_str().map(str::to_owned))
}

fn waiting_signatures(case: &Value) -> WaitingSignatures {
    let mut waiting = WaitingSignatures::default();
    for entry in list(&case["input"]) {
        waiting.insert(word(entry, "rskTxHash"), tx(entry, "tx"));
    }
    waiting
}

fn check_waiting_signatures(case: &Value) -> Result<(), String> {
    let waiting = waiting_signatures(case);
    let encoded = waiting.encode();
    same_hex(&encoded, &case["output"])?;
    same(WaitingSignatures::decode(Some(&encoded)).map_err(|error| error.to_string())?, waiting)
}

fn check_proposed_state(case: &Value) -> Result<(), String> {
    let entry = (word(&case["input"], "rskTxHash"), tx(&case["input"], "tx"));
    let encoded = forms::hash_and_transaction(&entry.0, &entry.1);
    same_hex(&encoded, &case["output"]["serialized"])?;
    same_hex(&state_reports::for_svp_client(Some(&entry)), &case["output"]["state"])?;
    same(forms::read_hash_and_transaction(Some(&encoded)).map_err(|error| error.to_string())?, Some(entry))
}

// The whitelist itself is always in order; the vectors write lists as they come.
fn check_one_off(case: &Value) -> Result<(), String> {
    let entries: Vec<_> = list(&case["input"]["entries"])
        .iter()
        .map(|entry| (address(text(entry, "address")).hash, entry["max"].as_i64().unwrap()))
        .collect();
    let height = case["input"]["disableBlock"].as_i64().unwrap() as i32;
    let encoded = one_off_cell(entries.iter().copied(), height);
    same_hex(&encoded, &case["output"])?;
    let mut whitelist = LockWhitelist::default();
    whitelist.set_disable_height(height);
    for (address, limit) in &entries {
        whitelist.add(*address, Entry::OneOff(*limit));
    }
    let mut sorted = entries;
    sorted.sort();
    same(whitelist.encode_one_off(), one_off_cell(sorted, height))?;
    same(LockWhitelist::decode_one_off(Some(&encoded)).map_err(|error| error.to_string())?, Some(whitelist))
}

fn check_unlimited(case: &Value) -> Result<(), String> {
    let entries: Vec<_> = list(&case["input"]).iter().map(|entry| address(entry.as_str().unwrap()).hash).collect();
    let encoded = unlimited_cell(entries.iter().copied());
    same_hex(&encoded, &case["output"])?;
    let (mut whitelist, mut read) = (LockWhitelist::default(), LockWhitelist::default());
    for address in &entries {
        whitelist.add(*address, Entry::Unlimited);
    }
    let mut sorted = entries;
    sorted.sort();
    same(whitelist.encode_unlimited(), unlimited_cell(sorted))?;
    read.add_unlimited(Some(&encoded)).map_err(|error| error.to_string())?;
    same(read, whitelist)
}

fn check_election(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let addresses: Vec<_> = list(&input["authorised"]).iter().map(|a| a.as_str().unwrap().parse().unwrap()).collect();
    let authorizer = Authorizer { addresses: addresses.leak(), required: Required::Majority };
    same(authorizer.required_count() as u64, input["required"].as_u64().unwrap())?;
    let mut election = Election::default();
    for vote in list(&input["votes"]) {
        let arguments: Vec<_> = list(&vote["arguments"]).iter().map(|a| unhex(a.as_str().unwrap())).collect();
        let spec = CallSpec { function: text(vote, "function").to_owned(), arguments };
        let accepted = election.vote(&spec, text(vote, "voter").parse().unwrap(), &authorizer);
        same(Some(accepted), vote["accepted"].as_bool())?;
    }
    let encoded = election.encode();
    same_hex(&encoded, &case["output"]["serialized"])?;
    let winner = election.winner(&authorizer).map(|spec| {
        let encoded = [spec.function.as_bytes(), &spec.arguments.concat()].concat();
        format!("{}:{}", spec.function, hex::encode(encoded))
    });
    same(winner.as_deref(), case["output"]["winner"].as_str())?;
    if list(&input["votes"]).iter().any(|vote| list(&vote["arguments"]).iter().any(|a| a == "")) {
        return Ok(());
    }
    let read = Election::decode(Some(&encoded), &authorizer).map_err(|error| error.to_string())?;
    same(read.encode(), encoded)
}

fn check_hash_map(case: &Value) -> Result<(), String> {
    let map: BTreeMap<BtcHash, i64> = case["input"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(hash, number)| (hash.parse().unwrap(), number.as_i64().unwrap()))
        .collect();
    let encoded = forms::hashes_to_numbers(&map);
    same_hex(&encoded, &case["output"])?;
    same(forms::read_hashes_to_numbers(Some(&encoded)).map_err(|error| error.to_string())?, map)
}

fn check_coinbase(case: &Value) -> Result<(), String> {
    let root: BtcHash = text(case, "input").parse().unwrap();
    let encoded = forms::coinbase(&root);
    same_hex(&encoded, &case["output"])?;
    same(forms::read_coinbase(Some(&encoded)).map_err(|error| error.to_string())?, Some(root))
}

fn check_flyover_information(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let hash = |member| bytes(input, member).try_into().unwrap();
    let info = FlyoverInfo {
        derivation_hash: word(input, "derivationHash"),
        federation_hash: hash("federationHash"),
        flyover_hash: hash("flyoverHash"),
    };
    let encoded = forms::flyover(&info);
    same_hex(&encoded, &case["output"])?;
    same(forms::read_flyover(&encoded, &info.flyover_hash).map_err(|error| error.to_string())?, info)
}

fn check_number(case: &Value) -> Result<(), String> {
    let value = case["input"].as_i64().unwrap();
    let encoded = codec::long(value);
    same_hex(&encoded, &case["output"])?;
    same(codec::read_optional_long(Some(&encoded)).map_err(|error| error.to_string())?, Some(value))?;
    same(codec::read_coin(Some(&encoded)).map_err(|error| error.to_string())?, Some(value))
}

fn check_wei(case: &Value) -> Result<(), String> {
    let value: U256 = match &case["input"] {
        Value::String(digits) => digits.parse().unwrap(),
        number => U256::from(number.as_u64().unwrap()),
    };
    let encoded = codec::wei(value);
    same_hex(&encoded, &case["output"])?;
    same(codec::read_wei(Some(&encoded)).map_err(|error| error.to_string())?, Some(value))
}

fn check_hash(case: &Value) -> Result<(), String> {
    let encoded = codec::element(&bytes(case, "input"));
    same_hex(&encoded, &case["output"])?;
    let read = forms::read_btc_hash(Some(&encoded)).map_err(|error| error.to_string())?;
    same(read.map(|hash| hash.to_string()).as_deref(), case["input"].as_str())
}

fn check_script(case: &Value) -> Result<(), String> {
    let script = Script::new(bytes(case, "input"));
    let encoded = forms::script(&script);
    same_hex(&encoded, &case["output"])?;
    same(forms::read_script(Some(&encoded)).map_err(|error| error.to_string())?, Some(script))
}

fn check_instructions(case: &Value) -> Result<(), String> {
    let network = network(text(&case["input"], "network"));
    let got = match find_instructions(&tx(&case["input"], "tx"), network) {
        Err(_) => Value::Null,
        Ok(None) => "none".into(),
        Ok(Some(found)) => json!({
            "version": 1,
            "rsk": hex::encode(found.receiver),
            "refund": found.refund.map(|address| address.to_string()),
        }),
    };
    same(case["error"].is_string(), got.is_null())?;
    same(&got, &case["output"])
}

fn check_sender(case: &Value) -> Result<(), String> {
    let network = network(text(&case["input"], "network"));
    let sender = find_sender(&tx(&case["input"], "tx"), network);
    let got = match sender {
        Err(error) => {
            return same(true, case["output"].as_str().is_some_and(|text| text.starts_with('!')))
                .map_err(|_| error.to_string());
        }
        Ok(None) => "none".into(),
        Ok(Some(sender)) => json!({
            "type": match sender.kind {
                SenderKind::P2pkh => "P2PKH",
                SenderKind::P2shP2wpkh => "P2SHP2WPKH",
                SenderKind::P2shMultisig => "P2SHMULTISIG",
                SenderKind::P2shP2wsh => "P2SHP2WSH",
            },
            "btc": sender.address.to_string(),
            "rsk": sender.rsk_address.map(hex::encode),
        }),
    };
    same(&got, &case["output"])
}

fn check_derivation_hash(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let exact = fork(text(input, "fork")).is_active(Rskip::R284);
    let (user, provider) = (address(text(input, "userRefund")), address(text(input, "lp")));
    let contract = text(input, "lbc").parse().unwrap();
    let hash = derivation_hash(word(input, "argumentsHash"), &user, &provider, contract, exact);
    same_hex(hash.as_slice(), &case["output"])
}

#[test]
fn vectors_bridge() {
    let Some(cases) = vectors("bridge") else { return };
    let mut forks = BTreeMap::new();
    let codes = enum_codes();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut methods = BTreeSet::new();
    for case in cases {
        let kind = text(&case, "kind").to_owned();
        let result = match kind.as_str() {
            "method" => {
                methods.insert(text(&case, "input").to_owned());
                check_method(&case, &mut forks)
            }
            "event" => check_event(&case),
            "storageKey" => cell_name(text(&case, "input"))
                .and_then(|name| same_hex(keys::padded(name).as_slice(), &case["output"])),
            "storageKeyCompound" => check_compound(&case),
            "enumCode" => same(codes.get(text(&case, "input")).copied(), case["output"].as_i64()),
            "releaseRequestQueue" => check_queue(&case),
            "pegoutsWaitingForConfirmations" => check_waiting_confirmations(&case),
            "nextPegoutWithEnoughConfirmations" => check_next_confirmed(&case),
            "pegoutsWaitingForSignatures" => check_waiting_signatures(&case),
            "stateForFederator" => {
                same_hex(&state_reports::for_release_client(&waiting_signatures(&case)), &case["output"])
            }
            "stateForProposedFederator" => check_proposed_state(&case),
            "oneOffWhitelist" => check_one_off(&case),
            "unlimitedWhitelist" => check_unlimited(&case),
            "election" => check_election(&case),
            "mapOfHashesToLong" => check_hash_map(&case),
            "coinbaseInformation" => check_coinbase(&case),
            "flyoverFederationInformation" => check_flyover_information(&case),
            "long" | "coin" => check_number(&case),
            "rskCoin" => check_wei(&case),
            "sha256Hash" => check_hash(&case),
            "rskAddress" => same_hex(&codec::element(&bytes(&case, "input")), &case["output"]),
            "script" => check_script(&case),
            "peginInstructions" => check_instructions(&case),
            "btcLockSender" => check_sender(&case),
            "flyoverDerivationHash" => check_derivation_hash(&case),
            other if OTHER_HALF.contains(&other) => continue,
            other => Err(format!("no check for kind {other}")),
        };
        tallies.entry(kind.clone()).or_insert_with(|| Tally::new(format!("bridge {kind}"))).case(result);
    }
    tallies.into_values().for_each(Tally::finish);
    let ours: BTreeSet<_> = METHODS.iter().map(|method| method.name.to_owned()).collect();
    assert_eq!(ours, methods, "methods of the table and of the reference");
    assert_eq!(ours.len(), METHODS.len(), "each method once");
    assert!(BridgeConstants::mainnet().network == BtcNetwork::Mainnet);
}
