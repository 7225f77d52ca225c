//! Power failures at every moment of a life of batches, flushes, kills and reopenings: of what was not synced any part may have
//! reached the disk, in any order. The store opens by itself at a flush that was confirmed or under way, whole.
//!
//! `FLATDB_POWER_FAILURES` sets how many of each moment are tried (default 2).
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use common::{Sha, keyed, put, small};
use rhizome_flatdb::{Digest, Disk, DiskFile, FlatDb, OsDisk};

const SECTOR: usize = 512;
/// Records of a batch.
const BATCH: u64 = 60;

/// What was asked of the disk, in order.
#[derive(Clone, Debug)]
enum Event {
    Write {
        file: String,
        offset: usize,
        bytes: Vec<u8>,
    },
    Length {
        file: String,
        len: usize,
    },
    Sync {
        file: String,
    },
    Remove {
        file: String,
    },
    /// So many batches are about to be made durable.
    Flushing(u64),
    /// They are.
    Flushed(u64),
}

#[derive(Debug, Default)]
struct Log {
    events: Vec<Event>,
    /// Operations until the process is killed: all later ones are refused and do nothing.
    left: Option<u64>,
}

impl Log {
    fn note(&mut self, event: Event) -> io::Result<()> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("killed"))?;
        }
        self.events.push(event);
        Ok(())
    }
}

/// A disk that notes what it is asked. Names are made durable at once: what a lost name leaves is in the tests of damage.
#[derive(Clone, Debug, Default)]
struct NotingDisk(Arc<Mutex<Log>>);

