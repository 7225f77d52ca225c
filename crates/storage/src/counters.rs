//! Counters of a trie engine.

use std::sync::atomic::{AtomicU64, Ordering};

use rhizome_trie::StoreStats;
use thread_local::ThreadLocal;

/// What an engine has done since it was opened. Every engine counts in the same way.
///
/// Reads are counted by thread: a counter that all threads add to would put a full barrier into every read, and neighbouring
/// reads could no longer wait for memory at the same time.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    reads: ThreadLocal<Reads>,
    records_written: AtomicU64,
    bytes_written: AtomicU64,
    flushes: AtomicU64,
}

/// The reads of one thread, which alone adds to them. A cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Reads {
    reads: AtomicU64,
    hits: AtomicU64,
    bytes: AtomicU64,
}

/// Adds to a counter that no other thread adds to.
#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

impl Counters {
    /// A record was asked for; this was there.
    #[inline]
    pub(crate) fn read(&self, found: Option<&[u8]>) {
        let own = self.reads.get_or_default();
        add(&own.reads, 1);
        if let Some(node) = found {
            add(&own.hits, 1);
            add(&own.bytes, node.len() as u64);
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
        for own in &self.reads {
            stats.reads += own.reads.load(Ordering::Relaxed);
            stats.hits += own.hits.load(Ordering::Relaxed);
            stats.bytes_read += own.bytes.load(Ordering::Relaxed);
        }
        stats.records_written = self.records_written.load(Ordering::Relaxed);
        stats.bytes_written = self.bytes_written.load(Ordering::Relaxed);
        stats.flushes = self.flushes.load(Ordering::Relaxed);
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_read_is_added_up() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        counters.read(Some(&[1, 2, 3]));
                        counters.read(None);
                    }
                });
            }
        });
        let stats = counters.stats();
        assert_eq!((stats.reads, stats.hits, stats.bytes_read), (800, 400, 1200));
    }
}
