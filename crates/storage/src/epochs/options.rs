//! What the operator chooses of the collector, and what it reports.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// When epochs are rotated and collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcOptions {
    /// How many epochs there may be; at least three: one is written, one receives, one or more are swept. One above that number
    /// starts a collection, which sweeps all but the newest two, as far as they are buried.
    pub epochs: usize,
    /// Bytes of nodes after which a new epoch is begun.
    pub epoch_size: u64,
    /// How many blocks below the head keep their states. No reorganisation goes deeper than this.
    pub depth: u64,
    /// Bytes of nodes that a collection beside the import looks at in a second, so that it takes a part of one core only; zero
    /// is no limit.
    pub rate: u64,
}

impl GcOptions {
    /// The least number of epochs.
    pub const MIN_EPOCHS: usize = 3;
}

impl Default for GcOptions {
    /// Three epochs of 1 GiB, 10,000 blocks (about three days), 32 MiB a second.
    fn default() -> Self {
        Self { epochs: 3, epoch_size: 1 << 30, depth: 10_000, rate: 32 << 20 }
    }
}

/// A point of a rotation or collection, for whoever watches or, in tests, stops the process there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GcStep {
    /// The full epoch is durable; the list does not name the new one yet.
    RotationSealed,
    /// The list names the new epoch, which has no files yet.
    RotationListed,
    /// The new epoch is written.
    Rotated,
    /// A walk begins.
    Marking,
    /// So many survivors were copied.
    Drained(u64),
    /// All survivors are durable in the receiving epoch.
    Sealed,
    /// The list does not name the swept epochs any more, whose files are still there.
    Unlisted,
    /// Their files are gone.
    Dropped,
}

impl fmt::Display for GcStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RotationSealed => f.write_str("rotation-sealed"),
            Self::RotationListed => f.write_str("rotation-listed"),
            Self::Rotated => f.write_str("rotated"),
            Self::Marking => f.write_str("marking"),
            Self::Drained(survivors) => write!(f, "drained {survivors}"),
            Self::Sealed => f.write_str("sealed"),
            Self::Unlisted => f.write_str("unlisted"),
            Self::Dropped => f.write_str("dropped"),
        }
    }
}

type Watcher = Arc<dyn Fn(GcStep) + Send + Sync>;

/// How a collection runs: watched, paced, and stopped.
#[derive(Clone, Default)]
pub struct GcControl {
    stop: Arc<AtomicBool>,
    watcher: Option<Watcher>,
    rate: u64,
}

impl fmt::Debug for GcControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcControl").field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl GcControl {
    /// A collection at full speed that nobody watches.
    pub fn new() -> Self {
        Self::default()
    }

    /// At most so many bytes of nodes a second; zero is no limit.
    #[must_use]
    pub fn rate(mut self, bytes: u64) -> Self {
        self.rate = bytes;
        self
    }

    /// Calls a function at every step.
    #[must_use]
    pub fn watch(mut self, watcher: impl Fn(GcStep) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Asks the collection to end soon, without having dropped anything.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn step(&self, step: GcStep) {
        if let Some(watcher) = &self.watcher {
            watcher(step);
        }
    }

    pub(crate) fn pace(&self) -> Pace {
        Pace { rate: self.rate, start: Instant::now(), spent: Mutex::new(0) }
    }
}

/// Holds a walk to its rate.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: u64,
    start: Instant,
    spent: Mutex<u64>,
}

impl Pace {
    /// Accounts bytes, and sleeps when they came too fast.
    pub(crate) fn spend(&self, bytes: u64) {
        if self.rate == 0 {
            return;
        }
        let due = {
            let mut spent = self.spent.lock();
            *spent += bytes;
            Duration::from_micros(spent.saturating_mul(1_000_000) / self.rate)
        };
        // Short sleeps at a time, so that a stop is heard.
        if let Some(early) = due.checked_sub(self.start.elapsed()) {
            std::thread::sleep(early.min(Duration::from_millis(50)));
        }
    }
}

/// One epoch in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochInfo {
    /// Its number.
    pub number: u64,
    /// The highest block whose nodes it can have; none for the epoch that is written.
    pub sealed_at: Option<u64>,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its records, where the engine knows.
    pub records: Option<u64>,
}

/// What a collection, or its dry run, found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// The states of blocks from here on are kept.
    pub keep_from: u64,
    /// Roots that were walked from, pins included.
    pub roots: u64,
    /// The oldest epoch that was swept.
    pub swept: u64,
    /// How many were.
    pub swept_epochs: u64,
    /// Nodes and long values of the kept states.
    pub live_records: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Those that only swept epochs had.
    pub copied_records: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Bytes of the directory's files before.
    pub bytes_before: u64,
    /// Bytes of the directory's files afterwards; for a dry run what they would be.
    pub bytes_after: u64,
    /// Time of the walk.
    pub walked: Duration,
    /// Time of the whole collection.
    pub took: Duration,
}
