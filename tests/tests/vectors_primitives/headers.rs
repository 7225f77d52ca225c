//! Headers of all versions, uncle lists and whole blocks.

use std::collections::BTreeMap;

use rhizome_primitives::coin::Difficulty;
use rhizome_primitives::header::{HeaderExtension, encode_uncles, uncles_hash};
use rhizome_primitives::{Address, Block, BlockHeader, Bytes, HeaderFields, HeaderLayout, I256, MiningFields, hex};
use rhizome_tests::{Tally, bytes, number, optional_bytes, text, unhex, vector_document, vectors};
use serde_json::{Value, json};

use crate::{Case, hash_of, uint, was_refused};

fn layouts() -> BTreeMap<String, HeaderLayout> {
    let configs = vector_document("header_configs").unwrap_or_else(|| json!({}));
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

pub(crate) fn compare_merged_mining(case: &mut Case, header: &BlockHeader, expected: &Value) {
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
