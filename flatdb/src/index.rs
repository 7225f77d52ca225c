//! The index: a table of slots and the file that keeps it.
//!
//! Up to a size the table is resident: it lives in the process's memory, in large pages, is read from the file at opening, and
//! the pages that changed are written back when the index is made durable. So placing a slot touches no file, and a look-up
//! costs one cache miss. A larger table is a map of its file, whose pages the kernel may take back.
//!
//! [`crate::slots`] has the protocol. Here are the file and the sums. The sums over the filled slots (without
//! the ambiguous bits, which are recomputed at every opening) and over their keys go into the checkpoint: a slot that the
//! disk lost or changed is noticed at the next opening.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::digest::Key;
use crate::dirty::{Dirty, PAGE};
use crate::error::{Error, Result};
use crate::io::{Disk, DiskFile};
use crate::mmap::SlotMap;
use crate::slots::{self, Placed, Slot, Slots as _};

/// Bytes before the first slot.
pub(crate) const HEADER: u64 = 4096;
/// The smallest and largest number of slots.
pub(crate) const SLOTS: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 36;
/// How much of a table that still grows may be filled, in hundredths: beyond, probes get long.
const FILL: u64 = 70;
/// How much of a table is filled whose store rests. A probe for a present key passes three slots then, for an absent one 13:
/// two lines of the processor's cache.
const RESTING_FILL: u64 = 80;
/// Slots that a scan asks the kernel to have ready, 8 MiB of them.
const AHEAD: usize = 1 << 20;

/// The slots of an index that holds so many records and may still grow: whole pages of them, at a load of at most 0.7.
pub(crate) fn slots_for(records: u64) -> u64 {
    pages_for(records, FILL)
}

/// The slots of an index that holds so many records and rests.
pub(crate) fn resting_slots_for(records: u64) -> u64 {
    pages_for(records, RESTING_FILL)
}

fn pages_for(records: u64, fill: u64) -> u64 {
    let slots = (u128::from(records) * 100).div_ceil(u128::from(fill)).next_multiple_of(PAGE as u128);
    u64::try_from(slots).unwrap_or(u64::MAX).clamp(*SLOTS.start(), *SLOTS.end())
}

/// What a set of placed records adds up to, whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// How many they are.
    pub(crate) records: u64,
    /// Sum over their keys.
    pub(crate) keys: u64,
    /// Sum over their positions and unmarked slots.
    pub(crate) slots: u64,
}

/// Pages that one write takes at most, 1 MiB.
const RUN: usize = 256;

/// Where index files are, and up to how many bytes they are resident.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexPlace<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) directory: &'a Path,
    pub(crate) resident: u64,
}

impl IndexPlace<'_> {
    fn path(&self, generation: u64) -> PathBuf {
        self.directory.join(file_name(generation))
    }

    fn is_resident(&self, slots: u64) -> bool {
        8 * slots <= self.resident
    }
}

/// One index.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) path: PathBuf,
    pub(crate) generation: u64,
    /// None for a reader's own.
    file: Option<Box<dyn DiskFile>>,
    pub(crate) slots: SlotMap,
    /// For a resident table.
    dirty: Option<Dirty>,
    /// Records placed and those that batches under way may still place.
    expected: AtomicU64,
    records: AtomicU64,
    keys: AtomicU64,
    sum: AtomicU64,
    ambiguous: AtomicU64,
}

/// The name of an index file.
pub(crate) fn file_name(generation: u64) -> String {
    format!("index.{generation}")
}

impl Index {
    /// Creates the empty index file of a generation, all its space reserved.
    pub(crate) fn create(place: IndexPlace<'_>, generation: u64, len: u64, header: &[u8]) -> Result<Self> {
        let path = place.path(generation);
        let file = place.disk.open(&path, true).map_err(Error::io("create", &path))?;
        file.set_len(0).map_err(Error::io("cut", &path))?;
        file.allocate(HEADER + 8 * len).map_err(Error::io("reserve space for", &path))?;
        file.write_at(header, 0).map_err(Error::io("write", &path))?;
        let slots = if place.is_resident(len) {
            SlotMap::in_memory(len as usize).map_err(Error::io("get memory for", &path))?
        } else {
            SlotMap::new(file.file(), HEADER, len as usize, true).map_err(Error::io("map", &path))?
        };
        Ok(Self::new(path, Some(file), slots, generation, place))
    }

