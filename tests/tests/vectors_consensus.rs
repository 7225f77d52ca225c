//! Difficulty, gas limit, gas price, uncles, edges, fork choice, merged mining, and the headers of the real networks.
#![allow(clippy::unwrap_used, missing_docs)]

mod memory_chain;

use std::collections::HashMap;
use std::sync::Arc;

use memory_chain::MemoryChain;
use rhizome_chainspec::{Activations, ChainSpec, Network};
use rhizome_consensus::bitcoin::BtcHash;
use rhizome_consensus::bitcoin::coinbase::last_index_of;
use rhizome_consensus::bitcoin::hash::{hash256, resume256};
use rhizome_consensus::bitcoin::merkle::{PartialMerkleTree, branch_root, build_branch, build_partial_tree, root};
use rhizome_consensus::body::{BlockParentNumberRule, ValidTxExecutionSublistsEdgesRule, transactions_root};
use rhizome_consensus::difficulty::{BlockDifficultyRule, calculate_difficulty, target};
use rhizome_consensus::fork_detection::{AncestorFacts, ForkDetection, fork_detection_data};
use rhizome_consensus::gas_limit::{BlockParentGasLimitRule, next_gas_limit};
use rhizome_consensus::gas_price::{GasPriceCap, GasPriceRange, PrevMinGasPriceRule, next_minimum_gas_price};
use rhizome_consensus::timestamp::BlockTimeStampValidationRule;
use rhizome_consensus::uncles::is_uncle_number;
use rhizome_consensus::{
    BlockValidator, Candidate, ConsensusError, HeaderRule, ParentRule, SiblingView, choose, is_broken_selection_rule,
    verify_proof_of_work,
};
use rhizome_primitives::header::RSK_TAG;
use rhizome_primitives::transaction::remasc_transaction;
use rhizome_primitives::{
    B256, Block, BlockHeader, Coin, Difficulty, HeaderFields, HeaderRules, I256, MiningFields, SignedCoin, U256, hex,
};
use rhizome_tests::{Tally, bytes, number, optional_bytes, text, vector_document, vectors};
use serde_json::Value;

fn spec(name: &str) -> ChainSpec {
    Network::from_name(name).unwrap_or_else(|| panic!("no network {name}")).spec()
}

fn big(case: &Value, member: &str) -> U256 {
    U256::from_str_radix(text(case, member), 10).unwrap()
}

fn signed(case: &Value, member: &str) -> SignedCoin {
    I256::from_dec_str(text(case, member)).unwrap()
}

fn word(case: &Value, member: &str) -> B256 {
    B256::from_slice(&bytes(case, member))
}

/// A Bitcoin hash, displayed in reverse.
fn btc_hash(value: &Value) -> BtcHash {
    let mut hash: BtcHash = hex::decode(value.as_str().unwrap()).unwrap().try_into().unwrap();
    hash.reverse();
    hash
}

#[test]
fn vectors_difficulty() {
    let Some(cases) = vectors("difficulty") else { return };
    let specs: HashMap<&str, ChainSpec> =
        ["main", "testnet", "testnet2", "regtest", "devnet"].map(|name| (name, spec(name))).into();
    let mut tally = Tally::new("difficulty");
    for case in cases {
        let got = calculate_difficulty(
            &specs[text(&case, "network")],
            number(&case, "number"),
            number(&case, "timestamp"),
            u32::try_from(number(&case, "uncleCount")).unwrap(),
            Difficulty(big(&case, "parentDifficulty")),
            number(&case, "parentTimestamp"),
        );
        tally.equal(&case.to_string(), got, Difficulty(big(&case, "difficulty")));
    }
    tally.finish();
}

