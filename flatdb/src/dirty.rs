//! Which pages of a resident index differ from its file.
//!
//! A writer marks a page after it changed a slot there; a sync takes the marks before it reads the slots. So a change is in
//! what the sync writes, or its mark is there for the next one.

use crate::sync::{AtomicU64, Ordering};

/// Slots of a page, which are written to the file together.
pub(crate) const PAGE: usize = 512;

/// The marks: one bit a page.
#[derive(Debug)]
pub(crate) struct Dirty(Box<[AtomicU64]>);

impl Dirty {
    /// For a table of so many slots, none of them changed.
    pub(crate) fn new(slots: usize) -> Self {
        Self((0..slots.div_ceil(PAGE * 64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Marks the page of a slot that was changed.
    #[inline]
    pub(crate) fn mark(&self, position: usize) {
        let page = position / PAGE;
        self.0[page / 64].fetch_or(1 << (page % 64), Ordering::AcqRel);
    }

    /// Takes the marked pages, in order.
    pub(crate) fn take(&self) -> Vec<usize> {
        let words = self.0.iter().enumerate().map(|(word, bits)| (word, bits.swap(0, Ordering::AcqRel)));
        let pages = |(word, bits): (usize, u64)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        };
        words.flat_map(pages).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_once_and_in_order() {
        let dirty = Dirty::new(100 * PAGE);
        for position in [99 * PAGE, 3, 64 * PAGE + 1, 5, 64 * PAGE] {
            dirty.mark(position);
        }
        assert_eq!(dirty.take(), [0, 64, 99]);
        assert!(dirty.take().is_empty());
    }
}
