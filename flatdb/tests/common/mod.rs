//! What the tests of the store share: a digest, records of given seeds and a disk that fails on demand.
#![allow(dead_code, unreachable_pub)] // each test binary uses its own part

pub mod model;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use rhizome_flatdb::{Digest, Disk, DiskFile, FlatDb, Key, Options, OsDisk};
use sha2::{Digest as _, Sha256};

/// SHA-256, so that the tests show that the store is not tied to one hash.
#[derive(Debug)]
pub struct Sha;

impl Digest for Sha {
    const ID: [u8; 8] = *b"sha-256\0";

    fn digest(bytes: &[u8]) -> Key {
        Sha256::digest(bytes).into()
    }
}

/// A digest with few distinct tags and homes, so that every probe meets slots that its own cannot tell apart.
#[derive(Debug)]
pub struct Clustered;

impl Digest for Clustered {
    const ID: [u8; 8] = *b"cluster\0";

    fn digest(bytes: &[u8]) -> Key {
        let mut key = Sha::digest(bytes);
        let (home, tag) = (key[0] % 4, key[8] % 2);
        // The lowest bit of the tag is the fifth of byte 4.
        key[0..8].copy_from_slice(&[home << 6, 0, 0, 0, tag << 3, 0, 0, 0]);
        key
    }
}

/// A record that only this seed has, with a length between 1 and 600 bytes, most of them short.
pub fn record(seed: u64) -> Vec<u8> {
    let mut bytes = Sha::digest(&seed.to_le_bytes()).to_vec();
    let len = match seed % 23 {
        0 => 300 + usize::from(bytes[0]),
        1 => 254,
        2 => 255,
        3 => 1 + usize::from(bytes[1]) % 12,
        _ => 33 + usize::from(bytes[2]) % 80,
    };
    while bytes.len() < len {
        let next = Sha::digest(&bytes);
        bytes.extend_from_slice(&next);
    }
    bytes.truncate(len);
    if len < 8 {
        bytes.splice(.., seed.to_le_bytes());
    }
    bytes
}

/// The records of a range of seeds under their keys.
pub fn keyed<D: Digest>(seeds: std::ops::Range<u64>) -> Vec<(Key, Vec<u8>)> {
    seeds.map(record).map(|record| (D::digest(&record), record)).collect()
}

/// Writes records as one batch.
pub fn put<D: Digest>(db: &FlatDb<D>, records: &[(Key, Vec<u8>)]) -> rhizome_flatdb::Result<()> {
    db.put_batch(records.iter().map(|(key, record)| (key, record.as_slice())))
}

/// Whether the index lives in memory or is a map of its file.
pub const RESIDENT: [u64; 2] = [u64::MAX, 0];

/// Options with a small index.
pub fn small() -> Options {
    Options::default().expected_records(100)
}

/// A disk that does so many more operations that change something, and then refuses each.
#[derive(Debug)]
pub struct FailingDisk {
    left: Arc<AtomicI64>,
    error: i32,
    short: bool,
}

impl FailingDisk {
    /// Fails with this system error after `operations`; a failing write has written the first half of its bytes if `short`.
    pub fn new(operations: i64, error: i32, short: bool) -> Self {
        Self { left: Arc::new(AtomicI64::new(operations)), error, short }
    }

    /// Operations left; negative when one was refused.
    pub fn left(&self) -> i64 {
        self.left.load(Ordering::SeqCst)
    }
}

fn spend(left: &AtomicI64, error: i32) -> io::Result<()> {
    if left.fetch_sub(1, Ordering::SeqCst) > 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

impl Disk for FailingDisk {
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let inner = OsDisk.open(path, create)?;
        Ok(Box::new(FailingFile { inner, left: Arc::clone(&self.left), error: self.error, short: self.short }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        spend(&self.left, self.error)?;
        OsDisk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        spend(&self.left, self.error)?;
        OsDisk.sync_directory(path)
    }
}

#[derive(Debug)]
struct FailingFile {
    inner: Box<dyn DiskFile>,
    left: Arc<AtomicI64>,
    error: i32,
    short: bool,
}

impl DiskFile for FailingFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        spend(&self.left, self.error).inspect_err(|_| {
            if self.short {
                self.inner.write_at(&bytes[..bytes.len() / 2], offset).expect("half a write");
            }
        })?;
        self.inner.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        spend(&self.left, self.error)?;
        self.inner.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        spend(&self.left, self.error)?;
        self.inner.allocate(len)
    }

    fn sync(&self) -> io::Result<()> {
        spend(&self.left, self.error)?;
        self.inner.sync()
    }

    fn file(&self) -> &File {
        self.inner.file()
    }
}

/// A disk that waits before it syncs one file for the first time.
#[derive(Debug)]
pub struct PausingDisk {
    name: &'static str,
    pause: Arc<Mutex<Option<Pause>>>,
}

#[derive(Debug)]
struct Pause {
    reached: Sender<()>,
    go_on: Receiver<()>,
}

impl PausingDisk {
    /// With the name of the file, what tells that its sync has begun, and what lets it go on.
    pub fn new(name: &'static str) -> (Self, Receiver<()>, Sender<()>) {
        let ((reached, is_reached), (go, go_on)) = (mpsc::channel(), mpsc::channel());
        (Self { name, pause: Arc::new(Mutex::new(Some(Pause { reached, go_on }))) }, is_reached, go)
    }
}

impl Disk for PausingDisk {
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let inner = OsDisk.open(path, create)?;
        if path.file_name().is_none_or(|name| name != self.name) {
            return Ok(inner);
        }
        Ok(Box::new(PausingFile { inner, pause: Arc::clone(&self.pause) }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        OsDisk.sync_directory(path)
    }
}

#[derive(Debug)]
struct PausingFile {
    inner: Box<dyn DiskFile>,
    pause: Arc<Mutex<Option<Pause>>>,
}

impl DiskFile for PausingFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.inner.allocate(len)
    }

    fn sync(&self) -> io::Result<()> {
        let pause = self.pause.lock().unwrap().take();
        if let Some(Pause { reached, go_on }) = pause {
            reached.send(()).unwrap();
            go_on.recv().unwrap();
        }
        self.inner.sync()
    }

    fn file(&self) -> &File {
        self.inner.file()
    }
}
