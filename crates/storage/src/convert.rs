//! Moving a trie directory to another engine, every record proven on the way.
//!
//! The new epochs are built beside the old ones, made durable, and then the list of epochs is replaced in one step. A stop
//! before that leaves unlisted directories, which the next opening removes; a stop after it leaves the old ones, likewise.

use rhizome_keccak::keccak256_batch;
use rhizome_primitives::{B256, Bytes};

use crate::datadir::{Datadir, TrieEngine};
use crate::engine::{EngineOptions, NodeEngine};
use crate::epochs::EpochStore;
use crate::error::{Result, StorageError};

/// Records that are proven and written together.
const GROUP: usize = 4096;
/// Bytes of records that are written together.
const GROUP_BYTES: usize = 1 << 20;
/// The longest record that FlatDB says with one length byte.
const SHORT: usize = 254;

/// What a conversion moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// Epochs.
    pub epochs: u64,
    /// Records, each of which hashes to its key; one that several epochs have counts for each.
    pub records: u64,
    /// Their bytes, keys not counted.
    pub bytes: u64,
    /// Those of more than 254 bytes.
    pub long_records: u64,
    /// The longest record.
    pub longest: u64,
    /// Bytes of the files before.
    pub bytes_before: u64,
    /// Bytes of the files afterwards.
    pub bytes_after: u64,
}

impl Conversion {
    /// Bytes of a record, on average.
    pub fn mean_size(&self) -> u64 {
        self.bytes.checked_div(self.records).unwrap_or(0)
    }
}

/// Moves the trie of a data directory to another engine. `progress` is told how many records were moved.
///
/// # Errors
/// When an engine fails or a record does not hash to its key: the directory is then as before.
pub fn convert(
    datadir: &mut Datadir,
    to: TrieEngine,
    options: &EngineOptions,
    mut progress: impl FnMut(u64),
) -> Result<Conversion> {
    let from: TrieEngine = datadir.format().engine.parse().map_err(StorageError::Refused)?;
    if from == to {
        return Err(StorageError::Refused(format!("the directory uses trie engine {to} already")));
    }
    if !to.is_kept() {
        return Err(StorageError::Refused(format!("trie engine {to} keeps nothing in a data directory")));
    }
    let path = datadir.trie_path();
    let old = EpochStore::open(&path, from, options.clone())?;
    let mut done = Conversion { bytes_before: old.bytes(), ..Conversion::default() };
    old.copy_epochs(to, |source, target| {
        done.epochs += 1;
        move_records(source, target, &mut done, &mut progress)
    })?;
    // The files of the old engine are closed before they are removed.
    drop(old);
    datadir.set_engine(to)?;
    done.bytes_after = EpochStore::open(&path, to, options.clone())?.bytes();
    Ok(done)
}

fn move_records(
    source: &dyn NodeEngine,
    target: &dyn NodeEngine,
    done: &mut Conversion,
    progress: &mut impl FnMut(u64),
) -> Result<()> {
    let mut group: Vec<(B256, Bytes)> = Vec::with_capacity(GROUP);
    let mut bytes = 0;
    let mut hand_over = |group: &mut Vec<(B256, Bytes)>| -> Result<()> {
        prove(group)?;
        target.put_batch(group)?;
        for (_, record) in group.iter() {
            done.records += 1;
            done.bytes += record.len() as u64;
            done.long_records += u64::from(record.len() > SHORT);
            done.longest = done.longest.max(record.len() as u64);
        }
        progress(done.records);
        group.clear();
        Ok(())
    };
    source.for_each(&mut |hash, record| {
        group.push((*hash, Bytes::copy_from_slice(record)));
        bytes += record.len();
        if group.len() < GROUP && bytes < GROUP_BYTES {
            return Ok(());
        }
        bytes = 0;
        hand_over(&mut group)
    })?;
    hand_over(&mut group)
}

/// Hashes records and compares.
fn prove(group: &[(B256, Bytes)]) -> Result<()> {
    let records: Vec<&[u8]> = group.iter().map(|(_, record)| &record[..]).collect();
    let mut digests = vec![B256::ZERO; records.len()];
    keccak256_batch(&records, &mut digests);
    match group.iter().zip(&digests).find(|((hash, _), digest)| hash != *digest) {
        Some(((hash, _), digest)) => {
            Err(StorageError::corrupt(format!("the record under {hash} hashes to {digest}; nothing was converted")))
        }
        None => Ok(()),
    }
}
