//! Opening: lock, creation, and recovery at a checkpoint.
//!
//! Recovery needs no tool and no log. The newest checkpoint says where the heap ends and what of it the index file is known
//! to have. Slots beyond that are emptied, their records placed anew from the heap, and everything is compared with the
//! checkpoint's sums; an index that does not add up is built from the whole heap. When the heap itself does not add up, the
//! checkpoint before is taken, if little is lost by it.

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::checkpoint::{self, Checkpoint, IndexMark};
use crate::digest::{Digest, Key};
use crate::error::{Error, Result};
use crate::heap::{self, Heap};
use crate::index::{self, Index, IndexPlace, Tally};
use crate::io::DiskFile;
use crate::iter::Records;
use crate::stats::Recovery;
use crate::write;

/// The file of records and checkpoints.
const HEAP: &str = "heap";
/// What it is called until the store is whole.
const HEAP_NEW: &str = "heap.new";
const HEAP_MAGIC: [u8; 8] = *b"FLATDBh\n";
const INDEX_MAGIC: [u8; 8] = *b"FLATDBi\n";
/// Records that are hashed together.
const GROUP: usize = 64;
/// A checkpoint whose data are damaged is given up for the one before only when that costs at most so many heap bytes:
/// what a flush or two can have written.
const GIVE_UP: u64 = 1 << 30;
/// Bytes that are read and written again at a time.
const PIECE: u64 = 1 << 20;
/// How often a reader looks again when the writer replaced files under it.
const ATTEMPTS: usize = 16;

/// The files of an open store.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) heap: Heap,
    pub(crate) index: Index,
    pub(crate) recovery: Recovery,
    /// Keeps other writers away for as long as it lives; a reader has none.
    pub(crate) lock: Option<File>,
}

/// Opens for writing.
pub(crate) fn open<D: Digest>(place: IndexPlace<'_>, create_with: Option<u64>) -> Result<Opened> {
    let directory = place.directory;
    let path = directory.join(HEAP);
    if !path.exists() {
        if create_with.is_none() {
            return Err(Error::NotFound { path: directory.to_owned() });
        }
        refuse_foreign(directory)?;
    }
    std::fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
    let lock = lock(directory)?;
    if let Some(slots) = create_with
        && !path.exists()
    {
        create::<D>(place, slots)?;
    }
    let files = Files { place, writable: true };
    let found = files.checkpoints::<D>()?;
    let (checkpoint, heap, index, recovery) = files.recover::<D>(&found)?;
    heap.cut()?;
    make_durable::<D>(&heap, &checkpoint, &found)?;
    remove_indexes(place, |generation| generation != index.generation)?;
    Ok(Opened { checkpoint, heap, index, recovery, lock: Some(lock) })
}

/// Makes durable what a store opens at. A process that was killed in a flush, or whose sync failed, leaves a checkpoint that the
/// kernel shows and the disk may not have, and the next flush overwrites the copy before it.
fn make_durable<D: Digest>(heap: &Heap, checkpoint: &Checkpoint, found: &[Checkpoint]) -> Result<()> {
    // After a failed sync the kernel takes pages for clean that never reached the disk: syncing them again does nothing. So what
    // the last flush wrote is written once more, as far as nothing was synced before its checkpoint was written.
    let before = found.iter().find(|other| other.sequence < checkpoint.sequence);
    let from = before.map_or(checkpoint.heap_end, |before| before.heap_end);
    if checkpoint.heap_end.saturating_sub(from) <= write::ONE_SYNC {
        write_again(heap, from, checkpoint.heap_end)?;
    }
    checkpoint::write(&heap.path, &*heap.file, checkpoint, &D::ID)?;
    // A copy that was given up could add up again, once what it counted is written a second time and not yet synced.
    for given_up in found.iter().filter(|other| other.sequence > checkpoint.sequence) {
        checkpoint::withdraw(&heap.path, &*heap.file, given_up)?;
    }
    heap.file.sync().map_err(Error::io("sync", &heap.path))
}

/// Writes the bytes between two offsets once more. By reads of the file: a page that the disk refuses is an error then, and nothing
/// is mapped that no one asked for.
fn write_again(heap: &Heap, from: u64, end: u64) -> Result<()> {
    let mut bytes = vec![0; PIECE.min(end.saturating_sub(from)) as usize];
    for start in (from..end).step_by(PIECE as usize) {
        let piece = &mut bytes[..PIECE.min(end - start) as usize];
        heap.file.file().read_exact_at(piece, start).map_err(Error::io("read", &heap.path))?;
        heap.file.write_at(piece, start).map_err(Error::io("write", &heap.path))?;
    }
    Ok(())
}

