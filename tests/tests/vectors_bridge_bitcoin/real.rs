//! Transactions, scripts, receipts and blocks of the real networks.

use std::collections::BTreeMap;

use rhizome_bridge::bitcoin::checkpoints::checkpoints;
use rhizome_bridge::bitcoin::coinbase::{find_witness_commitment, witness_commitment};
use rhizome_bridge::bitcoin::merkle::{has_expected_size, merkle_root_with};
use rhizome_bridge::bitcoin::multisig::{extract_redeem_script, hash_without_signatures, sighash_for_pegout_index};
use rhizome_bridge::bitcoin::script::parse_chunks;
use rhizome_bridge::bitcoin::sighash::legacy_sighash;
use rhizome_bridge::bitcoin::{
    BtcHash, BtcHeader, BtcKey, BtcNetwork, BtcTransaction, EcdsaSignature, RedeemScript, Script, StoredBlock,
};
use rhizome_primitives::{U256, hex};
use rhizome_tests::{Tally, bytes, number, text, unhex, vectors};
use serde_json::{Value, json};

use crate::{constants, short};

/// Number of signatures in an input and how many verify, with the redeem script if it spends one.
fn signatures_of(tx: &BtcTransaction, index: usize) -> (Option<Script>, usize, usize) {
    if tx.input_has_witness(index) || tx.is_coinbase() {
        return (None, 0, 0);
    }
    let chunks = parse_chunks(&tx.inputs[index].script).unwrap();
    let redeem = extract_redeem_script(tx, index).unwrap().filter(|s| s.is_sent_to_multisig().unwrap_or(false));
    let mut found = Vec::new();
    let (keys, script) = if let Some(redeem) = &redeem {
        (RedeemScript::parse(redeem.as_bytes()).unwrap().keys().unwrap(), redeem.clone())
    } else {
        let [_, key] = chunks.as_slice() else { return (None, 0, 0) };
        let key = BtcKey::decode(key.data.unwrap()).unwrap();
        (vec![key], Script::p2pkh(&key.hash160()))
    };
    let digest = legacy_sighash(tx, index, script.as_bytes()).unwrap();
    for chunk in &chunks[..chunks.len() - 1] {
        let data = chunk.data.unwrap();
        if !data.is_empty() {
            let signature = EcdsaSignature::decode_der(data).unwrap();
            assert!(EcdsaSignature::is_canonical_encoding(data));
            assert_eq!(signature.encode_bitcoin(), data);
            found.push(keys.iter().any(|key| key.verify(&digest, &signature)));
        }
    }
    (redeem, found.len(), found.iter().filter(|valid| **valid).count())
}

fn check_real_transaction(case: &Value, network: BtcNetwork) -> Result<(), String> {
    let raw = bytes(case, "raw");
    let (tx, read) = BtcTransaction::decode_prefix(&raw).map_err(|error| error.to_string())?;
    let mut got = json!({
        "raw": hex::encode(tx.encode()),
        "txid": tx.txid().to_string(),
        "witness": tx.has_witness(),
    });
    if read != raw.len() {
        return Err("bytes left over".to_owned());
    }
    let mut checked = 0;
    for (index, (input, expected)) in tx.inputs.iter().zip(case["inputs"].as_array().unwrap()).enumerate() {
        let (redeem, signatures, valid) = signatures_of(&tx, index);
        checked += valid;
        let mut ours = json!({ "prev": format!("{}:{}", input.prev_hash, input.prev_index) });
        if let Some(redeem) = redeem {
            ours["redeemScript"] = hex::encode(redeem.as_bytes()).into();
            ours["spends"] = Script::p2sh_of(&redeem).to_address(network).unwrap().to_string().into();
        }
        if signatures > 0 {
            ours["signatures"] = signatures.into();
            ours["validSignatures"] = valid.into();
        }
        if ours != *expected {
            return Err(format!("input {index}: expected {expected}, got {ours}"));
        }
    }
    got["signaturesChecked"] = checked.into();
    for member in ["raw", "txid", "witness", "signaturesChecked"] {
        if got[member] != case[member] {
            return Err(format!("{member}: expected {}, got {}", case[member], got[member]));
        }
    }
    let outputs = case["outputs"].as_array().unwrap();
    if outputs.len() != tx.outputs.len() || case["inputs"].as_array().unwrap().len() != tx.inputs.len() {
        return Err("number of inputs or outputs".to_owned());
    }
    for (output, expected) in tx.outputs.iter().zip(outputs) {
        let mut ours = json!({ "value": output.value, "script": hex::encode(&output.script) });
        if let Ok(address) = output.script().to_address(network) {
            ours["address"] = address.to_string().into();
        }
        if ours != *expected {
            return Err(format!("output: expected {expected}, got {ours}"));
        }
    }
    let coinbase = text(case, "kind") == "coinbase";
    if tx.is_coinbase() != coinbase || (!coinbase && tx.verify().is_err()) {
        return Err("sanity".to_owned());
    }
    Ok(())
}

