//! The kinds of `bridge` about Bitcoin.

use std::collections::BTreeMap;

use rhizome_bridge::bitcoin::release::ReleaseBuilder;
use rhizome_bridge::bitcoin::size::{pegout_tx_size, regular_pegout_tx_size};
use rhizome_bridge::bitcoin::utxo::{decode_outpoint_values, encode_outpoint_values};
use rhizome_bridge::bitcoin::wallet::CompletionFailure;
use rhizome_bridge::bitcoin::{
    Address, BtcHash, BtcHeader, BtcKey, BtcNetwork, MerkleBranch, Script, StoredBlock, Utxo,
};
use rhizome_bridge::federation::{
    Federation, FederationFormat, FederationMember, NoFlyover, PROPOSED_FEDERATION_FLYOVER_PREFIX, PendingFederation,
    flyover_address, flyover_output_script, flyover_redeem_script,
};
use rhizome_chainspec::{Activations, ChainSpec, NetworkUpgrade, Rskip};
use rhizome_primitives::rlp::{put_bytes, put_list};
use rhizome_primitives::{B256, U256, hex};
use rhizome_tests::{Tally, bytes, number, text, vectors};
use serde_json::{Value, json};

use crate::{constants, short};

/// The rules of mainnet from an upgrade on; all rules for an upgrade without a height.
fn fork(name: &str) -> Activations {
    let upgrade = NetworkUpgrade::from_key(name).unwrap_or_else(|| panic!("no upgrade {name}"));
    let spec = ChainSpec::mainnet();
    spec.upgrade_height(upgrade).map_or(Activations::ALL, |height| spec.activations(height))
}

/// [`fork`] with a memory, as most cases name one of a few.
struct Forks(BTreeMap<String, Activations>);

impl Forks {
    fn of(&mut self, input: &Value) -> Activations {
        let name = text(input, "fork");
        *self.0.entry(name.to_owned()).or_insert_with(|| fork(name))
    }
}

fn key(value: &Value, member: &str) -> BtcKey {
    BtcKey::decode(&bytes(value, member)).unwrap()
}

fn members(list: &Value) -> Vec<FederationMember> {
    let member = |m: &Value| FederationMember::new(&key(m, "btc"), &key(m, "rsk"), &key(m, "mst"));
    list.as_array().unwrap().iter().map(member).collect()
}

fn utxo(value: &Value) -> Utxo {
    Utxo {
        tx_hash: text(value, "hash").parse().unwrap(),
        index: number(value, "index") as u32,
        value: value["value"].as_i64().unwrap(),
        height: value["height"].as_i64().unwrap() as i32,
        coinbase: value["coinbase"].as_bool().unwrap(),
        script: Script::new(bytes(value, "script")),
    }
}

fn federation(input: &Value, activations: Activations) -> Result<Federation, String> {
    Federation::new(
        FederationFormat::from_number(number(input, "type")),
        members(&input["members"]),
        input["creationTimeMillis"].as_i64().unwrap_or_default(),
        input["creationBlock"].as_i64().unwrap_or_default(),
        &constants(text(input, "network")).federation,
        activations,
    )
    .map_err(|error| error.to_string())
}

fn json_of(federation: &Federation, erp: &[BtcKey], delay: i64) -> Result<Value, String> {
    let keys = |m: &FederationMember| json!({ "btc": m.btc_key().to_string(), "rsk": m.rsk_key().to_string(), "mst": m.mst_key().to_string() });
    let mut out = json!({
        "formatVersion": federation.format().number(),
        "redeemScript": hex::encode(federation.redeem_script().as_bytes()),
        "outputScript": hex::encode(federation.output_script().as_bytes()),
        "address": federation.address().to_string(),
        "signaturesRequired": federation.signatures_required(),
        "membersSorted": federation.members().iter().map(keys).collect::<Vec<_>>(),
        "serialized": hex::encode(federation.encode()),
        "serializedOnlyBtcKeys": hex::encode(federation.encode_only_btc_keys()),
    });
    if federation.is_erp() {
        let default = federation.default_redeem_script().map_err(|error| error.to_string())?;
        let output = federation.default_output_script().map_err(|error| error.to_string())?;
        out["defaultRedeemScript"] = hex::encode(default.as_bytes()).into();
        out["defaultOutputScript"] = hex::encode(output.as_bytes()).into();
        out["activationDelay"] = delay.into();
        out["emergencySignatures"] = (erp.len() / 2 + 1).into();
    }
    Ok(out)
}

