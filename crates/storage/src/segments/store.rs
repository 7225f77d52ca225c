//! A segment as the store of a trie.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{StoreError, StoreStats, TrieStore};

use super::segment::Segment;

/// How many misses are remembered by name.
const NAMED: usize = 64;

/// A [`TrieStore`] that reads from one segment and takes no writes.
///
/// A trie asks only for nodes that other nodes name, so whatever is not found here should have been: it is a miss.
#[derive(Debug)]
pub struct SegmentStore {
    segment: Arc<Segment>,
    reads: AtomicU64,
    bytes_read: AtomicU64,
    misses: AtomicU64,
    missed: Mutex<Vec<B256>>,
}

/// Nodes that were asked for and that the segment does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentMisses {
    /// How many reads missed.
    pub count: u64,
    /// The first missing nodes, in the order of asking.
    pub first: Vec<B256>,
}

impl SegmentStore {
    /// A store over an open segment.
    pub fn new(segment: Arc<Segment>) -> Self {
        Self {
            segment,
            reads: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            missed: Mutex::default(),
        }
    }

    /// The segment.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// What was asked for and is not there.
    pub fn misses(&self) -> SegmentMisses {
        SegmentMisses { count: self.misses.load(Ordering::Relaxed), first: self.missed.lock().clone() }
    }

    fn miss(&self, hash: &B256) {
        self.misses.fetch_add(1, Ordering::Relaxed);
        let mut missed = self.missed.lock();
        if missed.len() < NAMED {
            missed.push(*hash);
        }
    }
}

impl TrieStore for SegmentStore {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let found = self.segment.get(hash).map_err(|error| StoreError::new("get", error))?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        match &found {
            Some(record) => {
                self.bytes_read.fetch_add(record.len() as u64, Ordering::Relaxed);
            }
            None => self.miss(hash),
        }
        Ok(found)
    }

    /// Asks the index alone where it can: no node is read for an answer of no.
    fn contains(&self, hash: &B256) -> Result<bool, StoreError> {
        let fault = |error| StoreError::new("contains", error);
        Ok(self.segment.may_have(hash).map_err(fault)? && self.segment.get(hash).map_err(fault)?.is_some())
    }

    /// Always an error: a segment never changes.
    fn put_batch(&self, _: &[(B256, Bytes)]) -> Result<(), StoreError> {
        Err(StoreError::new("put_batch", format!("{}: a segment takes no writes", self.segment.path().display())))
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn stats(&self) -> StoreStats {
        let mut stats = StoreStats::default();
        stats.reads = self.reads.load(Ordering::Relaxed);
        stats.hits = stats.reads.saturating_sub(self.misses.load(Ordering::Relaxed));
        stats.bytes_read = self.bytes_read.load(Ordering::Relaxed);
        stats
    }
}
