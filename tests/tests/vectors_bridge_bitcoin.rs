//! The Bitcoin half of the Bridge against the reference: scripts, federations, releases, stored blocks, addresses and
//! constants of `bridge`, everything of `real_bridge`, and the checkpoints of the reference's own files.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::io::Read;

use rhizome_bridge::bitcoin::checkpoints::checkpoints;
use rhizome_bridge::bitcoin::coinbase::{find_witness_commitment, witness_commitment};
use rhizome_bridge::bitcoin::merkle::{has_expected_size, merkle_root_with};
use rhizome_bridge::bitcoin::multisig::{extract_redeem_script, hash_without_signatures, sighash_for_pegout_index};
use rhizome_bridge::bitcoin::release::ReleaseBuilder;
use rhizome_bridge::bitcoin::script::parse_chunks;
use rhizome_bridge::bitcoin::sighash::legacy_sighash;
use rhizome_bridge::bitcoin::size::{pegout_tx_size, regular_pegout_tx_size};
use rhizome_bridge::bitcoin::utxo::{decode_outpoint_values, encode_outpoint_values};
use rhizome_bridge::bitcoin::wallet::CompletionFailure;
use rhizome_bridge::bitcoin::{
    Address, BtcHash, BtcHeader, BtcKey, BtcNetwork, BtcTransaction, EcdsaSignature, MerkleBranch, RedeemScript,
    Script, StoredBlock, Utxo,
};
use rhizome_bridge::constants::{Authorizer, BridgeConstants, Required};
use rhizome_bridge::federation::{
    Federation, FederationFormat, FederationMember, NoFlyover, PROPOSED_FEDERATION_FLYOVER_PREFIX, PendingFederation,
    flyover_address, flyover_output_script, flyover_redeem_script,
};
use rhizome_chainspec::{Activations, ChainSpec, NetworkUpgrade, Rskip};
use rhizome_primitives::rlp::{put_bytes, put_list};
use rhizome_primitives::{B256, U256, hex};
use rhizome_tests::{Tally, bytes, data_file, number, open, text, unhex, vector_document, vectors};
use serde_json::{Value, json};

/// The Bridge of a network's name in the vectors.
fn constants(network: &str) -> &'static BridgeConstants {
    match network {
        "main" | "mainnet" => BridgeConstants::mainnet(),
        "testnet" => BridgeConstants::testnet(),
        "regtest" => BridgeConstants::regtest(),
        other => panic!("no network {other}"),
    }
}

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

