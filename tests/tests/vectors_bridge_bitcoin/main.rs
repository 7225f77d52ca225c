//! The Bitcoin half of the Bridge against the reference: scripts, federations, releases, stored blocks, addresses and
//! constants of `bridge`, everything of `real_bridge`, and the checkpoints of the reference's own files.
#![allow(clippy::unwrap_used, missing_docs)]

use rhizome_bridge::constants::BridgeConstants;
use serde_json::Value;

mod cases;
mod checkpoints;
mod constants;
mod real;

/// The Bridge of a network's name in the vectors.
pub(crate) fn constants(network: &str) -> &'static BridgeConstants {
    match network {
        "main" | "mainnet" => BridgeConstants::mainnet(),
        "testnet" => BridgeConstants::testnet(),
        "regtest" => BridgeConstants::regtest(),
        other => panic!("no network {other}"),
    }
}

pub(crate) fn short(case: &Value) -> String {
    case.to_string().chars().take(300).collect()
}