#[test]
fn vectors_rules() {
    let Some(cases) = vectors("rules") else { return };
    let mut tally = Tally::new("rules");
    for case in cases {
        let name = case.to_string();
        let valid = case["valid"].as_bool();
        match text(&case, "kind") {
            "gasLimit" => {
                let got = next_gas_limit(
                    big(&case, "parentGasLimit"),
                    big(&case, "parentGasUsed"),
                    big(&case, "min"),
                    big(&case, "target"),
                    case["force"].as_bool().unwrap(),
                );
                tally.equal(&name, got, big(&case, "result"));
            }
            "parentGasLimitRule" => {
                let got = BlockParentGasLimitRule::accepts(big(&case, "child"), big(&case, "parent"));
                tally.equal(&name, Some(got), valid);
            }
            "minGasPriceRule" => {
                let got = GasPriceRange::around(signed(&case, "parent")).contains(signed(&case, "child"));
                tally.equal(&name, Some(got), valid);
            }
            "minGasPriceNext" => {
                let got = next_minimum_gas_price(signed(&case, "parent"), signed(&case, "target"));
                tally.equal(&name, got, signed(&case, "result"));
            }
            "gasPriceCap" => {
                let cap = match text(&case, "cap") {
                    "FOR_BLOCK" => GasPriceCap::Block,
                    "FOR_TRANSACTION" => GasPriceCap::Transaction,
                    other => panic!("no cap {other}"),
                };
                let got = cap.is_surpassed(big(&case, "gasPrice"), signed(&case, "minGasPrice"));
                tally.equal(&name, Some(got), case["surpassed"].as_bool());
            }
            "target" => {
                let got = target(Difficulty(big(&case, "difficulty")));
                tally.equal(&name, got, U256::from_str_radix(text(&case, "target"), 16).unwrap());
            }
            "uncleNumber" => {
                let got = is_uncle_number(number(&case, "uncle"), number(&case, "block"));
                tally.equal(&name, Some(got), valid);
            }
            "uncleCount" => tally.equal(&name, Some(UncleCases::accepts_count(number(&case, "n"))), valid),
            "uncleTwice" => tally.equal(&name, Some(UncleCases::accepts_twice()), valid),
            "uncleUsed" => tally.equal(&name, Some(UncleCases::accepts_used()), valid),
            "edgesRule" => {
                let edges: Vec<i16> =
                    case["edges"].as_array().unwrap().iter().map(|edge| edge.as_i64().unwrap() as i16).collect();
                let transactions = usize::try_from(number(&case, "txCount")).unwrap();
                let got = ValidTxExecutionSublistsEdgesRule::accepts(&edges, transactions);
                tally.equal(&name, Some(got), valid);
            }
            "sublistGasLimit" => {
                let spec = spec(text(&case, "network"));
                let got = spec.sublist_gas_limits(number(&case, "blockGasLimit"));
                let got = (got.parallel, got.sequential, spec.constants.min_sequential_gas);
                let expected = ["parallel", "sequential", "minSequential"].map(|member| number(&case, member));
                tally.equal(&name, got, expected.into());
            }
            other => tally.case(Err(format!("unknown kind {other}"))),
        }
    }
    tally.finish();
}

#[test]
fn vectors_fork_choice() {
    let Some(cases) = vectors("fork_choice") else { return };
    let mut tally = Tally::new("fork_choice");
    let sibling = |case: &Value| SiblingView {
        hash: word(case, "hash"),
        paid_fees: big(case, "paidFees"),
        uncle_count: u32::try_from(number(case, "uncleCount")).unwrap(),
    };
    for case in cases {
        let name = case.to_string();
        match text(&case, "kind") {
            "choose" => {
                let candidate = |side: &str| Candidate {
                    total_difficulty: Difficulty(big(&case, &format!("{side}TotalDifficulty"))),
                    paid_fees: big(&case, &format!("{side}PaidFees")),
                    hash: word(&case, &format!("{side}Hash")),
                };
                tally.equal(&name, Some(choose(&candidate("new"), &candidate("best"))), case["switch"].as_bool());
            }
            "brokenSelectionRule" => {
                let siblings = case["siblings"].as_array().unwrap().iter().map(sibling);
                tally.equal(&name, Some(is_broken_selection_rule(sibling(&case), siblings)), case["broken"].as_bool());
            }
            other => tally.case(Err(format!("unknown kind {other}"))),
        }
    }
    tally.finish();
}

/// What the reference said: `Some(verdict)`, or `None` where it threw.
fn verdict(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(valid) => Some(*valid),
        Value::String(text) if text.starts_with('!') => None,
        other => panic!("no verdict: {other}"),
    }
}

/// The rules that a configuration of these vectors names.
fn config(name: &str) -> Activations {
    let document = vector_document("evm_configs");
    let named = document.as_ref().and_then(|document| document["configs"][name].as_array());
    match (name, named) {
        ("all", _) => Activations::ALL,
        (_, Some(keys)) => Activations::from_keys(keys.iter().map(|key| key.as_str().unwrap())).unwrap(),
        (name, None) => {
            // "none of RSKIP92/98/110" has only rules that do not matter here.
            assert!(name.starts_with("none of"), "no configuration {name}");
            Activations::NONE
        }
    }
}

