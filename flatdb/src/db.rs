//! The store: opening and recovery, reads, batches, checkpoints.

use std::fs::{File, TryLockError};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use crate::checkpoint::{self, Checkpoint, CheckpointFile};
use crate::digest::{Digest, Key};
use crate::error::{Error, Result};
use crate::heap::{self, Heap};
use crate::index::{self, Index, Slot, Sums};
use crate::io::Disk;
use crate::iter::Records;
use crate::options::{Options, VerifyPolicy};
use crate::stats::Stats;

const HEAP_MAGIC: [u8; 8] = *b"FLATDBh\n";
const INDEX_MAGIC: [u8; 8] = *b"FLATDBi\n";
/// Records that begin in the same so many heap bytes share a bit of [`Verified`], so shorter ones are always hashed.
const VERIFIED_GRAIN: u64 = 16;
/// How many look-ups [`FlatDb::get_many`] keeps in flight.
const IN_FLIGHT: usize = 32;

/// One open store. Shared by reference between threads: reads and writes both take `&self`.
#[derive(Debug)]
pub struct FlatDb<D> {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    verify: VerifyPolicy,
    store: u64,
    heap: Heap,
    index: ArcSwap<Index>,
    checkpoints: CheckpointFile,
    /// The last durable checkpoint. Held while the next one is made.
    durable: Mutex<Checkpoint>,
    /// Writers hold it shared for one batch; a checkpoint's cut and the index's growth hold it alone.
    writers: RwLock<()>,
    poisoned: AtomicBool,
    /// Where the records of a read-only store end; a writer's reads go to the end of the heap.
    read_only_end: Option<u64>,
    verified: Verified,
    written: AtomicU64,
    duplicates: AtomicU64,
    /// Keeps other writers away for as long as the store is open.
    _lock: Option<File>,
    _digest: PhantomData<fn() -> D>,
}

impl<D: Digest> FlatDb<D> {
    /// Opens for reading and writing, see [`Options::open`].
    pub(crate) fn open(directory: &Path, options: Options) -> Result<Self> {
        let checkpoint_path = directory.join("checkpoint");
        if !checkpoint_path.exists() && !options.create {
            return Err(Error::NotFound { path: directory.to_owned() });
        }
        std::fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        let lock = lock(directory)?;
        let disk = Arc::clone(&options.disk);
        if !checkpoint_path.exists() {
            create::<D>(&*disk, directory, options.index_bits)?;
        }
        let file = disk.open(&checkpoint_path, false).map_err(Error::io("open", &checkpoint_path))?;
        let checkpoints = CheckpointFile::new(&checkpoint_path, file);
        let checkpoint = checkpoints.read(&D::ID)?;
        let heap = open_heap::<D>(&*disk, directory, &checkpoint, true)?;
        let index = open_index::<D>(&*disk, directory, &checkpoint, &heap)?;
        remove_other_indexes(&*disk, directory, index.generation)?;
        Ok(Self::assemble(directory, &options, checkpoint, (heap, index, checkpoints), Some(lock)))
    }