/// Opens for reading the newest checkpoint; a writer may be beside.
pub(crate) fn open_read_only<D: Digest>(place: IndexPlace<'_>) -> Result<Opened> {
    if !place.directory.join(HEAP).exists() {
        return Err(Error::NotFound { path: place.directory.to_owned() });
    }
    let files = Files { place, writable: false };
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let found = match files.checkpoints::<D>() {
            Ok(found) => found,
            // The writer may have been writing one copy at our first look and the other at the second.
            Err(error @ Error::Corrupt { .. }) => {
                last = Some(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        match files.recover::<D>(&found) {
            Ok((checkpoint, heap, index, recovery)) => {
                return Ok(Opened { checkpoint, heap, index, recovery, lock: None });
            }
            // A writer may have replaced a file between our two looks; then there is a newer checkpoint.
            Err(error) if files.checkpoints::<D>()? == found => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| Error::NotFound { path: place.directory.to_owned() }))
}

/// Where the files are and what may be done to them.
struct Files<'a> {
    place: IndexPlace<'a>,
    writable: bool,
}

impl Files<'_> {
    /// The newest of the checkpoints whose data are whole, with its heap and index.
    fn recover<D: Digest>(&self, checkpoints: &[Checkpoint]) -> Result<(Checkpoint, Heap, Index, Recovery)> {
        let mut damage = None;
        let newest = checkpoints.first().map_or(0, |newest| newest.heap_end);
        for checkpoint in checkpoints {
            if newest.saturating_sub(checkpoint.heap_end) > GIVE_UP {
                break;
            }
            match self.recover_at::<D>(checkpoint) {
                Ok((heap, index, mut recovery)) => {
                    recovery.damage = damage.map(|damage: Error| damage.to_string());
                    return Ok((*checkpoint, heap, index, recovery));
                }
                Err(error @ Error::Corrupt { .. }) => damage = damage.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        let nothing = || Error::NotFound { path: self.place.directory.to_owned() };
        Err(damage.unwrap_or_else(nothing))
    }

    fn recover_at<D: Digest>(&self, checkpoint: &Checkpoint) -> Result<(Heap, Index, Recovery)> {
        let heap = self.open_heap::<D>(checkpoint)?;
        let end = checkpoint.heap_end;
        let mark = &checkpoint.index;
        let mut recovery = Recovery::default();
        if let Some(index) = self.open_index::<D>(checkpoint)? {
            let tail = place_all::<D>(&index, &heap, mark.end.max(heap::HEADER), end)?;
            index.expect(tail.records);
            recovery.replayed = tail.records;
            check_tally(&heap, checkpoint, mark.tally.records + tail.records, mark.tally.keys.wrapping_add(tail.keys))?;
            return Ok((heap, index, recovery));
        }
        if !self.writable && self.is_outdated::<D>(checkpoint)? {
            let path = self.place.directory.join(index::file_name(mark.generation));
            return Err(Error::Corrupt { path, offset: 0, problem: "it was replaced while it was opened".to_owned() });
        }
        let generation = self.unused_generation()?.max(mark.generation.saturating_add(1));
        let index = self.build::<D>(checkpoint.store, generation, fitting_slots(checkpoint), &heap)?;
        let Tally { records, keys, .. } = index.tally();
        check_tally(&heap, checkpoint, records, keys)?;
        recovery.replayed = records;
        recovery.index_rebuilt = true;
        Ok((heap, index, recovery))
    }

    /// The valid copies of the checkpoint, the newest first.
    fn checkpoints<D: Digest>(&self) -> Result<Vec<Checkpoint>> {
        let (path, file) = self.open_heap_file::<D>()?;
        checkpoint::read(&path, &*file, &D::ID)
    }

    /// The heap file, whose header was checked.
    fn open_heap_file<D: Digest>(&self) -> Result<(PathBuf, Box<dyn DiskFile>)> {
        let path = self.place.directory.join(HEAP);
        let file = self.place.disk.open(&path, false).map_err(Error::io("open", &path))?;
        let store = checkpoint::store_number(&path, &*file)?;
        checkpoint::check_header(&path, &*file, &heap_header::<D>(store))?;
        Ok((path, file))
    }

    fn open_heap<D: Digest>(&self, checkpoint: &Checkpoint) -> Result<Heap> {
        let (path, file) = self.open_heap_file::<D>()?;
        checkpoint::check_header(&path, &*file, &heap_header::<D>(checkpoint.store))?;
        let len = file.file().metadata().map_err(Error::io("read", &path))?.len();
        if checkpoint.heap_end < heap::HEADER || len < checkpoint.heap_end || checkpoint.heap_end > heap::LIMIT {
            let problem = format!("it has {len} bytes, the checkpoint counts {}", checkpoint.heap_end);
            return Err(Error::Corrupt { path, offset: len, problem });
        }
        Heap::new(&path, file, checkpoint.heap_end)
    }

    /// The checkpoint's index, or nothing when it is not what the checkpoint sums up.
    fn open_index<D: Digest>(&self, checkpoint: &Checkpoint) -> Result<Option<Index>> {
        let mark = &checkpoint.index;
        if !index::SLOTS.contains(&mark.slots) || mark.end > checkpoint.heap_end {
            return Ok(None);
        }
        let path = self.place.directory.join(index::file_name(mark.generation));
        let file = match self.place.disk.open(&path, false) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Io { operation: "open", path, source }),
        };
        let header = index_header::<D>(checkpoint.store, mark.generation, mark.slots);
        let len = file.file().metadata().map_err(Error::io("read", &path))?.len();
        if checkpoint::check_header(&path, &*file, &header).is_err() || len < index::HEADER + 8 * mark.slots {
            return Ok(None);
        }
        let index = Index::open(self.place, file, (mark.generation, mark.slots), self.writable)?;
        Ok(index.adopt(mark.end, &mark.tally).then_some(index))
    }

    /// An index over everything in the heap: a new file, or in memory for a reader.
    fn build<D: Digest>(&self, store: u64, generation: u64, slots: u64, heap: &Heap) -> Result<Index> {
        if self.writable {
            return build_index::<D>(self.place, (store, generation, slots), heap);
        }
        let index = Index::in_memory(self.place, generation, slots)?;
        place_all::<D>(&index, heap, heap::HEADER, heap.end())?;
        Ok(index)
    }

    /// Whether there is a newer checkpoint by now.
    fn is_outdated<D: Digest>(&self, checkpoint: &Checkpoint) -> Result<bool> {
        Ok(self.checkpoints::<D>()?.first().is_some_and(|newest| newest.sequence > checkpoint.sequence + 1))
    }

    /// A generation above that of every index file in the directory.
    fn unused_generation(&self) -> Result<u64> {
        let entries = std::fs::read_dir(self.place.directory).map_err(Error::io("list", self.place.directory))?;
        let mut unused = 0;
        for entry in entries {
            let name = entry.map_err(Error::io("list", self.place.directory))?.file_name();
            unused = unused.max(generation_of(&name).map_or(0, |generation| generation.saturating_add(1)));
        }
        Ok(unused)
    }
}

