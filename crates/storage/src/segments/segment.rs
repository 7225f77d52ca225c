//! An open segment.

use std::fs::File;
use std::path::{Path, PathBuf};

use rhizome_flatdb::FileMap;
use rhizome_keccak::keccak256_batch;
use rhizome_primitives::{B256, Bytes, keccak256};

use super::format::{CELL, ENTRY, PAGE, SUM, SegmentHeader, cell_of, prefix_of, u32_at, u64_at, unpack};
use super::set::{damage, fault};
use crate::error::Result;

/// Records hashed together.
const GROUP: usize = 256;

/// A segment file in a memory map. Its records are handed out without a copy.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    header: SegmentHeader,
    contents: Bytes,
}

/// What a verification read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentSummary {
    /// Records whose hash is their key's.
    pub records: u64,
    /// Their bytes.
    pub record_bytes: u64,
    /// Bytes of the file, all of them covered by checksums.
    pub file_bytes: u64,
}

impl Segment {
    /// Opens a file. Header, index and table of checksums are checked; the records are when they are read.
    ///
    /// # Errors
    /// When it cannot be read, is no segment, or is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| fault(path, error))?;
        let map = FileMap::new(&file).map_err(|error| fault(path, error))?;
        let contents = Bytes::from(bytes::Bytes::from_owner(map));
        let header = SegmentHeader::decode(&contents).map_err(|what| damage(path, what))?;
        if contents.len() as u64 != header.file_bytes() {
            return Err(damage(
                path,
                format!("{} bytes long, its header says {}", contents.len(), header.file_bytes()),
            ));
        }
        let segment = Self { path: path.to_owned(), header, contents };
        segment.check_sums_table()?;
        segment.check_page(0)?;
        for page in header.directory / PAGE as u64..header.sums / PAGE as u64 {
            segment.check_page(page)?;
        }
        Ok(segment)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is for.
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Reads the whole file into the page cache, front to back: for a replay that will need all of it.
    pub fn preload(&self) {
        // A sum over one byte a page, so that the reads are not taken away.
        let touched = self.contents.iter().step_by(PAGE).fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        std::hint::black_box(touched);
    }

    /// The record under a hash; `None` when the segment does not have it.
    ///
    /// # Errors
    /// When what the index leads to is damaged.
    pub fn get(&self, hash: &B256) -> Result<Option<Bytes>> {
        let (start, end) = self.candidates(prefix_of(hash))?;
        for place in start..end {
            let record = self.record(place)?;
            if keccak256(&record) == *hash {
                return Ok(Some(record));
            }
            // Either another key with the same first eight bytes, or a damaged record; the checksums know.
            self.check_record(place)?;
        }
        Ok(None)
    }

    /// Whether the index has a key that begins like this hash: enough to tell whether a read is worth trying.
    pub(super) fn may_have(&self, hash: &B256) -> Result<bool> {
        let (start, end) = self.candidates(prefix_of(hash))?;
        Ok(start < end)
    }

    /// The entries whose keys begin with a prefix: a range of places.
    fn candidates(&self, prefix: u64) -> Result<(u64, u64)> {
        let cell = self.header.directory + cell_of(prefix, self.header.directory_bits) * CELL as u64;
        let low = u64::from(self.number_at(cell)?);
        let high = u64::from(self.number_at(cell + CELL as u64)?);
        if low > high || high > self.header.records {
            return Err(damage(&self.path, "its directory is out of order"));
        }
        let mut start = low;
        while start < high && self.entry(start)?.0 < prefix {
            start += 1;
        }
        let mut end = start;
        while end < high && self.entry(end)?.0 == prefix {
            end += 1;
        }
        Ok((start, end))
    }

    fn number_at(&self, offset: u64) -> Result<u32> {
        Ok(u32_at(self.bytes(offset, CELL)?, 0))
    }

    /// Prefix, and offset with length.
    fn entry(&self, place: u64) -> Result<(u64, u64)> {
        let bytes = self.bytes(self.header.entries + place * ENTRY as u64, ENTRY)?;
        Ok((u64_at(bytes, 0), u64_at(bytes, 8)))
    }