/// A release or a migration spends federations' scripts and is found again by the digest of its unsigned form.
fn check_real_release(case: &Value, network: BtcNetwork) -> Result<(), String> {
    check_real_transaction(case, network)?;
    let tx = BtcTransaction::decode(&bytes(case, "raw")).unwrap();
    let digest = sighash_for_pegout_index(&tx).map_err(|error| error.to_string())?;
    let unsigned = rhizome_bridge::bitcoin::multisig::without_signatures(&tx).map_err(|error| error.to_string())?;
    let again = sighash_for_pegout_index(&unsigned).map_err(|error| error.to_string())?;
    if digest.is_none() || digest != again || hash_without_signatures(&tx).unwrap() != unsigned.txid() {
        return Err("index of releases".to_owned());
    }
    let full = rhizome_bridge::bitcoin::multisig::has_enough_signatures(&tx);
    if full != Ok(true) {
        return Err(format!("signatures: {full:?}"));
    }
    resign(&tx, unsigned)
}

/// Putting the signatures back one by one, in reverse order, gives the transaction again.
fn resign(tx: &BtcTransaction, mut unsigned: BtcTransaction) -> Result<(), String> {
    use rhizome_bridge::bitcoin::multisig::{
        is_input_signed_by, sighash_of_legacy_input, sign_input, signature_insertion_index,
    };
    for index in 0..tx.inputs.len() {
        let redeem = extract_redeem_script(tx, index).unwrap().unwrap();
        let keys = RedeemScript::parse(redeem.as_bytes()).unwrap().keys().unwrap();
        let digest = sighash_of_legacy_input(&unsigned, index).unwrap();
        let chunks = parse_chunks(&tx.inputs[index].script).unwrap();
        for chunk in chunks[..chunks.len() - 1].iter().rev().filter(|chunk| !chunk.data.unwrap().is_empty()) {
            let signature = EcdsaSignature::decode_der(chunk.data.unwrap()).unwrap();
            let key = keys.iter().find(|key| key.verify(&digest, &signature)).unwrap();
            if is_input_signed_by(&unsigned, index, key, &digest).unwrap() {
                return Err("signed already".to_owned());
            }
            let place = signature_insertion_index(&unsigned, index, &digest, key).unwrap();
            sign_input(&mut unsigned, index, &signature, place).map_err(|error| error.to_string())?;
            if !is_input_signed_by(&unsigned, index, key, &digest).unwrap() {
                return Err("not signed".to_owned());
            }
        }
    }
    (unsigned.encode() == tx.encode()).then_some(()).ok_or_else(|| "signing again".to_owned())
}

fn check_real_script(case: &Value, network: BtcNetwork) -> Result<(), String> {
    let redeem = Script::new(bytes(case, "redeemScript"));
    let parsed = RedeemScript::parse(redeem.as_bytes()).map_err(|error| error.to_string())?;
    let expected = text(case, "address");
    let legacy = Script::p2sh_of(&redeem).to_address(network).unwrap().to_string();
    let segwit = Script::p2sh_p2wsh_of(&redeem).to_address(network).unwrap().to_string();
    if expected != legacy && expected != segwit {
        return Err(format!("{expected}: got {legacy} or {segwit}"));
    }
    // The keys make the same script again.
    let keys = parsed.keys().map_err(|error| error.to_string())?;
    let standard = parsed.standard_part().map_err(|error| error.to_string())?;
    let again = Script::multisig(parsed.required_signatures() as usize, &keys).map_err(|error| error.to_string())?;
    if again != standard {
        return Err("standard part".to_owned());
    }
    let flyover = redeem.as_bytes().starts_with(&[32]);
    (parsed.is_flyover() == flyover).then_some(()).ok_or_else(|| "flyover".to_owned())
}

