//! The indexes of one open store, one after another: the one in use and those that it replaced.
//!
//! A look-up finds the one in use by one plain load: no lock, no count of readers, nothing that stops the processor from
//! starting the next look-up's wait for memory. So an index that was replaced stays until the store is closed, because a
//! reader may be in it. A table grows at least twofold, so all that growth replaced together are no larger than the one in
//! use. One that a compaction replaced is larger than what came after it, and each further round of growth and compaction
//! leaves two more: for stores that rest, that is once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::index::Index;

/// How many indexes an open store can have. Growth alone needs fewer, as each is at least twice as large as the one before;
/// compactions take from the rest, see [`Tables::has_spare`].
const MOST: usize = 64;
/// How many of them growth can need, from the smallest table to the largest.
const GROWTH: usize = 27;

/// The indexes.
#[derive(Debug)]
pub(crate) struct Tables {
    tables: Box<[OnceLock<Index>]>,
    current: AtomicUsize,
}

impl Tables {
    pub(crate) fn new(first: Index) -> Self {
        let tables: Box<[OnceLock<Index>]> =
            std::iter::once(OnceLock::from(first)).chain((1..MOST).map(|_| OnceLock::new())).collect();
        Self { tables, current: AtomicUsize::new(0) }
    }

    /// The index in use.
    #[inline]
    pub(crate) fn current(&self) -> &Index {
        self.tables[self.current.load(Ordering::Acquire)].get().expect("the current table is set before it is current")
    }

    /// Puts another index in the place of the one in use. For one caller at a time, with the writers out. Returns whether
    /// there was room.
    pub(crate) fn replace(&self, index: Index) -> bool {
        let next = self.current.load(Ordering::Acquire) + 1;
        let is_set = self.tables.get(next).is_some_and(|table| table.set(index).is_ok());
        if is_set {
            self.current.store(next, Ordering::Release);
        }
        is_set
    }

    /// Whether an index may be replaced by a smaller one, and growth still has its room.
    pub(crate) fn has_spare(&self) -> bool {
        // A smaller one is followed by one that grows again before the next smaller one.
        self.current.load(Ordering::Acquire) + 2 + GROWTH < MOST
    }
}