/// `Ok` is compared with `output`, an error needs `output` to be null.
fn compare(case: &Value, got: Result<Value, String>) -> Result<(), String> {
    let expected = &case["output"];
    match got {
        Ok(got) if got == *expected => Ok(()),
        Err(_) if expected.is_null() && case["error"].is_string() => Ok(()),
        got => Err(format!("{}: expected {expected}, got {got:?}", short(case))),
    }
}

fn check_federation(case: &Value, forks: &mut Forks) -> Result<(), String> {
    let input = &case["input"];
    let activations = forks.of(input);
    let constants = &constants(text(input, "network")).federation;
    let federation = match federation(input, activations) {
        Ok(federation) => federation,
        Err(error) => return compare(case, Err(error)),
    };
    // What is written reads as the same federation.
    let back = Federation::decode(&federation.encode(), federation.format(), constants, activations).unwrap();
    if back.encode() != federation.encode() || back != federation {
        return Err(format!("{}: does not survive its own serialisation", short(case)));
    }
    compare(case, json_of(&federation, constants.erp_keys, constants.erp_delay))
}

fn check_genesis(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let constants = &constants(text(input, "network")).federation;
    let format = FederationFormat::from_number(number(input, "type"));
    let is_genesis = format == constants.genesis_format;
    if input["isGenesisType"] != is_genesis {
        return Err(format!("{}: not the format of the first federation", short(case)));
    }
    let federation = if is_genesis {
        Ok(Federation::genesis(constants))
    } else {
        let members = constants.genesis_keys.iter().map(FederationMember::from_btc_key).collect();
        let time = constants.genesis_creation_time_ms;
        Federation::new(format, members, time, 1, constants, Activations::ALL).map_err(|error| error.to_string())
    };
    compare(case, federation.and_then(|f| json_of(&f, constants.erp_keys, constants.erp_delay)))
}

fn check_pending(case: &Value) -> Result<(), String> {
    let pending = PendingFederation::new(members(&case["input"]));
    let before = pending.encode(false);
    let since = pending.encode(true);
    assert_eq!(PendingFederation::decode(&since).unwrap(), pending);
    assert_eq!(PendingFederation::decode_only_btc_keys(&before).unwrap().hash(), pending.hash());
    compare(
        case,
        Ok(json!({
            "complete": pending.is_complete(),
            "hash": hex::encode(pending.hash()),
            "beforeWasabi": hex::encode(before),
            "sinceWasabi": hex::encode(since),
        })),
    )
}

fn check_flyover(case: &Value, forks: &mut Forks) -> Result<(), String> {
    let input = &case["input"];
    let hash = B256::from_slice(&bytes(input, "derivationHash"));
    let built = federation(input, forks.of(input)).and_then(|federation| {
        let redeem = flyover_redeem_script(&hash, federation.redeem_script()).map_err(|error| error.to_string())?;
        Ok(json!({
            "redeemScript": hex::encode(redeem.as_bytes()),
            "outputScript": hex::encode(flyover_output_script(&redeem, federation.format()).as_bytes()),
            "address": flyover_address(&hash, &federation).map_err(|error| error.to_string())?.to_string(),
        }))
    });
    compare(case, built)
}

fn check_size(case: &Value, forks: &mut Forks) -> Result<(), String> {
    let input = &case["input"];
    let activations = forks.of(input);
    let rskip271 = activations.is_active(Rskip::R271);
    let size = federation(input, activations).and_then(|federation| {
        let (inputs, outputs) = (number(input, "inputs") as usize, number(input, "outputs") as usize);
        let size = pegout_tx_size(rskip271, &federation, inputs, outputs).map_err(|error| error.to_string())?;
        Ok(json!({ "size": size, "regular": regular_pegout_tx_size(rskip271, &federation) }))
    });
    compare(case, size)
}

fn check_utxos(case: &Value) -> Result<(), String> {
    let utxos: Vec<_> = case["input"].as_array().unwrap().iter().map(utxo).collect();
    let mut list = Vec::new();
    put_list(&mut list, |out| utxos.iter().for_each(|utxo| put_bytes(out, &utxo.encode())));
    for utxo in &utxos {
        assert_eq!(Utxo::decode(&utxo.encode()).unwrap().encode(), utxo.encode());
    }
    compare(case, Ok(hex::encode(list).into()))
}

fn check_outpoints(case: &Value) -> Result<(), String> {
    let values: Vec<_> = case["input"].as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect();
    let encoded = encode_outpoint_values(&values).ok_or_else(|| "negative value".to_owned());
    if let Ok(encoded) = &encoded {
        assert_eq!(decode_outpoint_values(encoded).unwrap(), values);
    }
    compare(case, encoded.map(|encoded| hex::encode(encoded).into()))
}

