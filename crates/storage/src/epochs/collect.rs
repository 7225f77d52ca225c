//! Dropping the oldest epochs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rhizome_primitives::B256;

use super::options::{GcControl, GcOptions, GcReport, GcStep};
use super::walk::{Walk, Walked};
use super::{Epoch, EpochStore, Epochs};
use crate::blocks::BlockStore;
use crate::datadir::Datadir;
use crate::error::{Result, StorageError};

/// How long a collection waits for readers of the dropped epoch before it leaves its directory to the next opening.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of copies that are written together.
const DRAIN_BYTES: usize = 1 << 20;

/// A collection that may begin: what it keeps is decided, and no state below that can be built on any more. One at a time
/// exists for a store.
#[derive(Debug)]
#[must_use = "while it lives, old states cannot be used"]
pub struct GcPlan {
    store: Arc<EpochStore>,
    keep_from: u64,
    roots: Vec<B256>,
    /// How many of the oldest epochs go: one walk is enough for all that are buried, but for the one that receives.
    sweeps: usize,
    dropped: bool,
}

impl GcPlan {
    /// Plans to keep the states of the last `depth` blocks of a chain, on every branch, and what is pinned.
    ///
    /// All epochs without nodes of higher blocks are swept, but for the newest two, and one in any case. A branch above the lowest
    /// kept height passes through it, so the states of all blocks of that height are walked; and, where the oldest epoch has
    /// nodes of higher blocks, the states of these too. `durable` are the blocks whose nodes are
    /// in the epochs, `all` those that are known.
    ///
    /// # Errors
    /// [`StorageError::Refused`] when nothing is old enough, a block of the lowest kept height is still on its way to the
    /// disk, or another plan lives; others when an engine fails.
    pub fn new(store: &Arc<EpochStore>, durable: &BlockStore, all: &BlockStore, depth: u64) -> Result<Self> {
        let refused = |what: String| Err(StorageError::Refused(what));
        let Some(head) = durable.head()? else { return refused("the directory holds no chain".into()) };
        let keep_from = head.number.saturating_sub(depth);
        if keep_from == 0 {
            let what =
                format!("nothing is {depth} blocks below the head, block {}, so every state is kept", head.number);
            return refused(what);
        }
        if store.collecting.swap(true, Ordering::AcqRel) {
            return refused("a collection is under way".into());
        }
        // From here on no block is imported on a parent below. The plan ends that again when it is dropped.
        let roots = store.pins.begin(keep_from);
        let sweeps = store.buried(keep_from).min(store.count().saturating_sub(2)).max(1);
        let mut plan = Self { store: Arc::clone(store), keep_from, roots, sweeps, dropped: false };
        let lowest = durable.at_height(keep_from)?;
        if store.pins.has(keep_from - 1) || all.at_height(keep_from)?.len() != lowest.len() {
            return refused(format!("blocks of height {keep_from} are still imported"));
        }
        plan.roots.extend(lowest.iter().map(|block| block.record.state_root));
        let swept_until = store.oldest_sealed_at().unwrap_or(u64::MAX);
        for number in keep_from + 1..=swept_until.min(durable.highest(head.number)?.unwrap_or(head.number)) {
            plan.roots.extend(durable.at_height(number)?.iter().map(|block| block.record.state_root));
        }
        plan.roots.dedup();
        Ok(plan)
    }

    /// States of blocks from this height on are kept.
    pub fn keep_from(&self) -> u64 {
        self.keep_from
    }

    /// What the collection would find, without changing anything.
    ///
    /// # Errors
    /// When a kept state is not whole or an engine fails.
    pub fn dry_run(self, control: &GcControl) -> Result<GcReport> {
        let (epochs, start) = (self.store.epochs.load_full(), Instant::now());
        let walked = Walk::new(&epochs, self.sweeps, None, control).run(&self.roots, |_| Ok(()))?;
        let before = self.store.bytes();
        let oldest: u64 = epochs.iter().rev().take(self.sweeps).map(|oldest| Datadir::bytes_below(&oldest.path)).sum();
        let mut report = self.report(&epochs, walked, start);
        report.dry_run = true;
        (report.bytes_before, report.bytes_after) = (before, before.saturating_sub(oldest) + walked.copied_bytes);
        Ok(report)
    }

    /// Drops the oldest epochs after copying what is kept of them.
    ///
    /// # Errors
    /// [`StorageError::Refused`] when a kept state is not whole, there are too few epochs, or the control stopped it; other
    /// errors when an engine fails. The epochs are as before then.
    pub fn collect(mut self, control: &GcControl) -> Result<GcReport> {
        let count = self.store.count();
        if count < GcOptions::MIN_EPOCHS {
            let what = format!("there are {count} epochs; a collection needs {}", GcOptions::MIN_EPOCHS);
            return Err(StorageError::Refused(what));
        }
        let (start, before) = (Instant::now(), self.store.bytes());
        let epochs = self.store.epochs.load_full();
        let walked = self.drain(&epochs, control)?;
        let mut report = self.report(&epochs, walked, start);
        self.drop_oldest(epochs, control)?;
        (report.bytes_before, report.bytes_after, report.took) = (before, self.store.bytes(), start.elapsed());
        Ok(report)
    }

