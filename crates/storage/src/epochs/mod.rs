//! Epochs: a trie store in generations, of which the oldest are dropped whole.
//!
//! Every write goes to the newest epoch, whatever older ones have; a read takes the record from any that has it. So the nodes of a
//! state are those that an older state reaches and those that were written since. When old epochs are to go, a walk
//! from the oldest states that are kept finds every node they reach, copies those that only epochs to be dropped have into the
//! oldest that stays, and their directories are deleted: no record is ever deleted alone, and what died costs nothing.
//!
//! What holds:
//! - The epoch that is written is neither swept nor receives copies, so there are three at least.
//! - A state is whole when its block is at or above [`EpochStore::complete_from`], on whatever branch, or when it is pinned.
//! - The file EPOCHS changes in one step from one good set of epochs to the next; a stop at any moment leaves unlisted
//!   directories, which the next opening removes, or copies that were not needed.
//! - In doubt nothing is dropped: a node that the walk misses ends the collection with an error that names it.
//!
//! `docs/formats/epochs.md` has the files. [`Collector`] decides when; [`EpochStore`] does it.

mod collect;
mod collector;
mod manifest;
mod options;
mod pins;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{StoreError, StoreStats, TrieStore};

use crate::counters::Counters;
use crate::datadir::{Datadir, DatadirError, TrieEngine};
use crate::engine::{EngineOptions, NodeEngine};
use crate::error::Result;
use manifest::{Entry, Manifest};
use pins::Pins;

pub use collect::{GcPlan, walk_state};
pub use collector::{Collector, GcSummary};
pub use options::{EpochInfo, GcControl, GcOptions, GcReport, GcStep};
pub use pins::Pin;

pub(crate) use manifest::FILE as EPOCHS_FILE;

/// One generation.
#[derive(Debug)]
pub(crate) struct Epoch {
    pub(crate) number: u64,
    pub(crate) sealed_at: Option<u64>,
    pub(crate) path: PathBuf,
    pub(crate) engine: Arc<dyn NodeEngine>,
    /// Reads that it answered, roughly.
    hits: AtomicU64,
}

impl Epoch {
    fn new(Entry { number, sealed_at }: Entry, path: PathBuf, engine: Arc<dyn NodeEngine>) -> Self {
        Self { number, sealed_at, path, engine, hits: AtomicU64::new(0) }
    }

    /// Notes answers. Two readers at the same moment may count as one: the number only decides an order, and a locked
    /// instruction would hold up the loads of the next read.
    fn answered(&self, reads: u64) {
        self.hits.store(self.hits.load(Ordering::Relaxed).wrapping_add(reads), Ordering::Relaxed);
    }
}

/// The epochs at one moment, newest first; never empty.
type Epochs = Vec<Arc<Epoch>>;

/// A trie store in epochs.
#[derive(Debug)]
pub struct EpochStore {
    path: PathBuf,
    options: EngineOptions,
    engine: TrieEngine,
    epochs: ArcSwap<Epochs>,
    /// What the file says. Held while the set of epochs changes.
    manifest: Mutex<Manifest>,
    /// Writers hold it shared, so that a rotation knows that nothing is written to the epoch that it seals.
    writing: RwLock<()>,
    /// Bytes of nodes in the newest epoch.
    newest_bytes: AtomicU64,
    pins: Pins,
    /// Whether a plan for a collection lives.
    collecting: AtomicBool,
    counters: Counters,
}

