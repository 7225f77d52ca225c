//! The index: where the record of a key begins in the heap.
//!
//! An open-addressed table of eight-byte slots, probed linearly from the position that the key's first bits name. A slot holds
//! a 40-bit heap offset, 23 bits of the key that the position does not use (the tag) and one bit that says that the tag does
//! not decide. An empty slot is zero; no record begins at offset zero.
//!
//! Slots are never emptied while the store is open, so a probe that meets an empty slot has seen every slot that a key can have.
//! Two sums over all occupied slots, one without and one with the ambiguous bits, go into the checkpoint: any slot that
//! the disk lost or changed is noticed at the next opening, which then builds the index anew from the heap.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::digest::Key;
use crate::error::{Error, Result};
use crate::heap;
use crate::io::{Disk, DiskFile};
use crate::mmap::SlotMap;

/// Bytes before the first slot.
pub(crate) const HEADER: u64 = 4096;
/// The smallest and largest number of position bits.
pub(crate) const BITS: std::ops::RangeInclusive<u32> = 10..=36;

const OFFSET_MASK: u64 = heap::LIMIT - 1;
const TAG_SHIFT: u32 = 40;
const AMBIGUOUS: u64 = 1 << 63;
const TAG_MASK: u64 = ((1 << 23) - 1) << TAG_SHIFT;

/// The position bits of an index that holds so many records at a load of at most 0.7.
pub(crate) fn bits_for(records: u64) -> u32 {
    let slots = records.saturating_mul(10).div_ceil(7).max(1);
    slots.checked_next_power_of_two().map_or(*BITS.end(), u64::trailing_zeros).clamp(*BITS.start(), *BITS.end())
}

/// One occupied slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u64);

impl Slot {
    pub(crate) fn new(key: &Key, offset: u64) -> Self {
        Self(tag(key) | offset)
    }

    #[inline]
    pub(crate) fn offset(self) -> u64 {
        self.0 & OFFSET_MASK
    }

    #[inline]
    pub(crate) fn ambiguous(self) -> bool {
        self.0 & AMBIGUOUS != 0
    }

    #[inline]
    pub(crate) fn has_tag_of(self, key: &Key) -> bool {
        self.0 & TAG_MASK == tag(key)
    }
}

/// The tag bits of a key in their place in a slot: taken from its bytes 8 to 10, which no position uses.
#[inline]
fn tag(key: &Key) -> u64 {
    (u64::from(key[8]) << 16 | u64::from(key[9]) << 8 | u64::from(key[10])) << TAG_SHIFT & TAG_MASK
}

/// The order-independent sums over the occupied slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Occupied slots.
    pub(crate) records: u64,
    /// Occupied slots with the ambiguous bit.
    pub(crate) ambiguous: u64,
    /// Over positions and slots without their ambiguous bits.
    pub(crate) plain: u64,
    /// Over positions and slots as they are.
    pub(crate) full: u64,
}

impl Sums {
    /// Adds one occupied slot.
    pub(crate) fn add(&mut self, position: usize, slot: u64) {
        self.records += 1;
        self.ambiguous += u64::from(slot & AMBIGUOUS != 0);
        self.plain = self.plain.wrapping_add(mix(position, slot & !AMBIGUOUS));
        self.full = self.full.wrapping_add(mix(position, slot));
    }
}

