//! How a store is opened.

use std::path::Path;
use std::sync::Arc;

use crate::fetch::ColdReads;
use crate::index::IndexPlace;
use crate::io::{Disk, OsDisk};
use crate::{Digest, FlatDb, Result};

/// When a read recomputes the hash of the bytes it found.
///
/// A slot tells 23 bits of a key beside its position. The writer marks the slots that this cannot tell apart, so for a key
/// that is in the store the choice of record is exact under every policy; the policies differ in when damage on disk is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyPolicy {
    /// On every read.
    Always,
    /// On the first read of each record after opening, and whenever a slot alone does not decide.
    #[default]
    First,
    /// Only when a slot alone does not decide. For disks that check their data themselves.
    Never,
}

/// Options of a store; `Options::default()` opens a directory for writing and creates it where it is missing.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) create: bool,
    pub(crate) verify: VerifyPolicy,
    pub(crate) index_slots: u64,
    pub(crate) index_lag: Option<u64>,
    pub(crate) resident_index: u64,
    pub(crate) cold_reads: ColdReads,
    pub(crate) disk: Arc<dyn Disk>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: true,
            verify: VerifyPolicy::default(),
            index_slots: 1 << 16,
            index_lag: None,
            resident_index: 512 << 20,
            cold_reads: ColdReads::default(),
            disk: Arc::new(OsDisk),
        }
    }
}

impl Options {
    /// Whether a missing store is created. Default: yes.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// When reads recompute hashes. Default: [`VerifyPolicy::First`].
    #[must_use]
    pub fn verify(mut self, verify: VerifyPolicy) -> Self {
        self.verify = verify;
        self
    }

    /// How many records a new store is expected to hold; its index is sized so that it need not grow before. Default: 45,000.
    #[must_use]
    pub fn expected_records(mut self, records: u64) -> Self {
        self.index_slots = crate::index::slots_for(records);
        self
    }

    /// How many heap bytes may be flushed without the index being synced too. What the index lacks after a crash is placed anew at
    /// opening, at some million records a second. Default: an eighth of the heap, between 32 and 512 MiB.
    #[must_use]
    pub fn index_lag(mut self, bytes: u64) -> Self {
        self.index_lag = Some(bytes);
        self
    }

    /// Up to how many bytes the index lives in the process's memory, eight bytes for each record at full load, about sixteen on
    /// average; a larger one is a map of its file. Default: 512 MiB.
    #[must_use]
    pub fn resident_index(mut self, bytes: u64) -> Self {
        self.resident_index = bytes;
        self
    }

    pub(crate) fn index_place<'a>(&'a self, directory: &'a Path) -> IndexPlace<'a> {
        IndexPlace { disk: &*self.disk, directory, resident: self.resident_index }
    }

    /// How reads of many records bring in what is not in memory. Default: [`ColdReads::Advise`].
    #[must_use]
    pub fn cold_reads(mut self, how: ColdReads) -> Self {
        self.cold_reads = how;
        self
    }

    /// The disk to work on. Default: the operating system's.
    #[must_use]
    pub fn disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = disk;
        self
    }

    /// Opens a directory for reading and writing.
    ///
    /// # Errors
    /// When the directory is in use, is not a store of this digest and version, or cannot be read or created.
    pub fn open<D: Digest>(self, path: impl AsRef<Path>) -> Result<FlatDb<D>> {
        FlatDb::open(path.as_ref(), self)
    }

    /// Opens a directory for reading its last checkpoint, also while another process writes to it.
    /// After a failed flush of the writer its readers have to be closed before the store is opened for writing again: one of them may
    /// stand at the checkpoint that failed.
    ///
    /// # Errors
    /// When the directory is not a store of this digest and version, or cannot be read.
    pub fn open_read_only<D: Digest>(self, path: impl AsRef<Path>) -> Result<FlatDb<D>> {
        FlatDb::open_read_only(path.as_ref(), self)
    }
}