fn short(case: &Value) -> String {
    case.to_string().chars().take(300).collect()
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

fn authorizer_json(authorizer: &Authorizer) -> Value {
    let mut addresses: Vec<_> = authorizer.addresses.iter().map(hex::encode).collect();
    addresses.sort();
    let required = if authorizer.required == Required::One { "ONE" } else { "MAJORITY" };
    json!({ "authorizedAddresses": addresses, "requiredCalculation": required })
}

fn key_texts(keys: &[BtcKey]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// Everything that `constants` says of a Bridge, from our tables.
fn constants_json(c: &BridgeConstants) -> Vec<(&'static str, Value)> {
    let sat = |value: i64| json!({ "satoshi": value });
    let (f, none, all) = (&c.federation, Activations::NONE, Activations::ALL);
    vec![
        ("/btcParamsString", c.network.id().into()),
        ("/blockWithTooMuchChainWorkHeight", c.too_much_chain_work_height.into()),
        ("/btc2RskMinimumAcceptableConfirmations", c.btc_confirmations.into()),
        ("/rsk2BtcMinimumAcceptableConfirmations", c.rsk_confirmations.into()),
        ("/updateBridgeExecutionPeriod", c.update_period_ms.into()),
        ("/maxBtcHeadersPerRskBlock", c.max_btc_headers_per_block.into()),
        ("/legacyMinimumPeginTxValue", sat(c.legacy_minimum_pegin)),
        ("/minimumPeginTxValue", sat(c.minimum_pegin_since_rskip219)),
        ("/legacyMinimumPegoutTxValue", sat(c.legacy_minimum_pegout)),
        ("/minimumPegoutTxValue", sat(c.minimum_pegout)),
        ("/btcHeightWhenBlockIndexActivates", c.btc_index_height.into()),
        ("/maxDepthToSearchBlocksBelowIndexActivation", c.max_depth_below_index.into()),
        ("/minSecondsBetweenCallsReceiveHeader", c.min_seconds_between_headers.into()),
        ("/maxDepthBlockchainAccepted", c.max_header_depth.into()),
        ("/minimumPegoutValuePercentageToReceiveAfterFee", c.minimum_pegout_fee_percentage.into()),
        ("/maxInputsPerPegoutTransaction", c.max_inputs_per_pegout.into()),
        ("/numberOfBlocksBetweenPegouts", c.blocks_between_pegouts.into()),
        ("/btcHeightWhenPegoutTxIndexActivates", c.pegout_index_height.into()),
        ("/pegoutTxIndexGracePeriodInBtcBlocks", c.pegout_index_grace.into()),
        ("/federationConstants/btcParams", f.network.id().into()),
        ("/federationConstants/genesisFederationPublicKeys", key_texts(f.genesis_keys).into()),
        ("/federationConstants/erpFedPubKeysList", key_texts(f.erp_keys).into()),
        ("/federationConstants/erpFedActivationDelay", f.erp_delay.into()),
        ("/federationConstants/federationActivationAge", f.activation_age_since_rskip383.into()),
        ("/federationConstants/federationActivationAgeLegacy", f.activation_age_legacy.into()),
        ("/federationConstants/fundsMigrationAgeSinceActivationBegin", f.migration_begin.into()),
        ("/federationConstants/fundsMigrationAgeSinceActivationEnd", f.migration_end_normal.into()),
        ("/federationConstants/specialCaseFundsMigrationAgeSinceActivationEnd", f.migration_end_special.into()),
        ("/federationConstants/validationPeriodDurationInBlocks", f.validation_period.into()),
        ("/federationConstants/oldFederationAddress", f.old_federation_address.into()),
        ("/federationConstants/federationChangeAuthorizer", authorizer_json(&f.change_authorizer)),
        ("/feePerKbConstants/genesisFeePerKb", sat(c.fee_per_kb.genesis)),
        ("/feePerKbConstants/maxFeePerKb", sat(c.fee_per_kb.max)),
        ("/feePerKbConstants/feePerKbChangeAuthorizer", authorizer_json(&c.fee_per_kb.change_authorizer)),
        ("/whitelistConstants/lockWhitelistChangeAuthorizer", authorizer_json(&c.whitelist.change_authorizer)),
        ("/lockingCapConstants/initialValue", sat(c.locking_cap.initial)),
        ("/lockingCapConstants/incrementsMultiplier", c.locking_cap.increments_multiplier.into()),
        ("/lockingCapConstants/increaseAuthorizer", authorizer_json(&c.locking_cap.increase_authorizer)),
        ("/unionBridgeConstants/unionBridgeAddress", hex::encode(c.union.address).into()),
        ("/unionBridgeConstants/initialLockingCap", c.union.initial_locking_cap.to_string().into()),
        ("/unionBridgeConstants/lockingCapIncrementsMultiplier", c.union.locking_cap_increments_multiplier.into()),
        (
            "/unionBridgeConstants/changeUnionBridgeContractAddressAuthorizer",
            authorizer_json(&c.union.change_address_authorizer),
        ),
        ("/unionBridgeConstants/changeLockingCapAuthorizer", authorizer_json(&c.union.change_locking_cap_authorizer)),
        (
            "/unionBridgeConstants/changeTransferPermissionsAuthorizer",
            authorizer_json(&c.union.change_transfer_permissions_authorizer),
        ),
        ("/minimumPeginTxValue(0)", c.minimum_pegin(none).into()),
        ("/minimumPeginTxValue(latest)", c.minimum_pegin(all).into()),
        ("/federationActivationAge(0)", f.activation_age(none).into()),
        ("/federationActivationAge(latest)", f.activation_age(all).into()),
        ("/fundsMigrationAgeEnd(0)", f.migration_end(none).into()),
        ("/fundsMigrationAgeEnd(latest)", f.migration_end(all).into()),
    ]
}

#[test]
fn vectors_constants_bridge() {
    let Some(document) = vector_document("constants") else { return };
    let mut tally = Tally::new("constants bridge");
    for network in ["main", "testnet", "regtest"] {
        let bridge = &document[network]["bridge"];
        // On regtest every rule that matters is active from block 0.
        let from_start = network == "regtest";
        for (pointer, ours) in constants_json(constants(network)) {
            if from_start && pointer.ends_with("(0)") {
                continue;
            }
            let mut theirs = bridge.pointer(pointer).cloned().unwrap_or_default();
            if let Some(list) = theirs.pointer_mut("/authorizedAddresses").and_then(Value::as_array_mut) {
                list.sort_by_key(ToString::to_string);
            }
            tally.equal(&format!("{network} {pointer}"), ours, theirs);
        }
        let time = text(&bridge["federationConstants"], "genesisFederationCreationTime").to_owned();
        let ours = constants(network).federation.genesis_creation_time_ms;
        tally.equal(&format!("{network} time of the first federation"), iso_time(ours), time);
    }
    tally.finish();
}

/// Text of a time as Java writes it.
fn iso_time(ms: i64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    let (mut year, mut day) = (1970, days);
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    while day >= 365 + i64::from(leap(year)) {
        day -= 365 + i64::from(leap(year));
        year += 1;
    }
    assert!(day < 31, "only January is needed");
    let (h, m, s, ms) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60, rest % 1_000);
    let fraction = if ms == 0 { String::new() } else { format!(".{ms:03}") };
    format!("{year}-01-{:02}T{h:02}:{m:02}:{s:02}{fraction}Z", day + 1)
}

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

#[test]
fn vectors_node_data_checkpoints() {
    let Some(path) = data_file("rskj-suites/node-data.tar.gz") else { return };
    let mut archive = Vec::new();
    open(&path).read_to_end(&mut archive).unwrap();
    for (name, network) in [
        ("org.bitcoin.production.checkpoints", BtcNetwork::Mainnet),
        ("org.bitcoin.test.checkpoints", BtcNetwork::Testnet),
    ] {
        let mut tally = Tally::new(format!("node-data {name}"));
        let file = tar_member(&archive, name).unwrap_or_else(|| panic!("{name} is not in the archive"));
        let rest = file.strip_prefix(b"CHECKPOINTS 1").unwrap();
        let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
        let start = 4 + 65 * word(0);
        let count = word(start);
        let blocks = rest[start + 4..].chunks_exact(96);
        let table = checkpoints(network).unwrap();
        tally.equal("number of blocks", table.len(), count);
        tally.equal("length of the file", blocks.len() * 96, rest.len() - start - 4);
        for (ours, theirs) in table.iter().zip(blocks) {
            tally.equal("block", ours.encode_legacy().unwrap(), theirs.to_vec());
        }
        tally.finish();
    }
}

/// A file of a tar archive by the end of its name.
fn tar_member<'a>(archive: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut at = 0;
    while at + 512 <= archive.len() {
        let header = &archive[at..at + 512];
        let field = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&field(124..136), 8).unwrap_or(0);
        if field(0..100).ends_with(name) {
            return archive.get(at + 512..at + 512 + size);
        }
        at += 512 + size.div_ceil(512) * 512;
    }
    None
}
