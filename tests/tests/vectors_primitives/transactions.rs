//! Transactions: fields, re-encoding, hashes, senders.

use rhizome_primitives::secp256k1::SecretKey;
use rhizome_primitives::transaction::{create_address, remasc_transaction};
use rhizome_primitives::{Address, Sender, Transaction, U256, coin, hex, rlp, signature};
use rhizome_tests::{Tally, bytes, number, text, vectors};
use serde_json::{Value, json};

use crate::{Case, hash_of, was_refused};

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
