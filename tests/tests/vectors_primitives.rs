//! The byte forms and hashes of `rhizome-primitives` against the reference node's answers.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;

use rhizome_chainspec::ChainSpec;
use rhizome_primitives::bloom;
use rhizome_primitives::coin::{self, Difficulty};
use rhizome_primitives::header::{HeaderExtension, encode_uncles, uncles_hash};
use rhizome_primitives::rlp::{self, Item, Items, RlpError};
use rhizome_primitives::secp256k1::{SECP256K1, SecretKey};
use rhizome_primitives::signature::{self, RecoveredKey, Signature};
use rhizome_primitives::transaction::{create_address, remasc_transaction};
use rhizome_primitives::{
    AccountState, Address, B256, Block, BlockHeader, Bloom, Bytes, DecodeError, HeaderFields, HeaderLayout, I256, Log,
    MiningFields, Receipt, Sender, Transaction, U256, hex, keccak256,
};
use rhizome_tests::{Tally, bytes, number, optional_bytes, text, unhex, vector_document, vectors};
use serde_json::{Value, json};

/// Collects what differs in one case.
#[derive(Default)]
struct Case {
    differences: Vec<String>,
}

impl Case {
    fn equal(&mut self, what: &str, got: impl Into<Value>, expected: &Value) {
        let got = got.into();
        if got != *expected {
            self.differences.push(format!("{what}: expected {expected}, got {got}"));
        }
    }

    /// Compares bytes where the reference shows null and empty apart, which no encoding does.
    fn bytes(&mut self, what: &str, got: &[u8], expected: &Value) {
        self.equal(what, hex::encode(got), &json!(expected.as_str().unwrap_or("")));
    }

    fn require(&mut self, what: &str, holds: bool) {
        if !holds {
            self.differences.push(what.to_owned());
        }
    }

    fn end(self, tally: &mut Tally, case: &Value) {
        let name = case["id"].as_str().or(case["test"].as_str()).or(case["kind"].as_str()).unwrap_or("case");
        let what = case["what"].as_str().unwrap_or("");
        tally.case(if self.differences.is_empty() {
            Ok(())
        } else {
            Err(format!("{name} {what}: {}", self.differences.join("; ")))
        });
    }
}

fn hash_of(value: &Value, member: &str) -> B256 {
    B256::from_slice(&bytes(value, member))
}

fn uint(text: &str) -> U256 {
    U256::from_str_radix(text, 10).unwrap()
}

fn was_refused(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('!'))
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    hex::encode(out)
}

// RLP

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

// Headers

fn layouts() -> BTreeMap<String, HeaderLayout> {
    let configs = vector_document("header_configs").unwrap_or(json!({}));
    let layout = |rules: &Value| {
        let has = |name: &str| rules.as_array().unwrap().iter().any(|rule| rule == name);
        HeaderLayout {
            umm: has("rskipUMM"),
            rskip92: has("rskip92"),
            rskip98: has("rskip98"),
            rskip110: has("rskip110"),
            rskip144: has("rskip144"),
            rskip351: has("rskip351"),
            rskip535: has("rskip535"),
            short_event_window: false,
        }
    };
    configs.as_object().unwrap().iter().map(|(name, rules)| (name.clone(), layout(rules))).collect()
}

fn layout_of(layouts: &BTreeMap<String, HeaderLayout>, line: &Value) -> HeaderLayout {
    layouts[text(line, "config")]
}