fn check_tally(heap: &Heap, checkpoint: &Checkpoint, records: u64, keys: u64) -> Result<()> {
    if records != checkpoint.records {
        let problem = format!("it holds {records} records, the checkpoint counts {}", checkpoint.records);
        return Err(heap.corrupt(heap::HEADER, &problem));
    }
    if keys != checkpoint.keys {
        return Err(heap.corrupt(heap::HEADER, "the hashes of its records do not add up to the checkpoint's sum"));
    }
    Ok(())
}

/// The slots of an index that is built anew: the checkpoint's, but not more than so many heap bytes can need.
fn fitting_slots(checkpoint: &Checkpoint) -> u64 {
    // Two bytes are the shortest record and its length.
    let records = checkpoint.records.min((checkpoint.heap_end - heap::HEADER) / 2);
    checkpoint.index.slots.clamp(index::resting_slots_for(records), index::slots_for(records.saturating_mul(2)))
}

/// Places the records between two offsets, and returns what they add up to; one that is there at another offset does not
/// count.
fn place_all<D: Digest>(index: &Index, heap: &Heap, from: u64, end: u64) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut records = Records::between(heap, from, end);
    loop {
        let group = records.by_ref().take(GROUP).collect::<Result<Vec<_>>>()?;
        if group.is_empty() {
            index.count(&tally);
            return Ok(tally);
        }
        let bytes: Vec<&[u8]> = group.iter().map(|(_, record)| *record).collect();
        let mut keys = vec![Key::default(); bytes.len()];
        D::digest_many(&bytes, &mut keys);
        for ((offset, record), key) in group.iter().zip(&keys) {
            // What a writer beside this reader places meanwhile lies beyond the end.
            let same = |other| Ok(other < end && heap.record(other, end)? == *record);
            index.place(&mut tally, key, *offset, same)?;
        }
    }
}