    /// Opens for reading the last checkpoint, see [`Options::open_read_only`].
    pub(crate) fn open_read_only(directory: &Path, options: Options) -> Result<Self> {
        let checkpoint_path = directory.join("checkpoint");
        if !checkpoint_path.exists() {
            return Err(Error::NotFound { path: directory.to_owned() });
        }
        let disk = Arc::clone(&options.disk);
        let mut last = None;
        // The writer may replace the index between our two looks; then its new checkpoint is there too.
        for _ in 0..8 {
            let file = disk.open(&checkpoint_path, false).map_err(Error::io("open", &checkpoint_path))?;
            let checkpoints = CheckpointFile::new(&checkpoint_path, file);
            let checkpoint = checkpoints.read(&D::ID)?;
            let heap = open_heap::<D>(&*disk, directory, &checkpoint, false)?;
            let path = directory.join(index::file_name(checkpoint.generation));
            match map_index::<D>(&*disk, &path, &checkpoint, false) {
                Ok(index) => {
                    if index.scan(checkpoint.heap_end, false).plain != checkpoint.sums.plain {
                        let problem = "its slots do not add up to the checkpoint's sum".to_owned();
                        return Err(Error::Corrupt { path, offset: 0, problem });
                    }
                    return Ok(Self::assemble(directory, &options, checkpoint, (heap, index, checkpoints), None));
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::NotFound { path: directory.to_owned() }))
    }

    fn assemble(
        directory: &Path,
        options: &Options,
        checkpoint: Checkpoint,
        (heap, index, checkpoints): (Heap, Index, CheckpointFile),
        lock: Option<File>,
    ) -> Self {
        Self {
            directory: directory.to_owned(),
            disk: Arc::clone(&options.disk),
            verify: options.verify,
            store: checkpoint.store,
            heap,
            index: ArcSwap::from_pointee(index),
            checkpoints,
            durable: Mutex::new(checkpoint),
            writers: RwLock::new(()),
            poisoned: AtomicBool::new(false),
            read_only_end: lock.is_none().then_some(checkpoint.heap_end),
            verified: Verified::default(),
            written: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            _lock: lock,
            _digest: PhantomData,
        }
    }

    /// The record of a key that may be absent. Whatever the policy (but [`VerifyPolicy::Never`]), a record is returned only
    /// when its hash was seen to be the key: a slot alone is wrong for about one absent key in ten million.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get(&self, key: &Key) -> Result<Option<&[u8]>> {
        self.find(&self.index.load(), key, self.verify != VerifyPolicy::Never)
    }

