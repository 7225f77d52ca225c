//! Writes: batches, growth of the index, checkpoints.

use std::sync::atomic::Ordering;

use crate::FlatDb;
use crate::checkpoint::{self, Checkpoint, IndexMark};
use crate::digest::{Digest, Key};
use crate::error::{Error, Result};
use crate::heap::{self, Heap};
use crate::index::{self, Index, Tally};
use crate::open;
use crate::resize;
use crate::slots;

/// How many look-ups are in flight in the processor while a batch is compared with what is there.
const IN_FLIGHT: usize = 32;

/// A record and its key.
type Entry<'r> = (&'r Key, &'r [u8]);

impl<D: Digest> FlatDb<D> {
    /// Writes records under their keys; what is there already is not written again. `key` must be the digest of `record`.
    /// The batch can be read when this returns, and becomes durable with the next [`FlatDb::flush`].
    ///
    /// # Errors
    /// When the disk refuses: the handle is then poisoned. A record of a length that cannot be stored refuses the batch before
    /// anything is written.
    pub fn put_batch<'r>(&self, records: impl IntoIterator<Item = Entry<'r>>) -> Result<()> {
        if self.read_only.is_some() {
            return Err(Error::ReadOnly);
        }
        let mut batch: Vec<Entry<'r>> = records.into_iter().collect();
        if let Some((_, record)) = batch.iter().find(|(_, record)| record.len() > heap::MAX_RECORD) {
            return Err(Error::RecordLength { limit: heap::MAX_RECORD, got: record.len() });
        }
        let given = batch.len();
        drop_repeated(&mut batch);
        loop {
            let inside = self.gate.enter().map_err(|_| Error::Poisoned)?;
            let index = self.index();
            self.drop_known(index, &mut batch)?;
            let more = batch.len() as u64;
            if batch.is_empty() {
                // Needs no place, so a compacted table need not grow for it.
                self.duplicates.fetch_add(given as u64, Ordering::Relaxed);
                return Ok(());
            }
            if index.reserve(more) {
                let result = self.append(index, &batch);
                index.settle(more, *result.as_ref().unwrap_or(&0));
                if result.is_err() {
                    self.gate.poison();
                }
                let written = result?;
                self.written.fetch_add(written, Ordering::Relaxed);
                self.duplicates.fetch_add(given as u64 - written, Ordering::Relaxed);
                return Ok(());
            }
            drop(inside);
            self.grow(more)?;
        }
    }

    /// Drops what the store has already. Keeps the order: who wrote together will read together.
    fn drop_known(&self, index: &Index, batch: &mut Vec<Entry<'_>>) -> Result<()> {
        let mut known = Vec::with_capacity(batch.len());
        for group in batch.chunks(IN_FLIGHT) {
            for (key, _) in group {
                index.prefetch(key);
            }
            for (key, record) in group {
                known.push(self.holds(index, key, record)?);
            }
        }
        let mut known = known.into_iter();
        batch.retain(|_| !known.next().unwrap_or_default());
        Ok(())
    }

    /// Whether a slot with the key's tag points to the same bytes.
    fn holds(&self, index: &Index, key: &Key, record: &[u8]) -> Result<bool> {
        for (_, slot) in index.candidates(key) {
            if self.heap.record(slot.offset(), self.heap.written())? == record {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes records to the heap and then places their slots. Returns how many were new.
    fn append(&self, index: &Index, batch: &[Entry<'_>]) -> Result<u64> {
        if batch.is_empty() {
            return Ok(0);
        }
        let len: usize = batch.iter().map(|(_, record)| heap::prefix_len(record.len()) + record.len()).sum();
        let mut bytes = Vec::with_capacity(len);
        let start = self.heap.claim(len as u64)?;
        for (_, record) in batch {
            heap::encode(record, &mut bytes);
        }
        self.heap.write(&bytes, start)?;
        let (mut offset, mut placed) = (start, Tally::default());
        for (key, record) in batch {
            let same = |other| Ok(self.heap.record(other, self.heap.written())? == *record);
            if index.place(&mut placed, key, offset, same)? {
                self.mark_verified(offset, record);
            }
            offset += (heap::prefix_len(record.len()) + record.len()) as u64;
        }
        index.count(&placed);
        Ok(placed.records)
    }

    /// Builds an index with twice the slots that what is there and `more` records need. Readers go on with the old
    /// one, whose file goes when the new one is durable.
    fn grow(&self, more: u64) -> Result<()> {
        let _alone = self.gate.enter_alone().map_err(|_| Error::Poisoned)?;
        let old = self.index();
        if old.reserve(more) {
            // Another writer has grown it meanwhile.
            old.settle(more, 0);
            return Ok(());
        }
        let needed = old.tally().records.saturating_add(more);
        let slots = index::slots_for(needed.saturating_mul(2));
        let limit = *index::SLOTS.end();
        if index::slots_for(needed) >= limit || !self.rebuild(old, slots)? {
            return Err(Error::Full { needed: slots, limit });
        }
        Ok(())
    }

    /// Builds the next index with so many slots, with the writers out. Returns whether there was room for one.
    fn rebuild(&self, old: &Index, slots: u64) -> Result<bool> {
        let place = (self.store, old.generation + 1, slots);
        let built = open::create_index::<D>(self.index_place(), place)
            .and_then(|new| resize::transfer::<D>(old, &new, &self.heap).map(|()| new));
        Ok(self.tables.replace(built.inspect_err(|_| self.gate.poison())?))
    }

    /// Builds the index anew as small as a store wants it that will rest, if that saves a tenth, and seals the store. It can
    /// still be written: the first new record makes the index grow again. Costs the memory of the replaced table until the
    /// store is closed; a handle does it some 35 times, and from then on only seals.
    ///
    /// # Errors
    /// As of [`FlatDb::flush`].
    pub fn compact(&self) -> Result<()> {
        if self.read_only.is_some() {
            return Err(Error::ReadOnly);
        }
        {
            let _alone = self.gate.enter_alone().map_err(|_| Error::Poisoned)?;
            let old = self.index();
            if old.is_loose() && self.tables.has_spare() {
                self.rebuild(old, index::resting_slots_for(old.tally().records))?;
            }
        }
        self.seal()
    }

    /// Makes every batch that has returned durable: the heap with its checkpoint; from time to time the heap first, then the
    /// index, then the checkpoint. The records that the index file may lack are placed anew at the next opening, so it is synced
    /// only when they become many.
    ///
    /// # Errors
    /// When the disk refuses: the handle is then poisoned, because what the disk holds is unknown until it is read again.
    pub fn flush(&self) -> Result<()> {
        self.checkpoint(false)
    }

    /// [`FlatDb::flush`] that also makes the index durable, so that the next opening has nothing to do. For a store that will
    /// rest.
    ///
    /// # Errors
    /// As of [`FlatDb::flush`].
    pub fn seal(&self) -> Result<()> {
        self.checkpoint(true)
    }

    fn checkpoint(&self, seal: bool) -> Result<()> {
        if self.read_only.is_some() {
            return Err(Error::ReadOnly);
        }
        let mut durable = self.durable.lock();
        let (checkpoint, index) = {
            // Alone, so that every batch below the heap's end is written whole and all its slots are counted.
            let _alone = self.gate.enter_alone().map_err(|_| Error::Poisoned)?;
            let index = self.index();
            let tally = index.tally();
            let end = self.heap.end();
            self.heap.make_ready(end - durable.heap_end);
            let mut checkpoint = Checkpoint {
                sequence: durable.sequence + 1,
                heap_end: end,
                records: tally.records,
                keys: tally.keys,
                ..*durable
            };
            let lag = end.saturating_sub(checkpoint.index.end);
            if index.generation != checkpoint.index.generation
                || lag > self.index_lag.unwrap_or_else(|| default_lag(end))
                || seal
            {
                checkpoint.index = IndexMark { generation: index.generation, slots: index.len() as u64, end, tally };
            }
            (checkpoint, index)
        };
        if checkpoint.heap_end == durable.heap_end && checkpoint.index == durable.index {
            return Ok(());
        }
        self.write_checkpoint(&durable, &checkpoint, index).inspect_err(|_| self.gate.poison())?;
        if checkpoint.index.generation != durable.index.generation {
            // Not the newer ones: the index may have been built anew meanwhile. A file that stays behind costs space only; the next
            // opening removes it.
            let current = checkpoint.index.generation;
            open::remove_indexes(self.index_place(), |generation| generation < current).ok();
        }
        *durable = checkpoint;
        Ok(())
    }

    fn write_checkpoint(&self, before: &Checkpoint, checkpoint: &Checkpoint, index: &Index) -> Result<()> {
        let Heap { path, file, .. } = &self.heap;
        let sync = || file.sync().map_err(Error::io("sync", path));
        // Opening hashes the records behind the index's end anyway, and so sees whether they are all there.
        let is_checked = checkpoint.index == before.index && checkpoint.heap_end - before.heap_end <= ONE_SYNC;
        if !is_checked {
            if checkpoint.heap_end != before.heap_end {
                sync()?;
            }
            if checkpoint.index != before.index {
                index.sync()?;
            }
            if checkpoint.index.generation != before.index.generation {
                self.disk.sync_directory(&self.directory).map_err(Error::io("sync", &self.directory))?;
            }
        }
        checkpoint::write(path, &**file, checkpoint, &D::ID).and_then(|()| sync()).inspect_err(|_| {
            // If the disk refuses this too, the next opening writes anew what it opens at.
            checkpoint::withdraw(path, &**file, checkpoint).ok();
        })
    }
}

/// Heap bytes up to which a flush writes records and checkpoint with one sync. More are synced before the checkpoint is
/// written, so that a crash in between is not found out by hashing them in vain.
pub(crate) const ONE_SYNC: u64 = 64 << 20;

/// Heap bytes that may be ahead of the index file: an eighth, but not so few that small stores sync all the time and not so
/// many that placing them anew takes more than some seconds.
fn default_lag(heap: u64) -> u64 {
    (heap / 8).clamp(32 << 20, 512 << 20)
}

/// Drops all but the first of equal keys. Keeps the order.
fn drop_repeated(batch: &mut Vec<Entry<'_>>) {
    // A small open-addressed table of positions in the batch: keys are hashes, so their bytes need no further hashing.
    let mask = (2 * batch.len()).next_power_of_two() - 1;
    let mut table = vec![0_u32; mask + 1];
    let mut first = vec![true; batch.len()];
    for (at, (key, _)) in batch.iter().enumerate() {
        // Not the bits that a table of the same order would use for its homes, which may be few in a skewed batch.
        let mut place = slots::mix(1, slots::head(key)) as usize & mask;
        loop {
            match table[place] {
                0 => break table[place] = at as u32 + 1,
                other if batch[other as usize - 1].0 == *key => break first[at] = false,
                _ => place = (place + 1) & mask,
            }
        }
    }
    let mut first = first.into_iter();
    batch.retain(|_| first.next().unwrap_or_default());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_leave_their_first_record() {
        let keys: Vec<Key> = [3_u8, 1, 3, 2, 1, 1].map(|first| [first; 32]).to_vec();
        let records: Vec<[u8; 1]> = (0..6).map(|at| [at]).collect();
        let mut batch: Vec<Entry<'_>> = keys.iter().zip(records.iter().map(|record| &record[..])).collect();
        drop_repeated(&mut batch);
        assert_eq!(batch.iter().map(|(_, record)| record[0]).collect::<Vec<_>>(), [0, 1, 3]);
        let mut none: Vec<Entry<'_>> = Vec::new();
        drop_repeated(&mut none);
        assert!(none.is_empty());
    }
}
