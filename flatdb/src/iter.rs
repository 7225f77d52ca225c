//! All records in heap order.

use crate::error::Result;
use crate::heap::{self, Heap};

/// An iterator over records and the offsets where they begin, in the order they were written. It ends after the first error,
/// because the place of the next record is then unknown.
#[derive(Debug)]
pub struct Records<'a> {
    heap: &'a Heap,
    at: u64,
    end: u64,
    /// Up to where the kernel was asked to read.
    ready: u64,
}

/// Bytes that the kernel is asked to have ready ahead: the map itself reads no page that is not touched.
const AHEAD: u64 = 8 << 20;

impl<'a> Records<'a> {
    /// The records from one record's offset up to where the records end.
    pub(crate) fn between(heap: &'a Heap, from: u64, end: u64) -> Self {
        Self { heap, at: from, end, ready: from }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(u64, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let offset = self.at;
        if offset + AHEAD / 2 > self.ready && self.ready < self.end {
            self.heap.map().advise_needed(self.ready, AHEAD);
            self.ready += AHEAD;
        }
        match self.heap.record(offset, self.end) {
            Ok(record) => {
                self.at = offset + (heap::prefix_len(record.len()) + record.len()) as u64;
                Some(Ok((offset, record)))
            }
            Err(error) => {
                self.at = self.end;
                Some(Err(error))
            }
        }
    }
}
