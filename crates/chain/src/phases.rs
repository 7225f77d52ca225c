//! Where the time of an import goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rhizome_executor::precompiles::Stopwatch;

/// The phases of a block's life (design §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// RLP to block, hashes.
    Decode,
    /// Senders from signatures.
    Recover,
    /// Header and body rules.
    Validate,
    /// Transactions.
    Execute,
    /// Change set to trie, roots compared.
    Commit,
    /// Nodes and block data to disk.
    Persist,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 6] =
        [Self::Decode, Self::Recover, Self::Validate, Self::Execute, Self::Commit, Self::Persist];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Recover => "recover",
            Self::Validate => "validate",
            Self::Execute => "execute",
            Self::Commit => "commit",
            Self::Persist => "persist",
        }
    }
}

/// Time spent in each phase, summed over threads: phases overlap, so the sum may exceed the time on the clock.
#[derive(Debug, Default)]
pub struct PhaseTimers {
    nanos: [AtomicU64; Phase::ALL.len()],
    bridge: AtomicU64,
}

impl PhaseTimers {
    /// Runs a piece of work on a phase's account.
    pub fn time<T>(&self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(phase, start.elapsed());
        result
    }

    /// Adds time to a phase.
    pub fn add(&self, phase: Phase, spent: Duration) {
        self.nanos[phase as usize].fetch_add(nanos(spent), Ordering::Relaxed);
    }

    /// Time spent in a phase so far.
    pub fn get(&self, phase: Phase) -> Duration {
        Duration::from_nanos(self.nanos[phase as usize].load(Ordering::Relaxed))
    }

    /// The Bridge's part of [`Phase::Execute`] so far: calls of it, and REMASC's questions to it.
    pub fn bridge(&self) -> Duration {
        Duration::from_nanos(self.bridge.load(Ordering::Relaxed))
    }
}

fn nanos(spent: Duration) -> u64 {
    u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX)
}

/// The clock that execution does not have.
#[derive(Debug)]
pub(crate) struct ContractClock {
    start: Instant,
    phases: Arc<PhaseTimers>,
}

impl ContractClock {
    pub(crate) fn new(phases: Arc<PhaseTimers>) -> Self {
        Self { start: Instant::now(), phases }
    }
}

impl Stopwatch for ContractClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn bridge(&self, spent: Duration) {
        self.phases.bridge.fetch_add(nanos(spent), Ordering::Relaxed);
    }
}
