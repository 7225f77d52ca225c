//! Where a chain is kept: trie nodes, blocks, receipts, indexes, and the directory that holds them.
//!
//! Bird's eye view. Block data ([`BlockStore`]) are written once over a small key/value interface ([`KvStore`]) with a RocksDB
//! and a memory engine; trie nodes go to an engine behind [`rhizome_trie::TrieStore`]. [`Stores`] joins the two and owns the
//! order in which they become durable: nodes, then block data with the head pointer last. New writes are visible at once and
//! wait in memory ([`PendingNodes`], [`PendingKv`]) until a [`Writer`] makes them durable in that order. [`Opened::open`] takes a
//! [`Datadir`]'s lock, refuses what is not this chain's, and repairs what a lost disk write broke.
//!
//! Deliberately not here: decoding, validation and execution of blocks. Feature `rocksdb` (default) links RocksDB; types of
//! that library do not appear in this crate's interface.

mod blocks;
mod convert;
mod counters;
mod datadir;
mod engine;
mod epochs;
mod error;
mod flat;
mod invariants;
mod kv;
mod machine;
mod memory;
mod open;
mod pending;
mod record;
mod rewind;
#[cfg(feature = "rocksdb")]
mod rocks;
mod segments;
mod stores;
mod writer;

pub use blocks::{BLOOM_GROUP, BlockStore, ExecutedBlock, HeightEntry, TransactionPlace};
pub use convert::{Conversion, convert};
pub use datadir::{
    ChainDefinition, Datadir, DatadirError, FORMAT_FILE, FORMAT_VERSION, Format, LOCK_FILE, RulesChange, TrieEngine,
};
pub use engine::{EngineOptions, NodeEngine, Place, VerifyPolicy, Visit};
pub use epochs::{
    Collector, EpochInfo, EpochStore, GcControl, GcOptions, GcPlan, GcReport, GcStep, GcSummary, Pin, walk_state,
};
pub use error::{Result, StorageError};
pub use flat::{FlatTrieStore, Keccak};
pub use invariants::StartState;
pub use kv::{Column, Entry, KvStore, WriteBatch};
pub use machine::usable_memory;
pub use memory::MemoryKv;
pub use open::{GcSettings, OpenOptions, Opened, RulesRewind};
pub use pending::{PendingKv, PendingNodes};
pub use record::BlockRecord;
#[cfg(feature = "rocksdb")]
pub use rocks::{RocksCache, RocksKv, RocksMemory, RocksTrieStore};
pub use segments::{
    Footprint, RecordingStore, Segment, SegmentHeader, SegmentInfo, SegmentMisses, SegmentRange, SegmentSet,
    SegmentStore, SegmentSummary, write_segment,
};
pub use stores::{Sealed, Stores};
pub use writer::Writer;
