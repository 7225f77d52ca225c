//! Which records were hashed since the store was opened.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::heap;

/// Records that begin in the same so many heap bytes share a bit, so shorter ones are never marked.
const GRAIN: u64 = 16;
/// Heap bytes that one page of bits covers.
const COVERS: u64 = 64 << 20;

type Page = Box<[AtomicU8]>;

/// One bit for each [`GRAIN`] bytes of heap, in pages made on demand. Neither reads nor writes take a lock.
#[derive(Debug)]
pub(crate) struct Verified {
    pages: Box<[OnceLock<Page>]>,
}

impl Verified {
    /// No record is marked.
    pub(crate) fn new() -> Self {
        Self { pages: (0..heap::LIMIT / COVERS).map(|_| OnceLock::new()).collect() }
    }

    fn place(offset: u64) -> (usize, usize, u8) {
        let bit = offset % COVERS / GRAIN;
        ((offset / COVERS) as usize, (bit / 8) as usize, 1 << (bit % 8))
    }

    /// Whether the record of so many bytes at an offset is marked.
    #[inline]
    pub(crate) fn has(&self, offset: u64, len: usize) -> bool {
        let (page, byte, mask) = Self::place(offset);
        let page = self.pages.get(page).and_then(OnceLock::get);
        len as u64 >= GRAIN && page.is_some_and(|page| page[byte].load(Ordering::Relaxed) & mask != 0)
    }

    /// Marks the record of so many bytes at an offset.
    #[inline]
    pub(crate) fn mark(&self, offset: u64, len: usize) {
        let (page, byte, mask) = Self::place(offset);
        let Some(page) = self.pages.get(page) else { return };
        if len as u64 >= GRAIN {
            let empty = || (0..COVERS / GRAIN / 8).map(|_| AtomicU8::new(0)).collect();
            page.get_or_init(empty)[byte].fetch_or(mask, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_mark_speaks_for_one_record() {
        let verified = Verified::new();
        let far = 3 * COVERS + 4096;
        for offset in [4096, 4096 + 17, far] {
            assert!(!verified.has(offset, 16));
            verified.mark(offset, 16);
            assert!(verified.has(offset, 16));
        }
        assert!(!verified.has(4096 + 34, 16));
        // Two records of less than the grain could share a bit.
        verified.mark(8192, 15);
        assert!(!verified.has(8192, 15) && !verified.has(8192, 16));
        // An offset that no heap has is not marked and does not matter.
        verified.mark(heap::LIMIT, 100);
        assert!(!verified.has(heap::LIMIT, 100));
    }
}
