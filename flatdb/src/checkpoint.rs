//! The checkpoint: the only thing that makes a batch real.
//!
//! Two copies in two pages, written in turn, each with a sequence number and a checksum. Opening takes the valid copy with
//! the higher number, so a torn write costs at most the batches since the copy before. The file headers of heap and index are
//! here too: all three say format, digest and which store they belong to.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::index::Tally;
use crate::io::DiskFile;

/// Bytes between the two copies.
pub(crate) const PAGE: u64 = 4096;
/// The version of all files.
pub(crate) const VERSION: u32 = 2;

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

/// The checkpoint file.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    path: PathBuf,
    file: Box<dyn DiskFile>,
}

impl CheckpointFile {
    pub(crate) fn new(path: &Path, file: Box<dyn DiskFile>) -> Self {
        Self { path: path.to_owned(), file }
    }

    /// The valid copies, the newest first; at least one.
    pub(crate) fn read(&self, digest: &[u8; 8]) -> Result<Vec<Checkpoint>> {
        use std::os::unix::fs::FileExt;
        let mut found = Vec::with_capacity(2);
        let mut first = [0; LEN];
        for page in 0..2 {
            let mut bytes = [0; LEN];
            let read = self.file.file().read_at(&mut bytes, page * PAGE).map_err(Error::io("read", &self.path))?;
            if page == 0 {
                first = bytes;
            }
            found.extend(Checkpoint::decode(&bytes[..read], digest));
        }
        found.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.sequence));
        if found.is_empty() { Err(self.explain(&first, digest)) } else { Ok(found) }
    }

    /// Why no copy is valid: another format, version or digest, else damage.
    fn explain(&self, bytes: &[u8; LEN], digest: &[u8; 8]) -> Error {
        let (magic, version, own) = (&bytes[..8], &bytes[8..12], &bytes[16..24]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches(['\0', '\n']).to_owned();
        if magic == MAGIC && version != VERSION.to_le_bytes() {
            let version = u32::from_le_bytes([version[0], version[1], version[2], version[3]]);
            let (expected, got) = (format!("format version {VERSION}"), format!("version {version}"));
            return Error::Format { path: self.path.clone(), expected, got };
        }
        if magic == MAGIC && own != digest {
            let (expected, got) = (format!("digest {}", text(digest)), format!("digest {}", text(own)));
            return Error::Format { path: self.path.clone(), expected, got };
        }
        Error::Corrupt {
            path: self.path.clone(),
            offset: 0,
            problem: "neither copy of the checkpoint is valid".to_owned(),
        }
    }

    /// Writes a checkpoint over the older copy and makes it durable.
    pub(crate) fn write(&self, checkpoint: &Checkpoint, digest: &[u8; 8]) -> Result<()> {
        let offset = (checkpoint.sequence & 1) * PAGE;
        self.file.write_at(&checkpoint.encode(digest), offset).map_err(Error::io("write", &self.path))?;
        self.file.sync().map_err(Error::io("sync", &self.path))
    }
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

/// Whether a file begins with the header that it should have.
pub(crate) fn check_header(path: &Path, file: &dyn DiskFile, expected: &[u8; 48]) -> Result<()> {
    use std::os::unix::fs::FileExt;
    let mut got = [0; 48];
    let read = file.file().read_at(&mut got, 0).map_err(Error::io("read", path))?;
    if read == got.len() && got == *expected {
        return Ok(());
    }
    Err(Error::Corrupt { path: path.to_owned(), offset: 0, problem: "its header is not this store's".to_owned() })
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
