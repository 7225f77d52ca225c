//! The contract half of the Bridge against the reference: methods, events, cells, senders and instructions of `bridge`. The
//! other kinds are those of `vectors_bridge_bitcoin`; together they are all there are.
#![allow(clippy::unwrap_used, missing_docs)]

mod forms;
mod pegin;
mod pegout;
mod tables;
mod votes;

use std::collections::{BTreeMap, BTreeSet};

use rhizome_bridge::bitcoin::{Address, BtcNetwork, BtcTransaction};
use rhizome_bridge::constants::BridgeConstants;
use rhizome_bridge::dispatch::METHODS;
use rhizome_bridge::state_reports;
use rhizome_bridge::storage::{codec, keys};
use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{B256, hex};
use rhizome_tests::{Tally, bytes, text, vectors};
use serde_json::Value;

use forms::{
    check_coinbase, check_flyover_information, check_hash, check_hash_map, check_number, check_script, check_wei,
};
use pegin::{check_derivation_hash, check_instructions, check_sender};
use pegout::{
    check_next_confirmed, check_proposed_state, check_queue, check_waiting_confirmations, check_waiting_signatures,
    waiting_signatures,
};
use tables::{cell_name, check_compound, check_event, check_method, enum_codes};
use votes::{check_election, check_one_off, check_unlimited};

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
