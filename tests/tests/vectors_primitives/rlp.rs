//! RLP: encoders, lax decoder, scalars.

use rhizome_primitives::coin::{self, Difficulty};
use rhizome_primitives::rlp::{self, Item, Items, RlpError};
use rhizome_primitives::{Address, DecodeError, I256, hex};
use rhizome_tests::{Tally, bytes, number, optional_bytes, text, unhex, vectors};
use serde_json::{Value, json};

use crate::{Case, uint, was_refused};

/// How deep the vectors show nested lists.
const SHOWN_DEPTH: usize = 60;

/// An item as the vectors show it: a text of hex, or an array.
fn shown(item: Item<'_>, depth: usize) -> Result<Value, RlpError> {
    if depth > SHOWN_DEPTH {
        return Ok(json!("(deeper than 60, decoded)"));
    }
    if item.is_list() { shown_items(item.list()?, depth + 1) } else { Ok(json!(hex::encode(item.data()))) }
}

fn shown_items(items: Items<'_>, depth: usize) -> Result<Value, RlpError> {
    Ok(Value::Array(items.map(|item| shown(item?, depth)).collect::<Result<_, _>>()?))
}

/// The array of all items, which counts as one level.
fn shown_all(items: Items<'_>) -> Result<Value, RlpError> {
    shown_items(items, 1)
}

fn compare_decoded(case: &mut Case, what: &str, got: Result<Value, RlpError>, expected: &Value) {
    match got {
        Ok(got) => case.equal(what, got, expected),
        Err(error) => case.require(&format!("{what}: refused with {error}"), was_refused(expected)),
    }
}

fn check_rlp_decode(case: &mut Case, line: &Value) {
    let input = bytes(line, "in");
    compare_decoded(case, "decode2", shown_all(Items::new(&input)), &line["decode2"]);
    compare_decoded(case, "list", rlp::decode_list(&input).and_then(shown_all), &line["list"]);
    if line.get("first").is_none() {
        return;
    }
    compare_decoded(case, "first", rlp::first(&input).and_then(|item| shown(item, 0)), &line["first"]);
    compare_decoded(case, "int", rlp::decode_int(&input).map(Value::from), &line["int"]);
    let data = rlp::first(&input).map(|item| item.data());
    let big = |data: &[u8]| json!(num_bigint::BigUint::from_bytes_be(data).to_string());
    compare_decoded(case, "big", data.map(big), &line["big"]);
    let nullable = |data: &[u8]| if data.is_empty() { Value::Null } else { json!(hex::encode(data)) };
    compare_decoded(case, "rlpData", data.map(nullable), &line["rlpData"]);
    if line.get("rlpRawData").is_some() {
        compare_decoded(case, "rlpRawData", data.map(|data| json!(hex::encode(data))), &line["rlpRawData"]);
    }
}

/// True for a number that takes more than 256 bits, two's complement counted as such.
fn is_too_wide(expected: &Value) -> bool {
    let number: num_bigint::BigInt = expected.as_str().unwrap_or("0").parse().unwrap_or_default();
    number.bits() >= 256
}

fn check_rlp_parse(case: &mut Case, line: &Value) {
    let input = optional_bytes(line, "in");
    let data = input.as_deref().unwrap_or(&[]);
    let compare_unsigned = |case: &mut Case, member: &str| match coin::unsigned(data) {
        Some(value) => case.equal(member, value.to_string(), &line[member]),
        None => case.require(member, is_too_wide(&line[member])),
    };
    compare_unsigned(case, "coin");
    compare_unsigned(case, "coinNullZero");
    // Null is told from empty before these readers are asked.
    if input.is_some() {
        compare_unsigned(case, "coinNonNullZero");
        let expected = &line["signedCoinNonNullZero"];
        match coin::signed(data) {
            Some(value) => case.equal("signed", value.to_string(), expected),
            None => case.require("signed", was_refused(expected) || is_too_wide(expected)),
        }
        match Difficulty::from_signed_bytes(data) {
            Ok(value) => case.equal("difficulty", value.to_string(), &line["difficulty"]),
            Err(DecodeError::OutOfRange { .. }) => case.require("difficulty", is_too_wide(&line["difficulty"])),
            Err(_) => case.require("difficulty", was_refused(&line["difficulty"])),
        }
    }
    match (data.is_empty(), Address::try_from(data)) {
        (true, _) => case.equal("address", "", &line["address"]),
        (false, Ok(address)) => case.equal("address", hex::encode(address), &line["address"]),
        (false, Err(_)) => case.require("address", was_refused(&line["address"])),
    }
}

#[test]
fn vectors_rlp() {
    let Some(lines) = vectors("rlp") else { return };
    let mut tally = Tally::new("rlp");
    for line in lines {
        let mut case = Case::default();
        let enc = &line["enc"];
        match text(&line, "kind") {
            "encBigInteger" => case.equal("enc", encoded(|out| rlp::put_u256(out, uint(text(&line, "v")))), enc),
            "encCoin" => {
                let value = line["v"].as_str().map(uint);
                let or_zero = value.unwrap_or_default();
                case.equal("coin", encoded(|out| rlp::put_coin(out, or_zero)), &line["coin"]);
                case.equal("nonNull", encoded(|out| rlp::put_coin_non_null_zero(out, value)), &line["nonNullZero"]);
                if value.is_some() {
                    case.equal("nullZero", encoded(|out| rlp::put_coin_null_zero(out, or_zero)), &line["nullZero"]);
                }
                let signed = value.map(I256::from_raw);
                let got = encoded(|out| rlp::put_signed_coin_non_null_zero(out, signed));
                case.equal("signed", got, &line["signedNonNullZero"]);
                let got = encoded(|out| rlp::put_difficulty(out, value.map(Difficulty)));
                case.equal("difficulty", got, &line["difficulty"]);
            }
            "encInt" => {
                let value = line["v"].as_i64().unwrap() as i32;
                case.equal("enc", encoded(|out| rlp::put_int(out, value)), enc);
            }
            "encByte" => case.equal("enc", encoded(|out| rlp::put_byte(out, number(&line, "v") as u8)), enc),
            "encShort" => {
                let value = line["v"].as_i64().unwrap() as i16;
                case.equal("enc", encoded(|out| rlp::put_short(out, value)), enc);
            }
            "encElement" => case.equal("enc", encoded(|out| rlp::put_bytes(out, &bytes(&line, "v"))), enc),
            "encList" => {
                let items = bytes(&line, "item").repeat(number(&line, "n") as usize);
                case.equal("enc", encoded(|out| rlp::put_list(out, |out| out.extend_from_slice(&items))), enc);
            }
            "shortsToRLP" => {
                let words: Vec<i16> = serde_json::from_value(line["v"].clone()).unwrap();
                let got = encoded(|out| rlp::put_shorts(out, &words));
                let raw = unhex(&got);
                case.equal("enc", got, enc);
                case.equal("back", rlp::shorts_from_bytes(rlp::first(&raw).unwrap().data()), &line["back"]);
            }
            "decode" => check_rlp_decode(&mut case, &line),
            "parse" => check_rlp_parse(&mut case, &line),
            kind => case.require(&format!("unknown kind {kind}"), false),
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

#[test]
fn vectors_suite_rlp() {
    let Some(lines) = vectors("suite_rlp") else { return };
    let mut tally = Tally::new("suite_rlp");
    for line in lines {
        let mut case = Case::default();
        check_rlp_decode(&mut case, &line);
        case.end(&mut tally, &line);
    }
    tally.finish();
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    hex::encode(out)
}
