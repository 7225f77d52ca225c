//! Memory maps of the heap, the index and finished files: the only unsafe code of the crate.
//!
//! What makes the maps sound:
//! - The heap is mapped once over a long range of addresses. Nothing beyond the end of what was written is touched
//!   ([`HeapMap::slice`] checks), the file is never cut below that, and published bytes never change. (The one exception is named in the format page:
//!   a reader that opened while a flush failed must be closed before the next writer opens.)
//! - The index is memory of the process, or has all its file's space reserved before it is mapped, so touching it cannot
//!   fault, and it is accessed only as eight-byte atomics.
//! - A finished file ([`FileMap`]) is never written again: it is replaced by renaming and removed, which leaves a map alone.
//! - The directory's lock keeps other writers of this crate away. Another program that shortens the files under an open
//!   store is outside what any map can stand.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};

use crate::slots::Slots;

/// Bytes of a file that are read at once.
const READ: usize = 1 << 20;

/// What the kernel maps and reads at once.
pub(crate) const PAGE: u64 = 4096;

/// A read-only view of a file that grows while it is mapped.
#[derive(Debug)]
pub(crate) struct HeapMap {
    map: MmapRaw,
    /// Where the written bytes end, at or below the file's length. Only grows.
    written: AtomicU64,
}

impl HeapMap {
    /// Maps `reserve` bytes of addresses over a file whose first `written` bytes are there.
    pub(crate) fn new(file: &File, written: u64, reserve: u64) -> io::Result<Self> {
        let reserve = usize::try_from(reserve).map_err(io::Error::other)?;
        let map = MmapOptions::new().len(reserve).map_raw_read_only(file)?;
        // Reads jump from record to record: reading ahead would only evict what is needed.
        map.advise(Advice::Random).ok();
        Ok(Self { map, written: AtomicU64::new(written) })
    }

    /// Tells that the file was written up to `end`.
    pub(crate) fn written_to(&self, end: u64) {
        self.written.fetch_max(end, Ordering::Release);
    }

    /// Where the written bytes end.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// So many bytes from `offset`, unless they pass the end of what is written.
    #[inline]
    pub(crate) fn slice(&self, offset: u64, len: u64) -> Option<&[u8]> {
        if offset.checked_add(len).is_none_or(|end| end > self.written()) {
            return None;
        }
        // The end of what is written never exceeds the reserved range, a usize.
        let start = self.map.as_ptr().wrapping_add(offset as usize);
        // SAFETY: `offset + len` is at most `written`, which is inside the file and the mapped range. The file is not cut
        // below that while mapped, and published bytes do not change.
        Some(unsafe { std::slice::from_raw_parts(start, len as usize) })
    }

    /// Asks the processor to load the line at `offset`.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64) {
        prefetch_line(self.map.as_ptr().wrapping_add(offset as usize));
    }

    /// Asks the kernel to read the pages of a range in the background.
    pub(crate) fn advise_needed(&self, offset: u64, len: u64) {
        let page = offset - offset % PAGE;
        let end = offset.saturating_add(len).min(self.written());
        if page < end {
            self.map.advise_range(Advice::WillNeed, page as usize, (end - page) as usize).ok();
        }
    }

    /// Whether the page of `offset` is in memory, as far as the kernel tells.
    pub(crate) fn is_resident(&self, offset: u64) -> bool {
        if offset >= self.written() {
            return true;
        }
        let page = self.map.as_ptr().wrapping_add((offset - offset % PAGE) as usize);
        let mut state = [1_u8; 1];
        // SAFETY: the page is inside the map, and the call writes one byte for one page into `state`.
        let answer = unsafe { libc::mincore(page.cast_mut().cast(), PAGE as usize, state.as_mut_ptr()) };
        answer != 0 || state[0] & 1 != 0
    }
}

/// A read-only view of a whole file that no longer changes, for stores of finished files beside a FlatDB.
#[derive(Debug)]
pub struct FileMap {
    map: MmapRaw,
}

impl FileMap {
    /// Maps a file of at least one byte. Nobody may shorten or change it while it is mapped.
    ///
    /// # Errors
    /// When the file is empty or the system refuses.
    pub fn new(file: &File) -> io::Result<Self> {
        Ok(Self { map: MmapOptions::new().map_raw_read_only(file)? })
    }
}