/// The header that the vector describes field by field.
fn built(line: &Value, mut layout: HeaderLayout) -> BlockHeader {
    let fork_data = bytes(line, "forkDetectionData");
    let given = fork_data.first_chunk().copied();
    // The reference's builder leaves fork detection data out where it was given none.
    layout.rskip110 &= given.is_some();
    let shared = |member| Bytes::from(bytes(line, member));
    let bloom = shared("logsBloom");
    let edges = line["edges"].as_array().map(|edges| edges.iter().map(|edge| edge.as_i64().unwrap() as i16).collect());
    let base_event = optional_bytes(line, "baseEvent").map(Bytes::from);
    let mut fields = HeaderFields::new(number(line, "number"), layout);
    fields.parent_hash = hash_of(line, "parentHash");
    fields.uncles_hash = hash_of(line, "unclesHash");
    fields.coinbase = Address::try_from(&bytes(line, "coinbase")[..]).ok();
    fields.state_root = hash_of(line, "stateRoot");
    fields.transactions_root = hash_of(line, "txTrieRoot");
    fields.receipts_root = hash_of(line, "receiptTrieRoot");
    fields.extension = match number(line, "version") {
        0 => HeaderExtension::V0 { bloom, edges, base_event },
        1 => HeaderExtension::V1 { bloom, edges },
        _ => HeaderExtension::V2 { bloom, base_event, edges },
    };
    fields.difficulty = Some(Difficulty(uint(text(line, "difficulty"))));
    fields.gas_limit = shared("gasLimit");
    fields.gas_used = number(line, "gasUsed");
    fields.timestamp = number(line, "timestamp");
    fields.extra_data = shared("extraData");
    fields.paid_fees = uint(text(line, "paidFees"));
    fields.minimum_gas_price = Some(I256::from_dec_str(text(line, "minGasPrice")).unwrap());
    fields.uncle_count = number(line, "uncleCount") as u32;
    fields.umm_root = optional_bytes(line, "ummRoot").map(Bytes::from);
    fields.mining = MiningFields {
        btc_header: shared("mmHeader"),
        merkle_proof: shared("mmProof"),
        coinbase: shared("mmCoinbase"),
    };
    fields.fork_detection_data = given;
    BlockHeader::new(fields)
}

fn compare_header(case: &mut Case, header: &BlockHeader, expected: &Value) {
    case.equal("version", header.version(), &expected["version"]);
    case.bytes("parentHash", header.parent_hash.as_slice(), &expected["parentHash"]);
    case.bytes("unclesHash", header.uncles_hash.as_slice(), &expected["unclesHash"]);
    case.bytes(
        "coinbase",
        header.coinbase.as_ref().map_or(&[][..], |address| address.as_slice()),
        &expected["coinbase"],
    );
    case.bytes("stateRoot", header.state_root.as_slice(), &expected["stateRoot"]);
    case.bytes("txTrieRoot", header.transactions_root.as_slice(), &expected["txTrieRoot"]);
    case.bytes("receiptTrieRoot", header.receipts_root.as_slice(), &expected["receiptTrieRoot"]);
    case.bytes("extensionData", &header.extension_data(), &expected["extensionData"]);
    case.bytes("logsBloom", header.logs_bloom().unwrap().as_slice(), &expected["logsBloom"]);
    case.equal("difficulty", header.difficulty().to_string(), &expected["difficulty"]);
    case.equal("number", header.number, &expected["number"]);
    case.bytes("gasLimit", &header.gas_limit, &expected["gasLimit"]);
    case.equal("gasUsed", header.gas_used, &expected["gasUsed"]);
    case.equal("timestamp", header.timestamp, &expected["timestamp"]);
    case.bytes("extraData", &header.extra_data, &expected["extraData"]);
    case.equal("paidFees", header.paid_fees.to_string(), &expected["paidFees"]);
    case.equal("minGasPrice", header.minimum_gas_price.map(|price| price.to_string()), &expected["minGasPrice"]);
    case.equal("uncleCount", header.uncle_count, &expected["uncleCount"]);
    case.equal("ummRoot", header.umm_root.as_ref().map(hex::encode), &expected["ummRoot"]);
    case.equal("edges", header.edges().map(<[i16]>::to_vec), &expected["edges"]);
    case.equal("baseEvent", header.base_event().map(hex::encode), &expected["baseEvent"]);
    case.bytes("mmHeader", &header.mining.btc_header, &expected["mmHeader"]);
    case.bytes("mmProof", &header.mining.merkle_proof, &expected["mmProof"]);
    case.bytes("mmCoinbase", &header.mining.coinbase, &expected["mmCoinbase"]);
    compare_header_encodings(case, header, expected);
}

