//! The heap: records one after another in the order they were written.
//!
//! A record is a length and its bytes. The length is one byte from 1 to 254, or 255 and four little-endian bytes (for an empty
//! record and for long ones); a zero byte is no record. The file begins with a page that names the format and the digest, and
//! two for the checkpoint.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::claim::End;
use crate::error::{Error, Result};
use crate::io::DiskFile;
use crate::mmap::HeapMap;

/// Bytes before the first record: the header and the two copies of the checkpoint.
pub(crate) const HEADER: u64 = 3 * crate::checkpoint::PAGE;
/// Offsets have 40 bits.
pub(crate) const LIMIT: u64 = 1 << crate::slots::OFFSET_BITS;
/// The file grows by whole steps, so that a read never passes the end of the file.
const STEP: u64 = 16 << 20;
/// Zeros that are written ahead of small flushes.
const READY: u64 = 1 << 20;
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// The length byte that says that four bytes of length follow.
const LONG: u8 = 255;
/// The longest record.
pub(crate) const MAX_RECORD: usize = u32::MAX as usize;

/// What precedes a record's bytes: one or five bytes.
pub(crate) fn prefix_len(record: usize) -> usize {
    if is_short(record) { 1 } else { 5 }
}

/// Whether one byte says this length.
fn is_short(len: usize) -> bool {
    0 < len && len < LONG as usize
}

/// Appends a record and its length.
pub(crate) fn encode(record: &[u8], out: &mut Vec<u8>) {
    if is_short(record.len()) {
        out.push(record.len() as u8);
    } else {
        out.push(LONG);
        out.extend_from_slice(&(record.len() as u32).to_le_bytes());
    }
    out.extend_from_slice(record);
}

/// The heap file of one open store.
#[derive(Debug)]
pub(crate) struct Heap {
    pub(crate) path: PathBuf,
    pub(crate) file: Box<dyn DiskFile>,
    map: HeapMap,
    /// The length that the file was last given.
    allocated: parking_lot::Mutex<u64>,
    end: End,
    /// Where the bytes end that have space on the disk, records or zeros.
    ready: AtomicU64,
}

impl Heap {
    /// A heap whose records end at `end`.
    pub(crate) fn new(path: &Path, file: Box<dyn DiskFile>, end: u64) -> Result<Self> {
        let map = HeapMap::new(file.file(), end, LIMIT).map_err(Error::io("map", path))?;
        let allocated = parking_lot::Mutex::new(end);
        Ok(Self { path: path.to_owned(), file, map, allocated, end: End::new(end, LIMIT), ready: AtomicU64::new(end) })
    }

    /// Cuts the file where the records end, so that what a crash left behind is gone.
    pub(crate) fn cut(&self) -> Result<()> {
        self.file.set_len(self.end()).map_err(Error::io("cut", &self.path))
    }

    /// Where the claimed bytes end. Exact while no writer is active.
    pub(crate) fn end(&self) -> u64 {
        self.end.get()
    }

    /// Where the written bytes end. Whoever has seen a slot sees an end behind the slot's record.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        self.map.written()
    }

    /// Claims `len` bytes and returns where they begin.
    pub(crate) fn claim(&self, len: u64) -> Result<u64> {
        self.end.claim(len).map_err(|needed| Error::Full { needed, limit: LIMIT })
    }

    /// Writes claimed bytes. When this returns they may be read.
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let end = offset + bytes.len() as u64;
        {
            let mut allocated = self.allocated.lock();
            if end > *allocated {
                let len = end.next_multiple_of(STEP).min(LIMIT);
                self.file.set_len(len).map_err(Error::io("grow", &self.path))?;
                *allocated = len;
            }
        }
        self.file.write_at(bytes, offset).map_err(Error::io("write", &self.path))?;
        self.map.written_to(end);
        Ok(())
    }

    /// Puts zeros behind the end, where the next flushes will write if they are small, of `step` bytes like this one. A write
    /// where the file system has space already changes bytes alone; one that takes new space changes the file system too,
    /// whose journal then costs more than these zeros. Only while no writer is active.
    pub(crate) fn make_ready(&self, step: u64) {
        let end = self.end();
        let ready = self.ready.load(Ordering::Relaxed).max(end);
        if step > READY / 4 || ready - end >= step {
            return;
        }
        // Behind what the file has, growing it is left to the next write.
        let ahead = (end + READY).min(*self.allocated.lock());
        for from in (ready..ahead).step_by(ZEROS.len()) {
            let zeros = &ZEROS[..ZEROS.len().min((ahead - from) as usize)];
            // Without them the next writes cost more, and report what the disk lacks.
            if self.file.write_at(zeros, from).is_err() {
                return;
            }
            self.ready.store(from + zeros.len() as u64, Ordering::Relaxed);
        }
    }

    /// The record at an offset, or what is wrong there. `end` is where the records end for this reader.
    #[inline]
    pub(crate) fn record(&self, offset: u64, end: u64) -> Result<&[u8]> {
        let (start, len) = match self.map.slice(offset, 1) {
            Some(&[len]) if len != 0 && len != LONG => (offset + 1, u64::from(len)),
            Some(&[LONG]) => match self.map.slice(offset + 1, 4) {
                Some(&[a, b, c, d]) => (offset + 5, u64::from(u32::from_le_bytes([a, b, c, d]))),
                _ => return Err(self.corrupt(offset, "a length is cut")),
            },
            _ => return Err(self.corrupt(offset, "no record begins here")),
        };
        match self.map.slice(start, len) {
            Some(bytes) if start + len <= end => Ok(bytes),
            _ => Err(self.corrupt(offset, "a record passes the end")),
        }
    }

    /// A [`Error::Corrupt`] of this file.
    #[cold]
    pub(crate) fn corrupt(&self, offset: u64, problem: &str) -> Error {
        Error::Corrupt { path: self.path.clone(), offset, problem: problem.to_owned() }
    }

    /// The map, for hints.
    pub(crate) fn map(&self) -> &HeapMap {
        &self.map
    }
}
