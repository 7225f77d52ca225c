//! What the tests of the EVM share: rule sets, an empty state, ancestors that are only hashes, and a trace in rskj's form.
#![allow(dead_code, unreachable_pub, missing_debug_implementations)]

use std::collections::HashMap;
use std::sync::Arc;

use rhizome_chainspec::{Activations, ChainSpec};
use rhizome_executor::evm::{EnteredFrame, LeftFrame, Step, Tracer};
use rhizome_executor::precompiles::RskPrecompiles;
use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, Difficulty, ProviderError, U256};
use rhizome_trie::{MemoryTrieStore, Trie};
use serde_json::Value;

/// The rule sets by name.
pub fn configs(names: &Value) -> HashMap<String, Activations> {
    let rules = |rules: &Value| {
        let keys: Vec<_> = rules.as_array().unwrap().iter().map(|rule| rule.as_str().unwrap().to_owned()).collect();
        Activations::from_keys(keys.iter().map(String::as_str)).unwrap()
    };
    names.as_object().unwrap().iter().map(|(name, list)| (name.clone(), rules(list))).collect()
}

/// The precompiles of a regtest network.
pub fn regtest_precompiles() -> RskPrecompiles {
    RskPrecompiles::new(Arc::new(ChainSpec::regtest()))
}

/// A state without accounts.
pub fn empty_trie() -> Trie {
    Trie::empty(Arc::new(MemoryTrieStore::default()))
}

/// A decimal text or a number.
pub fn amount(value: &Value) -> U256 {
    value.as_str().map_or_else(|| U256::from(value.as_u64().unwrap()), |text| text.parse().unwrap())
}

/// Ancestors of which only the hashes by height are known.
pub struct HashOnlyAncestors(pub fn(u64) -> B256);

impl AncestorProvider for HashOnlyAncestors {
    fn header(&self, _hash: &B256) -> Result<Option<Arc<BlockHeader>>, ProviderError> {
        Ok(None)
    }

    fn block(&self, _hash: &B256) -> Result<Option<Arc<Block>>, ProviderError> {
        Ok(None)
    }

    fn total_difficulty(&self, _hash: &B256) -> Result<Option<Difficulty>, ProviderError> {
        Ok(None)
    }

    fn ancestor_hash(&self, _from: &B256, number: u64) -> Result<Option<B256>, ProviderError> {
        Ok(Some((self.0)(number)))
    }
}

/// One instruction: position, opcode, gas before, cost, depth, words on the stack, the top one.
type Line = (usize, u8, u64, u64, usize, usize, Option<U256>);

/// A trace as rskj's `DetailedProgramTrace` keeps it: what a constructor does is forgotten, and a call's cost goes to whatever
/// line is the last one when the call ends.
#[derive(Default)]
pub struct TraceLog {
    lines: Vec<Line>,
    starts: Vec<usize>,
}

impl TraceLog {
    /// The lines as the vectors have them.
    pub fn lines(&self) -> Vec<Value> {
        self.lines
            .iter()
            .map(|(pc, opcode, gas, cost, depth, len, top)| {
                let top = top.map(|top| format!("{top:x}"));
                serde_json::json!([pc, name(*opcode), gas, cost, depth, len, top])
            })
            .collect()
    }
}

impl Tracer for TraceLog {
    fn step(&mut self, step: &Step<'_>) {
        let top = step.stack.last().copied();
        self.lines.push((step.pc, step.opcode, step.gas, 0, step.depth, step.stack.len(), top));
    }

    fn cost(&mut self, cost: u64) {
        self.lines.last_mut().unwrap().3 = cost;
    }

    fn enter(&mut self, _frame: &EnteredFrame<'_>) {
        self.starts.push(self.lines.len());
    }

    fn leave(&mut self, frame: &LeftFrame<'_>) {
        let start = self.starts.pop().unwrap();
        if frame.creation {
            self.lines.truncate(start);
        }
    }
}

/// rskj's name of an opcode; `null` for bytes that are none.
fn name(opcode: u8) -> Value {
    let name = match opcode {
        0x00 => "STOP",
        0x01 => "ADD",
        0x02 => "MUL",
        0x03 => "SUB",
        0x04 => "DIV",
        0x05 => "SDIV",
        0x06 => "MOD",
        0x07 => "SMOD",
        0x08 => "ADDMOD",
        0x09 => "MULMOD",
        0x0a => "EXP",
        0x0b => "SIGNEXTEND",
        0x10 => "LT",
        0x11 => "GT",
        0x12 => "SLT",
        0x13 => "SGT",
        0x14 => "EQ",
        0x15 => "ISZERO",
        0x16 => "AND",
        0x17 => "OR",
        0x18 => "XOR",
        0x19 => "NOT",
        0x1a => "BYTE",
        0x1b => "SHL",
        0x1c => "SHR",
        0x1d => "SAR",
        0x20 => "SHA3",
        0x30 => "ADDRESS",
        0x31 => "BALANCE",
        0x32 => "ORIGIN",
        0x33 => "CALLER",
        0x34 => "CALLVALUE",
        0x35 => "CALLDATALOAD",
        0x36 => "CALLDATASIZE",
        0x37 => "CALLDATACOPY",
        0x38 => "CODESIZE",
        0x39 => "CODECOPY",
        0x3a => "GASPRICE",
        0x3b => "EXTCODESIZE",
        0x3c => "EXTCODECOPY",
        0x3d => "RETURNDATASIZE",
        0x3e => "RETURNDATACOPY",
        0x3f => "EXTCODEHASH",
        0x40 => "BLOCKHASH",
        0x41 => "COINBASE",
        0x42 => "TIMESTAMP",
        0x43 => "NUMBER",
        0x44 => "DIFFICULTY",
        0x45 => "GASLIMIT",
        0x46 => "CHAINID",
        0x47 => "SELFBALANCE",
        0x48 => "BASEFEE",
        0x50 => "POP",
        0x51 => "MLOAD",
        0x52 => "MSTORE",
        0x53 => "MSTORE8",
        0x54 => "SLOAD",
        0x55 => "SSTORE",
        0x56 => "JUMP",
        0x57 => "JUMPI",
        0x58 => "PC",
        0x59 => "MSIZE",
        0x5a => "GAS",
        0x5b => "JUMPDEST",
        0x5c => "TLOAD",
        0x5d => "TSTORE",
        0x5e => "MCOPY",
        0x5f => "PUSH0",
        0x60..=0x7f => return format!("PUSH{}", opcode - 0x5f).into(),
        0x80..=0x8f => return format!("DUP{}", opcode - 0x7f).into(),
        0x90..=0x9f => return format!("SWAP{}", opcode - 0x8f).into(),
        0xa0..=0xa4 => return format!("LOG{}", opcode - 0xa0).into(),
        0xa8 => "DUPN",
        0xa9 => "SWAPN",
        0xaa => "TXINDEX",
        0xf0 => "CREATE",
        0xf1 => "CALL",
        0xf2 => "CALLCODE",
        0xf3 => "RETURN",
        0xf4 => "DELEGATECALL",
        0xf5 => "CREATE2",
        0xfa => "STATICCALL",
        0xfc => "HEADER",
        0xfd => "REVERT",
        0xff => "SUICIDE",
        _ => return Value::Null,
    };
    name.into()
}