fn compare_header_encodings(case: &mut Case, header: &BlockHeader, expected: &Value) {
    case.bytes("hash", header.hash().as_slice(), &expected["hash"]);
    compare_merged_mining(case, header, &expected["hashForMergedMining"]);
    case.bytes("encoded", &header.encode(), &expected["encoded"]);
    case.bytes("fullEncoded", &header.encode_full(), &expected["fullEncoded"]);
    case.bytes("encodedForHash", &header.encode_for_hash(), &expected["encodedForHash"]);
    case.bytes("encodedCompressed", &header.encode_compressed(), &expected["encodedCompressed"]);
    case.bytes("encodedNoMM", &header.encode_without_mining(false), &expected["encodedNoMM"]);
    case.bytes("encodedNoMMCompressed", &header.encode_without_mining(true), &expected["encodedNoMMCompressed"]);
    match header.mining_fork_detection_data() {
        Ok(data) => {
            case.bytes("forkDetectionData", &data.map(Vec::from).unwrap_or_default(), &expected["forkDetectionData"])
        }
        // Without mining fields the reference shows no data and only fails to hash.
        Err(_) if header.mining.is_empty() => case.equal("forkDetectionData", "", &expected["forkDetectionData"]),
        Err(error) => case.require(&format!("forkDetectionData {error}"), was_refused(&expected["forkDetectionData"])),
    }
    case.equal("isUmm", header.is_umm(), &expected["isUmm"]);
    case.equal("hasMiningFields", !header.mining.is_empty(), &expected["hasMiningFields"]);
    case.equal("extEncoded", header.extension.encode().map(hex::encode), &expected["extEncoded"]);
    case.equal("extHash", header.extension.hash().map(hex::encode), &expected["extHash"]);
    let travelling = header.extension.encode_with_version();
    if let Some(bytes) = &travelling {
        let decoded = HeaderExtension::decode_with_version(bytes).map(|extension| extension.hash());
        case.require("extension does not survive", decoded == Ok(header.extension.hash()));
    }
    case.equal("extToEncoded", travelling.map(hex::encode), &expected["extToEncoded"]);
}

fn compare_merged_mining(case: &mut Case, header: &BlockHeader, expected: &Value) {
    match header.hash_for_merged_mining() {
        Ok(hash) => case.bytes("hashForMergedMining", hash.as_slice(), expected),
        Err(error) => case.require(&format!("hashForMergedMining: {error}"), was_refused(expected)),
    }
}

fn check_built_header(case: &mut Case, line: &Value, layout: HeaderLayout) {
    let header = built(line, layout);
    compare_header_encodings(case, &header, line);
    match BlockHeader::decode(&bytes(line, "fullEncoded"), &layout) {
        Ok(decoded) if line["decoded"].is_object() => compare_header(case, &decoded, &line["decoded"]),
        Ok(_) => case.require("full encoding was read", false),
        Err(error) => case.require(&format!("full encoding: {error}"), was_refused(&line["decoded"])),
    }
    if line.get("decodedCompressedHash").is_none() {
        return;
    }
    match BlockHeader::decode_compressed(&bytes(line, "encodedCompressed"), &layout) {
        Ok(decoded) => {
            case.bytes("compressed hash", decoded.hash().as_slice(), &line["decodedCompressedHash"]);
            case.equal("compressed version", decoded.version(), &line["decodedCompressedVersion"]);
            compare_merged_mining(case, &decoded, &line["decodedCompressedHashMM"]);
            // The extension from the body completes the header.
            let travelling = header.extension.encode_with_version().unwrap();
            let completed = decoded.with_extension(HeaderExtension::decode_with_version(&travelling).unwrap());
            case.require("completed hash", completed.hash() == header.hash());
            case.require("completed encoding", completed.encode_full() == header.encode_full());
        }
        Err(error) => case.require(&format!("compressed: {error}"), was_refused(&line["decodedCompressedHash"])),
    }
}

fn check_malformed_header(case: &mut Case, line: &Value, layout: HeaderLayout) {
    match BlockHeader::decode(&bytes(line, "enc"), &layout) {
        Ok(header) if line["ok"] == true => {
            case.bytes("hash", header.hash().as_slice(), &line["hash"]);
            case.bytes("reencoded", &header.encode_full(), &line["reencoded"]);
        }
        Ok(_) => case.require("was read", false),
        Err(error) => case.require(&format!("refused: {error}"), line["ok"] == false),
    }
}

