//! A disk in a model: what the kernel has of each file, what is durable, and what a power failure leaves of the difference.
#![allow(dead_code, unreachable_pub)] // each test binary uses its own part

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhizome_flatdb::{Disk, DiskFile, OsDisk};

const SECTOR: usize = 512;

/// What is on the disk of one file. What the kernel has of it is the real file.
#[derive(Debug, Default, Clone)]
pub struct Durable {
    /// Without zeros at the end.
    pub bytes: Vec<u8>,
    pub len: usize,
    /// Sectors that the kernel has and the disk may not.
    dirty: BTreeSet<usize>,
    /// Lengths that were set since the last sync.
    lens: Vec<usize>,
}

/// How a life of the process ends, once `left` operations are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The process is killed in that operation.
    Kill,
    /// The disk refuses that operation, and the process lives on.
    Refusal,
}

/// The disk and what happens to it.
#[derive(Debug)]
pub struct State {
    pub draw: Draw,
    pub files: BTreeMap<String, Durable>,
    /// Names that are gone for the kernel and may not be for the disk, and the other way round.
    pub removed: Vec<(String, Durable)>,
    pub created: BTreeSet<String>,
    pub left: u64,
    pub end: End,
    pub dead: bool,
    /// Whether the index is a map of its file, of which the kernel writes any page at any time.
    pub mapped: bool,
    /// Whether the kernel takes pages for clean whose sync failed.
    pub drops_failed: bool,
    /// Whether lives end at a sync.
    pub at_sync: bool,
    pub log: Vec<String>,
}

/// Numbers that depend on their seed alone.
#[derive(Debug)]
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % limit
    }
}

fn sector(bytes: &[u8], at: usize) -> [u8; SECTOR] {
    let mut out = [0; SECTOR];
    let start = at * SECTOR;
    if start < bytes.len() {
        let end = (start + SECTOR).min(bytes.len());
        out[..end - start].copy_from_slice(&bytes[start..end]);
    }
    out
}

fn put_sector(bytes: &mut Vec<u8>, at: usize, new: &[u8; SECTOR]) {
    let end = (at + 1) * SECTOR;
    if bytes.len() < end {
        if new.iter().all(|byte| *byte == 0) && bytes.len() <= at * SECTOR {
            return;
        }
        bytes.resize(end, 0);
    }
    bytes[at * SECTOR..end].copy_from_slice(new);
}

fn kernel_sector(file: &File, at: usize) -> [u8; SECTOR] {
    let mut out = [0; SECTOR];
    let mut done = 0;
    while done < SECTOR {
        let n = file.read_at(&mut out[done..], (at * SECTOR + done) as u64).unwrap();
        if n == 0 {
            break;
        }
        done += n;
    }
    out
}

impl State {
    /// Notes an operation, and tells whether it is the one at which this life ends.
    fn op(&mut self, what: String) -> io::Result<bool> {
        if self.dead {
            return Err(io::Error::other("killed"));
        }
        self.log.push(what);
        if self.left == 0 {
            // Most lives end at a sync.
            return Ok(!self.at_sync || self.log.last().unwrap().starts_with("sync"));
        }
        self.left -= 1;
        Ok(false)
    }

    /// Which sectors of a file may differ between kernel and disk.
    fn mark_mapped(&mut self, name: &str, file: &File) {
        if self.mapped && name.starts_with("index") {
            let len = file.metadata().unwrap().len() as usize;
            let durable = self.files.entry(name.to_owned()).or_default();
            for at in 8..len.div_ceil(SECTOR) {
                if kernel_sector(file, at) != sector(&durable.bytes, at) {
                    durable.dirty.insert(at);
                }
            }
        }
    }

    fn sync(&mut self, name: &str, file: &File) {
        self.mark_mapped(name, file);
        let durable = self.files.entry(name.to_owned()).or_default();
        let len = file.metadata().unwrap().len() as usize;
        for at in std::mem::take(&mut durable.dirty) {
            put_sector(&mut durable.bytes, at, &kernel_sector(file, at));
        }
        durable.lens.clear();
        durable.len = len;
        durable.bytes.truncate(len);
    }

    /// Some of what is not durable becomes so, the rest never will.
    fn partly(&mut self, name: &str, file: &File) {
        self.mark_mapped(name, file);
        let luck = [0, 2, 5, 8, 9][self.draw.below(5) as usize];
        let durable = self.files.get_mut(name).unwrap();
        let dirty = std::mem::take(&mut durable.dirty);
        let lens = std::mem::take(&mut durable.lens);
        let kept = self.draw.below(lens.len() as u64 + 1) as usize;
        // Every cut that was kept zeroes.
        for len in &lens[..kept] {
            durable.bytes.truncate(*len);
            durable.len = *len;
        }
        for at in dirty {
            if at * SECTOR < durable.len && self.draw.below(9) < luck {
                put_sector(&mut durable.bytes, at, &kernel_sector(file, at));
            }
        }
        durable.bytes.truncate(durable.len);
    }