    /// Walks, and copies what only the oldest epochs have into the next one.
    fn drain(&self, epochs: &Epochs, control: &GcControl) -> Result<Walked> {
        // Rotations since the plan was made only put epochs in front; the newest is never the receiver.
        let receiver = epochs.len() - 1 - self.sweeps;
        let target = &epochs[receiver].engine;
        control.step(GcStep::Marking);
        let received_from = target.next_place().map(|place| (receiver, place));
        let (mut batch, mut bytes, mut copied) = (Vec::new(), 0, 0);
        let mut hand_over = |batch: &mut Vec<_>| -> Result<()> {
            target.put_batch(batch)?;
            copied += batch.len() as u64;
            batch.clear();
            control.step(GcStep::Drained(copied));
            Ok(())
        };
        let walked = Walk::new(epochs, self.sweeps, received_from, control).run(&self.roots, |piece| {
            bytes += piece.iter().map(|(_, record)| record.len()).sum::<usize>();
            batch.extend_from_slice(piece);
            if bytes < DRAIN_BYTES {
                return Ok(());
            }
            bytes = 0;
            hand_over(&mut batch)
        })?;
        hand_over(&mut batch)?;
        // What the walk found in the epoch that is written counts as kept only when it is durable there.
        for epoch in epochs.iter().take(receiver) {
            epoch.engine.flush()?;
        }
        target.seal()?;
        control.step(GcStep::Sealed);
        Ok(walked)
    }

    /// Takes the oldest epochs out of the list, then out of the readers' sight, then off the disk.
    fn drop_oldest(&mut self, epochs: Arc<Epochs>, control: &GcControl) -> Result<()> {
        let store = &self.store;
        let swept = {
            let mut manifest = store.manifest.lock();
            let mut next = manifest.clone();
            next.epochs.truncate(next.epochs.len() - self.sweeps);
            next.complete_from = next.complete_from.max(self.keep_from);
            next.write(&store.path)?;
            *manifest = next;
            self.dropped = true;
            control.step(GcStep::Unlisted);
            // Rotations may have put new epochs in front since the walk began.
            let mut now = Epochs::clone(&store.epochs.load());
            let swept = now.split_off(now.len() - self.sweeps);
            store.epochs.store(Arc::new(now));
            swept
        };
        drop(epochs);
        for epoch in swept {
            let path = epoch.path.clone();
            // What stays behind is not listed and goes with the next opening.
            if !close(epoch) {
                tracing::warn!(path = %path.display(), "a dropped epoch is still read; its files stay until the next start");
            } else if let Err(error) = std::fs::remove_dir_all(&path) {
                tracing::warn!(path = %path.display(), %error, "a dropped epoch's files stay until the next start");
            }
        }
        control.step(GcStep::Dropped);
        Ok(())
    }

    fn report(&self, epochs: &Epochs, walked: Walked, start: Instant) -> GcReport {
        GcReport {
            keep_from: self.keep_from,
            roots: self.roots.len() as u64,
            swept: epochs.last().map_or(0, |oldest| oldest.number),
            swept_epochs: self.sweeps as u64,
            walked: start.elapsed(),
            took: start.elapsed(),
            ..GcReport::from(walked)
        }
    }
}

impl Drop for GcPlan {
    fn drop(&mut self) {
        self.store.pins.end(self.dropped);
        self.store.collecting.store(false, Ordering::Release);
    }
}

impl EpochStore {
    /// The highest block whose nodes the oldest epoch can have; none while that is the epoch that is written.
    pub fn oldest_sealed_at(&self) -> Option<u64> {
        self.epochs.load().last().and_then(|oldest| oldest.sealed_at)
    }

    /// How many of the oldest epochs have no nodes of blocks above a height.
    fn buried(&self, height: u64) -> usize {
        let is_buried = |epoch: &&Arc<Epoch>| epoch.sealed_at.is_some_and(|sealed_at| sealed_at <= height);
        self.epochs.load().iter().rev().take_while(is_buried).count()
    }

    /// How many epochs there are.
    pub fn count(&self) -> usize {
        self.epochs.load().len()
    }

    /// Bytes of the directory's files.
    pub fn bytes(&self) -> u64 {
        Datadir::bytes_below(&self.path)
    }
}

/// Walks states as a collection does, many reads in flight, and reports the records and bytes that they reach. Proves that
/// the states are whole.
///
/// # Errors
/// When one is not, or an engine fails.
pub fn walk_state(store: &EpochStore, roots: &[B256], control: &GcControl) -> Result<GcReport> {
    let (epochs, start) = (store.epochs.load_full(), Instant::now());
    let walked = Walk::new(&epochs, 1, None, control).run(roots, |_| Ok(()))?;
    Ok(GcReport { roots: roots.len() as u64, walked: start.elapsed(), took: start.elapsed(), ..GcReport::from(walked) })
}

/// Waits until no read uses the epoch any more and closes it; tells whether that came about.
fn close(epoch: Arc<Epoch>) -> bool {
    let start = Instant::now();
    // Reads hold the list that they loaded for as long as one look-up takes.
    while Arc::strong_count(&epoch) > 1 || Arc::strong_count(&epoch.engine) > 1 {
        if start.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(epoch);
    true
}
