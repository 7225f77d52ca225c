//! Account values of the state trie.

use rhizome_primitives::{AccountState, DecodeError};
use rhizome_tests::{Tally, bytes, text, vectors};
use serde_json::Value;

use crate::{Case, uint};

fn signed(account: &AccountState) -> String {
    format!("{}{}", if account.negative { "-" } else { "" }, account.balance)
}

#[test]
fn vectors_keys_account_values() {
    let Some(lines) = vectors("keys") else { return };
    let mut tally = Tally::new("keys (accountState, accountDecode)");
    let compare = |case: &mut Case, account: AccountState, line: &Value, [nonce, balance, flags]: [&str; 3]| {
        case.equal("nonce", account.nonce.to_string(), &line[nonce]);
        case.equal("balance", signed(&account), &line[balance]);
        case.equal("flags", account.flags as i32, &line[flags]);
    };
    for line in lines {
        let mut case = Case::default();
        let decoded = || AccountState::decode(&bytes(&line, "enc"));
        match text(&line, "kind") {
            "accountState" => {
                let account = AccountState {
                    nonce: uint(text(&line, "nonce")),
                    balance: uint(text(&line, "balance").trim_start_matches('-')),
                    negative: text(&line, "balance").starts_with('-'),
                    flags: line["flags"].as_i64().unwrap() as u32,
                };
                case.bytes("enc", &account.encode(), &line["enc"]);
                compare(&mut case, decoded().unwrap(), &line, ["decNonce", "decBalance", "decFlags"]);
            }
            "accountDecode" => match decoded() {
                Ok(account) => compare(&mut case, account, &line, ["nonce", "balance", "flags"]),
                // The reference keeps a null balance, on which every use fails.
                Err(DecodeError::Empty { field: "balance" }) => {
                    case.require("balance", line.get("error").is_none() && line["balance"].is_null());
                }
                Err(error) => case.require(&format!("refused: {error}"), line.get("error").is_some()),
            },
            _ => continue,
        }
        case.end(&mut tally, &line);
    }
    tally.finish();
}
