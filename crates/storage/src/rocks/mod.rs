//! RocksDB behind the crate's two storage traits.
//!
//! Invariant: no type of the `rocksdb` crate leaves this module.

mod kv;
mod options;
mod trie;

pub use kv::RocksKv;
pub use options::{RocksCache, RocksMemory};
pub use trie::RocksTrieStore;
