//! The records that were hashed since the store was opened, by where they lie.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::heap;

/// Records that begin in the same so many heap bytes share a bit, so shorter ones are never in a set.
const GRAIN: u64 = 16;
/// Heap bytes that one page of bits covers.
const COVERS: u64 = 4 << 20;
/// Pages of one part.
const PAGES: u64 = 1024;

type Page = Box<[AtomicU8]>;
type Part = Box<[OnceLock<Page>]>;

/// A set of records of one store, by their offsets: one bit for each 16 bytes of heap, in pages made on demand, so that a small
/// store costs little. Neither reads nor writes take a lock.
#[derive(Debug)]
pub(crate) struct RecordSet {
    parts: Box<[OnceLock<Part>]>,
}

impl Default for RecordSet {
    fn default() -> Self {
        Self { parts: empty(heap::LIMIT / COVERS / PAGES) }
    }
}

fn empty<T>(places: u64) -> Box<[OnceLock<T>]> {
    (0..places).map(|_| OnceLock::new()).collect()
}

/// Where the bit of an offset is.
struct Place {
    part: usize,
    page: usize,
    byte: usize,
    mask: u8,
}

impl Place {
    #[inline]
    fn of(offset: u64) -> Self {
        let (page, bit) = (offset / COVERS, offset % COVERS / GRAIN);
        Self {
            part: (page / PAGES) as usize,
            page: (page % PAGES) as usize,
            byte: (bit / 8) as usize,
            mask: 1 << (bit % 8),
        }
    }
}

impl RecordSet {
    /// Whether the record of so many bytes at an offset is in the set. One of less than 16 bytes never is.
    #[inline]
    pub(crate) fn contains(&self, offset: u64, len: usize) -> bool {
        let Place { part, page, byte, mask } = Place::of(offset);
        let page = self.parts.get(part).and_then(OnceLock::get).and_then(|part| part[page].get());
        len as u64 >= GRAIN && page.is_some_and(|page| page[byte].load(Ordering::Relaxed) & mask != 0)
    }

    /// Adds the record of so many bytes at an offset. One of less than 16 bytes is not added.
    #[inline]
    pub(crate) fn insert(&self, offset: u64, len: usize) {
        let Place { part, page, byte, mask } = Place::of(offset);
        let Some(part) = self.parts.get(part).filter(|_| len as u64 >= GRAIN) else { return };
        let page = part.get_or_init(|| empty(PAGES))[page]
            .get_or_init(|| (0..COVERS / GRAIN / 8).map(|_| AtomicU8::new(0)).collect());
        page[byte].fetch_or(mask, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_member_speaks_for_one_record() {
        let set = RecordSet::default();
        for offset in [4096, 4096 + 17, 3 * COVERS + 4096, PAGES * COVERS, heap::LIMIT - 16] {
            assert!(!set.contains(offset, 16));
            set.insert(offset, 16);
            assert!(set.contains(offset, 16));
        }
        assert!(!set.contains(4096 + 34, 16));
        // Two records of less than the grain could share a bit.
        set.insert(8192, 15);
        assert!(!set.contains(8192, 15) && !set.contains(8192, 16));
        // An offset that no heap has does not matter.
        set.insert(heap::LIMIT, 100);
        assert!(!set.contains(heap::LIMIT, 100));
    }
}