fn check_real_receipt(case: &Value, network: BtcNetwork) -> Result<(), String> {
    let tx = BtcTransaction::decode(&bytes(case, "btcTxUnsigned")).map_err(|error| error.to_string())?;
    if tx.txid().to_string() != text(case, "txid") || hex::encode(tx.encode()) != text(case, "btcTxUnsigned") {
        return Err("transaction id".to_owned());
    }
    let Some(witness_script) = case["witnessScript"].as_str() else {
        let unsigned = hash_without_signatures(&tx).map_err(|error| error.to_string())?;
        return (unsigned == tx.txid()).then_some(()).ok_or_else(|| "base form".to_owned());
    };
    let redeem = Script::new(unhex(witness_script));
    RedeemScript::parse(redeem.as_bytes()).map_err(|error| error.to_string())?;
    let address = Script::p2sh_p2wsh_of(&redeem).to_address(network).unwrap();
    if address.to_string() != text(case, "federationAddress") {
        return Err("address of a witness script".to_owned());
    }
    let input = rhizome_bridge::bitcoin::multisig::segwit_input_script(&redeem);
    let same = tx.inputs.iter().any(|i| i.script == input.as_bytes());
    same.then_some(()).ok_or_else(|| "input script".to_owned())
}

fn check_real_block(case: &Value, network: BtcNetwork) -> Result<(), String> {
    let header = BtcHeader::decode(&bytes(case, "header")).map_err(|error| error.to_string())?;
    if header.hash().to_string() != text(case, "hash") || !header.has_valid_work(network) {
        return Err("header".to_owned());
    }
    if header.merkle_root().to_string() != text(case, "merkleRoot") {
        return Err("merkle root".to_owned());
    }
    let coinbase = BtcTransaction::decode(&bytes(case, "coinbase")).map_err(|error| error.to_string())?;
    if hex::encode(coinbase.without_witness().encode()) != text(case, "coinbaseNoWitness") {
        return Err("coinbase without witness".to_owned());
    }
    let witness_root: BtcHash = text(case, "witnessRoot").parse().unwrap();
    let reserved: [u8; 32] = bytes(case, "witnessReserved").try_into().unwrap();
    let commitment = witness_commitment(&witness_root, &reserved);
    for rskip460 in [false, true] {
        if find_witness_commitment(&coinbase, rskip460) != Ok(Some(commitment)) {
            return Err("witness commitment".to_owned());
        }
    }
    for proof in case["proofs"].as_array().unwrap() {
        let tree = bytes(proof, "pmt");
        let leaf: BtcHash = text(proof, "leaf").parse().unwrap();
        let over_witnesses = proof["overWitnessHashes"].as_bool().unwrap();
        let root = if over_witnesses { witness_root } else { header.merkle_root() };
        if !has_expected_size(&tree) || merkle_root_with(&tree, &leaf) != Ok(Some(root)) {
            return Err(format!("proof {}", proof["index"]));
        }
        if merkle_root_with(&tree, &BtcHash::from_display([7; 32])) != Ok(None) {
            return Err("proof of another leaf".to_owned());
        }
        let Some(raw) = proof["tx"].as_str() else { continue };
        let tx = BtcTransaction::decode(&unhex(raw)).map_err(|error| error.to_string())?;
        let id = if over_witnesses { tx.wtxid() } else { tx.txid() };
        if id != leaf {
            return Err(format!("leaf of proof {}", proof["index"]));
        }
    }
    Ok(())
}

fn check_real_checkpoint(case: &Value, network: BtcNetwork) -> Result<(), String> {
    let header = BtcHeader::decode(&bytes(case, "header")).map_err(|error| error.to_string())?;
    let chain_work: U256 = text(case, "chainWork").parse().map_err(|_| "work")?;
    let block = StoredBlock { header, chain_work, height: number(case, "height") as i32 };
    if block.header.hash().to_string() != text(case, "hash") || !block.header.has_valid_work(network) {
        return Err("header".to_owned());
    }
    checkpoints(network).unwrap().contains(&block).then_some(()).ok_or_else(|| "not in the table".to_owned())
}

#[test]
fn vectors_real_bridge() {
    let Some(cases) = vectors("real_bridge") else { return };
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for case in cases {
        let network = constants(text(&case, "network")).network;
        let kind = text(&case, "kind").to_owned();
        let result = match kind.as_str() {
            "pegout" | "migration" => check_real_release(&case, network),
            "pegin" | "toFederation" | "coinbase" => check_real_transaction(&case, network),
            "federationScript" => check_real_script(&case, network),
            "bridgeReceipt" => check_real_receipt(&case, network),
            "bitcoinBlock" => check_real_block(&case, network),
            "bitcoinCheckpoint" => check_real_checkpoint(&case, network),
            other => Err(format!("no check for kind {other}")),
        };
        tallies
            .entry(kind.clone())
            .or_insert_with(|| Tally::new(format!("real_bridge {kind}")))
            .case(result.map_err(|error| format!("{}: {error}", short(&case))));
    }
    tallies.into_values().for_each(Tally::finish);
}
