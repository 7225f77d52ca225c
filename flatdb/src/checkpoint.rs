//! The checkpoint: the only thing that makes a batch real.
//!
//! Two copies in two pages of the heap file, written in turn, each with a sequence number and a checksum. They lie in the file of
//! the records so that one sync makes both durable: a copy that reached the disk before its records is found out by the sum over
//! their hashes. Opening takes the newer copy whose records are there, so a torn flush costs at most the batches since the copy
//! before. The headers of heap and index are here too: they say format, digest and which store they belong to.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::index::Tally;
use crate::io::DiskFile;

/// What the header and each copy have for themselves, so that a torn write of one leaves the others whole.
pub(crate) const PAGE: u64 = 4096;
/// The version of all files.
pub(crate) const VERSION: u32 = 3;

const MAGIC: [u8; 8] = *b"FLATDBc\n";
const LEN: usize = 116;
/// Above what a store can have counted: such a number in a file is damage.
pub(crate) const COUNTED: u64 = 1 << 62;

/// What the store holds for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Counts up with each checkpoint; its lowest bit chooses the page.
    pub(crate) sequence: u64,
    /// Drawn when the store was created; the same in all files.
    pub(crate) store: u64,
    /// Where the records end.
    pub(crate) heap_end: u64,
    /// How many records there are.
    pub(crate) records: u64,
    /// Sum over their keys.
    pub(crate) keys: u64,
    /// What of them the index file is known to have.
    pub(crate) index: IndexMark,
}

/// The state of the index file at the last time that it was made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexMark {
    /// Which file it is.
    pub(crate) generation: u64,
    /// How many slots it has.
    pub(crate) slots: u64,
    /// Where the heap ended at that time: it has every record below, and the records behind are placed anew at opening.
    pub(crate) end: u64,
    /// Over its slots that point below `end`.
    pub(crate) tally: Tally,
}

impl Checkpoint {
    fn encode(&self, digest: &[u8; 8]) -> [u8; LEN] {
        let mut out = [0; LEN];
        let mut writer = Writer { out: &mut out, at: 0 };
        writer.put(&MAGIC);
        writer.put(&VERSION.to_le_bytes());
        writer.put(&[0; 4]);
        writer.put(digest);
        for field in [
            self.store,
            self.sequence,
            self.heap_end,
            self.records,
            self.keys,
            self.index.generation,
            self.index.end,
            self.index.tally.records,
            self.index.tally.keys,
            self.index.tally.slots,
            self.index.slots,
        ] {
            writer.put(&field.to_le_bytes());
        }
        let checksum = crc32fast::hash(&writer.out[..writer.at]);
        writer.put(&checksum.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8], digest: &[u8; 8]) -> Option<Self> {
        let bytes: &[u8; LEN] = bytes.get(..LEN)?.try_into().ok()?;
        let (body, checksum) = bytes.split_at(LEN - 4);
        if checksum != crc32fast::hash(body).to_le_bytes() {
            return None;
        }
        let mut reader = Reader(body);
        let [magic, version, own_digest] = [reader.take()?, reader.take()?, reader.take()?];
        if magic != MAGIC || u64::from_le_bytes(version) != u64::from(VERSION) || own_digest != *digest {
            return None;
        }
        let mut field = || reader.take().map(u64::from_le_bytes);
        let checkpoint = Self {
            store: field()?,
            sequence: field()?,
            heap_end: field()?,
            records: field()?,
            keys: field()?,
            index: IndexMark {
                generation: field()?,
                end: field()?,
                tally: Tally { records: field()?, keys: field()?, slots: field()? },
                slots: field()?,
            },
        };
        // Numbers that count up from zero do not get that far.
        (checkpoint.sequence < COUNTED && checkpoint.index.generation < COUNTED).then_some(checkpoint)
    }
}

struct Writer<'a> {
    out: &'a mut [u8; LEN],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self) -> Option<[u8; 8]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }
}

/// Where the copy for a sequence number lies in the heap file: in pages of their own behind the header's, written in turn.
fn place(sequence: u64) -> u64 {
    PAGE + (sequence & 1) * PAGE
}

