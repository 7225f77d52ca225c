//! The small key/value interface that block data is stored through.
//!
//! Everything above it (block store, rewind, invariants) is written once and runs on any engine. Invariants every engine keeps:
//! a batch is atomic and, when `write` returns, durable; `range` is in ascending byte order; a key that was never written or
//! was deleted is `None`, and a fault is an error, never `None`.

use std::fmt::Debug;

use rhizome_primitives::Bytes;

use crate::error::Result;

/// The tables of block data. `docs/formats/chain-store.md` has the byte form of every key and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Block hash to the header's full encoding.
    Headers,
    /// Block hash to transaction list and uncle list.
    Bodies,
    /// Block hash to the list of its receipts.
    Receipts,
    /// Block hash to number, state root and total difficulty.
    Records,
    /// Number and block hash of every block, siblings included.
    Heights,
    /// Number to the hash of the main chain's block.
    Canonical,
    /// Transaction hash and block hash to the position in the block.
    Transactions,
    /// Number of a group of blocks to the union of their log blooms.
    Blooms,
    /// Single values such as the head.
    Meta,
}

impl Column {
    /// Every column; the position in this list is the column's index.
    pub const ALL: [Self; 9] = [
        Self::Headers,
        Self::Bodies,
        Self::Receipts,
        Self::Records,
        Self::Heights,
        Self::Canonical,
        Self::Transactions,
        Self::Blooms,
        Self::Meta,
    ];

    /// The table's name on disk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Bodies => "bodies",
            Self::Receipts => "receipts",
            Self::Records => "records",
            Self::Heights => "heights",
            Self::Canonical => "canonical",
            Self::Transactions => "transactions",
            Self::Blooms => "blooms",
            Self::Meta => "meta",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// A key and its value.
pub type Entry = (Vec<u8>, Bytes);

/// Changes that become visible and durable together.
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    pub(crate) operations: Vec<(Column, Vec<u8>, Option<Bytes>)>,
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key.
    pub fn put(&mut self, column: Column, key: impl Into<Vec<u8>>, value: impl Into<Bytes>) {
        self.operations.push((column, key.into(), Some(value.into())));
    }

    /// Removes a key; an absent one is no error.
    pub fn delete(&mut self, column: Column, key: impl Into<Vec<u8>>) {
        self.operations.push((column, key.into(), None));
    }

    /// Whether it holds no change.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// How many changes it holds.
    pub fn len(&self) -> usize {
        self.operations.len()
    }
}

/// An ordered key/value engine with one table per [`Column`].
pub trait KvStore: Send + Sync + Debug {
    /// The value of a key.
    ///
    /// # Errors
    /// When the engine fails.
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Bytes>>;

    /// The first `limit` entries with `from <= key < to`, ascending; `to` `None` is the table's end.
    ///
    /// # Errors
    /// When the engine fails.
    fn range(&self, column: Column, from: &[u8], to: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>>;

    /// Applies a batch atomically; it is durable when this returns. A later operation of the batch wins over an earlier one.
    ///
    /// # Errors
    /// When the engine fails; the batch is then not applied, or its durability is unknown.
    fn write(&self, batch: WriteBatch) -> Result<()>;
}