    /// An empty index in memory, for a reader whose file is damaged.
    pub(crate) fn in_memory(place: IndexPlace<'_>, generation: u64, len: u64) -> Result<Self> {
        let path = place.path(generation);
        let slots = SlotMap::in_memory(len as usize).map_err(Error::io("get memory for", &path))?;
        Ok(Self::new(path, None, slots, generation, place))
    }

    /// Reads or maps an index file that exists. One that is not `writable` keeps changes to itself.
    pub(crate) fn open(
        place: IndexPlace<'_>,
        file: Box<dyn DiskFile>,
        (generation, len): (u64, u64),
        writable: bool,
    ) -> Result<Self> {
        let path = place.path(generation);
        let slots = if place.is_resident(len) {
            let slots = SlotMap::read(file.file(), HEADER, len as usize).map_err(Error::io("read", &path))?;
            // Once is enough: the kernel's copy of the file is not read again.
            rustix::fs::fadvise(file.file(), 0, None, rustix::fs::Advice::DontNeed).ok();
            slots
        } else {
            SlotMap::new(file.file(), HEADER, len as usize, writable).map_err(Error::io("map", &path))?
        };
        Ok(Self::new(path, Some(file), slots, generation, place))
    }

    fn new(
        path: PathBuf,
        file: Option<Box<dyn DiskFile>>,
        slots: SlotMap,
        generation: u64,
        place: IndexPlace<'_>,
    ) -> Self {
        Self {
            path,
            generation,
            dirty: (place.is_resident(slots.len() as u64) && file.is_some()).then(|| Dirty::new(slots.len())),
            file,
            slots,
            expected: AtomicU64::new(0),
            records: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            ambiguous: AtomicU64::new(0),
        }
    }

    /// Notes that a slot was changed.
    #[inline]
    fn changed(&self, position: usize) {
        if let Some(dirty) = &self.dirty {
            dirty.mark(position);
        }
    }

    /// Takes over a file's slots: adds up those that point below `end`, empties the others (in the map; for a reader this
    /// does not change the file), and marks the ambiguous ones anew. Those beyond the end were placed later; nothing older
    /// can lie behind them on a probe, so emptying them breaks no probe. Returns whether count and sum are the expected ones.
    pub(crate) fn adopt(&self, end: u64, expected: &Tally) -> bool {
        let (mut records, mut sum) = (0, 0_u64);
        for position in 0..self.slots.len() {
            if position % AHEAD == 0 {
                self.slots.advise_needed(position + AHEAD, AHEAD);
            }
            let slot = Slot(self.slots.load(position));
            if slot.0 == 0 {
                continue;
            }
            if slot.offset() < end {
                records += 1;
                sum = sum.wrapping_add(slots::mix(position as u64, slot.unmarked()));
                if slot.ambiguous() {
                    self.slots.replace(position, slot.0, slot.unmarked());
                }
            } else {
                self.slots.replace(position, slot.0, 0);
                self.changed(position);
            }
        }
        if (records, sum) != (expected.records, expected.slots) {
            return false;
        }
        self.ambiguous.store(slots::mark_runs(&self.slots), Ordering::Release);
        self.expected.store(records, Ordering::Release);
        self.records.store(records, Ordering::Release);
        self.sum.store(sum, Ordering::Release);
        self.keys.store(expected.keys, Ordering::Release);
        true
    }

    /// What the placed records add up to. Exact while no writer is active.
    pub(crate) fn tally(&self) -> Tally {
        Tally {
            records: self.records.load(Ordering::Acquire),
            keys: self.keys.load(Ordering::Acquire),
            slots: self.sum.load(Ordering::Acquire),
        }
    }

    /// Slots whose tag does not decide.
    pub(crate) fn ambiguous(&self) -> u64 {
        self.ambiguous.load(Ordering::Acquire)
    }

    /// The number of slots.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of the file.
    pub(crate) fn file_len(&self) -> u64 {
        HEADER + 8 * self.len() as u64
    }

    /// Whether a table that rests would be smaller by a tenth at least.
    pub(crate) fn is_loose(&self) -> bool {
        self.len() as u64 >= resting_slots_for(self.tally().records) / 9 * 10
    }

    /// Reserves places for `more` records, unless the table would be too full. To be given
    /// back by [`Index::settle`].
    pub(crate) fn reserve(&self, more: u64) -> bool {
        let before = self.expected.fetch_add(more, Ordering::AcqRel);
        let fits = before.saturating_add(more).saturating_mul(100) <= (self.len() as u64).saturating_mul(FILL);
        if !fits {
            self.expected.fetch_sub(more, Ordering::AcqRel);
        }
        fits
    }