impl EpochStore {
    /// Opens the epochs in a directory, or makes the first one.
    ///
    /// # Errors
    /// When the directory holds another engine's epochs or something else, or an engine refuses.
    pub fn open(path: &Path, engine: TrieEngine, options: EngineOptions) -> Result<Self> {
        let manifest = match Manifest::read(path)? {
            Some(manifest) => manifest,
            None => create(path, engine)?,
        };
        if manifest.engine()? != engine {
            let (path, asked, got) = (path.to_owned(), engine.name().to_owned(), manifest.engine);
            return Err(DatadirError::OtherEngine { path, asked, got }.into());
        }
        manifest::remove_unlisted(path, &manifest)?;
        let mut epochs = Vec::with_capacity(manifest.epochs.len());
        for (index, Entry { number, sealed_at }) in manifest.epochs.iter().copied().enumerate() {
            let directory = manifest.path_of(path, number);
            // Only the newest may be missing: it is listed before it is made.
            if index > 0 && !directory.exists() {
                let found = format!("epoch {number} is listed and missing");
                return Err(DatadirError::Foreign { path: path.to_owned(), found }.into());
            }
            let engine = options.open(engine, &directory)?;
            epochs.push(Arc::new(Epoch::new(Entry { number, sealed_at }, directory, engine)));
        }
        let newest_bytes = epochs.first().map_or(0, |epoch| size_of(epoch));
        Ok(Self {
            path: path.to_owned(),
            options,
            engine,
            epochs: ArcSwap::from_pointee(epochs),
            pins: Pins::new(manifest.complete_from),
            manifest: Mutex::new(manifest),
            writing: RwLock::new(()),
            newest_bytes: AtomicU64::new(newest_bytes),
            collecting: AtomicBool::new(false),
            counters: Counters::default(),
        })
    }

    /// The engine of a trie directory; none when it holds no epochs.
    ///
    /// # Errors
    /// When its list is damaged.
    pub fn engine_of(path: &Path) -> Result<Option<TrieEngine>> {
        Manifest::read(path)?.map(|manifest| manifest.engine()).transpose()
    }

    /// The engine.
    pub fn engine(&self) -> TrieEngine {
        self.engine
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// States of blocks from this height on are whole, and stay so for as long as no further collection begins.
    pub fn complete_from(&self) -> u64 {
        self.pins.floor()
    }

    /// Keeps the state of a block whole while the pin lives; none when it is not whole any more.
    pub fn pin(&self, number: u64, root: B256) -> Option<Pin> {
        self.pins.pin(number, root)
    }

    /// The epochs, newest first.
    pub fn epochs(&self) -> Vec<EpochInfo> {
        let info = |epoch: &Arc<Epoch>| EpochInfo {
            number: epoch.number,
            sealed_at: epoch.sealed_at,
            bytes: Datadir::bytes_below(&epoch.path),
            records: epoch.engine.records(),
        };
        self.epochs.load().iter().map(info).collect()
    }

    /// Bytes of nodes in the epoch that is written.
    pub fn newest_bytes(&self) -> u64 {
        self.newest_bytes.load(Ordering::Acquire)
    }

    /// Begins a new epoch. `sealed_at` is the highest block of any branch whose nodes were written so far.
    ///
    /// # Errors
    /// When an engine or the disk fails; the epochs are then as before, or the next opening makes the new one.
    pub fn rotate(&self, sealed_at: u64, control: &GcControl) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let _nobody_writes = self.writing.write();
        let old = self.epochs.load_full();
        let mut next = Manifest::clone(&manifest);
        let number = next.next;
        next.next = number + 1;
        for (entry, epoch) in next.epochs.iter_mut().zip(old.iter()).take(1) {
            epoch.engine.seal()?;
            entry.sealed_at = Some(sealed_at);
        }
        next.epochs.insert(0, Entry { number, sealed_at: None });
        control.step(GcStep::RotationSealed);
        next.write(&self.path)?;
        control.step(GcStep::RotationListed);
        let path = next.path_of(&self.path, number);
        *manifest = next;
        // About as many records as the last one took: an index that grows step by step is built several times.
        let expected = old.first().and_then(|full| full.engine.records()).unwrap_or(0);
        let engine = self.options.open_sized(self.engine, &path, expected)?;
        let mut epochs = vec![Arc::new(Epoch::new(Entry { number, sealed_at: None }, path, engine))];
        for (entry, epoch) in manifest.epochs.iter().skip(1).zip(old.iter()) {
            epochs.push(Arc::new(Epoch::new(*entry, epoch.path.clone(), Arc::clone(&epoch.engine))));
        }
        self.epochs.store(Arc::new(epochs));
        self.newest_bytes.store(0, Ordering::Release);
        control.step(GcStep::Rotated);
        Ok(())
    }
}

