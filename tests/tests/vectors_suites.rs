//! The reference node's JSON suites of programs and of single transactions, under its own results in `vectors/suite_vm` and
//! `vectors/suite_state`. The inputs come from the archives in `rskj-suites`.
#![allow(clippy::unwrap_used, missing_docs)]

mod evm_setting;

use std::collections::HashMap;
use std::io::Read;

use evm_setting::{HashOnlyAncestors, configs, empty_trie, regtest_precompiles};
use rhizome_chainspec::Activations;
use rhizome_executor::evm::BlockEnv;
use rhizome_executor::precompiles::RskPrecompiles;
use rhizome_executor::state::WorldState;
use rhizome_executor::tx::{CodeRun, FeePayment, TransactionExecutor, TxError};
use rhizome_primitives::bloom::of_logs;
use rhizome_primitives::signature::Signature;
use rhizome_primitives::transaction::TransactionFields;
use rhizome_primitives::{Address, B256, Bytes, Log, Sender, Transaction, U256, hex, keccak256};
use rhizome_tests::{Tally, data_file, open, parse_json, text, unhex, vector_document, vectors};
use rhizome_trie::Trie;
use serde_json::Value;

/// The JSON files of an archive, by their names without the ending. An archive is a sequence of 512-byte blocks: a header with
/// name and octal size, then the file.
fn archive(name: &str) -> Option<HashMap<String, Value>> {
    let path = data_file(&format!("rskj-suites/{name}.tar.gz"))?;
    let mut bytes = Vec::new();
    open(&path).read_to_end(&mut bytes).unwrap();
    let mut files = HashMap::new();
    let mut rest = bytes.as_slice();
    while rest.len() >= 512 && rest[0] != 0 {
        let (header, body) = rest.split_at(512);
        let field = |range: std::ops::Range<usize>| {
            std::str::from_utf8(&header[range]).unwrap().trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&field(124..136), 8).unwrap();
        if let Some(stem) = field(0..100).rsplit('/').next().and_then(|file| file.strip_suffix(".json")) {
            files.insert(stem.to_owned(), parse_json(std::str::from_utf8(&body[..size]).unwrap(), stem));
        }
        rest = &body[size.next_multiple_of(512)..];
    }
    Some(files)
}

/// Hex with `0x`, or decimal.
fn quantity(value: &Value) -> U256 {
    let text = value.as_str().unwrap();
    match text.strip_prefix("0x") {
        Some("") => U256::ZERO,
        Some(digits) => U256::from_str_radix(digits, 16).unwrap(),
        None if text.is_empty() => U256::ZERO,
        None => text.parse().unwrap(),
    }
}

fn small(value: &Value) -> u64 {
    u64::try_from(quantity(value)).unwrap_or(i64::MAX as u64)
}

fn data(value: &Value) -> Bytes {
    let text = value.as_str().unwrap();
    unhex(text.strip_prefix("0x").unwrap_or(text)).into()
}

fn address(text: &str) -> Address {
    Address::from_slice(&unhex(text))
}

fn pre_state(accounts: &Value) -> Trie {
    let trie = empty_trie();
    let mut state = WorldState::new(trie.clone(), Default::default());
    for (place, account) in accounts.as_object().unwrap() {
        let address = address(place);
        state.create_account(address, false).unwrap();
        state.set_nonce(address, quantity(&account["nonce"])).unwrap();
        state.add_balance(address, quantity(&account["balance"])).unwrap();
        let code = data(&account["code"]);
        let storage = account["storage"].as_object().unwrap();
        if !code.is_empty() || !storage.is_empty() {
            state.setup_contract(address);
            state.save_code(address, code).unwrap();
        }
        for (key, value) in storage {
            let key = B256::left_padding_from(&data(&Value::from(key.as_str())));
            state.set_cell(address, &key, Some(data(value))).unwrap();
        }
    }
    trie.apply(&state.changes()).unwrap()
}

