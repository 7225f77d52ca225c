//! Where nodes and long values are kept: one key space of 32-byte hashes, written in batches.
//!
//! An engine knows nothing of tries. It may hold more than what is reachable, never less.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::{B256, Bytes};
use parking_lot::RwLock;

/// A failure of the store: the node has to stop, it says nothing about any block.
#[derive(Debug, Clone, thiserror::Error)]
#[error("trie store: {operation}: {source}")]
pub struct StoreError {
    operation: String,
    source: Arc<dyn std::error::Error + Send + Sync>,
}

impl StoreError {
    /// A failure of the named operation.
    pub fn new(operation: impl Into<String>, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { operation: operation.into(), source: Arc::from(source.into()) }
    }

    /// What the store was doing.
    pub fn operation(&self) -> &str {
        &self.operation
    }
}

/// Counters since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Records asked for.
    pub reads: u64,
    /// Records asked for and present.
    pub hits: u64,
    /// Bytes of the records returned.
    pub bytes_read: u64,
    /// Records written, repeated ones included.
    pub records_written: u64,
    /// Bytes of the values written, without keys.
    pub bytes_written: u64,
    /// Calls that made writes durable.
    pub flushes: u64,
}

/// A store of trie nodes and long values by hash.
///
/// Reads must see every batch whose `put_batch` returned, also before it is durable.
pub trait TrieStore: Send + Sync + Debug {
    /// The record under a hash; `None` when there is none.
    ///
    /// # Errors
    /// When the engine fails.
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError>;

    /// The records under several hashes, in their order. Engines overlap the reads where they can.
    ///
    /// # Errors
    /// When the engine fails.
    fn get_many(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        hashes.iter().map(|hash| self.get(hash)).collect()
    }

    /// Whether there is a record under a hash that may never have been written. A plain read is for hashes that other nodes
    /// name; an engine may answer those with less proof.
    ///
    /// # Errors
    /// When the engine fails.
    fn contains(&self, hash: &B256) -> Result<bool, StoreError> {
        Ok(self.get(hash)?.is_some())
    }

    /// Writes a batch, whole or not at all. A hash that is already there is written again or skipped, as the engine likes.
    ///
    /// # Errors
    /// When the engine fails; nothing of the batch counts as written then.
    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError>;

    /// Makes every batch written so far durable.
    ///
    /// # Errors
    /// When the engine fails.
    fn flush(&self) -> Result<(), StoreError>;

    /// Counters since the store was opened.
    fn stats(&self) -> StoreStats;
}

/// A store in memory, for tests and for what need not outlive the process.
#[derive(Default)]
pub struct MemoryTrieStore {
    records: RwLock<HashMap<B256, Bytes>>,
    reads: AtomicU64,
    hits: AtomicU64,
    bytes_read: AtomicU64,
    records_written: AtomicU64,
    bytes_written: AtomicU64,
    flushes: AtomicU64,
}

impl MemoryTrieStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many records the store holds.
    pub fn len(&self) -> usize {
        self.records.read().len()
    }

    /// Whether the store holds nothing.
    pub fn is_empty(&self) -> bool {
        self.records.read().is_empty()
    }

    /// Takes a record away: for tests of what a missing node does.
    pub fn remove(&self, hash: &B256) -> Option<Bytes> {
        self.records.write().remove(hash)
    }

    /// Every record, in no order.
    pub fn records(&self) -> Vec<(B256, Bytes)> {
        self.records.read().iter().map(|(hash, record)| (*hash, record.clone())).collect()
    }
}

impl Debug for MemoryTrieStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryTrieStore").field("records", &self.len()).finish()
    }
}

impl TrieStore for MemoryTrieStore {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let found = self.records.read().get(hash).cloned();
        self.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(record) = &found {
            self.hits.fetch_add(1, Ordering::Relaxed);
            self.bytes_read.fetch_add(record.len() as u64, Ordering::Relaxed);
        }
        Ok(found)
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        let bytes: usize = nodes.iter().map(|(_, record)| record.len()).sum();
        self.records.write().extend(nodes.iter().cloned());
        self.records_written.fetch_add(nodes.len() as u64, Ordering::Relaxed);
        self.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn stats(&self) -> StoreStats {
        StoreStats {
            reads: self.reads.load(Ordering::Relaxed),
            hits: self.hits.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            records_written: self.records_written.load(Ordering::Relaxed),
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            flushes: self.flushes.load(Ordering::Relaxed),
        }
    }
}

/// The store of a tree that lives only as long as its root is wanted.
#[derive(Debug)]
pub(crate) struct NoStore;

impl TrieStore for NoStore {
    fn get(&self, _: &B256) -> Result<Option<Bytes>, StoreError> {
        Ok(None)
    }

    fn put_batch(&self, _: &[(B256, Bytes)]) -> Result<(), StoreError> {
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn stats(&self) -> StoreStats {
        StoreStats::default()
    }
}
