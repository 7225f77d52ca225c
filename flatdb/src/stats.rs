//! What a store holds and has done.

/// Counters of one open store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Records that the index points to.
    pub records: u64,
    /// Bytes of the heap, its header included.
    pub heap_bytes: u64,
    /// Slots of the index.
    pub index_slots: u64,
    /// Bytes of the index file.
    pub index_bytes: u64,
    /// Slots that are always verified because another record has the same tag.
    pub ambiguous: u64,
    /// How often the index was rebuilt at another size.
    pub generation: u64,
    /// Records that were written by `put_batch` since opening.
    pub written: u64,
    /// Records that `put_batch` found present since opening.
    pub duplicates: u64,
}

impl Stats {
    /// Bytes on disk for each record.
    #[must_use]
    pub fn bytes_per_record(&self) -> u64 {
        (self.heap_bytes + self.index_bytes).checked_div(self.records).unwrap_or(0)
    }
}

/// What the opening of a store had to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Records that were placed in the index anew: those behind its last sync, or all of them.
    pub replayed: u64,
    /// Whether the index was missing or damaged and was built from the heap.
    pub index_rebuilt: bool,
    /// Why the newest checkpoint was given up for the one before: what was flushed between the two is lost.
    pub damage: Option<String>,
}