fn block(env: &Value, activations: Activations) -> BlockEnv {
    BlockEnv {
        number: small(&env["currentNumber"]),
        parent_hash: B256::ZERO,
        timestamp: small(&env["currentTimestamp"]),
        coinbase: address(text(env, "currentCoinbase")),
        difficulty: quantity(&env["currentDifficulty"]),
        gas_limit: small(&env["currentGasLimit"]),
        minimum_gas_price: U256::ZERO,
        chain_id: 33,
        activations,
    }
}

fn block_hash(number: u64) -> B256 {
    keccak256(format!("blockhash{number}"))
}

fn log_values(logs: &[Log]) -> Value {
    let log = |log: &Log| {
        serde_json::json!({
            "address": hex::encode(log.address),
            "topics": log.topics.iter().map(hex::encode).collect::<Vec<_>>(),
            "data": hex::encode(&log.data),
        })
    };
    logs.iter().map(log).collect::<Vec<_>>().into()
}

#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn check(&mut self, what: &str, got: impl ToString, expected: &Value) {
        let (got, expected) = (got.to_string(), expected.as_str().map_or_else(|| expected.to_string(), str::to_owned));
        if got != expected {
            self.0.push(format!("{what}: expected {expected}, got {got}"));
        }
    }

    /// Accounts as they must be, and every cell that is named.
    fn check_accounts(&mut self, state: &mut WorldState, accounts: &Value) {
        for (place, account) in accounts.as_object().into_iter().flatten() {
            let address = address(place);
            self.check(&format!("{place} balance"), state.balance(address).unwrap(), &account["balance"]);
            self.check(&format!("{place} nonce"), state.nonce(address).unwrap(), &account["nonce"]);
            if account["codeHash"].is_string() {
                let code = state.code(address).unwrap().map_or(rhizome_primitives::KECCAK_EMPTY, |code| code.hash());
                self.check(&format!("{place} code"), hex::encode(code), &account["codeHash"]);
            }
            for (key, value) in account["storage"].as_object().into_iter().flatten() {
                let cell = state.cell(address, &B256::left_padding_from(&unhex(key))).unwrap();
                self.check(&format!("{place} cell {key}"), hex::encode(cell.unwrap_or_default()), value);
            }
        }
    }

    fn result(self) -> Result<(), String> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0.join("; ")) }
    }
}

fn run_suite(
    vector: &str,
    archive_name: &str,
    case: fn(&Value, &Value, Activations, &RskPrecompiles) -> Result<(), String>,
) {
    let Some(lines) = vectors(vector) else { return };
    let (Some(files), Some(document)) = (archive(archive_name), vector_document("evm_configs")) else { return };
    let configs = configs(&document["configs"]);
    let precompiles = regtest_precompiles();
    let mut tally = Tally::new(vector);
    for expected in lines {
        let (suite, test) = (text(&expected, "suite"), text(&expected, "test"));
        let input = &files[suite][test];
        let result = case(input, &expected, configs[text(&expected, "config")], &precompiles);
        tally.case(result.map_err(|difference| format!("{suite} {test}: {difference}")));
    }
    tally.finish();
}

#[test]
fn vectors_suite_state() {
    run_suite("suite_state", "StateTests", state_case);
}

