//! A directory of segments.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::format::{PAGE, SegmentHeader};
use super::segment::Segment;
use crate::error::{Result, StorageError};

/// Ends the names of segment files.
const EXTENSION: &str = "segment";
/// The name in messages.
const ENGINE: &str = "segment";

/// A segment file that was looked at and not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Where it is.
    pub path: PathBuf,
    /// What it says of itself.
    pub header: SegmentHeader,
}

impl SegmentInfo {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// When the file cannot be read, is no segment, or its header is damaged.
    pub fn read(path: &Path) -> Result<Self> {
        let mut page = Vec::with_capacity(PAGE);
        let file = File::open(path).map_err(|error| fault(path, error))?;
        let file_bytes = file.metadata().map_err(|error| fault(path, error))?.len();
        file.take(PAGE as u64).read_to_end(&mut page).map_err(|error| fault(path, error))?;
        let header = SegmentHeader::decode(&page).map_err(|what| damage(path, what))?;
        if file_bytes != header.file_bytes() {
            return Err(damage(path, format!("{file_bytes} bytes long, its header says {}", header.file_bytes())));
        }
        Ok(Self { path: path.to_owned(), header })
    }

    /// Opens it.
    ///
    /// # Errors
    /// As of [`Segment::open`].
    pub fn open(&self) -> Result<Segment> {
        Segment::open(&self.path)
    }

    /// Whether a block of this number is in its range.
    pub fn covers(&self, number: u64) -> bool {
        (self.header.range.from..=self.header.range.to).contains(&number)
    }
}

/// The segments of one directory by block number. Ranges do not overlap.
#[derive(Clone, Debug, Default)]
pub struct SegmentSet {
    segments: Vec<SegmentInfo>,
}

impl SegmentSet {
    /// Looks at every segment file of a directory; other files are passed over, those of an interrupted build too.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged, and when two ranges overlap.
    pub fn open(directory: &Path) -> Result<Self> {
        let mut segments = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(|error| fault(directory, error))? {
            let path = entry.map_err(|error| fault(directory, error))?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                segments.push(SegmentInfo::read(&path)?);
            }
        }
        segments.sort_unstable_by_key(|segment| segment.header.range.from);
        for pair in segments.windows(2) {
            if pair[0].header.range.to >= pair[1].header.range.from {
                return Err(StorageError::Refused(format!(
                    "{} and {} are for the same blocks; remove one of them",
                    pair[0].path.display(),
                    pair[1].path.display()
                )));
            }
        }
        Ok(Self { segments })
    }

    /// All of them, by their first block.
    pub fn segments(&self) -> &[SegmentInfo] {
        &self.segments
    }

    /// The one for a block.
    pub fn for_block(&self, number: u64) -> Option<&SegmentInfo> {
        let after = self.segments.partition_point(|segment| segment.header.range.from <= number);
        after.checked_sub(1).and_then(|index| self.segments.get(index)).filter(|segment| segment.covers(number))
    }
}

/// The name of the file for a range; sorts by number.
pub(super) fn file_name(from: u64, to: u64) -> String {
    format!("{from:010}-{to:010}.{EXTENSION}")
}

/// The file could not be read or written.
pub(super) fn fault(path: &Path, error: std::io::Error) -> StorageError {
    damage(path, error.to_string())
}

/// The file is not as it should be.
pub(super) fn damage(path: &Path, message: impl Into<String>) -> StorageError {
    StorageError::Engine { engine: ENGINE, path: path.to_owned(), message: message.into() }
}
