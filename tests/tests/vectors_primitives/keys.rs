//! Hashes, keys, signatures and the recovery of signers.

use rhizome_primitives::secp256k1::{SECP256K1, SecretKey};
use rhizome_primitives::signature::{self, RecoveredKey, Signature};
use rhizome_primitives::{U256, hex, keccak256};
use rhizome_tests::{Tally, bytes, number, text, vectors};
use ripemd::Digest as _;
use serde_json::Value;

use crate::{Case, hash_of, was_refused};

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