impl EpochStore {
    /// Builds every epoch anew in another engine and then puts these in the place of the old ones, in one step. `copy` fills
    /// one epoch from the old one.
    pub(crate) fn copy_epochs(
        &self,
        to: TrieEngine,
        mut copy: impl FnMut(&dyn NodeEngine, &dyn NodeEngine) -> Result<()>,
    ) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let next = Manifest { engine: to.name().to_owned(), ..Manifest::clone(&manifest) };
        // Oldest first, in the order of time.
        for epoch in self.epochs.load().iter().rev() {
            let path = next.path_of(&self.path, epoch.number);
            let engine = self.options.open_sized(to, &path, epoch.engine.records().unwrap_or(0))?;
            copy(&*epoch.engine, &*engine)?;
            // The one that is written next would have to loosen again what is packed tightly now.
            if epoch.sealed_at.is_some() { engine.compact()? } else { engine.seal()? }
        }
        next.write(&self.path)?;
        *manifest = next;
        Ok(())
    }
}

/// Makes a trie directory with one epoch.
fn create(path: &Path, engine: TrieEngine) -> Result<Manifest> {
    let fault = |source| DatadirError::Io { path: path.to_owned(), source };
    std::fs::create_dir_all(path).map_err(fault)?;
    let manifest = Manifest::first(engine);
    for entry in std::fs::read_dir(path).map_err(fault)? {
        let name = entry.map_err(fault)?.file_name();
        let name = name.to_string_lossy();
        if !name.ends_with(".tmp") {
            let found = format!("it has {name} and no file {EPOCHS_FILE}");
            return Err(DatadirError::Foreign { path: path.to_owned(), found }.into());
        }
    }
    manifest.write(path)?;
    Ok(manifest)
}

/// Bytes of nodes in an epoch: its heap where it has one, else its files.
fn size_of(epoch: &Epoch) -> u64 {
    epoch.engine.next_place().unwrap_or_else(|| Datadir::bytes_below(&epoch.path))
}

/// Where a record that is in one of the epochs can be.
enum Holder {
    /// Only there: no other epoch can have it, so it needs no proof.
    Only(usize),
    /// In several, or it cannot be told: whichever has it, proven.
    Any,
    /// Nowhere.
    None,
}

fn holder(epochs: &Epochs, hash: &B256) -> Holder {
    match epochs.as_slice() {
        [_] => return Holder::Only(0),
        [newest, ..] if newest.engine.tells_absence() => {}
        _ => return Holder::Any,
    }
    let mut holders = epochs.iter().enumerate().filter(|(_, epoch)| epoch.engine.may_contain(hash));
    match (holders.next(), holders.next()) {
        (Some((only, _)), None) => Holder::Only(only),
        (None, _) => Holder::None,
        (Some(_), Some(_)) => Holder::Any,
    }
}

/// The epochs, the one first that answered most reads, the others newest first: what is read again and again lies in few of
/// them. Takes no memory: it is called for single reads.
fn by_hits(epochs: &Epochs) -> impl Iterator<Item = &Arc<Epoch>> {
    let hits = |epoch: &Arc<Epoch>| epoch.hits.load(Ordering::Relaxed);
    // Of equal ones the first, which is newer.
    let most = (0..epochs.len()).rev().max_by_key(|at| hits(&epochs[*at])).unwrap_or_default();
    let others = epochs.iter().enumerate().filter(move |(at, _)| *at != most).map(|(_, epoch)| epoch);
    epochs.get(most).into_iter().chain(others)
}

/// Hashes whose look-ups are announced together.
const ANNOUNCED: usize = 64;

