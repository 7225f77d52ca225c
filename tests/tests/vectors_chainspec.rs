//! Rule heights, constants and genesis headers of the built-in networks.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use rhizome_chainspec::{Activations, ChainSpec, Genesis, Network, NetworkUpgrade, Rskip, constants as common};
use rhizome_primitives::{B256, hex};
use rhizome_tests::{Tally, bytes, chains, text, vector_document, vectors};
use serde_json::{Value, json};

/// A block number behind every upgrade that has a height.
const LATEST: u64 = 1 << 62;

fn network(name: &str) -> Network {
    Network::from_name(name).unwrap_or_else(|| panic!("no network {name}"))
}

fn height(height: Option<u64>) -> Value {
    height.map_or_else(|| json!(-1), |height| json!(height))
}

#[test]
fn vectors_activations() {
    let Some(document) = vector_document("activations") else { return };
    let mut tally = Tally::new("activations");
    for (name, expected) in document.as_object().unwrap() {
        let spec = network(name).spec();
        let upgrades = expected["upgrades"].as_object().unwrap();
        for (key, expected) in upgrades {
            let got = NetworkUpgrade::from_key(key).map(|upgrade| height(spec.upgrade_height(upgrade)));
            tally.equal(&format!("{name} {key}"), got.as_ref(), Some(expected));
        }
        tally.equal(&format!("{name} upgrades"), NetworkUpgrade::ALL.len(), upgrades.len());
        let rules = expected["rules"].as_object().unwrap();
        for (key, expected) in rules {
            let got = Rskip::from_key(key).map(|rule| height(spec.activation_height(rule)));
            tally.equal(&format!("{name} {key}"), got.as_ref(), Some(expected));
        }
        tally.equal(&format!("{name} rules"), Rskip::ALL.len(), rules.len());
        // The set of a block agrees with the heights around every one of them.
        for start in rules.values().filter_map(Value::as_u64).flat_map(|start| [start.saturating_sub(1), start]) {
            let expected: Activations = Rskip::ALL
                .iter()
                .copied()
                .filter(|rule| spec.activation_height(*rule).is_some_and(|height| height <= start))
                .collect();
            tally.equal(&format!("{name} set at {start}"), spec.activations(start), expected);
        }
    }
    tally.finish();
}

/// Our value of a constant; `None` for a key that belongs to another crate.
fn constant(spec: &ChainSpec, key: &str) -> Option<Value> {
    let own = &spec.constants;
    let latest = spec.activations(LATEST);
    let decimal = |value: &dyn std::fmt::Display| json!(value.to_string());
    Some(match key {
        "getInitialNonce" => json!("0"),
        "getDurationLimit" => json!(own.duration_limit),
        "getMinSequentialSetGasLimit" => json!(own.min_sequential_gas),
        "getMaxAddressByteLength" => json!(20),
        "getChainId" => json!(spec.chain_id()),
        "seedCowAccounts" => json!(own.seed_cow_accounts),
        "getFallbackMiningDifficulty" => decimal(&own.fallback_mining_difficulty),
        "getNewBlockMaxSecondsInTheFuture" => json!(own.new_block_max_seconds_in_the_future),
        "getFallbackMiningPubKey0" => json!(hex::encode(common::FALLBACK_MINING_KEY_EVEN)),
        "getFallbackMiningPubKey1" => json!(hex::encode(common::FALLBACK_MINING_KEY_ODD)),
        "getMaximumExtraDataSize" => json!(common::MAX_EXTRA_DATA_SIZE),
        "getMinGasLimit" => json!(common::MIN_GAS_LIMIT),
        "getGasLimitBoundDivisor" => json!(common::GAS_LIMIT_BOUND_DIVISOR),
        // Ethereum's difficulty bomb, which rskj names and never uses.
        "getExpDifficultyPeriod" => json!(100_000),
        "getUncleGenerationLimit" => json!(common::UNCLE_GENERATION_LIMIT),
        "getUncleListLimit" => json!(common::UNCLE_LIST_LIMIT),
        "getBestNumberDiffLimit" => json!(common::BEST_NUMBER_DIFF_LIMIT),
        "getMinimumPayableGas" => decimal(&common::MINIMUM_PAYABLE_GAS),
        "getFederatorMinimumPayableGas" => decimal(&common::FEDERATOR_MINIMUM_PAYABLE_GAS),
        "getSECP256K1N" => decimal(&rhizome_primitives::signature::CURVE_ORDER),
        "getTransactionGasCap" => decimal(&common::TRANSACTION_GAS_CAP),
        "getMaxContractSize" => json!(common::MAX_CONTRACT_SIZE),
        "getMaxInitCodeSize" => json!(common::MAX_INITCODE_SIZE),
        "getMaxBitcoinMergedMiningMerkleProofLength" => json!(common::MAX_MERKLE_PROOF_LENGTH),
        "getTransactionExecutionThreads" => json!(common::TRANSACTION_EXECUTION_THREADS),
        "minimumDifficulty(0)" => decimal(&spec.minimum_difficulty(0)),
        "minimumDifficulty(latest)" => decimal(&spec.minimum_difficulty(LATEST)),
        "difficultyBoundDivisor(0)" => decimal(&spec.difficulty_divisor(spec.activations(0))),
        "difficultyBoundDivisor(latest)" => decimal(&spec.difficulty_divisor(latest)),
        "maxTimestampsDiffInSecs(latest)" => json!(spec.max_timestamp_distance(latest)),
        "requiredBlocksForForkDetection" => json!(common::FORK_DETECTION_BLOCKS),
        "networkId" => json!(spec.network_id()),
        "peerPort" => spec.identity.peer_port.map_or_else(|| json!("!Missing"), |port| json!(port)),
        "bootstrap" if spec.network == Network::Devnet => json!("!Missing"),
        "bootstrap" => json!(spec.identity.bootstrap),
        "genesisFile" | "bridge" => return None,
        _ => json!(format!("{key} is not known")),
    })
}