    /// The record of a key that the caller knows was written here. Saves the hash where the policy allows it; for a key that
    /// was never written the answer may be the record of another one.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get_known(&self, key: &Key) -> Result<Option<&[u8]>> {
        self.find(&self.index.load(), key, self.verify == VerifyPolicy::Always)
    }

    /// [`FlatDb::get`] for many keys, whose cache misses overlap.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<&[u8]>>> {
        self.find_many(keys, self.verify != VerifyPolicy::Never)
    }

    /// [`FlatDb::get_known`] for many keys, whose cache misses overlap.
    ///
    /// # Errors
    /// When a damaged record is met.
    pub fn get_many_known(&self, keys: &[Key]) -> Result<Vec<Option<&[u8]>>> {
        self.find_many(keys, self.verify == VerifyPolicy::Always)
    }

    fn find_many(&self, keys: &[Key], verify: bool) -> Result<Vec<Option<&[u8]>>> {
        let index = self.index.load();
        let mut found = Vec::with_capacity(keys.len());
        for group in keys.chunks(IN_FLIGHT) {
            for key in group {
                index.prefetch(key);
            }
            for key in group {
                if let Some((_, slot)) = index.candidates(key).next() {
                    self.heap.map().prefetch(slot.offset());
                    self.heap.map().prefetch(slot.offset() + 64);
                }
            }
            for key in group {
                found.push(self.find(&index, key, verify)?);
            }
        }
        Ok(found)
    }

    /// Asks the kernel to read the records of these keys from disk in the background, all at once. A hint: worth its system
    /// calls only where the records are likely not in memory.
    pub fn prefetch(&self, keys: &[Key]) {
        let index = self.index.load();
        for key in keys {
            for (_, slot) in index.candidates(key) {
                self.heap.map().advise_needed(slot.offset(), 128);
            }
        }
    }

    #[inline]
    fn find(&self, index: &Index, key: &Key, verify: bool) -> Result<Option<&[u8]>> {
        let end = self.read_end();
        for (position, slot) in index.candidates(key) {
            if slot.offset() >= end {
                if self.read_only_end.is_some() {
                    continue;
                }
                return Err(self.heap.corrupt(slot.offset(), "the index points beyond the end"));
            }
            let record = self.heap.record(slot.offset(), end)?;
            let trusted = !verify && !slot.ambiguous() && self.is_trusted(slot.offset(), record);
            if trusted {
                return Ok(Some(record));
            }
            let digest = D::digest(record);
            if digest == *key {
                self.mark_verified(slot.offset(), record);
                return Ok(Some(record));
            }
            if !index.belongs(&digest, position, slot) {
                return Err(self.heap.corrupt(slot.offset(), "a record's bytes do not hash to its key"));
            }
        }
        Ok(None)
    }

    #[inline]
    fn is_trusted(&self, offset: u64, record: &[u8]) -> bool {
        match self.verify {
            VerifyPolicy::Always => false,
            VerifyPolicy::First => record.len() as u64 >= VERIFIED_GRAIN && self.verified.get(offset),
            VerifyPolicy::Never => true,
        }
    }

    fn mark_verified(&self, offset: u64, record: &[u8]) {
        // A bit set for a short record would speak for its neighbour too.
        if self.verify == VerifyPolicy::First && record.len() as u64 >= VERIFIED_GRAIN {
            self.verified.set(offset);
        }
    }

    fn read_end(&self) -> u64 {
        self.read_only_end.unwrap_or_else(|| self.heap.end())
    }

    /// Writes records under their keys; what is there already is not written again. `key` must be the digest of `record`.
    /// The batch becomes durable with the next [`FlatDb::flush`].
    ///
    /// # Errors
    /// When the disk refuses: the handle is then poisoned. A record of a length that cannot be stored refuses the batch before
    /// anything is written.
    pub fn put_batch<'r>(&self, records: impl IntoIterator<Item = (&'r Key, &'r [u8])>) -> Result<()> {
        if self.read_only_end.is_some() {
            return Err(Error::ReadOnly);
        }
        let mut batch: Vec<(&Key, &[u8])> = records.into_iter().collect();
        if let Some((_, record)) = batch.iter().find(|(_, record)| record.is_empty() || record.len() > heap::MAX_RECORD)
        {
            return Err(Error::RecordLength { limit: heap::MAX_RECORD, got: record.len() });
        }
        debug_assert!(batch.iter().all(|(key, record)| D::digest(record) == **key), "a key is not its record's digest");
        self.make_room(batch.len() as u64)?;
        let shared = self.writers.read();
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        let index = self.index.load();
        let given = batch.len();
        self.retain_new(&index, &mut batch)?;
        self.duplicates.fetch_add((given - batch.len()) as u64, Ordering::Relaxed);
        let result = self.append(&index, &batch);
        if result.is_err() {
            self.poisoned.store(true, Ordering::Release);
        }
        drop(shared);
        result
    }

    /// Drops what the store or the batch itself has already. Keeps the order: who wrote together will read together.
    fn retain_new(&self, index: &Index, batch: &mut Vec<(&Key, &[u8])>) -> Result<()> {
        let mut order: Vec<usize> = (0..batch.len()).collect();
        order.sort_by_key(|at| batch[*at].0);
        let mut known = vec![false; batch.len()];
        for pair in order.windows(2) {
            known[pair[1]] = batch[pair[0]].0 == batch[pair[1]].0;
        }
        for (group, known) in batch.chunks(IN_FLIGHT).zip(known.chunks_mut(IN_FLIGHT)) {
            for (key, _) in group {
                index.prefetch(key);
            }
            for ((key, record), known) in group.iter().zip(known) {
                *known = *known || self.holds(index, key, record)?;
            }
        }
        let mut known = known.into_iter();
        batch.retain(|_| !known.next().unwrap_or_default());
        Ok(())
    }

    /// Whether a slot with the key's tag points to the same bytes.
    fn holds(&self, index: &Index, key: &Key, record: &[u8]) -> Result<bool> {
        for (_, slot) in index.candidates(key) {
            if self.heap.record(slot.offset(), self.heap.end())? == record {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn append(&self, index: &Index, batch: &[(&Key, &[u8])]) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let len: usize = batch.iter().map(|(_, record)| heap::prefix_len(record.len()) + record.len()).sum();
        let mut bytes = Vec::with_capacity(len);
        let start = self.heap.claim(len as u64)?;
        let mut offsets = Vec::with_capacity(batch.len());
        for (_, record) in batch {
            offsets.push(start + bytes.len() as u64);
            heap::encode(record, &mut bytes);
        }
        self.heap.write(&bytes, start)?;
        for ((key, record), offset) in batch.iter().zip(offsets) {
            let published =
                index.publish(key, offset, |other| Ok(self.heap.record(other, self.heap.end())? == *record))?;
            if published {
                self.written.fetch_add(1, Ordering::Relaxed);
                self.mark_verified(offset, record);
            }
        }
        Ok(())
    }

    /// Builds an index of twice the size when `more` records would load this one too much. Readers go on with the old one.
    fn make_room(&self, more: u64) -> Result<()> {
        if !self.index.load().is_full_with(more) {
            return Ok(());
        }
        let _alone = self.writers.write();
        let old = self.index.load_full();
        if !old.is_full_with(more) {
            return Ok(());
        }
        let bits = index::bits_for((old.sums().records + more).saturating_mul(2)).max(old.bits + 1);
        if !index::BITS.contains(&bits) {
            return Err(Error::Full { needed: 1 << bits, limit: 1 << index::BITS.end() });
        }
        let built = build_index::<D>(&*self.disk, &self.directory, (self.store, old.generation + 1, bits), &self.heap);
        match built {
            Ok(index) => {
                self.index.store(Arc::new(index));
                Ok(())
            }
            Err(error) => {
                self.poisoned.store(true, Ordering::Release);
                Err(error)
            }
        }
    }

    /// Makes every batch that has returned durable: heap, then index, then the checkpoint that names both.
    ///
    /// # Errors
    /// When the disk refuses: the handle is then poisoned, because what the disk holds is unknown until it is read again.
    pub fn flush(&self) -> Result<()> {
        if self.read_only_end.is_some() {
            return Err(Error::ReadOnly);
        }
        let mut durable = self.durable.lock();
        if self.poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        let (checkpoint, index) = {
            let _alone = self.writers.write();
            let index = self.index.load_full();
            let checkpoint = Checkpoint {
                sequence: durable.sequence + 1,
                heap_end: self.heap.end(),
                generation: index.generation,
                bits: index.bits,
                sums: index.sums(),
                ..*durable
            };
            (checkpoint, index)
        };
        if checkpoint.heap_end == durable.heap_end && checkpoint.generation == durable.generation {
            return Ok(());
        }
        self.flush_files(&checkpoint, &index).inspect_err(|_| self.poisoned.store(true, Ordering::Release))?;
        if checkpoint.generation != durable.generation {
            // A file that stays behind costs space only; the next opening removes it.
            remove_other_indexes(&*self.disk, &self.directory, checkpoint.generation).ok();
        }
        *durable = checkpoint;
        Ok(())
    }

    fn flush_files(&self, checkpoint: &Checkpoint, index: &Index) -> Result<()> {
        self.heap.file.sync().map_err(Error::io("sync", &self.heap.path))?;
        index.sync()?;
        self.checkpoints.write(checkpoint, &D::ID)
    }

    /// All records in the order they were written. Records that two writers wrote at the same time come twice.
    pub fn iter(&self) -> Records<'_> {
        Records::new(&self.heap, self.read_end())
    }

    /// What the store holds and has done.
    pub fn stats(&self) -> Stats {
        let index = self.index.load();
        let sums = index.sums();
        Stats {
            records: sums.records,
            heap_bytes: self.read_end(),
            index_slots: index.len() as u64,
            index_bytes: index.file_len(),
            ambiguous: sums.ambiguous,
            generation: index.generation,
            written: self.written.load(Ordering::Relaxed),
            duplicates: self.duplicates.load(Ordering::Relaxed),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// The index at this moment, for [`crate::verify`].
    pub(crate) fn index(&self) -> Arc<Index> {
        self.index.load_full()
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }
}

impl<D> Drop for FlatDb<D> {
    /// Gives back the space that the heap had in advance. What was not flushed is cut at the next opening.
    fn drop(&mut self) {
        if self.read_only_end.is_none() && !self.poisoned.load(Ordering::Acquire) {
            self.heap.file.set_len(self.heap.end()).ok();
        }
    }
}

/// Which records were hashed since opening: one bit for each [`VERIFIED_GRAIN`] bytes of heap, in pages made on demand.
#[derive(Debug, Default)]
struct Verified {
    pages: RwLock<Vec<Arc<[AtomicU8]>>>,
}

impl Verified {
    /// Heap bytes that one page of bits covers.
    const COVERS: u64 = 64 << 20;

    fn place(offset: u64) -> (usize, usize, u8) {
        let bit = offset % Self::COVERS / VERIFIED_GRAIN;
        ((offset / Self::COVERS) as usize, (bit / 8) as usize, 1 << (bit % 8))
    }

    #[inline]
    fn get(&self, offset: u64) -> bool {
        let (page, byte, mask) = Self::place(offset);
        self.pages.read().get(page).is_some_and(|page| page[byte].load(Ordering::Relaxed) & mask != 0)
    }

    #[inline]
    fn set(&self, offset: u64) {
        let (page, byte, mask) = Self::place(offset);
        if let Some(page) = self.pages.read().get(page) {
            page[byte].fetch_or(mask, Ordering::Relaxed);
            return;
        }
        let mut pages = self.pages.write();
        while pages.len() <= page {
            pages.push((0..Self::COVERS / VERIFIED_GRAIN / 8).map(|_| AtomicU8::new(0)).collect());
        }
        pages[page][byte].fetch_or(mask, Ordering::Relaxed);
    }
}

fn lock(directory: &Path) -> Result<File> {
    let path = directory.join("LOCK");
    let file =
        File::options().create(true).truncate(false).write(true).open(&path).map_err(Error::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse { path: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
    }
}

/// Writes an empty store. The checkpoint comes last: without it the next opening starts anew.
fn create<D: Digest>(disk: &dyn Disk, directory: &Path, bits: u32) -> Result<()> {
    let store = checkpoint::draw_store_number();
    let heap_path = directory.join("heap");
    let heap = disk.open(&heap_path, true).map_err(Error::io("create", &heap_path))?;
    heap.set_len(heap::HEADER).map_err(Error::io("cut", &heap_path))?;
    heap.write_at(&heap_header::<D>(store), 0).map_err(Error::io("write", &heap_path))?;
    heap.sync().map_err(Error::io("sync", &heap_path))?;
    Index::create(disk, directory, 0, bits, &index_header::<D>(store, 0, bits))?.sync()?;
    let path = directory.join("checkpoint");
    let temporary = directory.join("checkpoint.new");
    let file = disk.open(&temporary, true).map_err(Error::io("create", &temporary))?;
    file.set_len(2 * checkpoint::PAGE).map_err(Error::io("cut", &temporary))?;
    let first = Checkpoint { sequence: 0, store, heap_end: heap::HEADER, generation: 0, bits, sums: Sums::default() };
    CheckpointFile::new(&temporary, file).write(&first, &D::ID)?;
    std::fs::rename(&temporary, &path).map_err(Error::io("rename", &temporary))?;
    disk.sync_directory(directory).map_err(Error::io("sync", directory))
}

fn heap_header<D: Digest>(store: u64) -> [u8; 48] {
    checkpoint::file_header(&HEAP_MAGIC, &D::ID, store, [0; 2])
}

fn index_header<D: Digest>(store: u64, generation: u64, bits: u32) -> [u8; 48] {
    checkpoint::file_header(&INDEX_MAGIC, &D::ID, store, [generation, u64::from(bits)])
}

fn open_heap<D: Digest>(disk: &dyn Disk, directory: &Path, checkpoint: &Checkpoint, writable: bool) -> Result<Heap> {
    let path = directory.join("heap");
    let file = disk.open(&path, false).map_err(Error::io("open", &path))?;
    checkpoint::check_header(&path, &*file, &heap_header::<D>(checkpoint.store))?;
    let len = file.file().metadata().map_err(Error::io("read", &path))?.len();
    if len < checkpoint.heap_end || checkpoint.heap_end > heap::LIMIT {
        let problem = format!("it has {len} bytes, the checkpoint counts {}", checkpoint.heap_end);
        return Err(Error::Corrupt { path, offset: len, problem });
    }
    Heap::new(&path, file, checkpoint.heap_end, writable)
}

fn map_index<D: Digest>(disk: &dyn Disk, path: &Path, checkpoint: &Checkpoint, writable: bool) -> Result<Index> {
    let file = disk.open(path, false).map_err(Error::io("open", path))?;
    checkpoint::check_header(
        path,
        &*file,
        &index_header::<D>(checkpoint.store, checkpoint.generation, checkpoint.bits),
    )?;
    Index::map(path.to_owned(), file, checkpoint.generation, checkpoint.bits, writable)
}

/// The checkpoint's index, cleaned of what was published after it; built anew from the heap when anything in it is not what
/// the checkpoint sums up.
fn open_index<D: Digest>(disk: &dyn Disk, directory: &Path, checkpoint: &Checkpoint, heap: &Heap) -> Result<Index> {
    if !index::BITS.contains(&checkpoint.bits) {
        let problem = format!("an index of 2^{} slots", checkpoint.bits);
        return Err(Error::Corrupt { path: directory.join("checkpoint"), offset: 0, problem });
    }
    let path = directory.join(index::file_name(checkpoint.generation));
    if let Ok(index) = map_index::<D>(disk, &path, checkpoint, true)
        && index.scan(checkpoint.heap_end, true) == checkpoint.sums
    {
        return Ok(index);
    }
    let next = (checkpoint.store, checkpoint.generation + 1, checkpoint.bits);
    let index = build_index::<D>(disk, directory, next, heap)?;
    if index.sums().records != checkpoint.sums.records {
        let (got, expected) = (index.sums().records, checkpoint.sums.records);
        return Err(heap.corrupt(heap::HEADER, &format!("it holds {got} records, the checkpoint counts {expected}")));
    }
    Ok(index)
}

/// An index over everything in the heap.
fn build_index<D: Digest>(
    disk: &dyn Disk,
    directory: &Path,
    (store, generation, bits): (u64, u64, u32),
    heap: &Heap,
) -> Result<Index> {
    let index = Index::create(disk, directory, generation, bits, &index_header::<D>(store, generation, bits))?;
    let mut records = Records::new(heap, heap.end());
    loop {
        let mut group: Vec<(u64, &[u8])> = Vec::with_capacity(64);
        for record in records.by_ref().take(64) {
            group.push(record?);
        }
        if group.is_empty() {
            return Ok(index);
        }
        let bytes: Vec<&[u8]> = group.iter().map(|(_, record)| *record).collect();
        let mut keys = vec![Key::default(); bytes.len()];
        D::digest_many(&bytes, &mut keys);
        for ((offset, record), key) in group.iter().zip(&keys) {
            index.publish(key, *offset, |other| Ok(heap.record(other, heap.end())? == *record))?;
        }
    }
}

/// Removes the index files that no checkpoint names any more.
fn remove_other_indexes(disk: &dyn Disk, directory: &Path, generation: u64) -> Result<()> {
    let entries = std::fs::read_dir(directory).map_err(Error::io("list", directory))?;
    for entry in entries {
        let entry = entry.map_err(Error::io("list", directory))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("index.")).and_then(|number| number.parse().ok());
        if number.is_some_and(|number: u64| number != generation) {
            disk.remove(&entry.path()).map_err(Error::io("remove", entry.path()))?;
        }
    }
    Ok(())
}

// Slots are compared with the checkpoint as numbers, so their layout is part of the format.
const _: () = assert!(size_of::<Slot>() == 8);