#[test]
fn vectors_headers() {
    let Some(lines) = vectors("headers") else { return };
    let layouts = layouts();
    let mut tally = Tally::new("headers");
    for line in lines {
        let mut case = Case::default();
        let layout = layout_of(&layouts, &line);
        match text(&line, "kind") {
            "built" => check_built_header(&mut case, &line, layout),
            "malformed" => check_malformed_header(&mut case, &line, layout),
            kind => case.require(&format!("unknown kind {kind}"), false),
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

#[test]
fn vectors_blocks_without_tries() {
    let Some(lines) = vectors("blocks") else { return };
    let layouts = layouts();
    let mut tally = Tally::new("blocks (unclesHash, block)");
    for line in lines {
        let mut case = Case::default();
        match text(&line, "kind") {
            "unclesHash" => {
                let headers = line["headers"].as_array().unwrap().iter();
                // The rules of these headers are not told: any layout will do under which one re-encodes to itself.
                let uncles: Option<Vec<_>> = headers
                    .map(|header| {
                        let encoded = unhex(header.as_str().unwrap());
                        let mut read = layouts.values().filter_map(|layout| BlockHeader::decode(&encoded, layout).ok());
                        read.find(|header| header.encode_full() == encoded)
                    })
                    .collect();
                match uncles {
                    Some(uncles) => {
                        case.bytes("encoded", &encode_uncles(&uncles), &line["encoded"]);
                        case.bytes("hash", uncles_hash(&uncles).as_slice(), &line["hash"]);
                    }
                    None => case.require("no layout fits an uncle", false),
                }
            }
            "block" => check_block(&mut case, &line, layout_of(&layouts, &line)),
            _ => continue,
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

fn check_block(case: &mut Case, line: &Value, layout: HeaderLayout) {
    let encoded = bytes(line, "enc");
    let block = match Block::decode(&encoded, &layout) {
        Ok(block) => block,
        Err(error) => return case.require(&format!("refused: {error}"), line["ok"] == false),
    };
    if line["ok"] == false {
        return case.require("was read", false);
    }
    case.bytes("hash", block.hash().as_slice(), &line["decodedHash"]);
    case.equal("number", block.number(), &line["number"]);
    case.equal("txs", block.transactions.len(), &line["txs"]);
    case.equal("uncles", block.uncles.len(), &line["uncles"]);
    let hashes: Vec<_> = block.transactions.iter().map(|transaction| hex::encode(transaction.hash())).collect();
    case.equal("txHashes", hashes, &line["txHashes"]);
    let kind = |index| if block.is_remasc(index) { "RemascTransaction" } else { "ImmutableTransaction" };
    case.equal("txKinds", (0..block.transactions.len()).map(kind).collect::<Vec<_>>(), &line["txKinds"]);
    case.equal("reencodedEqual", block.encode() == encoded, &line["reencodedEqual"]);
    let price = block.header.minimum_gas_price.unwrap();
    case.equal("minGasPrice", price.to_string(), &line["minGasPrice"]);
}

// Transactions

/// Intrinsic cost from the counts of data bytes, to check those.
fn intrinsic_cost(transaction: &Transaction, per_byte: u64, per_word: u64) -> u64 {
    let (zeros, others) = transaction.data_bytes();
    let create =
        if transaction.is_contract_creation() { 53_000 + per_word * (zeros + others).div_ceil(32) } else { 21_000 };
    create + 4 * zeros + per_byte * others
}

fn element_of(transaction: &Transaction, index: usize) -> Vec<u8> {
    rlp::decode_list(transaction.encoded()).unwrap().nth(index).unwrap().unwrap().data().to_vec()
}

fn stripped(bytes: &[u8]) -> &[u8] {
    coin::strip_leading_zeros(bytes)
}

fn compare_transaction(case: &mut Case, transaction: &Transaction, line: &Value) {
    let nonce = if transaction.nonce.is_empty() { &[0][..] } else { &transaction.nonce };
    case.equal("nonce", hex::encode(nonce), &line["nonce"]);
    case.bytes("gasLimit", &transaction.gas_limit, &line["gasLimit"]);
    case.bytes("to", transaction.to.as_ref().map_or(&[][..], |address| address.as_slice()), &line["to"]);
    case.bytes("data", &transaction.data, &line["data"]);
    case.equal("chainId", transaction.chain_id() as i8, &line["chainId"]);
    case.equal("v", transaction.signature.map(|signature| signature.v), &line["v"]);
    let scalar = |element| transaction.signature.map(|_| hex::encode(stripped(&element_of(transaction, element))));
    case.equal("r", scalar(7), &line["r"]);
    case.equal("s", scalar(8), &line["s"]);
    for (element, number, member) in [(1, transaction.gas_price(), "gasPrice"), (4, transaction.value, "value")] {
        // A number of more than 256 bits is only kept for its encoding.
        let written = num_bigint::BigUint::from_bytes_be(&element_of(transaction, element)).to_string();
        case.equal(member, written.clone(), &line[member]);
        case.require(member, number == U256::MAX || number.to_string() == written);
    }
    case.bytes("reencoded", transaction.encoded(), &line["reencoded"]);
    case.bytes("hash", transaction.hash().as_slice(), &line["hash"]);
    case.bytes("rawEncoded", &transaction.encode_for_signing(), &line["rawEncoded"]);
    case.bytes("rawHash", transaction.signing_hash().as_slice(), &line["rawHash"]);
    case.equal("encodedV", transaction.encoded_v(), &line["encodedV"]);
    case.equal("creation", transaction.is_contract_creation(), &line["creation"]);
    let accepted = [30, 31, 33].map(|id| (id.to_string(), Value::from(transaction.accepts_signature(id))));
    case.equal("acceptSignature", serde_json::Map::from_iter(accepted), &line["acceptSignature"]);
    case.equal("isRemascIfLast", transaction.is_remasc(0, 1), &line["isRemascIfLast"]);
    if line.get("initCodeTooBig").is_some() {
        let too_big = transaction.is_contract_creation() && transaction.data.len() > 49_152;
        case.equal("initCodeTooBig", too_big, &line["initCodeTooBig"]);
    }

    let sender = transaction.recover_sender();
    if let Some(expected) = line.get("sender") {
        match sender {
            Ok(sender) => case.equal("sender", hex::encode(sender), expected),
            Err(error) => case.require(&format!("sender: {error}"), expected == "" || was_refused(expected)),
        }
    }
    if let Some(expected) = line.get("verify") {
        case.equal("verify", transaction.has_valid_fields(sender.is_ok()), &json!(*expected == true));
    }
    if let (Some(expected), Ok(sender)) = (line.get("contractAddress"), sender) {
        case.equal("contractAddress", hex::encode(create_address(sender.as_slice(), transaction.nonce())), expected);
    }
    for (member, per_byte, per_word) in [("costPre", 68, 0), ("costArrowhead", 68, 0), ("costAll", 16, 2)] {
        if line[member].is_number() {
            case.equal(member, intrinsic_cost(transaction, per_byte, per_word), &line[member]);
        }
    }
}

fn check_transaction(case: &mut Case, line: &Value) {
    match Transaction::decode(&bytes(line, "raw")) {
        Ok(transaction) if line["ok"] == true => compare_transaction(case, &transaction, line),
        Ok(_) => case.require("was read", false),
        Err(error) => case.require(&format!("refused: {error}"), line["ok"] == false),
    }
}

#[test]
fn vectors_transactions() {
    let Some(lines) = vectors("transactions") else { return };
    let mut tally = Tally::new("transactions");
    for line in lines {
        let mut case = Case::default();
        match text(&line, "kind") {
            "signed" => {
                check_transaction(&mut case, &line);
                let transaction = Transaction::decode(&bytes(&line, "raw")).unwrap();
                let key = SecretKey::from_slice(&bytes(&line, "key")).unwrap();
                let signed = signature::sign(&transaction.signing_hash(), &key);
                case.require("own signature differs", Some(signed) == transaction.signature);
            }
            "unsigned" | "signatureEdge" | "malformed" => check_transaction(&mut case, &line),
            "remasc" => {
                check_transaction(&mut case, &line);
                let transaction = remasc_transaction(number(&line, "block"));
                case.bytes("built", transaction.encoded(), &line["raw"]);
                case.bytes("senderBytes", Sender::Remasc.as_bytes(), &line["senderBytes"]);
            }
            "create" => {
                let nonce = U256::try_from_be_slice(&bytes(&line, "nonce")).unwrap();
                case.equal("result", hex::encode(create_address(&bytes(&line, "addr"), nonce)), &line["result"]);
            }
            "create2" => {
                let address = Address::from_slice(&bytes(&line, "addr"));
                let created = address.create2_from_code(hash_of(&line, "salt"), bytes(&line, "initCode"));
                case.equal("result", hex::encode(created), &line["result"]);
            }
            kind => case.require(&format!("unknown kind {kind}"), false),
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

#[test]
fn vectors_suite_tx() {
    let Some(lines) = vectors("suite_tx") else { return };
    let mut tally = Tally::new("suite_tx");
    for line in lines {
        let mut case = Case::default();
        if line.get("skipped").is_none() {
            check_transaction(&mut case, &line);
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

// Receipts

fn logs_of(line: &Value) -> Vec<Log> {
    let log = |log: &Value| Log {
        address: Address::from_slice(&bytes(log, "address")),
        topics: log["topics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|topic| B256::from_slice(&unhex(topic.as_str().unwrap())))
            .collect(),
        data: bytes(log, "data").into(),
    };
    line["logs"].as_array().unwrap().iter().map(log).collect()
}

fn check_receipt(case: &mut Case, line: &Value) {
    let shared = |member| Bytes::from(bytes(line, member));
    match text(line, "kind") {
        "receipt" => {
            let logs = logs_of(line);
            for (log, expected) in logs.iter().zip(line["logs"].as_array().unwrap()) {
                case.bytes("log bloom", log.bloom().as_slice(), &expected["bloom"]);
            }
            let bloom = bloom::of_logs(&logs);
            case.bytes("bloom", bloom.as_slice(), &line["bloom"]);
            let receipt = Receipt::from_parts(
                Bytes::new(),
                shared("cumulativeGas"),
                shared("gasUsed"),
                bloom,
                logs,
                shared("status"),
            );
            case.bytes("enc", &receipt.encode(), &line["enc"]);
            case.equal("hash", hex::encode(keccak256(receipt.encode())), &line["hash"]);
            case.require("does not survive", Receipt::decode(&receipt.encode()) == Ok(receipt));
        }
        "status" => {
            let decoded = Receipt::decode(&bytes(line, "enc")).unwrap();
            case.bytes("status", &decoded.status, &line["status"]);
            case.bytes("postTxState", &decoded.post_state, &line["postTxState"]);
            case.equal("successful", decoded.is_successful(), &line["successful"]);
            case.equal("hasTxStatus", decoded.has_slot_status(), &line["hasTxStatus"]);
            let Receipt { cumulative_gas, gas_used, bloom, logs, .. } = decoded;
            let built =
                Receipt::from_parts(shared("postTxState"), cumulative_gas, gas_used, bloom, logs, shared("statusIn"));
            case.bytes("enc", &built.encode(), &line["enc"]);
        }
        "decode" => match Receipt::decode(&bytes(line, "in")) {
            Ok(receipt) if line["ok"] == true => {
                case.bytes("cumulativeGas", &receipt.cumulative_gas, &line["cumulativeGas"]);
                case.bytes("gasUsed", &receipt.gas_used, &line["gasUsed"]);
                case.bytes("status", &receipt.status, &line["status"]);
                case.bytes("postTxState", &receipt.post_state, &line["postTxState"]);
                case.equal("logs", receipt.logs.len(), &line["logs"]);
                case.bytes("bloom", receipt.bloom.as_slice(), &line["bloom"]);
                case.bytes("reencoded", &receipt.encode(), &line["reencoded"]);
            }
            Ok(_) => case.require("was read", false),
            Err(error) => case.require(&format!("refused: {error}"), line["ok"] == false),
        },
        "bloom" => {
            let filter = |item: &[u8]| bloom::of_hash(&keccak256(item));
            let mut bloom = Bloom::ZERO;
            for item in line["items"].as_array().unwrap() {
                bloom.accrue_bloom(&filter(&unhex(item.as_str().unwrap())));
            }
            case.bytes("bloom", bloom.as_slice(), &line["bloom"]);
            case.equal("matches", bloom.contains(&filter(&bytes(line, "probe"))), &line["matches"]);
        }
        kind => case.require(&format!("unknown kind {kind}"), false),
    }
}

#[test]
fn vectors_receipts() {
    let Some(lines) = vectors("receipts") else { return };
    let mut tally = Tally::new("receipts");
    for line in lines {
        let mut case = Case::default();
        check_receipt(&mut case, &line);
        case.end(&mut tally, &line);
    }
    tally.finish();
}

// Hashes and keys

fn check_key(case: &mut Case, line: &Value) {
    let key = SecretKey::from_slice(&bytes(line, "priv")).unwrap();
    let public = key.public_key(SECP256K1);
    case.equal("pub", hex::encode(public.serialize_uncompressed()), &line["pub"]);
    case.equal("pubCompressed", hex::encode(public.serialize()), &line["pubCompressed"]);
    case.equal("nodeId", hex::encode(&public.serialize_uncompressed()[1..]), &line["nodeId"]);
    case.equal("address", hex::encode(signature::public_key_to_address(&public)), &line["address"]);
    let hash = hash_of(line, "hash");
    let signed = signature::sign(&hash, &key);
    case.equal("sigR", hex::encode(signed.r.to_be_bytes::<32>()), &line["sigR"]);
    case.equal("sigS", hex::encode(signed.s.to_be_bytes::<32>()), &line["sigS"]);
    case.equal("sigV", signed.v, &line["sigV"]);
    case.require("does not recover", signed.recover(&hash) == Ok(RecoveredKey::Point(public)));
}

fn check_recover(case: &mut Case, line: &Value) {
    let word = |member| U256::try_from_be_slice(&bytes(line, member)).unwrap();
    let signature = Signature { r: word("r"), s: word("s"), v: number(line, "v") as u8 };
    case.equal("validateComponents", signature.has_valid_components(), &line["validateComponents"]);
    match signature.recover(&hash_of(line, "hash")) {
        Ok(key) => {
            case.equal("address", hex::encode(key.address()), &line["signatureToKeyAddress"]);
            let encoded = match key {
                RecoveredKey::Point(key) => hex::encode(key.serialize_uncompressed()),
                RecoveredKey::Infinity => "00".to_owned(),
            };
            case.equal("pub", encoded, &line["signatureToKeyPub"]);
        }
        Err(error) => case.require(&format!("refused: {error}"), was_refused(&line["signatureToKeyAddress"])),
    }
}

#[test]
fn vectors_crypto_hash_key_recover() {
    use ripemd::Digest as _;
    let Some(lines) = vectors("crypto") else { return };
    let mut tally = Tally::new("crypto (hash, key, recover)");
    for line in lines {
        let mut case = Case::default();
        match text(&line, "kind") {
            "hash" => {
                let input = bytes(&line, "in");
                case.equal("keccak256", hex::encode(keccak256(&input)), &line["keccak256"]);
                let once = sha2::Sha256::digest(&input);
                case.equal("sha256", hex::encode(once), &line["sha256"]);
                case.equal("sha256d", hex::encode(sha2::Sha256::digest(once)), &line["sha256d"]);
                case.equal("ripemd160", hex::encode(ripemd::Ripemd160::digest(&input)), &line["ripemd160"]);
            }
            "key" => check_key(&mut case, &line),
            "recover" => check_recover(&mut case, &line),
            _ => continue,
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

// Accounts

#[test]
fn vectors_keys_account_values() {
    let Some(lines) = vectors("keys") else { return };
    let mut tally = Tally::new("keys (accountState, accountDecode)");
    let compare = |case: &mut Case, account: AccountState, line: &Value, [nonce, balance, flags]: [&str; 3]| {
        case.equal("nonce", account.nonce.to_string(), &line[nonce]);
        case.equal("balance", I256::from_raw(account.balance).to_string(), &line[balance]);
        case.equal("flags", account.flags as i32, &line[flags]);
    };
    for line in lines {
        let mut case = Case::default();
        let decoded = || AccountState::decode(&bytes(&line, "enc"));
        match text(&line, "kind") {
            "accountState" => {
                let account = AccountState {
                    nonce: uint(text(&line, "nonce")),
                    balance: I256::from_dec_str(text(&line, "balance")).unwrap().into_raw(),
                    flags: line["flags"].as_i64().unwrap() as u32,
                };
                case.bytes("enc", &account.encode(), &line["enc"]);
                compare(&mut case, decoded().unwrap(), &line, ["decNonce", "decBalance", "decFlags"]);
            }
            "accountDecode" => match decoded() {
                Ok(account) => compare(&mut case, account, &line, ["nonce", "balance", "flags"]),
                // The reference keeps a null balance, on which every use fails.
                Err(DecodeError::Empty { field: "balance" }) => {
                    case.require("balance", line.get("error").is_none() && line["balance"].is_null());
                }
                Err(error) => case.require(&format!("refused: {error}"), line.get("error").is_some()),
            },
            _ => continue,
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

// Real ledger data

fn spec(network: &str) -> ChainSpec {
    ChainSpec::by_name_or_file(network).unwrap()
}

#[test]
fn vectors_real_headers_decode() {
    let Some(lines) = vectors("real_headers") else { return };
    let specs = BTreeMap::from(["mainnet", "testnet"].map(|network| (network, spec(network))));
    let mut tally = Tally::new("real_headers (decode)");
    for line in lines {
        let mut case = Case::default();
        let encoded = bytes(&line, "header");
        match BlockHeader::decode(&encoded, &specs[text(&line, "network")]) {
            Ok(header) => {
                case.require("re-encoding differs", header.encode_full() == encoded);
                case.require("unusual fields", header.is_usual());
                case.bytes("hash", header.hash().as_slice(), &line["hash"]);
                compare_merged_mining(&mut case, &header, &line["hashForMergedMining"]);
                case.equal("number", header.number, &line["number"]);
                case.bytes("parentHash", header.parent_hash.as_slice(), &line["parentHash"]);
                case.equal("difficulty", header.difficulty().to_string(), &line["difficulty"]);
                case.equal("timestamp", header.timestamp, &line["timestamp"]);
                case.equal("uncleCount", header.uncle_count, &line["uncleCount"]);
                case.equal("version", header.version(), &line["version"]);
                let data = header.mining_fork_detection_data().unwrap();
                let expected = line.get("forkDetectionData").unwrap_or(&Value::Null);
                case.bytes("forkDetectionData", &data.map(Vec::from).unwrap_or_default(), expected);
                // The compressed form has the same hash.
                let compressed =
                    BlockHeader::decode_compressed(&header.encode_compressed(), &specs[text(&line, "network")]);
                case.require("compressed hash", compressed.map(|compressed| compressed.hash()) == Ok(header.hash()));
            }
            Err(error) => case.require(&format!("refused: {error}"), false),
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

#[test]
fn vectors_real_transactions() {
    let Some(lines) = vectors("real_transactions") else { return };
    let mut tally = Tally::new("real_transactions");
    for line in lines {
        let mut case = Case::default();
        let spec = spec(text(&line, "network"));
        match text(&line, "kind") {
            "transaction" => {
                let transaction = Transaction::decode(&bytes(&line, "raw")).unwrap();
                case.bytes("reencoded", transaction.encoded(), &line["raw"]);
                case.bytes("hash", transaction.hash().as_slice(), &line["hash"]);
                case.equal("remasc", transaction.is_remasc(0, 1), &line["remasc"]);
                if let Some(sender) = line.get("sender") {
                    case.equal("sender", hex::encode(transaction.recover_sender().unwrap()), sender);
                    case.equal("chainId", transaction.chain_id(), &line["chainId"]);
                    case.require("signature", transaction.accepts_signature(spec.chain_id()));
                }
                check_real_receipt(&mut case, line["receipt"].as_str());
            }
            "block" => {
                let encoded = bytes(&line, "header");
                let header = BlockHeader::decode(&encoded, &spec).unwrap();
                case.require("re-encoding differs", header.encode_full() == encoded);
                case.bytes("hash", header.hash().as_slice(), &line["hash"]);
                for raw in line["transactions"].as_array().unwrap() {
                    let raw = unhex(raw.as_str().unwrap());
                    case.require("transaction", *Transaction::decode(&raw).unwrap().encoded() == raw);
                }
                for receipt in line["receipts"].as_array().unwrap() {
                    check_real_receipt(&mut case, receipt.as_str());
                }
                if let Some(encoded) = optional_bytes(&line, "block") {
                    let block = Block::decode(&encoded, &spec).unwrap();
                    case.require("block re-encoding differs", block.encode() == encoded);
                    case.require("uncles hash", block.uncles_hash() == block.header.uncles_hash);
                    case.require("remasc", block.is_remasc(block.transactions.len() - 1));
                }
            }
            kind => case.require(&format!("unknown kind {kind}"), false),
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}

/// A real receipt is what an executed transaction would leave with the same parts.
fn check_real_receipt(case: &mut Case, encoded: Option<&str>) {
    let Some(encoded) = encoded.map(unhex) else { return };
    let receipt = Receipt::decode(&encoded).unwrap();
    let success = receipt.is_successful();
    let (cumulative, used) = (receipt.cumulative_gas_value(), receipt.gas_used_value());
    case.require("receipt", Receipt::new(success, cumulative, used, receipt.logs).encode() == encoded);
}
