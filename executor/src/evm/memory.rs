//! A frame's memory, with rskj's rules of growth and price.
//!
//! Memory grows when bytes are really touched, not when the price is paid: a call that is refused at the depth limit has paid
//! for its input area without growing. The size that later prices count from is therefore the real one (`Program.getMemSize`).

use std::cell::{Ref, RefCell};
use std::ops::Range;

use revm_interpreter::interpreter_types::MemoryTr;

/// Memory cannot be grown beyond this many bytes whatever the gas (`Program.MAX_MEMORY`).
pub(super) const MAX_MEMORY: u64 = 1 << 30;

/// A frame's memory. Its length is always a whole number of words.
#[derive(Debug, Default)]
pub(super) struct Memory {
    // The cell is there for the interpreter's trait, which asks for guarded borrows; our own code goes around it.
    bytes: RefCell<Vec<u8>>,
}

impl Memory {
    /// Empties the memory and keeps its room, up to a bound.
    pub(super) fn reset(&mut self) {
        const KEPT: usize = 1 << 20;
        let bytes = self.bytes.get_mut();
        if bytes.capacity() > KEPT {
            *bytes = Vec::new();
        }
        bytes.clear();
    }

    /// Length in bytes.
    #[inline]
    pub(super) fn len(&mut self) -> usize {
        self.bytes.get_mut().len()
    }

    /// Grows to hold `len` bytes at `offset`; no bytes grow nothing.
    #[inline]
    pub(super) fn extend(&mut self, offset: usize, len: usize) {
        if len == 0 {
            return;
        }
        let bytes = self.bytes.get_mut();
        let end = (offset + len).next_multiple_of(32);
        if end > bytes.len() {
            bytes.resize(end, 0);
        }
    }

    /// The bytes at `offset`, growing where they are not there yet.
    #[inline]
    pub(super) fn read(&mut self, offset: usize, len: usize) -> &[u8] {
        if len == 0 {
            return &[];
        }
        self.extend(offset, len);
        &self.bytes.get_mut()[offset..offset + len]
    }

    /// Room for `len` bytes at `offset`, growing where it is not there yet.
    #[inline]
    pub(super) fn room(&mut self, offset: usize, len: usize) -> &mut [u8] {
        if len == 0 {
            return &mut [];
        }
        self.extend(offset, len);
        &mut self.bytes.get_mut()[offset..offset + len]
    }

    /// Writes `len` bytes of `data` from `from` on; what lies behind the data's end is zero.
    #[inline]
    pub(super) fn write_padded(&mut self, offset: usize, data: &[u8], from: usize, len: usize) {
        let room = self.room(offset, len);
        let source = data.get(from..).unwrap_or_default();
        let copied = source.len().min(len);
        room[..copied].copy_from_slice(&source[..copied]);
        room[copied..].fill(0);
    }

    /// Writes as much of `data` as fits `len` bytes at `offset`, and never grows (`Program.memorySaveLimited`).
    pub(super) fn write_limited(&mut self, offset: usize, data: &[u8], len: usize) {
        let bytes = self.bytes.get_mut();
        let Some(room) = bytes.get_mut(offset..) else { return };
        let copied = data.len().min(len).min(room.len());
        room[..copied].copy_from_slice(&data[..copied]);
    }

    /// Copies bytes inside the memory, growing for both areas.
    pub(super) fn copy_inside(&mut self, to: usize, from: usize, len: usize) {
        if len == 0 {
            return;
        }
        self.extend(from, len);
        self.extend(to, len);
        self.bytes.get_mut().copy_within(from..from + len, to);
    }
}

impl MemoryTr for Memory {
    fn set_data(&mut self, memory_offset: usize, data_offset: usize, len: usize, data: &[u8]) {
        self.write_padded(memory_offset, data, data_offset, len);
    }

    fn set_data_from_global(
        &mut self,
        memory_offset: usize,
        _data_offset: usize,
        len: usize,
        _data_range: Range<usize>,
    ) {
        // No memory is shared between frames, so there are no global bytes.
        self.room(memory_offset, len).fill(0);
    }

    fn global_slice(&self, range: Range<usize>) -> Ref<'_, [u8]> {
        self.slice(range)
    }

    fn local_memory_offset(&self) -> usize {
        0
    }

    fn set(&mut self, memory_offset: usize, data: &[u8]) {
        self.room(memory_offset, data.len()).copy_from_slice(data);
    }

    fn size(&self) -> usize {
        self.bytes.borrow().len()
    }

    fn copy(&mut self, destination: usize, source: usize, len: usize) {
        self.copy_inside(destination, source, len);
    }

    fn slice(&self, range: Range<usize>) -> Ref<'_, [u8]> {
        Ref::map(self.bytes.borrow(), |bytes| &bytes[range])
    }

    fn resize(&mut self, new_size: usize) -> bool {
        self.extend(0, new_size);
        true
    }
}

/// What growing from `old` to `new` bytes costs (`VM.calcMemGas` without the copying part). `old` is a whole number of words and
/// `new` at most [`MAX_MEMORY`].
#[inline]
pub(super) fn growth_price(old: u64, new: u64) -> u64 {
    if new <= old {
        return 0;
    }
    let price = |words: u64| 3 * words + words * words / 512;
    price(new.div_ceil(32)) - price(old / 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_of_growth() {
        assert_eq!(growth_price(0, 1), 3);
        assert_eq!(growth_price(32, 32), 0);
        assert_eq!(growth_price(64, 33), 0);
        assert_eq!(growth_price(0, 1024), 98);
        assert_eq!(growth_price(0, MAX_MEMORY), 3 * (1 << 25) + (1 << 50) / 512);
    }

    #[test]
    fn limited_writes_do_not_grow() {
        let mut memory = Memory::default();
        memory.extend(0, 33);
        assert_eq!(memory.len(), 64);
        memory.write_limited(60, &[1; 32], 32);
        memory.write_limited(1 << 40, &[1; 32], 32);
        assert_eq!(memory.len(), 64);
        assert_eq!(memory.read(58, 6), [0, 0, 1, 1, 1, 1]);
        memory.write_padded(0, &[9, 8], 1, 3);
        assert_eq!(memory.read(0, 3), [8, 0, 0]);
    }
}