    /// What is not durable becomes so in part, and the rest is gone.
    pub fn power_failure(&mut self, directory: &Path) {
        let names: Vec<String> = self.files.keys().cloned().collect();
        for name in &names {
            let file = File::open(directory.join(name)).unwrap();
            self.partly(name, &file);
        }
        // Names: what was created may be gone, what was removed may be back.
        for name in std::mem::take(&mut self.created) {
            if self.draw.below(3) == 0 && self.files.remove(&name).is_some() {
                fs::remove_file(directory.join(&name)).unwrap();
            }
        }
        for (name, durable) in std::mem::take(&mut self.removed) {
            if self.draw.below(3) == 0 && !self.files.contains_key(&name) {
                self.files.insert(name, durable);
            }
        }
        for (name, durable) in &self.files {
            let path = directory.join(name);
            fs::write(&path, &durable.bytes).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(durable.len as u64).unwrap();
        }
    }
}

/// The disk as the store sees it.
#[derive(Clone, Debug)]
pub struct ModelDisk(pub Arc<Mutex<State>>);

#[derive(Debug)]
struct ModelFile {
    inner: Box<dyn DiskFile>,
    name: String,
    disk: ModelDisk,
}

impl ModelDisk {
    /// A disk on which a directory is durable as it is.
    pub fn over(directory: &Path, seed: u64) -> Self {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            files.insert(name(&path), Durable { len: bytes.len(), bytes, ..Durable::default() });
        }
        Self(Arc::new(Mutex::new(State {
            draw: Draw(seed),
            files,
            removed: vec![],
            created: BTreeSet::new(),
            left: u64::MAX,
            end: End::Kill,
            dead: false,
            mapped: false,
            drops_failed: false,
            at_sync: false,
            log: vec![],
        })))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

impl Disk for ModelDisk {
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        if state.dead {
            return Err(io::Error::other("killed"));
        }
        let is_new = !path.exists();
        let inner = OsDisk.open(path, create)?;
        if is_new {
            state.files.insert(name(path), Durable::default());
            state.created.insert(name(path));
        }
        Ok(Box::new(ModelFile { inner, name: name(path), disk: self.clone() }))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.op(format!("remove {}", name(path)))? {
            state.dead |= state.end == End::Kill;
            state.left = u64::MAX;
            return Err(io::Error::from_raw_os_error(5));
        }
        OsDisk.remove(path)?;
        let mut durable = state.files.remove(&name(path)).unwrap();
        durable.dirty.clear();
        durable.lens.clear();
        if !state.created.remove(&name(path)) {
            state.removed.push((name(path), durable));
        }
        Ok(())
    }
    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.op("sync directory".to_owned())? {
            state.dead |= state.end == End::Kill;
            state.left = u64::MAX;
            return Err(io::Error::from_raw_os_error(5));
        }
        state.created.clear();
        state.removed.clear();
        Ok(())
    }
}

impl DiskFile for ModelFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let fails = state.op(format!("write {} {}+{}", self.name, offset, bytes.len()))?;
        let part = if fails { &bytes[..state.draw.below(bytes.len() as u64 + 1) as usize] } else { bytes };
        self.inner.write_at(part, offset)?;
        let durable = state.files.get_mut(&self.name).unwrap();
        // The kernel writes whole pages.
        let (first, last) = (offset as usize / 4096 * 8, (offset as usize + part.len()).div_ceil(4096) * 8);
        durable.dirty.extend(first..last);
        if fails {
            state.dead |= state.end == End::Kill;
            state.left = u64::MAX;
            return Err(io::Error::from_raw_os_error(28));
        }
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        if state.op(format!("len {} {len}", self.name))? {
            state.dead |= state.end == End::Kill;
            state.left = u64::MAX;
            return Err(io::Error::from_raw_os_error(5));
        }
        let old = self.inner.file().metadata().unwrap().len();
        self.inner.set_len(len)?;
        if old != len {
            let durable = state.files.get_mut(&self.name).unwrap();
            durable.lens.push(len as usize);
            if len < old {
                let first = len as usize / 4096 * 8;
                durable.dirty.retain(|at| *at * SECTOR < len as usize);
                if !len.is_multiple_of(4096) {
                    durable.dirty.extend(first..first + 8);
                }
            }
        }
        Ok(())
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        if state.op(format!("sync {}", self.name))? {
            state.left = u64::MAX;
            state.dead |= state.end == End::Kill;
            if state.end == End::Refusal && state.drops_failed {
                state.log.push("failed and dropped".to_owned());
                state.partly(&self.name, self.inner.file());
            }
            return Err(io::Error::from_raw_os_error(5));
        }
        state.sync(&self.name, self.inner.file());
        self.inner.sync()
    }
    fn file(&self) -> &File {
        self.inner.file()
    }
}