impl AsRef<[u8]> for FileMap {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the map is readable over its whole length, which is the file's when it was mapped; such files are neither
        // shortened nor changed while they are mapped.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr(), self.map.len()) }
    }
}

/// The slots of an index as atomics.
#[derive(Debug)]
pub(crate) struct SlotMap {
    map: MmapRaw,
    slots: usize,
}

impl SlotMap {
    /// Maps `slots` eight-byte slots that begin at byte `offset`, a multiple of the page size, of a file that has space for
    /// all of them. Changes go to the file when it is `writable`, else they stay in this map.
    pub(crate) fn new(file: &File, offset: u64, slots: usize, writable: bool) -> io::Result<Self> {
        let len = Self::bytes(slots)?;
        if file.metadata()?.len() < offset + len as u64 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "index file too short"));
        }
        let mut options = MmapOptions::new();
        options.offset(offset).len(len);
        let map = if writable {
            options.map_raw(file)?
        } else {
            // SAFETY: the map is accessed only as atomics, which stand any change that the writer beside makes, and the
            // writer never shortens the file.
            MmapRaw::from(unsafe { options.map_copy(file)? })
        };
        map.advise(Advice::Random).ok();
        Ok(Self { map, slots })
    }

    /// Slots in memory, all empty, in large pages where the system has them: look-ups jump all over the table.
    pub(crate) fn in_memory(slots: usize) -> io::Result<Self> {
        let map = MmapRaw::from(MmapMut::map_anon(Self::bytes(slots)?)?);
        #[cfg(target_os = "linux")]
        {
            map.advise(Advice::HugePage).ok();
            // All at once, and for writing: a page that is read before it is written would be given out twice, the second time
            // with an interrupt to every processor that runs the program.
            map.advise(Advice::PopulateWrite).ok();
        }
        Ok(Self { map, slots })
    }

    /// Slots in memory, read from byte `offset` of a file.
    pub(crate) fn read(file: &File, offset: u64, slots: usize) -> io::Result<Self> {
        use std::os::unix::fs::FileExt;
        let table = Self::in_memory(slots)?;
        let mut bytes = vec![0; Self::bytes(slots)?.min(READ)];
        for start in (0..slots).step_by(READ / 8) {
            let part = &mut bytes[..8 * (slots - start).min(READ / 8)];
            file.read_exact_at(part, offset + 8 * start as u64)?;
            for (position, slot) in (start..).zip(part.chunks_exact(8)) {
                let slot = slot.iter().rev().fold(0, |slot, byte| slot << 8 | u64::from(*byte));
                if slot != 0 {
                    table.at(position).store(slot.to_le(), Ordering::Release);
                }
            }
        }
        Ok(table)
    }

    fn bytes(slots: usize) -> io::Result<usize> {
        slots.checked_mul(8).ok_or_else(|| io::Error::other("index too large"))
    }

    #[inline]
    fn at(&self, position: usize) -> &AtomicU64 {
        assert!(position < self.slots, "slot {position} of {}", self.slots);
        // SAFETY: the position is inside the map; a map begins at a page, so every multiple of eight is aligned for an
        // AtomicU64; the bytes are accessed only as atomics for as long as the map lives.
        unsafe { &*self.map.as_ptr().cast::<AtomicU64>().add(position) }
    }

    /// Asks the processor to load the slot at a position.
    #[inline]
    pub(crate) fn prefetch(&self, position: usize) {
        prefetch_line(self.map.as_ptr().wrapping_add(position * 8));
    }

    /// Asks the kernel to read so many slots in the background.
    pub(crate) fn advise_needed(&self, position: usize, slots: usize) {
        let end = position.saturating_add(slots).min(self.slots);
        if position < end {
            self.map.advise_range(Advice::WillNeed, position * 8, (end - position) * 8).ok();
        }
    }

    /// Starts writing the slots to the file and waits until the kernel has them.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }
}

impl Slots for SlotMap {
    #[inline]
    fn len(&self) -> usize {
        self.slots
    }

    #[inline]
    fn load(&self, position: usize) -> u64 {
        u64::from_le(self.at(position).load(Ordering::Acquire))
    }

    #[inline]
    fn replace(&self, position: usize, old: u64, new: u64) -> bool {
        self.at(position).compare_exchange(old.to_le(), new.to_le(), Ordering::AcqRel, Ordering::Acquire).is_ok()
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