fn remasc(spec: &ChainSpec, key: &str) -> Value {
    let config = &spec.remasc;
    match key {
        "maturity" => json!(config.maturity),
        "syntheticSpan" => json!(config.synthetic_span),
        "rskLabsAddress" => json!(hex::encode(config.labs_address)),
        "rskLabsAddressRskip218" => json!(hex::encode(config.labs_address_rskip218)),
        "rskLabsDivisor" => json!(config.labs_divisor),
        "federationDivisor" => json!(config.federation_divisor),
        "punishmentDivisor" => json!(config.punishment_divisor),
        "publishersDivisor" => json!(config.publishers_divisor),
        "lateUncleInclusionPunishmentDivisor" => json!(config.late_uncle_inclusion_punishment_divisor),
        "paidFeesMultiplier" => json!(config.paid_fees_multiplier),
        "paidFeesDivisor" => json!(config.paid_fees_divisor),
        _ => json!(format!("{key} is not known")),
    }
}

/// The chain's and REMASC's constants; the Bridge's are the bridge's test.
#[test]
fn vectors_constants_chain() {
    let Some(document) = vector_document("constants") else { return };
    let mut tally = Tally::new("constants (chain, REMASC)");
    for (name, expected) in document.as_object().unwrap() {
        let spec = network(name).spec();
        for (key, expected) in expected.as_object().unwrap() {
            if key == "remasc" {
                for (key, expected) in expected.as_object().unwrap() {
                    let expected =
                        expected.as_str().map_or_else(|| expected.clone(), |text| json!(text.to_lowercase()));
                    tally.equal(&format!("{name} remasc {key}"), remasc(&spec, key), expected);
                }
            } else if let Some(got) = constant(&spec, key) {
                tally.equal(&format!("{name} {key}"), got, expected.clone());
            }
        }
    }
    tally.finish();
}

