//! Sets of records by where they lie, such as those that were hashed since the store was opened.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::heap;

/// Records that begin in the same so many heap bytes share a bit, so shorter ones are never in a set.
const GRAIN: u64 = 16;
/// Heap bytes that one page of bits covers.
const COVERS: u64 = 64 << 20;

type Page = Box<[AtomicU8]>;

/// A set of records of one store, by their offsets: one bit for each 16 bytes of heap, in pages made on demand. Neither
/// reads nor writes take a lock.
#[derive(Debug)]
pub struct RecordSet {
    pages: Box<[OnceLock<Page>]>,
}

impl Default for RecordSet {
    fn default() -> Self {
        Self { pages: (0..heap::LIMIT / COVERS).map(|_| OnceLock::new()).collect() }
    }
}

impl RecordSet {
    fn place(offset: u64) -> (usize, usize, u8) {
        let bit = offset % COVERS / GRAIN;
        ((offset / COVERS) as usize, (bit / 8) as usize, 1 << (bit % 8))
    }

    /// Whether the record of so many bytes at an offset is in the set. One of less than 16 bytes never is.
    #[inline]
    pub fn contains(&self, offset: u64, len: usize) -> bool {
        let (page, byte, mask) = Self::place(offset);
        let page = self.pages.get(page).and_then(OnceLock::get);
        len as u64 >= GRAIN && page.is_some_and(|page| page[byte].load(Ordering::Relaxed) & mask != 0)
    }

    /// Adds the record of so many bytes at an offset, and tells whether it was not there. One of less than 16 bytes is not
    /// added.
    #[inline]
    pub fn insert(&self, offset: u64, len: usize) -> bool {
        let (page, byte, mask) = Self::place(offset);
        let Some(page) = self.pages.get(page) else { return true };
        if (len as u64) < GRAIN {
            return true;
        }
        let empty = || (0..COVERS / GRAIN / 8).map(|_| AtomicU8::new(0)).collect();
        page.get_or_init(empty)[byte].fetch_or(mask, Ordering::Relaxed) & mask == 0
    }

    /// Bytes of memory that the set takes.
    pub fn memory(&self) -> u64 {
        self.pages.iter().filter(|page| page.get().is_some()).count() as u64 * (COVERS / GRAIN / 8)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_member_speaks_for_one_record() {
        let set = RecordSet::default();
        for offset in [4096, 4096 + 17, 3 * COVERS + 4096] {
            assert!(!set.contains(offset, 16));
            assert!(set.insert(offset, 16));
            assert!(!set.insert(offset, 16));
            assert!(set.contains(offset, 16));
        }
        assert!(!set.contains(4096 + 34, 16));
        // Two records of less than the grain could share a bit.
        assert!(set.insert(8192, 15) && set.insert(8192, 15));
        assert!(!set.contains(8192, 15) && !set.contains(8192, 16));
        // An offset that no heap has does not matter.
        assert!(set.insert(heap::LIMIT, 100));
        assert!(!set.contains(heap::LIMIT, 100));
        assert_eq!(set.memory(), 2 * COVERS / 128);
    }
}