#[test]
fn vectors_merkle() {
    let Some(cases) = vectors("merkle") else { return };
    let mut tally = Tally::new("merkle");
    for case in cases {
        let name = case.to_string().chars().take(300).collect::<String>();
        match text(&case, "kind") {
            "build" => {
                let ids: Vec<BtcHash> = case["txHashes"].as_array().unwrap().iter().map(btc_hash).collect();
                let tree = build_partial_tree(&ids);
                let (tree_root, matches) = PartialMerkleTree::parse(&tree).unwrap().root_and_matches().unwrap();
                let expected: Vec<BtcHash> = case["matched"].as_array().unwrap().iter().map(btc_hash).collect();
                let got = (hex::encode(&tree), hex::encode(build_branch(&ids)), root(&ids), tree_root, matches);
                let root = btc_hash(&case["root"]);
                let pmt = text(&case, "pmt").to_owned();
                tally.equal(&name, got, (pmt, text(&case, "rskip92Proof").to_owned(), root, root, expected));
            }
            "rskip92" => {
                let (expected_root, leaf) = (btc_hash(&case["root"]), btc_hash(&case["coinbase"]));
                let got = branch_root(&bytes(&case, "proof"), case["rskip180"].as_bool().unwrap(), &leaf);
                let got = got.ok().map(|root| root == expected_root);
                tally.equal(&name, got, verdict(&case["valid"]));
            }
            "genesisPmt" => {
                let (expected_root, leaf) = (btc_hash(&case["root"]), btc_hash(&case["coinbase"]));
                let pmt = bytes(&case, "pmt");
                let got = PartialMerkleTree::parse(&pmt).and_then(|tree| tree.root_and_matches());
                let got = got.ok().map(|(root, matches)| root == expected_root && matches.contains(&leaf));
                tally.equal(&name, got, verdict(&case["valid"]));
            }
            "mergedMining" => {
                let spec = ChainSpec::regtest().with_fixed_rules(config(text(&case, "config")));
                let header = BlockHeader::decode(&bytes(&case, "header"), &spec).unwrap();
                let mut btc_hash = hash256(&header.mining.btc_header);
                btc_hash.reverse();
                let work = verify_proof_of_work(&spec, &header);
                let got = (
                    work.is_ok(),
                    header.hash_for_merged_mining().ok().map(hex::encode),
                    target(header.difficulty()),
                    hex::encode(btc_hash),
                );
                let expected = (
                    verdict(&case["valid"]) == Some(true),
                    case["decodedHashForMergedMining"]
                        .as_str()
                        .filter(|hash| !hash.starts_with('!'))
                        .map(str::to_owned),
                    U256::from_str_radix(text(&case, "target"), 16).unwrap(),
                    text(&case, "btcBlockHash").to_owned(),
                );
                tally.equal(&format!("{name} {work:?}"), got, expected);
            }
            "fallbackSigned" => {
                // Fallback mining needs a low difficulty, which the main network's constants allow.
                let spec = ChainSpec::mainnet().with_fixed_rules(Activations::NONE);
                let header = BlockHeader::decode(&bytes(&case, "header"), &spec).unwrap();
                let got = verify_proof_of_work(&spec, &header);
                tally.equal(&format!("{name} {got:?}"), got.is_ok(), verdict(&case["valid"]) == Some(true));
            }
            "lastIndexOf" => {
                let got = last_index_of(&bytes(&case, "source"), &bytes(&case, "target"));
                tally.equal(&name, got.map_or(-1, |index| index as i64), case["index"].as_i64().unwrap());
            }
            "forkDetectionData" => {
                let best = number(&case, "best");
                let count = number(&case, "count");
                let mut facts: Vec<AncestorFacts> = (0..count)
                    .map(|index| AncestorFacts { number: best - index, uncle_count: 0, btc_hash_byte: None })
                    .collect();
                for header in case["headers"].as_array().unwrap() {
                    let facts = &mut facts[usize::try_from(number(header, "index")).unwrap()];
                    facts.uncle_count = header["uncleCount"].as_u64().unwrap_or(0) as u32;
                    facts.btc_hash_byte = optional_bytes(header, "mmHeader").map(|header| hash256(&header)[0]);
                }
                let got = fork_detection_data(facts.into_iter()).unwrap();
                tally.equal(&name, got.map(hex::encode).unwrap_or_default().as_str(), text(&case, "result"));
            }
            other => tally.case(Err(format!("unknown kind {other}"))),
        }
    }
    tally.finish();
}

