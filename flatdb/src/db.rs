//! The handle of an open store.

use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::error::Result;
use crate::fetch::Fetch;
use crate::gate::Gate;
use crate::heap::Heap;
use crate::index::{Index, IndexPlace};
use crate::io::Disk;
use crate::open::{self, Opened};
use crate::options::{Options, VerifyPolicy};
use crate::record_set::RecordSet;
use crate::stats::{Recovery, Stats};
use crate::tables::Tables;

/// One open store. Shared by reference between threads: reads and writes both take `&self`.
#[derive(Debug)]
pub struct FlatDb<D> {
    pub(crate) directory: PathBuf,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) verify: VerifyPolicy,
    pub(crate) index_lag: Option<u64>,
    resident_index: u64,
    pub(crate) store: u64,
    pub(crate) heap: Heap,
    pub(crate) tables: Tables,
    /// The last durable checkpoint. Held while the next one is made.
    pub(crate) durable: Mutex<Checkpoint>,
    pub(crate) gate: Gate,
    /// What a reader's view ends at; a writer's reads go to where the heap is written.
    pub(crate) read_only: Option<Checkpoint>,
    pub(crate) verified: RecordSet,
    pub(crate) fetcher: Option<Box<dyn Fetch>>,
    /// Whether the last look found records that were not in memory. A hint.
    pub(crate) was_cold: AtomicBool,
    pub(crate) written: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    recovery: Recovery,
    /// Keeps other writers away for as long as the store is open.
    _lock: Option<File>,
    _digest: PhantomData<fn() -> D>,
}

impl<D: Digest> FlatDb<D> {
    /// Opens for reading and writing, see [`Options::open`].
    pub(crate) fn open(directory: &Path, options: Options) -> Result<Self> {
        let create_with = options.create.then_some(options.index_slots);
        let opened = open::open::<D>(options.index_place(directory), create_with)?;
        Ok(Self::assemble(directory, options, opened))
    }

    /// Opens for reading the last checkpoint, see [`Options::open_read_only`].
    pub(crate) fn open_read_only(directory: &Path, options: Options) -> Result<Self> {
        let opened = open::open_read_only::<D>(options.index_place(directory))?;
        Ok(Self::assemble(directory, options, opened))
    }

    fn assemble(directory: &Path, options: Options, opened: Opened) -> Self {
        let Opened { checkpoint, heap, index, recovery, lock } = opened;
        Self {
            directory: directory.to_owned(),
            disk: options.disk,
            verify: options.verify,
            index_lag: options.index_lag,
            resident_index: options.resident_index,
            store: checkpoint.store,
            heap,
            tables: Tables::new(index),
            durable: Mutex::new(checkpoint),
            gate: Gate::new(),
            read_only: lock.is_none().then_some(checkpoint),
            verified: RecordSet::default(),
            fetcher: options.cold_reads.fetcher(),
            was_cold: AtomicBool::new(true),
            written: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            recovery,
            _lock: lock,
            _digest: PhantomData,
        }
    }

    pub(crate) fn index_place(&self) -> IndexPlace<'_> {
        IndexPlace { disk: &*self.disk, directory: &self.directory, resident: self.resident_index }
    }

    /// The index in use.
    #[inline]
    pub(crate) fn index(&self) -> &Index {
        self.tables.current()
    }

    /// What the store holds and has done.
    pub fn stats(&self) -> Stats {
        let index = self.index();
        Stats {
            records: self.read_only.map_or_else(|| index.tally().records, |checkpoint| checkpoint.records),
            heap_bytes: self.read_end(),
            index_slots: index.len() as u64,
            index_bytes: index.file_len(),
            ambiguous: index.ambiguous(),
            generation: index.generation,
            written: self.written.load(Ordering::Relaxed),
            duplicates: self.duplicates.load(Ordering::Relaxed),
        }
    }

    /// What opening had to do.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.directory
    }
}

impl<D> Drop for FlatDb<D> {
    /// Gives back the space that the heap had in advance. What was not flushed is cut at the next opening.
    fn drop(&mut self) {
        if self.read_only.is_none() && !self.gate.is_poisoned() {
            self.heap.cut().ok();
        }
    }
}
