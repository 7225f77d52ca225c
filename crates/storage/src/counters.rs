//! Counters of a trie engine.

use std::sync::atomic::{AtomicU64, Ordering};

use rhizome_trie::StoreStats;

/// What an engine has done since it was opened. Every engine counts in the same way.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    reads: AtomicU64,
    hits: AtomicU64,
    bytes_read: AtomicU64,
    records_written: AtomicU64,
    bytes_written: AtomicU64,
    flushes: AtomicU64,
}

impl Counters {
    /// A record was asked for; this was there.
    pub(crate) fn read(&self, found: Option<&[u8]>) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(node) = found {
            self.hits.fetch_add(1, Ordering::Relaxed);
            self.bytes_read.fetch_add(node.len() as u64, Ordering::Relaxed);
        }
    }

    /// A batch was written.
    pub(crate) fn written(&self, records: usize, bytes: usize) {
        self.records_written.fetch_add(records as u64, Ordering::Relaxed);
        self.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Everything was made durable.
    pub(crate) fn flushed(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters now.
    pub(crate) fn stats(&self) -> StoreStats {
        let mut stats = StoreStats::default();
        stats.reads = self.reads.load(Ordering::Relaxed);
        stats.hits = self.hits.load(Ordering::Relaxed);
        stats.bytes_read = self.bytes_read.load(Ordering::Relaxed);
        stats.records_written = self.records_written.load(Ordering::Relaxed);
        stats.bytes_written = self.bytes_written.load(Ordering::Relaxed);
        stats.flushes = self.flushes.load(Ordering::Relaxed);
        stats
    }
}