fn state_case(
    input: &Value,
    expected: &Value,
    activations: Activations,
    precompiles: &RskPrecompiles,
) -> Result<(), String> {
    let mut differences = Differences::default();
    let pre = pre_state(&input["pre"]);
    differences.check("preRoot", hex::encode(pre.root_hash()), &expected["preRoot"]);
    let block = block(&input["env"], activations);
    let fields = &input["transaction"];
    let gas_limit = quantity(&fields["gasLimit"]);
    let to = text(fields, "to").trim_start_matches("0x");
    let tx = Transaction::new(TransactionFields {
        nonce: quantity(&fields["nonce"]).to_be_bytes_trimmed_vec().into(),
        gas_price: Some(quantity(&fields["gasPrice"])),
        gas_limit: gas_limit.to_be_bytes_trimmed_vec().into(),
        to: (!to.is_empty()).then(|| address(to)),
        value: quantity(&fields["value"]),
        data: data(&fields["data"]),
        chain_id: 0,
        // Any signature in range: the sender is given.
        signature: Some(Signature { v: 27, r: U256::ONE, s: U256::ONE }),
    });
    let ancestors = HashOnlyAncestors(block_hash);
    let state = WorldState::new(pre.clone(), Default::default());
    let mut executor =
        TransactionExecutor::new(state, &block, precompiles, &ancestors, block.gas_limit, FeePayment::AtOnce);
    let outcome = executor.execute(&tx, Sender::Account(address(text(expected, "sender"))), 0);
    let valid = expected["valid"].as_bool().unwrap();
    let outcome = match outcome {
        Err(TxError::Inadmissible(_)) if !valid => return differences.result(),
        Err(error) => return Err(format!("error {error}")),
        Ok(_) if !valid => return Err(format!("should be refused: {}", expected["why"])),
        Ok(outcome) => outcome,
    };
    differences.check("status", u8::from(outcome.success), &expected["status"]);
    differences.check("gasUsed", outcome.gas_used, &expected["gasUsed"]);
    differences.check("refund", outcome.refund, &expected["refund"]);
    differences.check("revert", outcome.reverted, &expected["revert"]);
    differences.check("exception", outcome.exception.is_some(), &(!expected["exception"].is_null()).into());
    differences.check("return", hex::encode(&outcome.output), &expected["return"]);
    differences.check("logs", log_values(&outcome.logs), &expected["logs"]);
    let bloom = of_logs(&outcome.logs);
    // A filter without a bit is written as one digit.
    differences.check("bloom", if bloom.is_zero() { "0".to_owned() } else { hex::encode(bloom) }, &expected["bloom"]);
    let after = pre.apply(&executor.into_state().changes()).unwrap();
    differences.check("root", hex::encode(after.root_hash()), &expected["root"]);
    differences.check_accounts(&mut WorldState::new(after, Default::default()), &expected["post"]);
    differences.result()
}

#[test]
fn vectors_suite_vm() {
    run_suite("suite_vm", "VMTests", vm_case);
}

fn vm_case(
    input: &Value,
    expected: &Value,
    activations: Activations,
    precompiles: &RskPrecompiles,
) -> Result<(), String> {
    let block = block(&input["env"], activations);
    let exec = &input["exec"];
    let mut state = WorldState::new(pre_state(&input["pre"]), Default::default());
    let (origin, caller) = (address(text(exec, "origin")), address(text(exec, "caller")));
    for account in [origin, caller] {
        if !state.exists(account).unwrap() {
            state.create_account(account, false).unwrap();
        }
    }
    let ancestors = HashOnlyAncestors(block_hash);
    let mut executor =
        TransactionExecutor::new(state, &block, precompiles, &ancestors, block.gas_limit, FeePayment::AtOnce);
    let run = CodeRun {
        code: data(&exec["code"]),
        address: address(text(exec, "address")),
        caller,
        origin,
        value: quantity(&exec["value"]),
        data: data(&exec["data"]),
        gas: small(&exec["gas"]),
        gas_price: quantity(&exec["gasPrice"]),
    };
    let outcome = executor.run_alone(&run, None).map_err(|fault| fault.to_string())?;
    let mut differences = Differences::default();
    differences.check("gasUsed", outcome.gas_used, &expected["gasUsed"]);
    differences.check("futureRefund", outcome.refund, &expected["futureRefund"]);
    differences.check("revert", outcome.reverted, &expected["revert"]);
    differences.check("exception", outcome.exception.is_some(), &(!expected["exception"].is_null()).into());
    differences.check("return", hex::encode(&outcome.output), &expected["return"]);
    differences.check("logs", log_values(&outcome.logs), &expected["logs"]);
    differences.check_accounts(&mut executor.into_state(), &expected["post"]);
    differences.result()
}
