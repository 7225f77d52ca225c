//! The little of Bitcoin that merged mining needs: block headers, coinbase hashes resumed from a midstate, merkle proofs.
//!
//! Hashes are in the order in which SHA-256 gives them; displayed Bitcoin hashes are reversed.

pub mod coinbase;
pub mod hash;
pub mod header;
pub mod merkle;

pub use hash::BtcHash;
pub use header::BtcHeader;