    fn bytes(&self, offset: u64, len: usize) -> Result<&[u8]> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(len);
        self.contents
            .get(start..end)
            .ok_or_else(|| damage(&self.path, format!("its index leads to byte {offset}, outside")))
    }

    fn record(&self, place: u64) -> Result<Bytes> {
        let (offset, len) = unpack(self.entry(place)?.1);
        let end = offset + len as u64;
        if offset < PAGE as u64 || end > PAGE as u64 + self.header.record_bytes {
            return Err(damage(
                &self.path,
                format!("entry {place} leads to bytes {offset}..{end}, outside the records"),
            ));
        }
        Ok(self.contents.slice(offset as usize..end as usize))
    }

    /// Checks the pages that a record lies in.
    fn check_record(&self, place: u64) -> Result<()> {
        let (offset, len) = unpack(self.entry(place)?.1);
        let last = offset + (len as u64).max(1) - 1;
        (offset / PAGE as u64..=last / PAGE as u64).try_for_each(|page| self.check_page(page))
    }

    fn check_sums_table(&self) -> Result<()> {
        let bytes = self.header.sums / PAGE as u64 * SUM as u64;
        let table = self.bytes(self.header.sums, bytes as usize)?;
        if crc32fast::hash(table) != self.number_at(self.header.sums + bytes)? {
            return Err(damage(&self.path, "its table of checksums is damaged"));
        }
        Ok(())
    }

    fn check_page(&self, page: u64) -> Result<()> {
        let expected = self.number_at(self.header.sums + page * SUM as u64)?;
        let got = crc32fast::hash(self.bytes(page * PAGE as u64, PAGE)?);
        if got != expected {
            let start = page * PAGE as u64;
            return Err(damage(&self.path, format!("damaged in bytes {start}..{}", start + PAGE as u64)));
        }
        Ok(())
    }

    /// Checks every page, every record's hash against its entry, and that the records fill their part without gaps.
    ///
    /// # Errors
    /// With the first thing that is wrong.
    pub fn verify(&self) -> Result<SegmentSummary> {
        let header = &self.header;
        self.check_sums_table()?;
        (0..header.sums / PAGE as u64).try_for_each(|page| self.check_page(page))?;
        let mut extents = Vec::with_capacity(header.records as usize);
        let mut below = None;
        for start in (0..header.records).step_by(GROUP) {
            let places: Vec<u64> = (start..header.records.min(start + GROUP as u64)).collect();
            let records: Vec<Bytes> = places.iter().map(|place| self.record(*place)).collect::<Result<_>>()?;
            let inputs: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
            let mut hashes = vec![B256::ZERO; inputs.len()];
            keccak256_batch(&inputs, &mut hashes);
            for (place, hash) in places.iter().zip(&hashes) {
                let (prefix, packed) = self.entry(*place)?;
                if prefix_of(hash) != prefix {
                    return Err(damage(&self.path, format!("entry {place} leads to a record of another hash, {hash}")));
                }
                if below.is_some_and(|below| below >= *hash) {
                    return Err(damage(&self.path, format!("entry {place} is out of order")));
                }
                let (low, high) = self.candidates(prefix)?;
                if !(low..high).contains(place) {
                    return Err(damage(&self.path, format!("the directory does not lead to entry {place}")));
                }
                below = Some(*hash);
                extents.push(unpack(packed));
            }
        }
        extents.sort_unstable();
        let mut end = PAGE as u64;
        for (offset, len) in extents {
            if offset != end {
                return Err(damage(&self.path, format!("no record begins at byte {end}")));
            }
            end += len as u64;
        }
        if end != PAGE as u64 + header.record_bytes {
            return Err(damage(&self.path, format!("the records end at byte {end}")));
        }
        Ok(SegmentSummary {
            records: header.records,
            record_bytes: header.record_bytes,
            file_bytes: header.file_bytes(),
        })
    }
}
