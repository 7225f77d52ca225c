//! Reads: of one record, and of many whose waits overlap.

use std::sync::atomic::Ordering;

use crate::digest::{Digest, Key};
use crate::error::Result;
use crate::index::Index;
use crate::options::VerifyPolicy;
use crate::slots::{self, Slot};
use crate::{FlatDb, Records};

/// How many look-ups [`FlatDb::get_many`] keeps in flight in the processor.
const IN_FLIGHT: usize = 64;
/// Bytes that the processor loads at once. Most records lie in two such lines, which are loaded side by side.
const LINE: u64 = 64;
/// How many of them are looked at to tell whether they are in memory, once some were not.
const SAMPLES: usize = 8;
/// Bytes that the kernel reads at one request to read ahead, at least.
const AHEAD: u64 = 128 << 10;
/// Pages that are looked at before a heap is read ahead.
const AHEAD_LOOKS: u64 = 64;
/// How many places are fetched from disk at once.
const FETCHED: usize = 1024;

/// A record and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located<'a> {
    /// The heap offset where its length begins: no other record of the store has it, and it never changes.
    pub offset: u64,
    /// The record.
    pub record: &'a [u8],
}

impl<D: Digest> FlatDb<D> {
    /// The record of a key that may be absent. Under every policy a record is returned only when its hash was seen to be the
    /// key: a slot alone is wrong for one absent key in a hundred thousand, in large stores in a thousand.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get(&self, key: &Key) -> Result<Option<&[u8]>> {
        Ok(self.find(self.index(), key, true)?.map(|found| found.record))
    }

    /// The record of a key that the caller knows was written here. Saves the hash where the policy allows it; for a key that
    /// was never written the answer may be the record of another one.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get_known(&self, key: &Key) -> Result<Option<&[u8]>> {
        Ok(self.find(self.index(), key, self.verify == VerifyPolicy::Always)?.map(|found| found.record))
    }

    /// [`FlatDb::get`] for many keys, whose waits for memory and disk overlap.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<&[u8]>>> {
        Ok(records(self.find_many(keys, true)?))
    }

    /// [`FlatDb::get_known`] for many keys, whose waits for memory and disk overlap.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get_many_known(&self, keys: &[Key]) -> Result<Vec<Option<&[u8]>>> {
        Ok(records(self.find_many(keys, self.verify == VerifyPolicy::Always)?))
    }

    /// [`FlatDb::get_many`] that also tells where the records lie.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn locate_many(&self, keys: &[Key]) -> Result<Vec<Option<Located<'_>>>> {
        self.find_many(keys, true)
    }

    /// Whether the store may have the record of a key. A no is certain; a yes is wrong for one absent key in a hundred thousand, in large
    /// stores in a thousand. Looks at the index only.
    pub fn may_contain(&self, key: &Key) -> bool {
        self.index().candidates(key).next().is_some()
    }

    /// Asks the processor to load the slot where the search for a key begins, so that several stores can be asked at once.
    #[inline]
    pub fn prefetch_slot(&self, key: &Key) {
        self.index().prefetch(key);
    }

    /// Asks for the records of these keys to be read from disk, all at once. A hint: worth its system calls only where the
    /// records are likely not in memory.
    pub fn prefetch(&self, keys: &[Key]) {
        if let Some(fetcher) = &self.fetcher {
            let index = self.index();
            let offsets: Vec<u64> =
                keys.iter().flat_map(|key| index.candidates(key).map(|(_, slot)| slot.offset())).collect();
            fetcher.fetch(&self.heap, &offsets);
        }
    }

    /// Asks the kernel for the whole heap in the order of the file, unless most of it is in memory: for a caller who is going to
    /// read records from all over it. After each piece `go_on` is told its bytes and says whether to go on. A hint: worth it
    /// where the heap is small against the memory.
    pub fn read_ahead(&self, mut go_on: impl FnMut(u64) -> bool) {
        let (map, end) = (self.heap.map(), self.read_end());
        let looks = (end / AHEAD_LOOKS).max(1) as usize;
        let missing = (0..end).step_by(looks).filter(|offset| !map.is_resident(*offset)).count() as u64;
        if self.fetcher.is_none() || missing * 10 < AHEAD_LOOKS {
            return;
        }
        for start in (0..end).step_by(AHEAD as usize) {
            map.advise_needed(start, AHEAD);
            if !go_on(AHEAD.min(end - start)) {
                return;
            }
        }
    }

    fn find_many(&self, keys: &[Key], verify: bool) -> Result<Vec<Option<Located<'_>>>> {
        let index = self.index();
        let mut found = vec![None; keys.len()];
        let mut firsts: Vec<Option<Slot>> = Vec::with_capacity(IN_FLIGHT);
        let mut unverified = Vec::new();
        let mut fetched = 0;
        for start in (0..keys.len()).step_by(IN_FLIGHT) {
            let group = &keys[start..keys.len().min(start + IN_FLIGHT)];
            for key in group {
                index.prefetch(key);
            }
            firsts.clear();
            for key in group {
                let first = index.candidates(key).next().map(|(_, slot)| slot);
                if let Some(slot) = first {
                    self.heap.map().prefetch(slot.offset());
                    self.heap.map().prefetch(slot.offset() + LINE);
                }
                firsts.push(first);
            }
            if start >= fetched && self.is_cold(&firsts) {
                fetched = keys.len().min(start + FETCHED);
                self.prefetch(&keys[start..fetched]);
            }
            for ((at, key), first) in (start..).zip(group).zip(&firsts) {
                let Some(slot) = first else { continue };
                let offset = slot.offset();
                if slot.ambiguous() || offset >= self.read_end() {
                    found[at] = self.find(index, key, verify)?;
                    continue;
                }
                let record = self.heap.record(offset, self.read_end())?;
                if !verify && self.is_trusted(offset, record) {
                    found[at] = Some(Located { offset, record });
                } else {
                    unverified.push((at, Located { offset, record }));
                }
            }
            self.verify_many(index, keys, &mut unverified, &mut found, verify)?;
        }
        Ok(found)
    }

    /// Hashes records together. One that is not its key's goes the long way.
    fn verify_many<'a>(
        &'a self,
        index: &Index,
        keys: &[Key],
        unverified: &mut Vec<(usize, Located<'a>)>,
        found: &mut [Option<Located<'a>>],
        verify: bool,
    ) -> Result<()> {
        if unverified.is_empty() {
            return Ok(());
        }
        let records: Vec<&[u8]> = unverified.iter().map(|(_, one)| one.record).collect();
        let mut digests = vec![Key::default(); records.len()];
        D::digest_many(&records, &mut digests);
        for ((at, one), digest) in unverified.drain(..).zip(digests) {
            found[at] = if digest == keys[at] {
                self.mark_verified(one.offset, one.record);
                Some(one)
            } else {
                self.find(index, &keys[at], verify)?
            };
        }
        Ok(())
    }

    /// Whether some of the records are likely still on disk: one of the group is looked at, and several while the groups before
    /// had such ones. A group of which a few are missing is worth fetching too: each of them is a wait of its own.
    fn is_cold(&self, firsts: &[Option<Slot>]) -> bool {
        if self.fetcher.is_none() {
            return false;
        }
        let was_cold = self.was_cold.load(Ordering::Relaxed);
        let step = firsts.len().div_ceil(if was_cold { SAMPLES } else { 1 }).max(1);
        let mut samples = firsts.iter().skip(step / 2).step_by(step).flatten();
        let is_cold = samples.any(|slot| !self.heap.map().is_resident(slot.offset()));
        if is_cold != was_cold {
            self.was_cold.store(is_cold, Ordering::Relaxed);
        }
        is_cold
    }

    #[inline]
    fn find(&self, index: &Index, key: &Key, verify: bool) -> Result<Option<Located<'_>>> {
        for (position, slot) in index.candidates(key) {
            let offset = slot.offset();
            // Looked at after the slot: a writer moves the end before it places the slot.
            let end = self.read_end();
            self.heap.map().prefetch(offset + LINE);
            if offset >= end {
                if self.read_only.is_some() {
                    continue;
                }
                return Err(self.heap.corrupt(offset, "the index points beyond the end"));
            }
            let record = self.heap.record(offset, end)?;
            if !verify && !slot.ambiguous() && self.is_trusted(offset, record) {
                return Ok(Some(Located { offset, record }));
            }
            let digest = D::digest(record);
            if digest == *key {
                self.mark_verified(offset, record);
                return Ok(Some(Located { offset, record }));
            }
            if !slots::belongs(&index.slots, &digest, position, slot) {
                return Err(self.heap.corrupt(offset, "a record's bytes do not hash to its key"));
            }
        }
        Ok(None)
    }

    #[inline]
    fn is_trusted(&self, offset: u64, record: &[u8]) -> bool {
        match self.verify {
            VerifyPolicy::Always => false,
            VerifyPolicy::First => self.verified.contains(offset, record.len()),
            VerifyPolicy::Never => true,
        }
    }

    pub(crate) fn mark_verified(&self, offset: u64, record: &[u8]) {
        if self.verify == VerifyPolicy::First {
            self.verified.insert(offset, record.len());
        }
    }

    /// Where the records end for a read: a reader's heap does not grow.
    #[inline]
    pub(crate) fn read_end(&self) -> u64 {
        self.heap.written()
    }

    /// All records in the order they were written. Records that two writers wrote at the same time come twice.
    pub fn iter(&self) -> Records<'_> {
        // With the writers out, so that everything below the end is written.
        let end = {
            let _alone = self.gate.pause();
            self.read_end()
        };
        Records::between(&self.heap, crate::heap::HEADER, end)
    }
}

fn records(found: Vec<Option<Located<'_>>>) -> Vec<Option<&[u8]>> {
    found.into_iter().map(|found| found.map(|found| found.record)).collect()
}
