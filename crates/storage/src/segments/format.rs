//! The header of a segment file and where its parts lie.
//!
//! ```text
//! page 0   records …   directory …   entries …   page sums
//! ```
//! Every part begins at a page. All numbers are little-endian.

use rhizome_primitives::B256;

/// Parts begin at multiples of this, and checksums cover so many bytes each.
pub(super) const PAGE: usize = 4096;
/// One entry of the index: eight bytes of the key, then offset and length.
pub(super) const ENTRY: usize = 16;
/// One cell of the directory.
pub(super) const CELL: usize = 4;
/// One checksum.
pub(super) const SUM: usize = 4;
/// An entry has 40 bits for an offset.
pub(super) const MAX_OFFSET: u64 = 1 << 40;
/// An entry has 24 bits for a length; no node or value of the protocol is longer.
pub(super) const MAX_RECORD: usize = (1 << 24) - 1;
/// More would make a directory of more than 256 MiB.
pub(super) const MAX_DIRECTORY_BITS: u32 = 26;

const MAGIC: [u8; 8] = *b"RHZSEGM\n";
const VERSION: u32 = 1;

// Each offset is the one before plus its field's width.
const AT_VERSION: usize = 8;
const AT_BITS: usize = AT_VERSION + 4;
const AT_GENESIS: usize = AT_BITS + 4;
const AT_FROM: usize = AT_GENESIS + 32;
const AT_TO: usize = AT_FROM + 8;
const AT_PARENT: usize = AT_TO + 8;
const AT_PARENT_ROOT: usize = AT_PARENT + 32;
const AT_LAST: usize = AT_PARENT_ROOT + 32;
const AT_BLOCKS: usize = AT_LAST + 32;
const AT_RECORDS: usize = AT_BLOCKS + 8;
const AT_BYTES: usize = AT_RECORDS + 8;
const AT_DIRECTORY: usize = AT_BYTES + 8;
const AT_ENTRIES: usize = AT_DIRECTORY + 8;
const AT_SUMS: usize = AT_ENTRIES + 8;
const AT_CHECK: usize = AT_SUMS + 8;
const END: usize = AT_CHECK + 4;

/// Which blocks a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRange {
    /// Hash of the chain's block 0.
    pub genesis: B256,
    /// The first block's number.
    pub from: u64,
    /// The last block's number.
    pub to: u64,
    /// The main chain's block below the first one.
    pub parent: B256,
    /// The state that the first block of the main chain starts from.
    pub parent_root: B256,
    /// The main chain's last block.
    pub last: B256,
    /// Blocks that were executed, those beside the main chain included.
    pub blocks: u64,
}

/// What the first page of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The blocks.
    pub range: SegmentRange,
    /// How many nodes and long values it holds.
    pub records: u64,
    /// Their bytes, without index and checksums.
    pub record_bytes: u64,
    pub(super) directory_bits: u32,
    pub(super) directory: u64,
    pub(super) entries: u64,
    pub(super) sums: u64,
}

impl SegmentHeader {
    /// The header of a file with these records, or `None` when they are too many or too long.
    pub(super) fn plan(range: SegmentRange, records: u64, record_bytes: u64) -> Option<Self> {
        // About four entries a cell.
        let directory_bits = (records / 4).checked_ilog2().unwrap_or(0).min(MAX_DIRECTORY_BITS);
        if record_bytes >= MAX_OFFSET - PAGE as u64 || u32::try_from(records).is_err() {
            return None;
        }
        let cells = (1_u64 << directory_bits) + 1;
        let directory = align(PAGE as u64 + record_bytes);
        let entries = align(directory + cells * CELL as u64);
        let sums = align(entries + records * ENTRY as u64);
        Some(Self { range, records, record_bytes, directory_bits, directory, entries, sums })
    }

    /// How long the file is.
    pub fn file_bytes(&self) -> u64 {
        self.sums + (self.sums / PAGE as u64 + 1) * SUM as u64
    }

    /// The bytes at the start of page 0; the rest of the page is zero.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; END];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        let range = &self.range;
        put(0, &MAGIC);
        put(AT_VERSION, &VERSION.to_le_bytes());
        put(AT_BITS, &self.directory_bits.to_le_bytes());
        put(AT_GENESIS, range.genesis.as_slice());
        put(AT_FROM, &range.from.to_le_bytes());
        put(AT_TO, &range.to.to_le_bytes());
        put(AT_PARENT, range.parent.as_slice());
        put(AT_PARENT_ROOT, range.parent_root.as_slice());
        put(AT_LAST, range.last.as_slice());
        put(AT_BLOCKS, &range.blocks.to_le_bytes());
        put(AT_RECORDS, &self.records.to_le_bytes());
        put(AT_BYTES, &self.record_bytes.to_le_bytes());
        put(AT_DIRECTORY, &self.directory.to_le_bytes());
        put(AT_ENTRIES, &self.entries.to_le_bytes());
        put(AT_SUMS, &self.sums.to_le_bytes());
        let check = crc32fast::hash(&out[..AT_CHECK]);
        out[AT_CHECK..].copy_from_slice(&check.to_le_bytes());
        out
    }

    /// Reads the start of page 0. `Err` says what is wrong with it.
    pub(super) fn decode(page: &[u8]) -> Result<Self, String> {
        let bytes = page.get(..END).ok_or("shorter than its header")?;
        if bytes[..8] != MAGIC {
            return Err("not a segment file".into());
        }
        let version = u32_at(bytes, AT_VERSION);
        if version != VERSION {
            return Err(format!("segment version {version}, this release reads {VERSION}"));
        }
        if crc32fast::hash(&bytes[..AT_CHECK]) != u32_at(bytes, AT_CHECK) {
            return Err("its header is damaged".into());
        }
        let hash = |at: usize| B256::from_slice(&bytes[at..at + 32]);
        let range = SegmentRange {
            genesis: hash(AT_GENESIS),
            from: u64_at(bytes, AT_FROM),
            to: u64_at(bytes, AT_TO),
            parent: hash(AT_PARENT),
            parent_root: hash(AT_PARENT_ROOT),
            last: hash(AT_LAST),
            blocks: u64_at(bytes, AT_BLOCKS),
        };
        let planned = Self::plan(range, u64_at(bytes, AT_RECORDS), u64_at(bytes, AT_BYTES));
        let planned = planned.filter(|header| header.encode() == bytes && range.from <= range.to);
        planned.ok_or_else(|| "its header contradicts itself".into())
    }
}

fn align(offset: u64) -> u64 {
    offset.next_multiple_of(PAGE as u64)
}

/// The number at an offset that the caller knows to be inside.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The number at an offset that the caller knows to be inside.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What the index is sorted by.
pub(super) fn prefix_of(hash: &B256) -> u64 {
    hash[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The directory's cell of a prefix.
pub(super) fn cell_of(prefix: u64, directory_bits: u32) -> u64 {
    prefix.checked_shr(64 - directory_bits).unwrap_or(0)
}

/// Offset and length as an entry has them.
pub(super) fn pack(offset: u64, len: usize) -> u64 {
    offset | (len as u64) << 40
}

/// Offset and length of an entry.
pub(super) fn unpack(packed: u64) -> (u64, usize) {
    (packed & (MAX_OFFSET - 1), (packed >> 40) as usize)
}
