//! The Bitcoin side of the Bridge, as rskj's library bitcoinj-thin understands it.
//!
//! Where the `bitcoin` crate's rules are the same (hash functions, opcodes, the curve) it is used. Parsing is written
//! here, because bitcoinj is laxer than Bitcoin's own code and that laxness is part of Rootstock's consensus: truncated
//! lengths, trailing bytes, loose DER, merkle trees of odd shape. Each module names the classes that it follows.
//!
//! Amounts are satoshi in an `i64`, as in bitcoinj's `Coin`: arithmetic that leaves the range is an error there, so
//! callers use checked operations.

pub mod address;
pub mod checkpoints;
pub mod coinbase;
mod der;
pub mod difficulty;
pub mod encode;
pub mod hash;
pub mod header;
#[cfg(test)]
mod hostile;
pub mod key;
pub(crate) mod lap;
pub mod merkle;
pub mod multisig;
pub mod params;
pub mod redeem;
pub mod release;
pub mod script;
pub mod sighash;
pub mod signature;
pub mod size;
pub mod transaction;
pub mod utxo;
pub mod wallet;

pub use address::{Address, AddressError};
pub use encode::DecodeError;
pub use hash::BtcHash;
pub use header::{BtcHeader, StoredBlock};
pub use key::BtcKey;
pub use merkle::{MerkleBranch, MerkleError, PartialMerkleTree};
pub use params::BtcNetwork;
pub use redeem::RedeemScript;
pub use script::{Script, ScriptBuilder, ScriptError};
pub use signature::EcdsaSignature;
pub use transaction::{BtcTransaction, TxInput, TxOutput, Witness};
pub use utxo::Utxo;

/// An amount in satoshi, negative values included (bitcoinj's `Coin`).
pub type Satoshi = i64;
