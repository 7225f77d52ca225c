//! Whitelists and elections.

use rhizome_bridge::constants::{Authorizer, Required};
use rhizome_bridge::votes::election::{CallSpec, Election};
use rhizome_bridge::votes::whitelist::{Entry, LockWhitelist, one_off_cell, unlimited_cell};
use rhizome_primitives::hex;
use rhizome_tests::{text, unhex};
use serde_json::Value;

use crate::{address, list, same, same_hex};

// The whitelist itself is always in order; the vectors write lists as they come.
pub(crate) fn check_one_off(case: &Value) -> Result<(), String> {
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

pub(crate) fn check_unlimited(case: &Value) -> Result<(), String> {
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

pub(crate) fn check_election(case: &Value) -> Result<(), String> {
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
