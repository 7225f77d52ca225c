//! Memory maps of the heap and the index: the only unsafe code of the crate.
//!
//! What makes the maps sound:
//! - The heap is mapped once over a long range of addresses. Bytes below the file's length are read only after they were
//!   written and published, and never change afterwards; nothing beyond the length is touched ([`HeapMap::slice`] checks).
//! - The index has all its space reserved before it is mapped, so touching it cannot fault, and it is accessed only as
//!   eight-byte atomics.
//! - The directory's lock keeps other writers of this crate away. Another program that shortens the files under an open
//!   store is outside what any map can stand.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Advice, MmapOptions, MmapRaw};

/// A read-only view of a file that grows while it is mapped.
#[derive(Debug)]
pub(crate) struct HeapMap {
    map: MmapRaw,
    /// The file's length: bytes below it may be touched. Only grows.
    mapped: AtomicU64,
}

impl HeapMap {
    /// Maps `reserve` bytes of addresses over a file of `len` bytes.
    pub(crate) fn new(file: &File, len: u64, reserve: u64) -> io::Result<Self> {
        let reserve = usize::try_from(reserve).map_err(io::Error::other)?;
        let map = MmapOptions::new().len(reserve).map_raw_read_only(file)?;
        // Reads jump from record to record: reading ahead would only evict what is needed.
        map.advise(Advice::Random).ok();
        Ok(Self { map, mapped: AtomicU64::new(len) })
    }

    /// Tells that the file now has at least `len` bytes.
    pub(crate) fn grown(&self, len: u64) {
        self.mapped.fetch_max(len, Ordering::Release);
    }

    /// The bytes from `offset`, at most `len` of them and none beyond the file's length.
    #[inline]
    pub(crate) fn slice(&self, offset: u64, len: usize) -> &[u8] {
        let mapped = self.mapped.load(Ordering::Acquire);
        let len = len.min(usize::try_from(mapped.saturating_sub(offset)).unwrap_or(usize::MAX));
        if len == 0 {
            return &[];
        }
        // `offset < mapped`, and `mapped` never exceeds the reserved range, a usize.
        let start = self.map.as_ptr().wrapping_add(offset as usize);
        // SAFETY: `offset + len` is at most `mapped`, the length of the file, which is inside the mapped range. The file is
        // not shortened while mapped, and published bytes do not change.
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Asks the processor to load the line at `offset`.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64) {
        prefetch_line(self.map.as_ptr().wrapping_add(offset as usize));
    }

    /// Asks the kernel to read the pages of a range in the background.
    pub(crate) fn advise_needed(&self, offset: u64, len: usize) {
        let mapped = self.mapped.load(Ordering::Acquire);
        let page = offset & !0xfff;
        if offset < mapped {
            let end = (offset + len as u64).min(mapped);
            self.map.advise_range(Advice::WillNeed, page as usize, (end - page) as usize).ok();
        }
    }
}

/// The slots of an index file as atomics.
#[derive(Debug)]
pub(crate) struct SlotMap {
    map: MmapRaw,
    slots: usize,
}

impl SlotMap {
    /// Maps `slots` eight-byte slots that begin at byte `offset`, a multiple of the page size, of a file that has space for
    /// all of them.
    pub(crate) fn new(file: &File, offset: u64, slots: usize, writable: bool) -> io::Result<Self> {
        let len = slots.checked_mul(8).ok_or_else(|| io::Error::other("index too large"))?;
        if file.metadata()?.len() < offset + len as u64 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "index file too short"));
        }
        let mut options = MmapOptions::new();
        options.offset(offset).len(len);
        let map = if writable { options.map_raw(file)? } else { options.map_raw_read_only(file)? };
        map.advise(Advice::Random).ok();
        Ok(Self { map, slots })
    }

    /// The number of slots.
    pub(crate) fn len(&self) -> usize {
        self.slots
    }

    #[inline]
    fn at(&self, position: usize) -> &AtomicU64 {
        assert!(position < self.slots, "slot {position} of {}", self.slots);
        // SAFETY: the position is inside the map; a map begins at a page, so every multiple of eight is aligned for an
        // AtomicU64; the bytes are accessed only as atomics for as long as the map lives.
        unsafe { &*self.map.as_ptr().cast::<AtomicU64>().add(position) }
    }

    /// The slot at a position; what was written before it was published is visible.
    #[inline]
    pub(crate) fn load(&self, position: usize) -> u64 {
        u64::from_le(self.at(position).load(Ordering::Acquire))
    }

    /// Replaces a slot if it still has the value `old`, and tells whether it did. Only for writable maps.
    #[inline]
    pub(crate) fn replace(&self, position: usize, old: u64, new: u64) -> bool {
        self.at(position).compare_exchange(old.to_le(), new.to_le(), Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Asks the processor to load the slot at a position.
    #[inline]
    pub(crate) fn prefetch(&self, position: usize) {
        prefetch_line(self.map.as_ptr().wrapping_add(position * 8));
    }

    /// Starts writing the slots to the file and waits until the kernel has them.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }
}

#[inline]
fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; it does not fault whatever the address is.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