fn check_stored_block(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let block = StoredBlock {
        header: BtcHeader::decode(&bytes(input, "header")).unwrap(),
        chain_work: U256::from_str_radix(text(input, "chainWork"), 16).unwrap(),
        height: number(input, "height") as i32,
    };
    let output = &case["output"];
    let legacy = block.encode_legacy();
    let v2 = block.encode_v2();
    for form in legacy.iter().chain([&v2]) {
        assert_eq!(StoredBlock::decode(form).unwrap(), block);
    }
    let same = block.header.hash().to_string() == text(output, "hash")
        && legacy.map(hex::encode).as_deref() == output["legacy"].as_str()
        && output["legacy"].is_string() != output["legacyError"].is_string()
        && hex::encode(v2) == text(output, "v2");
    same.then_some(()).ok_or_else(|| short(case))
}

fn hash_list(list: &Value) -> Vec<BtcHash> {
    list.as_array().unwrap().iter().map(|h| h.as_str().unwrap().parse().unwrap()).collect()
}

fn check_branch(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let root = MerkleBranch::new(hash_list(&input["hashes"]), input["path"].as_i64().unwrap() as i32)
        .and_then(|branch| branch.reduce_from(&text(input, "leaf").parse().unwrap()));
    compare(case, root.map(|root| root.to_string().into()).map_err(|error| error.to_string()))
}

fn check_address_parse(case: &Value, forks: &mut Forks) -> Result<(), String> {
    let input = &case["input"];
    let rskip284 = forks.of(input).is_active(Rskip::R284);
    let network = constants(text(input, "network")).network;
    let address = Address::deserialize_with_version(network, rskip284, &bytes(input, "bytes"));
    compare(
        case,
        address.map_err(|error| error.to_string()).map(|address| {
            json!({ "version": address.version, "hash": hex::encode(address.hash), "base58": address.to_string() })
        }),
    )
}

fn any_network(address: &str) -> Address {
    Address::from_base58(BtcNetwork::Mainnet, address)
        .or_else(|_| Address::from_base58(BtcNetwork::Testnet, address))
        .unwrap()
}

fn check_address_serialize(case: &Value, forks: &mut Forks) -> Result<(), String> {
    let input = &case["input"];
    let address = any_network(text(input, "address"));
    let out = address.serialize_with_version(forks.of(input).is_active(Rskip::R284));
    compare(case, Ok(hex::encode(out).into()))
}

fn code_of(failure: CompletionFailure) -> &'static str {
    match failure {
        CompletionFailure::InsufficientMoney => "INSUFFICIENT_MONEY",
        CompletionFailure::CouldNotAdjustDownwards => "COULD_NOT_ADJUST_DOWNWARDS",
        CompletionFailure::DustySendRequested => "DUSTY_SEND_REQUESTED",
        CompletionFailure::ExceedMaxTransactionSize => "EXCEED_MAX_TRANSACTION_SIZE",
    }
}

