//! Bringing records that are still on disk into memory, many at once.
//!
//! A read through a map waits for the disk alone. [`crate::FlatDb::get_many`] knows many places that it will read, so it has them
//! fetched side by side first. How is behind one trait, because file systems differ: most take a hint, some ignore it.

use std::fmt::Debug;
use std::os::unix::fs::FileExt;

use crate::heap::Heap;
use crate::mmap::PAGE;

/// Bytes fetched at each place: most records and their length. The rest of a longer one is read when it is touched.
const LEN: u64 = 128;

/// How reads of many records bring in what is not in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColdReads {
    /// The kernel is asked to read the pages in the background. Costs no thread.
    #[default]
    Advise,
    /// So many threads read one page each at a time. For file systems that ignore the hint.
    Threads(usize),
    /// Every record is read when it is touched, one after another.
    Off,
}

impl ColdReads {
    pub(crate) fn fetcher(self) -> Option<Box<dyn Fetch>> {
        match self {
            Self::Advise => Some(Box::new(Advise)),
            Self::Threads(threads) => Some(Box::new(Threads(threads.max(1)))),
            Self::Off => None,
        }
    }
}

/// A way to bring heap pages into memory.
pub(crate) trait Fetch: Debug + Send + Sync {
    /// Fetches what begins at these offsets. A hint: a place that cannot be read is reported when it is read.
    fn fetch(&self, heap: &Heap, offsets: &[u64]);
}

#[derive(Debug)]
struct Advise;

impl Fetch for Advise {
    fn fetch(&self, heap: &Heap, offsets: &[u64]) {
        // One call a page: several records lie in many of them. In order, so that the kernel can join neighbours.
        let mut pages: Vec<u64> = offsets.iter().flat_map(|offset| [offset / PAGE, (offset + LEN) / PAGE]).collect();
        pages.sort_unstable();
        pages.dedup();
        for run in pages.chunk_by(|a, b| a + 1 == *b) {
            heap.map().advise_needed(run[0] * PAGE, run.len() as u64 * PAGE);
        }
    }
}

#[derive(Debug)]
struct Threads(usize);

impl Fetch for Threads {
    fn fetch(&self, heap: &Heap, offsets: &[u64]) {
        let share = offsets.len().div_ceil(self.0).max(1);
        std::thread::scope(|scope| {
            for offsets in offsets.chunks(share) {
                scope.spawn(move || {
                    let mut bytes = [0; LEN as usize];
                    for offset in offsets {
                        heap.file.file().read_at(&mut bytes, *offset).ok();
                    }
                });
            }
        });
    }
}
