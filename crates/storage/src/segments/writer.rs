//! Writing a segment file: under another name, synced, renamed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rhizome_primitives::{B256, Bytes};

use super::format::{CELL, MAX_RECORD, PAGE, SegmentHeader, SegmentRange, cell_of, pack, prefix_of};
use super::set::{fault, file_name};
use crate::error::{Result, StorageError};

/// Ends the name of a file that is not complete.
pub(super) const UNFINISHED: &str = "unfinished";

/// Writes the segment of a range with these records, in their order, each hash once, and returns its path. A file of the same
/// range is replaced. When this returns, the file is durable under its name; after a crash before that there is none, or the
/// one before.
///
/// # Errors
/// When the disk fails, or the records are more than a segment can hold.
pub fn write_segment(directory: &Path, range: SegmentRange, records: &[(B256, Bytes)]) -> Result<PathBuf> {
    if let Some((hash, record)) = records.iter().find(|(_, record)| record.len() > MAX_RECORD) {
        return Err(StorageError::Refused(format!(
            "node {hash} has {} bytes, a segment takes {MAX_RECORD}",
            record.len()
        )));
    }
    let bytes = records.iter().map(|(_, record)| record.len() as u64).sum();
    let header = SegmentHeader::plan(range, records.len() as u64, bytes).ok_or_else(|| {
        StorageError::Refused("more nodes than one segment holds; choose fewer blocks a segment".into())
    })?;
    let path = directory.join(file_name(range.from, range.to));
    let unfinished = path.with_extension(UNFINISHED);
    std::fs::create_dir_all(directory).map_err(|error| fault(directory, error))?;
    let written = write_file(&unfinished, &header, records);
    if let Err(error) = written {
        // What is left of it takes space and is of no use.
        let _ = std::fs::remove_file(&unfinished);
        return Err(fault(&unfinished, error));
    }
    std::fs::rename(&unfinished, &path).map_err(|error| fault(&path, error))?;
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(|error| fault(directory, error))?;
    Ok(path)
}

fn write_file(path: &Path, header: &SegmentHeader, records: &[(B256, Bytes)]) -> io::Result<()> {
    let mut out = Pages::new(BufWriter::with_capacity(1 << 18, File::create(path)?));
    out.write(&header.encode())?;
    out.pad()?;
    let mut entries = Vec::with_capacity(records.len());
    for (hash, record) in records {
        entries.push((*hash, pack(out.position, record.len())));
        out.write(record)?;
    }
    out.pad()?;
    entries.sort_unstable();
    write_directory(&mut out, header.directory_bits, &entries)?;
    out.pad()?;
    for (hash, packed) in &entries {
        out.write(&prefix_of(hash).to_le_bytes())?;
        out.write(&packed.to_le_bytes())?;
    }
    out.pad()?;
    debug_assert_eq!(out.position, header.sums, "the plan is what is written");
    let file = out.finish()?;
    file.sync_all()
}

/// For each value of a prefix's leading bits the first entry that is not below it, and the number of entries at the end.
fn write_directory(out: &mut Pages, bits: u32, entries: &[(B256, u64)]) -> io::Result<()> {
    let mut cells = Vec::with_capacity(((1_usize << bits) + 1) * CELL);
    let mut next = 0_u64;
    for (place, (hash, _)) in entries.iter().enumerate() {
        let cell = cell_of(prefix_of(hash), bits);
        while next <= cell {
            cells.extend_from_slice(&(place as u32).to_le_bytes());
            next += 1;
        }
    }
    while next <= 1 << bits {
        cells.extend_from_slice(&(entries.len() as u32).to_le_bytes());
        next += 1;
    }
    out.write(&cells)
}

/// Writes from front to back and sums each page up.
struct Pages {
    file: BufWriter<File>,
    position: u64,
    page: crc32fast::Hasher,
    sums: Vec<u8>,
}

impl Pages {
    fn new(file: BufWriter<File>) -> Self {
        Self { file, position: 0, page: crc32fast::Hasher::new(), sums: Vec::new() }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        while !bytes.is_empty() {
            let room = PAGE - self.in_page();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.page.update(now);
            self.position += now.len() as u64;
            if self.in_page() == 0 {
                let sum = std::mem::take(&mut self.page).finalize();
                self.sums.extend_from_slice(&sum.to_le_bytes());
            }
            bytes = later;
        }
        Ok(())
    }

    fn in_page(&self) -> usize {
        (self.position % PAGE as u64) as usize
    }

    /// Zeros to the end of the page.
    fn pad(&mut self) -> io::Result<()> {
        match self.in_page() {
            0 => Ok(()),
            used => self.write(&vec![0; PAGE - used]),
        }
    }

    /// Appends the sums and the sum of the sums.
    fn finish(mut self) -> io::Result<File> {
        let check = crc32fast::hash(&self.sums);
        self.file.write_all(&self.sums)?;
        self.file.write_all(&check.to_le_bytes())?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}