fn check_release(case: &Value, forks: &mut Forks) -> Result<(), String> {
    let input = &case["input"];
    let activations = forks.of(input);
    let constants = constants(text(input, "network"));
    let network = constants.network;
    let federation = federation(input, activations)?;
    if hex::encode(federation.redeem_script().as_bytes()) != text(input, "redeemScript") {
        return Err(format!("{}: redeem script", short(case)));
    }
    let utxos: Vec<_> = input["utxos"].as_array().unwrap().iter().map(utxo).collect();
    let builder = ReleaseBuilder {
        network,
        utxos: &utxos,
        segwit: federation.format().is_segwit(),
        change_address: *federation.address(),
        fee_per_kb: input["feePerKb"].as_i64().unwrap(),
        rskip201: activations.is_active(Rskip::R201),
        rskip376: activations.is_active(Rskip::R376),
    };
    let destination = Address::from_base58(network, text(input, "destination")).unwrap();
    let entry = |e: &Value| (Address::from_base58(network, text(e, "address")).unwrap(), e["amount"].as_i64().unwrap());
    let entries: Vec<_> = input["entries"].as_array().into_iter().flatten().map(entry).collect();
    let federations = [&federation];
    let source = &mut NoFlyover(&federations);
    let result = match text(input, "kind") {
        "batch" => builder.build_batched_pegouts(source, &entries),
        "amountTo" => builder.build_amount_to(source, entries[0].0, entries[0].1),
        "migration" => builder.build_migration(source, input["total"].as_i64().unwrap(), destination),
        "emptyWallet" => builder.build_empty_wallet_to(source, destination),
        "svpFund" => {
            let proposed = &input["proposed"];
            let proposed = Federation::new(
                FederationFormat::from_number(number(proposed, "type")),
                members(&proposed["members"]),
                0,
                0,
                &constants.federation,
                activations,
            )
            .unwrap();
            let flyover = flyover_address(&PROPOSED_FEDERATION_FLYOVER_PREFIX, &proposed).unwrap();
            builder.build_svp_fund(source, *proposed.address(), flyover, constants.svp_fund_output())
        }
        other => return Err(format!("release of kind {other}")),
    };
    let utxo_json = |u: &Utxo| {
        json!({
            "hash": u.tx_hash.to_string(), "index": u.index, "value": u.value, "height": u.height,
            "coinbase": u.coinbase, "script": hex::encode(u.script.as_bytes()),
        })
    };
    let got = match result {
        Ok(Ok(built)) => {
            let values: Vec<_> = built.tx.inputs.iter().map(|i| i.value).collect();
            assert!(values.iter().all(Option::is_some));
            Ok(json!({
                "code": "SUCCESS",
                "tx": hex::encode(built.tx.encode()),
                "txid": built.tx.txid().to_string(),
                "selected": built.selected.iter().map(utxo_json).collect::<Vec<_>>(),
            }))
        }
        Ok(Err(failure)) => Ok(json!({ "code": code_of(failure), "tx": null, "txid": null, "selected": null })),
        Err(error) => Err(error.to_string()),
    };
    compare(case, got)
}

fn check_constants(case: &Value) -> Result<(), String> {
    let c = constants(case["input"].as_str().unwrap());
    let federation = &c.federation;
    compare(
        case,
        Ok(json!({
            "btcConfirmations": c.btc_confirmations,
            "rskConfirmations": c.rsk_confirmations,
            "minPegin": c.minimum_pegin_since_rskip219,
            "minPeginLegacy": c.legacy_minimum_pegin,
            "minPegout": c.minimum_pegout,
            "minPegoutLegacy": c.legacy_minimum_pegout,
            "genesisFeePerKb": c.fee_per_kb.genesis,
            "maxFeePerKb": c.fee_per_kb.max,
            "initialLockingCap": c.locking_cap.initial,
            "maxInputs": c.max_inputs_per_pegout,
            "blocksBetweenPegouts": c.blocks_between_pegouts,
            "federationActivationAge": federation.activation_age(Activations::ALL),
            "federationActivationAgeLegacy": federation.activation_age(Activations::NONE),
            "validationPeriod": federation.validation_period,
            "migrationBegin": federation.migration_begin,
            "migrationEnd": federation.migration_end(Activations::ALL),
            "erpDelay": federation.erp_delay,
            "oldFederationAddress": federation.old_federation_address,
            "unionAddress": hex::encode(c.union.address),
            "unionCap": c.union.initial_locking_cap.to_string(),
            "maxDepthBlockchainAccepted": c.max_header_depth,
            "pegoutTxIndexHeight": c.pegout_index_height,
            "pegoutTxIndexGrace": c.pegout_index_grace,
        })),
    )
}

#[test]
fn vectors_bridge_bitcoin() {
    let Some(cases) = vectors("bridge") else { return };
    let mut forks = Forks(BTreeMap::new());
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for case in cases {
        let kind = text(&case, "kind").to_owned();
        let result = match kind.as_str() {
            "federation" => check_federation(&case, &mut forks),
            "genesisFederation" => check_genesis(&case),
            "pendingFederation" => check_pending(&case),
            "flyoverFederation" => check_flyover(&case, &mut forks),
            "pegoutSize" => check_size(&case, &mut forks),
            "utxoList" => check_utxos(&case),
            "outpointsValues" => check_outpoints(&case),
            "storedBlock" => check_stored_block(&case),
            "merkleBranch" => check_branch(&case),
            "btcAddressParse" => check_address_parse(&case, &mut forks),
            "btcAddressSerialize" => check_address_serialize(&case, &mut forks),
            "releaseTx" => check_release(&case, &mut forks),
            "constants" => check_constants(&case),
            // The other half's.
            _ => continue,
        };
        tallies.entry(kind.clone()).or_insert_with(|| Tally::new(format!("bridge {kind}"))).case(result);
    }
    tallies.into_values().for_each(Tally::finish);
}