    /// Counts records that were placed without a reservation.
    pub(crate) fn expect(&self, placed: u64) {
        self.expected.fetch_add(placed, Ordering::AcqRel);
    }

    /// Gives back what a reservation of `reserved` places did not use.
    pub(crate) fn settle(&self, reserved: u64, placed: u64) {
        self.expected.fetch_sub(reserved - placed, Ordering::AcqRel);
    }

    /// Asks the processor to load the home of a key.
    #[inline]
    pub(crate) fn prefetch(&self, key: &Key) {
        self.slots.prefetch(slots::home(self.slots.len(), key));
    }

    /// The filled slots with the key's tag, in probe order, each with its position.
    #[inline]
    pub(crate) fn candidates<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = (usize, Slot)> + 'a {
        slots::candidates(&self.slots, key)
    }

    /// Places the record at `offset` under its key, and tells whether it was new; then it was added to `placed`, which is to
    /// be counted. `same` says whether the record at another offset has the same bytes.
    pub(crate) fn place(
        &self,
        placed: &mut Tally,
        key: &Key,
        offset: u64,
        same: impl FnMut(u64) -> Result<bool>,
    ) -> Result<bool> {
        let marked = || {
            self.ambiguous.fetch_add(1, Ordering::AcqRel);
        };
        match slots::place(&self.slots, key, offset, same, marked)? {
            Placed::At(position) => {
                self.changed(position);
                let slot = Slot::new(key, offset).0;
                placed.records += 1;
                placed.keys = placed.keys.wrapping_add(slots::mix(0, slots::head(key)));
                placed.slots = placed.slots.wrapping_add(slots::mix(position as u64, slot));
                Ok(true)
            }
            Placed::Known => Ok(false),
            Placed::Full => {
                let problem = "the index has no empty slot".to_owned();
                Err(Error::Corrupt { path: self.path.clone(), offset: 0, problem })
            }
        }
    }

    /// Puts the slot of another index where its probe begins, and returns its position; nothing when the table is full.
    pub(crate) fn put(&self, home: usize, slot: Slot) -> Option<usize> {
        let marked = || {
            self.ambiguous.fetch_add(1, Ordering::AcqRel);
        };
        slots::put(&self.slots, home, slot, marked).inspect(|position| self.changed(*position))
    }

    /// Counts the records of another index as its own; `slots` is the sum over them here.
    pub(crate) fn take_tally(&self, other: &Tally, slots: u64) {
        self.expect(other.records);
        self.count(&Tally { slots, ..*other });
    }

    /// Counts what was placed.
    pub(crate) fn count(&self, placed: &Tally) {
        self.sum.fetch_add(placed.slots, Ordering::AcqRel);
        self.keys.fetch_add(placed.keys, Ordering::AcqRel);
        self.records.fetch_add(placed.records, Ordering::AcqRel);
    }

    /// Makes the slots durable that were placed before the call.
    pub(crate) fn sync(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        match &self.dirty {
            Some(dirty) => self.write_back(&**file, &dirty.take())?,
            None => self.slots.flush().map_err(Error::io("flush", &self.path))?,
        }
        file.sync().map_err(Error::io("sync", &self.path))
    }

    /// Writes pages of a resident table to the file, neighbours together.
    fn write_back(&self, file: &dyn DiskFile, pages: &[usize]) -> Result<()> {
        let mut bytes = Vec::with_capacity(8 * PAGE * RUN);
        for run in pages.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(RUN)) {
            bytes.clear();
            let first = run.first().map_or(0, |page| page * PAGE);
            for position in first..self.len().min(first + run.len() * PAGE) {
                bytes.extend_from_slice(&self.slots.load(position).to_le_bytes());
            }
            file.write_at(&bytes, HEADER + 8 * first as u64).map_err(Error::io("write", &self.path))?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_sized_for_its_records() {
        assert_eq!(slots_for(0), 1024);
        assert_eq!((slots_for(716), slots_for(717)), (1024, 1536));
        assert_eq!((slots_for(u64::MAX), resting_slots_for(u64::MAX)), (1 << 36, 1 << 36));
        for records in [1_u64, 1000, 45_000, 12_500_000, 50_000_000] {
            assert!(records * 100 <= FILL * slots_for(records), "{records}");
            assert!(records * 100 <= RESTING_FILL * resting_slots_for(records), "{records}");
            assert!(slots_for(records) >= resting_slots_for(records), "{records}");
        }
    }
}
