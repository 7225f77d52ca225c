//! Stored forms of numbers, hashes, scripts and small records.

use std::collections::BTreeMap;

use rhizome_bridge::bitcoin::{BtcHash, Script};
use rhizome_bridge::federation::FlyoverInfo;
use rhizome_bridge::storage::{codec, forms};
use rhizome_primitives::U256;
use rhizome_tests::{bytes, text};
use serde_json::Value;

use crate::{same, same_hex, word};

pub(crate) fn check_hash_map(case: &Value) -> Result<(), String> {
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

pub(crate) fn check_coinbase(case: &Value) -> Result<(), String> {
    let root: BtcHash = text(case, "input").parse().unwrap();
    let encoded = forms::coinbase(&root);
    same_hex(&encoded, &case["output"])?;
    same(forms::read_coinbase(Some(&encoded)).map_err(|error| error.to_string())?, Some(root))
}

pub(crate) fn check_flyover_information(case: &Value) -> Result<(), String> {
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

pub(crate) fn check_number(case: &Value) -> Result<(), String> {
    let value = case["input"].as_i64().unwrap();
    let encoded = codec::long(value);
    same_hex(&encoded, &case["output"])?;
    same(codec::read_optional_long(Some(&encoded)).map_err(|error| error.to_string())?, Some(value))?;
    same(codec::read_coin(Some(&encoded)).map_err(|error| error.to_string())?, Some(value))
}

pub(crate) fn check_wei(case: &Value) -> Result<(), String> {
    let value: U256 = match &case["input"] {
        Value::String(digits) => digits.parse().unwrap(),
        number => U256::from(number.as_u64().unwrap()),
    };
    let encoded = codec::wei(value);
    same_hex(&encoded, &case["output"])?;
    same(codec::read_wei(Some(&encoded)).map_err(|error| error.to_string())?, Some(value))
}

pub(crate) fn check_hash(case: &Value) -> Result<(), String> {
    let encoded = codec::element(&bytes(case, "input"));
    same_hex(&encoded, &case["output"])?;
    let read = forms::read_btc_hash(Some(&encoded)).map_err(|error| error.to_string())?;
    same(read.map(|hash| hash.to_string()).as_deref(), case["input"].as_str())
}

pub(crate) fn check_script(case: &Value) -> Result<(), String> {
    let script = Script::new(bytes(case, "input"));
    let encoded = forms::script(&script);
    same_hex(&encoded, &case["output"])?;
    same(forms::read_script(Some(&encoded)).map_err(|error| error.to_string())?, Some(script))
}
