//! When epochs are rotated and collected while blocks are imported.
//!
//! The thread that makes blocks durable calls [`Collector::after_write`] between two intervals: it rotates when the newest epoch
//! is full and starts a collection when there are too many. The collection runs on a thread of its own; the import never
//! waits for it.

use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;

use super::EpochStore;
use super::collect::GcPlan;
use super::options::{GcControl, GcOptions, GcReport};
use crate::blocks::BlockStore;
use crate::error::{Result, StorageError};

/// What a collector did since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcSummary {
    /// Epochs begun.
    pub rotations: u64,
    /// Epochs dropped.
    pub collections: u64,
    /// Why the last collection was declined, where one was.
    pub declined: Option<String>,
    /// The last collection.
    pub last: Option<GcReport>,
}

/// Keeps one store's epochs in number and size.
#[derive(Debug)]
pub struct Collector {
    epochs: Arc<EpochStore>,
    options: GcOptions,
    control: GcControl,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<JoinHandle<Result<GcReport>>>,
    summary: GcSummary,
    /// A collection was declined; it is tried again after the next rotation.
    declined: bool,
}

impl Collector {
    /// A collector of a store.
    ///
    /// # Errors
    /// When the options ask for fewer than three epochs or an empty one.
    pub fn new(epochs: Arc<EpochStore>, options: GcOptions, control: GcControl) -> Result<Self> {
        if options.epochs < GcOptions::MIN_EPOCHS {
            let what = format!("{} epochs are too few: one is written, one receives, one is swept", options.epochs);
            return Err(StorageError::Refused(what));
        }
        if options.epoch_size == 0 {
            return Err(StorageError::Refused("an epoch of no size is never written".into()));
        }
        Ok(Self { epochs, options, control: control.rate(options.rate), state: Mutex::default() })
    }

    /// The store.
    pub fn epochs(&self) -> &Arc<EpochStore> {
        &self.epochs
    }

    /// Rotates and starts a collection where it is time. `durable` are the blocks all of whose nodes are written, and which are
    /// the only ones whose nodes are; `all` are those that are known. To be called while nothing is written.
    ///
    /// # Errors
    /// When an engine fails. A collection that was declined is no error.
    pub fn after_write(&self, durable: &BlockStore, all: &BlockStore) -> Result<()> {
        let mut state = self.state.lock();
        if state.running.as_ref().is_some_and(JoinHandle::is_finished) {
            self.reap(&mut state)?;
        }
        let Some(head) = durable.head()? else { return Ok(()) };
        // While one epoch too many waits for its collection, the newest grows, so that their number stays bounded.
        if self.epochs.newest_bytes() >= self.options.epoch_size && self.epochs.count() <= self.options.epochs {
            let highest = durable.highest(head.number)?.unwrap_or(head.number);
            self.epochs.rotate(highest, &self.control)?;
            state.summary.rotations += 1;
            state.declined = false;
        }
        if state.running.is_some() || state.declined || self.epochs.count() <= self.options.epochs {
            return Ok(());
        }
        // Not before all that the oldest epoch has is buried: then one height's roots are enough.
        let buried = head.number.saturating_sub(self.options.depth);
        if self.epochs.oldest_sealed_at().is_none_or(|sealed_at| sealed_at > buried) {
            return Ok(());
        }
        let plan = match GcPlan::new(&self.epochs, durable, all, self.options.depth) {
            Ok(plan) => plan,
            // Not at this moment; after the next write perhaps.
            Err(StorageError::Refused(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let control = self.control.clone();
        let thread = std::thread::Builder::new().name("collect".into()).spawn(move || plan.collect(&control));
        state.running = Some(
            thread.map_err(|error| StorageError::Refused(format!("cannot start the collector's thread: {error}")))?,
        );
        Ok(())
    }

    /// Waits for the collection under way, and starts those that are due.
    ///
    /// # Errors
    /// When an engine fails.
    pub fn settle(&self, durable: &BlockStore, all: &BlockStore) -> Result<GcSummary> {
        loop {
            self.after_write(durable, all)?;
            let mut state = self.state.lock();
            if state.running.is_none() {
                return Ok(state.summary.clone());
            }
            self.reap(&mut state)?;
        }
    }

    /// What was done so far.
    pub fn summary(&self) -> GcSummary {
        self.state.lock().summary.clone()
    }

    /// Takes the result of the collection, which it waits for.
    fn reap(&self, state: &mut State) -> Result<()> {
        let Some(thread) = state.running.take() else { return Ok(()) };
        let ended = thread.join().unwrap_or_else(|_| Err(StorageError::corrupt("the collector's thread panicked")));
        match ended {
            Ok(report) => {
                tracing::info!(?report, "an epoch was dropped");
                state.summary.collections += 1;
                state.summary.last = Some(report);
            }
            // Nothing was dropped and nothing is lost; the next rotation tries again.
            Err(StorageError::Refused(reason)) => {
                tracing::warn!(%reason, "a collection was declined");
                state.summary.declined = Some(reason);
                state.declined = true;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(thread) = self.state.lock().running.take() {
            // Its result does not matter any more: it dropped an epoch whole or nothing.
            let _ = thread.join();
        }
    }
}