impl NotingDisk {
    fn note(&self, event: Event) -> io::Result<()> {
        self.0.lock().unwrap().note(event)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

impl Disk for NotingDisk {
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let inner = OsDisk.open(path, create)?;
        Ok(Box::new(NotingFile { inner, name: name(path), disk: self.clone() }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.note(Event::Remove { file: name(path) })?;
        OsDisk.remove(path)
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct NotingFile {
    inner: Box<dyn DiskFile>,
    name: String,
    disk: NotingDisk,
}

impl DiskFile for NotingFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset_here = usize::try_from(offset).unwrap();
        self.disk.note(Event::Write { file: self.name.clone(), offset: offset_here, bytes: bytes.to_vec() })?;
        self.inner.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.note(Event::Length { file: self.name.clone(), len: usize::try_from(len).unwrap() })?;
        self.inner.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.disk.note(Event::Length { file: self.name.clone(), len: usize::try_from(len).unwrap() })?;
        self.inner.allocate(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.note(Event::Sync { file: self.name.clone() })?;
        self.inner.sync()
    }

    fn file(&self) -> &File {
        self.inner.file()
    }
}

/// A drawer of numbers that depends on its seed alone.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        u64::from_le_bytes(Sha::digest(&self.0.to_le_bytes())[..8].try_into().unwrap()) % limit
    }
}

/// What is on the disk of one file, and what is asked of it since its last sync.
#[derive(Clone, Debug, Default)]
struct OnDisk {
    durable: Vec<u8>,
    pending: Vec<Event>,
}

impl OnDisk {
    /// The bytes that a failure now may leave: each sector of each write, and each change of the length, is there or not; a
    /// length that is not there keeps the later ones away, as a journal does.
    fn after_failure(&self, draw: &mut Draw) -> Vec<u8> {
        let lengths = self.pending.iter().filter(|event| matches!(event, Event::Length { .. })).count() as u64;
        let mut kept = draw.below(lengths + 1);
        // All, none, and half of the sectors are different kinds of luck.
        let luck = [0, 2, 5, 8, 9][draw.below(5) as usize];
        let mut bytes = self.durable.clone();
        let mut len = bytes.len();
        for event in &self.pending {
            match event {
                Event::Length { len: new, .. } if kept > 0 => {
                    kept -= 1;
                    // What was cut reads as zero when the file grows again.
                    bytes.truncate(*new);
                    len = *new;
                }
                Event::Write { offset, bytes: written, .. } => {
                    let mut start = *offset;
                    while start < offset + written.len() {
                        let end = ((start / SECTOR + 1) * SECTOR).min(offset + written.len());
                        if draw.below(9) < luck {
                            bytes.resize(bytes.len().max(end), 0);
                            bytes[start..end].copy_from_slice(&written[start - offset..end - offset]);
                        }
                        start = end;
                    }
                }
                _ => {}
            }
        }
        bytes.resize(len, 0);
        bytes
    }

    fn sync(&mut self) {
        for event in std::mem::take(&mut self.pending) {
            match event {
                Event::Length { len, .. } => self.durable.resize(len, 0),
                Event::Write { offset, bytes, .. } => {
                    let end = offset + bytes.len();
                    if self.durable.len() < end {
                        self.durable.resize(end, 0);
                    }
                    self.durable[offset..end].copy_from_slice(&bytes);
                }
                _ => {}
            }
        }
    }
}

/// Batches, some flushed, some sealed, with processes that are killed in between. Returns what was asked of the disk.
fn live(directory: &Path, draw: &mut Draw) -> Vec<Event> {
    let disk = NotingDisk::default();
    let options = || small().index_lag(25_000).disk(Arc::new(disk.clone()));
    let mut batches = 0;
    for _ in 0..6 {
        disk.0.lock().unwrap().left = Some(draw.below(40));
        let result = options().open::<Sha>(directory).and_then(|db| {
            batches = whole_batches(&db);
            for _ in 0..4 {
                put(&db, &keyed::<Sha>(batches * BATCH..(batches + 1) * BATCH))?;
                batches += 1;
                if draw.below(4) > 0 {
                    disk.0.lock().unwrap().events.push(Event::Flushing(batches));
                    if draw.below(4) == 0 {
                        db.seal()?
                    } else {
                        db.flush()?
                    }
                    disk.0.lock().unwrap().events.push(Event::Flushed(batches));
                }
            }
            Ok(())
        });
        drop(result);
    }
    std::mem::take(&mut disk.0.lock().unwrap().events)
}

/// How many batches are there: all up to a number, and nothing of the later ones.
fn whole_batches(db: &FlatDb<Sha>) -> u64 {
    let records = db.verify(|_, _| ()).unwrap().records;
    assert_eq!(records % BATCH, 0, "half a batch");
    for (key, record) in keyed::<Sha>(0..records) {
        assert_eq!(db.get_known(&key).unwrap(), Some(record.as_slice()));
    }
    records / BATCH
}

/// Writes a file without the zeros at its end, which are many: a heap grows by large steps.
fn write_sparse(path: &Path, bytes: &[u8]) {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    fs::write(path, &bytes[..used]).unwrap();
    File::options().write(true).open(path).unwrap().set_len(bytes.len() as u64).unwrap();
}

fn fail_everywhere(seed: u64, tries: u64) -> u64 {
    let (directory, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut draw = Draw(seed);
    drop(small().index_lag(25_000).open::<Sha>(directory.path()).unwrap());
    let mut files: BTreeMap<String, OnDisk> = BTreeMap::new();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        files.insert(name(&path), OnDisk { durable: fs::read(&path).unwrap(), pending: Vec::new() });
    }
    let events = live(directory.path(), &mut draw);
    let (mut confirmed, mut under_way, mut failures) = (0, 0, 0);
    for event in events {
        match &event {
            Event::Write { file, .. } | Event::Length { file, .. } => {
                files.entry(file.clone()).or_default().pending.push(event);
            }
            Event::Sync { file } => files.entry(file.clone()).or_default().sync(),
            Event::Remove { file } => drop(files.remove(file)),
            Event::Flushing(batches) => under_way = *batches,
            Event::Flushed(batches) => confirmed = *batches,
        }
        for _ in 0..tries {
            let path = scratch.path().join(failures.to_string());
            fs::create_dir(&path).unwrap();
            for (name, file) in &files {
                write_sparse(&path.join(name), &file.after_failure(&mut draw));
            }
            let there = small().index_lag(25_000).open::<Sha>(&path).map(|db| {
                let there = whole_batches(&db);
                // It goes on from there.
                put(&db, &keyed::<Sha>(there * BATCH..(there + 2) * BATCH)).unwrap();
                db.flush().unwrap();
                there
            });
            let there = there.unwrap_or_else(|error| panic!("seed {seed}, failure {failures}: {error}"));
            let possible = confirmed..=under_way.max(confirmed);
            assert!(possible.contains(&there), "seed {seed}, failure {failures}: {there} batches, not {possible:?}");
            let db: FlatDb<Sha> = small().open(&path).unwrap();
            assert_eq!(whole_batches(&db), there + 2);
            drop(db);
            fs::remove_dir_all(&path).unwrap();
            failures += 1;
        }
    }
    failures
}

#[test]
fn any_part_of_what_was_not_synced_may_be_there() {
    let tries: u64 = std::env::var("FLATDB_POWER_FAILURES").map_or(2, |tries| tries.parse().unwrap());
    // With the index in memory: what the kernel writes of a mapped one is not noted here, and tried in the tests of damage.
    let failures = (0..6).map(|seed| fail_everywhere(seed << 32, tries)).sum::<u64>();
    println!("{failures} power failures");
    assert!(failures > 500, "{failures}");
}