/// The valid copies in a heap file, the newest first; at least one.
pub(crate) fn read(path: &Path, file: &dyn DiskFile, digest: &[u8; 8]) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::with_capacity(2);
    for sequence in 0..2 {
        let (mut bytes, offset) = ([0; LEN], place(sequence));
        let read = file.file().read_at(&mut bytes, offset).map_err(Error::io("read", path))?;
        // A copy in the other's place is none: writing the next one would destroy the only one.
        found.extend(Checkpoint::decode(&bytes[..read], digest).filter(|copy| place(copy.sequence) == offset));
    }
    found.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.sequence));
    if found.is_empty() {
        let problem = "neither copy of the checkpoint is valid".to_owned();
        return Err(Error::Corrupt { path: path.to_owned(), offset: PAGE, problem });
    }
    Ok(found)
}

/// Writes a checkpoint over the older copy. The next sync of the heap file makes it durable.
pub(crate) fn write(path: &Path, file: &dyn DiskFile, checkpoint: &Checkpoint, digest: &[u8; 8]) -> Result<()> {
    file.write_at(&checkpoint.encode(digest), place(checkpoint.sequence)).map_err(Error::io("write", path))
}

/// Takes back a checkpoint: one whose sync failed, as the kernel may show bytes that never reached the disk, or one whose data are
/// not whole.
pub(crate) fn withdraw(path: &Path, file: &dyn DiskFile, checkpoint: &Checkpoint) -> Result<()> {
    file.write_at(&[0; LEN], place(checkpoint.sequence)).map_err(Error::io("write", path))
}

/// The first bytes of a heap or index file.
pub(crate) fn file_header(magic: &[u8; 8], digest: &[u8; 8], store: u64, fields: [u64; 2]) -> [u8; 48] {
    let mut out = [0; 48];
    out[..8].copy_from_slice(magic);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[16..24].copy_from_slice(digest);
    out[24..32].copy_from_slice(&store.to_le_bytes());
    out[32..40].copy_from_slice(&fields[0].to_le_bytes());
    out[40..48].copy_from_slice(&fields[1].to_le_bytes());
    out
}

/// Whether a file begins with the header that it should have. The error of one that is not of this format, version or digest says so.
pub(crate) fn check_header(path: &Path, file: &dyn DiskFile, expected: &[u8; 48]) -> Result<()> {
    let mut got = [0; 48];
    let read = file.file().read_at(&mut got, 0).map_err(Error::io("read", path))?;
    if read == got.len() && got == *expected {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches(['\0', '\n']).to_owned();
    let format = |expected: String, got: String| Error::Format { path: path.to_owned(), expected, got };
    if got[..8] == expected[..8] && got[8..12] != expected[8..12] {
        let version = u32::from_le_bytes([got[8], got[9], got[10], got[11]]);
        return Err(format(format!("format version {VERSION}"), format!("version {version}")));
    }
    if got[..8] == expected[..8] && got[16..24] != expected[16..24] {
        return Err(format(format!("digest {}", text(&expected[16..24])), format!("digest {}", text(&got[16..24]))));
    }
    Err(Error::Corrupt { path: path.to_owned(), offset: 0, problem: "its header is not this store's".to_owned() })
}

/// The store number in a file's header, whatever else it says.
pub(crate) fn store_number(path: &Path, file: &dyn DiskFile) -> Result<u64> {
    let mut number = [0; 8];
    file.file().read_at(&mut number, 24).map_err(Error::io("read", path))?;
    Ok(u64::from_le_bytes(number))
}

/// A number that tells two stores apart.
pub(crate) fn draw_store_number() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_reads_back_and_a_changed_bit_is_seen() {
        let tally = Tally { records: 5, keys: 6, slots: 7 };
        let index = IndexMark { generation: 3, slots: 1024, end: 4096, tally };
        let checkpoint = Checkpoint { sequence: 9, store: 1, heap_end: 8192, records: 2, keys: 11, index };
        let bytes = checkpoint.encode(b"digest\0\0");
        assert_eq!(Checkpoint::decode(&bytes, b"digest\0\0"), Some(checkpoint));
        assert_eq!(Checkpoint::decode(&bytes, b"another\0"), None);
        assert_eq!(Checkpoint::decode(&bytes[..LEN - 1], b"digest\0\0"), None);
        let counted_too_far = Checkpoint { sequence: u64::MAX, ..checkpoint };
        assert_eq!(Checkpoint::decode(&counted_too_far.encode(b"digest\0\0"), b"digest\0\0"), None);
        for bit in 0..LEN * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Checkpoint::decode(&changed, b"digest\0\0"), None, "bit {bit}");
        }
    }
}
