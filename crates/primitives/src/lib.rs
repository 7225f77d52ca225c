//! Chain types of Rootstock and their byte forms.
//!
//! Two facts shape this crate. Decoding is as lax as rskj's ([`rlp`]): what the network accepts must be accepted here. And
//! hashes are always taken over a *re-encoding* of the parsed fields, never over the received bytes, so every type keeps what
//! its re-encoding needs and nothing else. Decoded headers and transactions are immutable and cache their hash.
//!
//! No I/O, no state, no rules: which rule is active comes in as a [`header::HeaderLayout`], and whether a decoded thing is
//! valid is the business of the crates above.

pub use alloy_primitives::map;
pub use alloy_primitives::{
    Address, B256, Bloom, Bytes, FixedBytes, I256, Keccak256, U256, address, b256, bytes, fixed_bytes, hex, keccak256,
    uint,
};

/// The curve library, in the one version that the whole program links.
pub use secp256k1;

pub mod account;
pub mod block;
pub mod bloom;
pub mod coin;
pub mod error;
pub mod gas;
pub mod header;
pub mod provider;
pub mod receipt;
pub mod rlp;
pub mod signature;
pub mod transaction;

pub use account::AccountState;
pub use block::{Block, RecoveredBlock, Sender};
pub use coin::{Coin, Difficulty, SignedCoin};
pub use error::DecodeError;
pub use header::{BlockHeader, HeaderFields, HeaderLayout, HeaderRules, MiningFields};
pub use provider::{AncestorProvider, ProviderError};
pub use receipt::{Log, Receipt};
pub use transaction::{Transaction, TransactionFields};

/// Keccak-256 of the RLP empty string: the root of an empty trie in both trie formats (`Trie.makeEmptyHash`).
pub const EMPTY_TRIE_HASH: B256 = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// Keccak-256 of nothing.
pub const KECCAK_EMPTY: B256 = b256!("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");

/// Keccak-256 of the RLP empty list: the uncles hash of a block without uncles.
pub const EMPTY_LIST_HASH: B256 = b256!("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");

/// The contract that distributes the miners' fees, receiver of the last transaction of each block.
pub const REMASC_ADDRESS: Address = address!("0000000000000000000000000000000001000008");

/// The two-way peg contract.
pub const BRIDGE_ADDRESS: Address = address!("0000000000000000000000000000000001000006");