#[test]
fn vectors_real_headers() {
    let Some(cases) = vectors("real_headers") else { return };
    let specs: HashMap<&str, ChainSpec> = ["mainnet", "testnet"].map(|name| (name, spec(name))).into();
    let mut tally = Tally::new("real_headers");
    let mut run = MemoryChain::default();
    let mut run_name = String::new();
    let mut parent: Option<Arc<Block>> = None;
    let mut detection = ForkDetection::default();
    for case in cases {
        let spec = &specs[text(&case, "network")];
        let name = format!("{} {}", text(&case, "network"), number(&case, "number"));
        let encoded = bytes(&case, "header");
        let header = match BlockHeader::decode(&encoded, spec) {
            Ok(header) => header,
            Err(error) => {
                tally.case(Err(format!("{name}: {error}")));
                continue;
            }
        };
        let this_run = case["run"].as_str().unwrap_or("");
        if this_run.is_empty() || this_run != run_name {
            run_name = this_run.to_owned();
            run = MemoryChain::default();
            detection = ForkDetection::default();
            parent = None;
        }
        let time = BlockTimeStampValidationRule { spec, clock: None };
        let mut differences = Vec::new();
        let mut require = |what: &str, holds: bool| {
            if !holds {
                differences.push(what.to_owned());
            }
        };
        require("number", header.number == number(&case, "number"));
        require("hash", header.hash() == word(&case, "hash"));
        require("encoding", header.encode_full() == encoded);
        require("parent hash", header.parent_hash == word(&case, "parentHash"));
        require("difficulty field", header.difficulty().value() == big(&case, "difficulty"));
        require("time field", header.timestamp == number(&case, "timestamp"));
        require("uncle count", u64::from(header.uncle_count) == number(&case, "uncleCount"));
        require("version", u64::from(header.version()) == number(&case, "version"));
        let merged = header.hash_for_merged_mining().ok();
        require("merged mining hash", merged == Some(word(&case, "hashForMergedMining")));
        let data = header.mining_fork_detection_data().ok().flatten().map(hex::encode);
        require("fork detection data", data.as_deref() == case["forkDetectionData"].as_str());
        let work = verify_proof_of_work(spec, &header).is_ok();
        require("proof of work", work == case["powValid"].as_bool().unwrap());
        let expected_time = case["timestampRule"].as_bool().unwrap_or(true);
        require("Bitcoin time", HeaderRule::check(&time, &header).is_ok() == expected_time);
        if let Some(parent) = parent.as_deref().map(|parent| &parent.header)
            && case["parentRules"].is_object()
        {
            let rules = &case["parentRules"];
            require("link", header.parent_hash == parent.hash());
            let is = |key: &str, result: Result<(), rhizome_consensus::RuleError>| {
                rules[key].as_bool().is_none_or(|expected| result.is_ok() == expected)
            };
            require("difficulty", is("difficulty", BlockDifficultyRule { spec }.check(&header, parent)));
            require("time order", is("timestamp", ParentRule::check(&time, &header, parent)));
            require("parent number", is("number", BlockParentNumberRule.check(&header, parent)));
            require("gas limit", is("gasLimit", BlockParentGasLimitRule.check(&header, parent)));
            require("minimum gas price", is("minGasPrice", PrevMinGasPriceRule.check(&header, parent)));
        }
        if let Some(expected) = case["forkDetectionRule"].as_bool() {
            require("fork detection rule", detection.check(spec, &header, &run).is_ok() == expected);
        }
        tally.case(if differences.is_empty() { Ok(()) } else { Err(format!("{name}: {}", differences.join(", "))) });
        parent = Some(run.add(Block { header, transactions: Vec::new(), uncles: Vec::new() }));
    }
    tally.finish();
}

/// A regtest chain of five blocks with real proofs of work, for what cannot be asked about single numbers.
struct UncleCases {
    validator: BlockValidator,
    chain: MemoryChain,
    tip: Arc<Block>,
    parent: Arc<Block>,
}

