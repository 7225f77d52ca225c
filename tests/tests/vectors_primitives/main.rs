//! The byte forms and hashes of `rhizome-primitives` against the reference node's answers.

#![allow(clippy::unwrap_used, missing_docs)]

use rhizome_primitives::{B256, U256, hex};
use rhizome_tests::{Tally, bytes};
use serde_json::{Value, json};

mod accounts;
mod headers;
mod keys;
mod real;
mod receipts;
mod rlp;
mod transactions;

/// Collects what differs in one case.
#[derive(Default)]
pub(crate) struct Case {
    differences: Vec<String>,
}

impl Case {
    pub(crate) fn equal(&mut self, what: &str, got: impl Into<Value>, expected: &Value) {
        let got = got.into();
        if got != *expected {
            self.differences.push(format!("{what}: expected {expected}, got {got}"));
        }
    }

    /// Compares bytes where the reference shows null and empty apart, which no encoding does.
    pub(crate) fn bytes(&mut self, what: &str, got: &[u8], expected: &Value) {
        self.equal(what, hex::encode(got), &json!(expected.as_str().unwrap_or("")));
    }

    pub(crate) fn require(&mut self, what: &str, holds: bool) {
        if !holds {
            self.differences.push(what.to_owned());
        }
    }

    pub(crate) fn end(self, tally: &mut Tally, case: &Value) {
        let name = ["id", "test", "kind"].iter().find_map(|member| case[*member].as_str()).unwrap_or("case");
        let what = case["what"].as_str().unwrap_or("");
        tally.case(if self.differences.is_empty() {
            Ok(())
        } else {
            Err(format!("{name} {what}: {}", self.differences.join("; ")))
        });
    }
}

pub(crate) fn hash_of(value: &Value, member: &str) -> B256 {
    B256::from_slice(&bytes(value, member))
}

pub(crate) fn uint(text: &str) -> U256 {
    U256::from_str_radix(text, 10).unwrap()
}

pub(crate) fn was_refused(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('!'))
}
