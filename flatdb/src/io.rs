//! The disk behind one small trait, so that tests can tear, reorder and fail writes.
//!
//! Everything a store writes passes through here except the slots of the index, which are published in memory and reach
//! the disk by [`DiskFile::sync`]. Reads of the heap and the index are memory-mapped and use [`DiskFile::file`].

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Opens and removes files.
pub trait Disk: Debug + Send + Sync {
    /// Opens a file for reading and writing, creating it when asked.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes created and removed names of a directory durable.
    ///
    /// # Errors
    /// The system's.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// One file.
pub trait DiskFile: Debug + Send + Sync {
    /// Writes all bytes at an offset, growing the file where needed.
    ///
    /// # Errors
    /// The system's; an unknown part of the bytes may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Sets the length; new bytes read as zero and may have no space behind them.
    ///
    /// # Errors
    /// The system's.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Sets the length and reserves space for every byte, so that a write through a map cannot fail.
    ///
    /// # Errors
    /// The system's, above all when there is no space.
    fn allocate(&self, len: u64) -> io::Result<()>;

    /// Makes everything written so far durable, also what was written through a map.
    ///
    /// # Errors
    /// The system's; what is durable is then unknown.
    fn sync(&self) -> io::Result<()>;

    /// The file itself, for mapping and reading.
    fn file(&self) -> &File;
}

/// The operating system's disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk;

impl Disk for OsDisk {
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create(create).truncate(false).open(path)?;
        Ok(Box::new(OsFile(file)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

#[derive(Debug)]
struct OsFile(File);

impl DiskFile for OsFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        rustix::fs::fallocate(&self.0, rustix::fs::FallocateFlags::empty(), 0, len).map_err(io::Error::from)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn file(&self) -> &File {
        &self.0
    }
}