impl UncleCases {
    fn new() -> Self {
        let spec = Arc::new(ChainSpec::regtest());
        let mut chain = MemoryChain::default();
        let genesis = spec.genesis_header(B256::ZERO);
        let mut parent = chain.add(Block { header: genesis, transactions: Vec::new(), uncles: Vec::new() });
        let mut tip = Arc::clone(&parent);
        for _ in 1..=5 {
            let block = chain.add(mined_block(&spec, &tip.header, Vec::new(), 0));
            parent = std::mem::replace(&mut tip, block);
        }
        Self { validator: BlockValidator::new(spec), chain, tip, parent }
    }

    /// A sibling of the tip.
    fn uncle(&self, salt: u8) -> BlockHeader {
        mined_block(self.validator.spec(), &self.parent.header, Vec::new(), salt).header
    }

    /// A block with these uncles on the tip, and whether it is valid.
    fn add(&mut self, uncles: Vec<BlockHeader>) -> bool {
        let block = mined_block(self.validator.spec(), &self.tip.header, uncles, 0);
        let parent = &self.tip.header;
        let whole = self.validator.validate(&block, parent, &self.chain, None);
        let parts = self
            .validator
            .validate_alone(&block, None)
            .and_then(|()| self.validator.validate_in_chain(&block, parent, &self.chain));
        assert_eq!(whole.is_ok(), parts.is_ok(), "{whole:?} {parts:?}");
        if let Err(ConsensusError::Invalid(violation)) = &whole {
            assert_eq!(violation.rule, "BlockUnclesValidationRule", "{violation}");
        }
        self.tip = self.chain.add(block);
        whole.is_ok()
    }

    fn accepts_count(count: u64) -> bool {
        let mut cases = Self::new();
        let uncles = (1..=count).map(|salt| cases.uncle(salt as u8)).collect();
        cases.add(uncles)
    }

    fn accepts_twice() -> bool {
        let mut cases = Self::new();
        let uncle = cases.uncle(1);
        cases.add(vec![uncle.clone(), uncle])
    }

    fn accepts_used() -> bool {
        let mut cases = Self::new();
        let uncle = cases.uncle(1);
        assert!(cases.add(vec![uncle.clone()]));
        cases.add(vec![uncle])
    }
}

/// A block behind `parent` that keeps every rule but what `uncles` may break; `salt` tells siblings apart.
fn mined_block(spec: &ChainSpec, parent: &BlockHeader, uncles: Vec<BlockHeader>, salt: u8) -> Block {
    let number = parent.number + 1;
    let transactions = vec![remasc_transaction(number)];
    let mut fields = HeaderFields::new(number, spec.header_layout(number));
    fields.parent_hash = parent.hash();
    fields.timestamp = parent.timestamp + 20;
    fields.uncle_count = uncles.len() as u32;
    fields.difficulty = Some(calculate_difficulty(
        spec,
        number,
        fields.timestamp,
        fields.uncle_count,
        parent.difficulty(),
        parent.timestamp,
    ));
    fields.gas_limit = parent.gas_limit.clone();
    fields.extra_data = vec![salt].into();
    fields.paid_fees = Coin::ZERO;
    fields.minimum_gas_price = parent.minimum_gas_price;
    fields.transactions_root = transactions_root(&transactions, true);
    let mut block = Block { header: fields.into(), transactions, uncles };
    let mut fields = block.header.fields().clone();
    fields.uncles_hash = block.uncles_hash();
    block.header = mine(fields);
    block
}

/// Finds a Bitcoin header for a low difficulty: its only transaction is the coinbase, so the merkle proof is empty.
fn mine(mut fields: HeaderFields) -> BlockHeader {
    let hash = fields.hash_for_merged_mining().unwrap();
    let tail = [&RSK_TAG[..], hash.as_slice()].concat();
    let state = [7u32; 8];
    let mut coinbase = 64u64.to_be_bytes().to_vec();
    coinbase.extend(state.iter().flat_map(|word| word.to_be_bytes()));
    coinbase.extend(&tail);
    let mut btc_header = vec![0u8; 80];
    btc_header[36..68].copy_from_slice(&resume256(state, 64, &tail));
    let target = target(fields.difficulty());
    for nonce in 0u32.. {
        btc_header[76..].copy_from_slice(&nonce.to_le_bytes());
        if U256::from_le_bytes(hash256(&btc_header)) <= target {
            break;
        }
    }
    fields.mining =
        MiningFields { btc_header: btc_header.into(), merkle_proof: Vec::new().into(), coinbase: coinbase.into() };
    fields.into()
}