/// An empty index file of a store's generation.
pub(crate) fn create_index<D: Digest>(
    place: IndexPlace<'_>,
    (store, generation, slots): (u64, u64, u64),
) -> Result<Index> {
    Index::create(place, generation, slots, &index_header::<D>(store, generation, slots))
}

/// An index file over everything in the heap.
fn build_index<D: Digest>(place: IndexPlace<'_>, numbers: (u64, u64, u64), heap: &Heap) -> Result<Index> {
    let index = create_index::<D>(place, numbers)?;
    let placed = place_all::<D>(&index, heap, heap::HEADER, heap.end())?;
    index.expect(placed.records);
    Ok(index)
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

/// A store is created only where nothing is, or where an earlier creation was cut short.
fn refuse_foreign(directory: &Path) -> Result<()> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::Io { operation: "list", path: directory.to_owned(), source }),
    };
    for entry in entries {
        let entry = entry.map_err(Error::io("list", directory))?;
        let name = entry.file_name();
        match name.to_str() {
            Some("LOCK" | HEAP_NEW | "index.0" | "lost+found") => {}
            _ => {
                let expected = "an empty directory or a FlatDB store".to_owned();
                let got = format!("a directory with {}", name.to_string_lossy());
                return Err(Error::Format { path: directory.to_owned(), expected, got });
            }
        }
    }
    Ok(())
}

/// Writes an empty store. The heap gets its name last: without it the next opening starts anew.
fn create<D: Digest>(place: IndexPlace<'_>, slots: u64) -> Result<()> {
    let IndexPlace { disk, directory, .. } = place;
    let store = checkpoint::draw_store_number();
    create_index::<D>(place, (store, 0, slots))?.sync()?;
    let temporary = directory.join(HEAP_NEW);
    let file = disk.open(&temporary, true).map_err(Error::io("create", &temporary))?;
    // Empty first: what an earlier creation left may have another store's checkpoint.
    for len in [0, heap::HEADER] {
        file.set_len(len).map_err(Error::io("cut", &temporary))?;
    }
    file.write_at(&heap_header::<D>(store), 0).map_err(Error::io("write", &temporary))?;
    let index = IndexMark { generation: 0, slots, end: heap::HEADER, tally: Tally::default() };
    let first = Checkpoint { sequence: 0, store, heap_end: heap::HEADER, records: 0, keys: 0, index };
    checkpoint::write(&temporary, &*file, &first, &D::ID)?;
    file.sync().map_err(Error::io("sync", &temporary))?;
    let path = directory.join(HEAP);
    std::fs::rename(&temporary, &path).map_err(Error::io("rename", &temporary))?;
    disk.sync_directory(directory).map_err(Error::io("sync", directory))
}

fn heap_header<D: Digest>(store: u64) -> [u8; 48] {
    checkpoint::file_header(&HEAP_MAGIC, &D::ID, store, [0; 2])
}

fn index_header<D: Digest>(store: u64, generation: u64, slots: u64) -> [u8; 48] {
    checkpoint::file_header(&INDEX_MAGIC, &D::ID, store, [generation, slots])
}

fn generation_of(name: &std::ffi::OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix("index.")?.parse().ok().filter(|generation| *generation < checkpoint::COUNTED)
}

/// Removes the index files of generations that are not needed.
pub(crate) fn remove_indexes(place: IndexPlace<'_>, is_needless: impl Fn(u64) -> bool) -> Result<()> {
    let IndexPlace { disk, directory, .. } = place;
    let entries = std::fs::read_dir(directory).map_err(Error::io("list", directory))?;
    for entry in entries {
        let entry = entry.map_err(Error::io("list", directory))?;
        if generation_of(&entry.file_name()).is_some_and(&is_needless) {
            disk.remove(&entry.path()).map_err(Error::io("remove", entry.path()))?;
        }
    }
    Ok(())
}