/// A 64-bit mix of a position and a slot (the finaliser of SplitMix64 over both).
fn mix(position: usize, slot: u64) -> u64 {
    let mut x = slot ^ (position as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// One index file, mapped.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) path: PathBuf,
    pub(crate) generation: u64,
    pub(crate) bits: u32,
    file: Box<dyn DiskFile>,
    slots: SlotMap,
    records: AtomicU64,
    ambiguous: AtomicU64,
    plain: AtomicU64,
    full: AtomicU64,
}

/// The name of an index file.
pub(crate) fn file_name(generation: u64) -> String {
    format!("index.{generation}")
}

impl Index {
    /// Creates the empty index file of a generation, all its space reserved.
    pub(crate) fn create(disk: &dyn Disk, directory: &Path, generation: u64, bits: u32, header: &[u8]) -> Result<Self> {
        let path = directory.join(file_name(generation));
        let file = disk.open(&path, true).map_err(Error::io("create", &path))?;
        let len = HEADER + (8u64 << bits);
        file.set_len(0).map_err(Error::io("cut", &path))?;
        file.allocate(len).map_err(Error::io("reserve space for", &path))?;
        file.write_at(header, 0).map_err(Error::io("write", &path))?;
        Self::map(path, file, generation, bits, true)
    }

    /// Maps an index file that exists; its sums are still to be taken by [`Index::scan`].
    pub(crate) fn map(
        path: PathBuf,
        file: Box<dyn DiskFile>,
        generation: u64,
        bits: u32,
        writable: bool,
    ) -> Result<Self> {
        let slots = SlotMap::new(file.file(), HEADER, 1 << bits, writable).map_err(Error::io("map", &path))?;
        Ok(Self {
            path,
            generation,
            bits,
            file,
            slots,
            records: AtomicU64::new(0),
            ambiguous: AtomicU64::new(0),
            plain: AtomicU64::new(0),
            full: AtomicU64::new(0),
        })
    }

    /// Reads every slot: takes the sums over those below `heap_end`, and empties the others when `clear` is set. Those were
    /// published after the checkpoint; nothing older can have been placed behind them on a probe, so emptying them
    /// breaks no probe.
    pub(crate) fn scan(&self, heap_end: u64, clear: bool) -> Sums {
        let mut sums = Sums::default();
        for position in 0..self.slots.len() {
            let slot = self.slots.load(position);
            if slot == 0 {
                continue;
            }
            if Slot(slot).offset() < heap_end {
                sums.add(position, slot);
            } else if clear {
                self.slots.replace(position, slot, 0);
            }
        }
        self.records.store(sums.records, Ordering::Release);
        self.ambiguous.store(sums.ambiguous, Ordering::Release);
        self.plain.store(sums.plain, Ordering::Release);
        self.full.store(sums.full, Ordering::Release);
        sums
    }

    /// The sums as the writers keep them. Exact while no writer is active.
    pub(crate) fn sums(&self) -> Sums {
        Sums {
            records: self.records.load(Ordering::Acquire),
            ambiguous: self.ambiguous.load(Ordering::Acquire),
            plain: self.plain.load(Ordering::Acquire),
            full: self.full.load(Ordering::Acquire),
        }
    }

    /// The number of slots.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of the file.
    pub(crate) fn file_len(&self) -> u64 {
        HEADER + 8 * self.len() as u64
    }

    /// Whether `more` records would load the index beyond 0.7, where probes get long.
    pub(crate) fn is_full_with(&self, more: u64) -> bool {
        (self.records.load(Ordering::Acquire) + more) * 10 > self.len() as u64 * 7
    }

    /// The position where the probe for a key begins.
    #[inline]
    pub(crate) fn home(&self, key: &Key) -> usize {
        let [a, b, c, d, e, f, g, h, ..] = *key;
        (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> (64 - self.bits)) as usize
    }

    /// Asks the processor to load the home of a key.
    #[inline]
    pub(crate) fn prefetch(&self, key: &Key) {
        self.slots.prefetch(self.home(key));
    }

    /// The occupied slots with the key's tag, in probe order, each with its position.
    #[inline]
    pub(crate) fn candidates<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = (usize, Slot)> + 'a {
        let mask = self.len() - 1;
        let home = self.home(key);
        (0..self.len())
            .map(move |step| (home + step) & mask)
            .map(|position| (position, self.slots.load(position)))
            .take_while(|(_, slot)| *slot != 0)
            .map(|(position, slot)| (position, Slot(slot)))
            .filter(|(_, slot)| slot.has_tag_of(key))
    }

    /// Whether a record with this key could have been placed at `position`: its tag is the slot's and its probe leads there.
    pub(crate) fn belongs(&self, key: &Key, position: usize, slot: Slot) -> bool {
        slot.has_tag_of(key) && {
            let mask = self.len() - 1;
            let steps = position.wrapping_sub(self.home(key)) & mask;
            (0..steps).all(|step| self.slots.load((self.home(key) + step) & mask) != 0)
        }
    }

    /// Publishes the record at `offset` under its key. `same` says whether the record at another offset has the same bytes:
    /// then nothing is published and `false` returned. Older slots with the key's tag are marked ambiguous.
    pub(crate) fn publish(&self, key: &Key, offset: u64, mut same: impl FnMut(u64) -> Result<bool>) -> Result<bool> {
        let mask = self.len() - 1;
        let new = Slot::new(key, offset);
        let mut position = self.home(key);
        for _ in 0..self.len() {
            let mut slot = self.slots.load(position);
            if slot == 0 {
                if self.slots.replace(position, 0, new.0) {
                    self.records.fetch_add(1, Ordering::AcqRel);
                    self.plain.fetch_add(mix(position, new.0), Ordering::AcqRel);
                    self.full.fetch_add(mix(position, new.0), Ordering::AcqRel);
                    return Ok(true);
                }
                slot = self.slots.load(position);
            }
            if Slot(slot).has_tag_of(key) {
                if same(Slot(slot).offset())? {
                    return Ok(false);
                }
                self.mark_ambiguous(position, slot);
            }
            position = (position + 1) & mask;
        }
        Err(Error::Corrupt { path: self.path.clone(), offset: 0, problem: "the index has no empty slot".to_owned() })
    }

    fn mark_ambiguous(&self, position: usize, slot: u64) {
        let marked = slot | AMBIGUOUS;
        if slot != marked && self.slots.replace(position, slot, marked) {
            self.ambiguous.fetch_add(1, Ordering::AcqRel);
            self.full.fetch_add(mix(position, marked).wrapping_sub(mix(position, slot)), Ordering::AcqRel);
        }
    }

    /// Makes the slots durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.slots.flush().map_err(Error::io("flush", &self.path))?;
        self.file.sync().map_err(Error::io("sync", &self.path))
    }
}
