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
}

impl<'a> Records<'a> {
    pub(crate) fn new(heap: &'a Heap, end: u64) -> Self {
        Self { heap, at: heap::HEADER, end }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(u64, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let offset = self.at;
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