#[test]
fn vectors_genesis_header() {
    let Some(cases) = vectors("genesis") else { return };
    let mut tally = Tally::new("genesis (headers)");
    for case in cases {
        let spec = network(text(&case, "network")).spec();
        let name = format!("{} {}", text(&case, "network"), text(&case, "variant"));
        let root = B256::from_slice(&bytes(&case, "unitrieRoot"));
        let header = spec.genesis_header(root);
        let fields = [
            ("parentHash", hex::encode(header.parent_hash)),
            ("unclesHash", hex::encode(header.uncles_hash)),
            ("coinbase", hex::encode(header.coinbase.unwrap())),
            ("stateRoot", hex::encode(header.state_root)),
            ("headerStateRoot", hex::encode(header.state_root)),
            ("txTrieRoot", hex::encode(header.transactions_root)),
            ("receiptTrieRoot", hex::encode(header.receipts_root)),
            ("logsBloom", hex::encode(header.logs_bloom().unwrap())),
            ("extensionData", hex::encode(header.extension_data())),
            ("difficulty", header.difficulty().to_string()),
            ("gasLimit", hex::encode(&header.gas_limit)),
            ("extraData", hex::encode(&header.extra_data)),
            ("paidFees", header.paid_fees.to_string()),
            ("minGasPrice", header.minimum_gas_price.unwrap().to_string()),
            ("mmHeader", hex::encode(&header.mining.btc_header)),
            ("mmProof", hex::encode(&header.mining.merkle_proof)),
            ("mmCoinbase", hex::encode(&header.mining.coinbase)),
            ("hash", hex::encode(header.hash())),
            ("hashForMergedMining", hex::encode(header.hash_for_merged_mining().unwrap())),
            ("encoded", hex::encode(header.encode())),
            ("fullEncoded", hex::encode(header.encode_full())),
            ("encodedForHash", hex::encode(header.encode_for_hash())),
            ("encodedCompressed", hex::encode(header.encode_compressed())),
            ("encodedNoMM", hex::encode(header.encode_without_mining(false))),
            ("encodedNoMMCompressed", hex::encode(header.encode_without_mining(true))),
        ];
        for (key, got) in fields {
            tally.equal(&format!("{name} {key}"), got.as_str(), text(&case, key));
        }
        for (key, got) in [
            ("number", json!(header.number)),
            ("gasUsed", json!(header.gas_used)),
            ("timestamp", json!(header.timestamp)),
            ("uncleCount", json!(header.uncle_count)),
            ("version", json!(header.version())),
            ("useRskip92", json!(header.layout.rskip92)),
            ("isUmm", json!(header.is_umm())),
            ("edges", json!(header.edges())),
            ("baseEvent", json!(header.base_event().map(hex::encode))),
        ] {
            tally.equal(&format!("{name} {key}"), got, case[key].clone());
        }
        // Our own form of the accounts and fields says what the reference's file says.
        if let Some(json) = case["json"].as_str() {
            let from_file = Genesis::from_json(Path::new(text(&case, "file")), json);
            tally.equal(&format!("{name} file"), from_file.ok().as_ref(), Some(&spec.genesis));
        }
        let alloc: serde_json::Map<String, Value> = spec
            .genesis
            .alloc
            .iter()
            .map(|account| {
                let facts = json!({
                    "balance": account.balance.to_string(), "nonce": account.nonce.to_string(), "code": null, "storage": null
                });
                (hex::encode(account.address), facts)
            })
            .collect();
        tally.equal(&format!("{name} accounts"), Value::Object(alloc), case["accounts"].clone());
    }
    tally.finish();
}

/// The chain file of every recorded chain is read, and its rules are where it puts them.
#[test]
fn vectors_chain_files() {
    let folders = chains::chain_folders();
    if folders.is_empty() {
        return;
    }
    let mut tally = Tally::new("chain files");
    for file in folders.iter().map(|folder| folder.join("chain.json")) {
        let place = file.display();
        let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let spec = ChainSpec::from_file(&file).unwrap();
        for (key, expected) in written["activations"].as_object().into_iter().flatten() {
            let got = NetworkUpgrade::from_key(key).map(|upgrade| height(spec.upgrade_height(upgrade)));
            tally.equal(&format!("{place} {key}"), got.as_ref(), Some(expected));
        }
        for (key, expected) in written["rskips"].as_object().into_iter().flatten() {
            let got = Rskip::from_key(key).map(|rule| height(spec.activation_height(rule)));
            tally.equal(&format!("{place} {key}"), got.as_ref(), Some(expected));
        }
        tally.equal(&format!("{place} base"), spec.network.name(), written["base"].as_str().unwrap());
    }
    tally.finish();
}
