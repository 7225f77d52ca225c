//! Where the heap ends, and the claims that move it.

use crate::sync::{AtomicU64, Ordering};

/// The end of the heap. Writers claim space behind it by compare-and-swap, one claim a batch.
#[derive(Debug)]
pub(crate) struct End {
    at: AtomicU64,
    limit: u64,
}

impl End {
    pub(crate) fn new(at: u64, limit: u64) -> Self {
        Self { at: AtomicU64::new(at), limit }
    }

    /// The end now. Whoever has seen a slot sees an end behind the slot's record.
    pub(crate) fn get(&self) -> u64 {
        self.at.load(Ordering::Acquire)
    }

    /// Claims `len` bytes and returns where they begin, or where the end would be when that is beyond the limit.
    pub(crate) fn claim(&self, len: u64) -> Result<u64, u64> {
        let mut end = self.at.load(Ordering::Acquire);
        loop {
            let new = end.saturating_add(len);
            if new > self.limit {
                return Err(new);
            }
            match self.at.compare_exchange_weak(end, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(end),
                Err(other) => end = other,
            }
        }
    }
}