fn announce(epochs: &Epochs, hashes: &[B256]) {
    if epochs.len() > 1 {
        for (hash, epoch) in hashes.iter().flat_map(|hash| epochs.iter().map(move |epoch| (hash, epoch))) {
            epoch.engine.announce(hash);
        }
    }
}

impl EpochStore {
    /// Leaves the epoch that is written in the form that the next opening likes best. For a store that will rest.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn seal(&self) -> Result<(), StoreError> {
        let _writing = self.writing.read();
        self.epochs.load().first().map_or(Ok(()), |newest| newest.engine.seal())
    }

    /// The records of hashes that any epoch may have: one epoch after another is asked, those first that answered most. Each
    /// answer is proven but the last epoch's: what no other has is there.
    fn find_proven(
        epochs: &Epochs,
        hashes: &[B256],
        places: Vec<usize>,
        found: &mut [Option<Bytes>],
    ) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let mut missing = places;
        for (index, epoch) in by_hits(epochs).enumerate() {
            let wanted: Vec<B256> = missing.iter().map(|place| hashes[*place]).collect();
            let last = index + 1 == epochs.len();
            let records = if last { epoch.engine.get_many_known(&wanted)? } else { epoch.engine.get_many(&wanted)? };
            for (place, record) in missing.iter().zip(records) {
                found[*place] = record;
            }
            let before = missing.len();
            missing.retain(|place| found[*place].is_none());
            epoch.answered((before - missing.len()) as u64);
            if missing.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

impl TrieStore for EpochStore {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        let epochs = self.epochs.load();
        let mut found = None;
        announce(&epochs, std::slice::from_ref(hash));
        match holder(&epochs, hash) {
            Holder::Only(only) => found = epochs[only].engine.get_known(hash)?,
            Holder::None => {}
            Holder::Any => {
                for epoch in by_hits(&epochs) {
                    found = epoch.engine.get(hash)?;
                    if found.is_some() {
                        epoch.answered(1);
                        break;
                    }
                }
            }
        }
        self.counters.read(found.as_ref().map(|record| &record[..]));
        Ok(found)
    }

    fn get_many(&self, hashes: &[B256]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let epochs = self.epochs.load();
        let mut found = vec![None; hashes.len()];
        let mut by_epoch: Vec<Vec<usize>> = vec![Vec::new(); epochs.len()];
        let mut any = Vec::new();
        for (start, group) in (0..).step_by(ANNOUNCED).zip(hashes.chunks(ANNOUNCED)) {
            announce(&epochs, group);
            for (place, hash) in (start..).zip(group) {
                match holder(&epochs, hash) {
                    Holder::Only(only) => by_epoch[only].push(place),
                    Holder::Any => any.push(place),
                    Holder::None => {}
                }
            }
        }
        for (epoch, places) in epochs.iter().zip(&by_epoch).filter(|(_, places)| !places.is_empty()) {
            let wanted: Vec<B256> = places.iter().map(|place| hashes[*place]).collect();
            for (place, record) in places.iter().zip(epoch.engine.get_many_known(&wanted)?) {
                found[*place] = record;
            }
        }
        Self::find_proven(&epochs, hashes, any, &mut found)?;
        for record in &found {
            self.counters.read(record.as_ref().map(|record| &record[..]));
        }
        Ok(found)
    }

    fn contains(&self, hash: &B256) -> Result<bool, StoreError> {
        for epoch in self.epochs.load().iter() {
            if epoch.engine.contains(hash)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        let _writing = self.writing.read();
        if let Some(newest) = self.epochs.load().first() {
            newest.engine.put_batch(nodes)?;
        }
        let bytes = nodes.iter().map(|(_, node)| node.len()).sum();
        self.counters.written(nodes.len(), bytes);
        self.newest_bytes.fetch_add(bytes as u64, Ordering::AcqRel);
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        let _writing = self.writing.read();
        self.counters.flushed();
        match self.epochs.load().first() {
            Some(newest) => newest.engine.flush(),
            None => Ok(()),
        }
    }

    fn stats(&self) -> StoreStats {
        self.counters.stats()
    }
}
