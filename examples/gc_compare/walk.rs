//! Reads of a head state: descents, a recursive walk, and the collector's walk.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eyre::{Result, ensure, eyre};
use parking_lot::Mutex;
use rhizome_examples::{Churn, EngineKind, Numbers, drop_from_cache, thread_cpu};
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{EngineOptions, EpochStore, GcControl, walk_state};
use rhizome_trie::codec::{ChildView, NodeView, ValueView};
use rhizome_trie::{StoreError, StoreStats, Trie, TrieStore};
use serde::{Deserialize, Serialize};

use crate::run::engine;

/// What reading a head state cost.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reads {
    /// Nanoseconds of thread CPU for a node, read before.
    pub(crate) warm: f64,
    /// Nanoseconds of wall time for the same: more where the memory does not hold what was read.
    pub(crate) again: f64,
    /// Nanoseconds of wall time for a node.
    pub(crate) cold: f64,
    /// Seconds of wall time for the whole head state, cold, node after node.
    pub(crate) recursive: f64,
    /// The same with many reads in flight.
    pub(crate) mark: f64,
    /// Records and bytes of the head state.
    pub(crate) live: (u64, u64),
}

/// Measures the reads of a directory.
pub(crate) fn measure(kind: EngineKind, path: &Path, root: B256, churn: Churn, reads: u64) -> Result<Reads> {
    let open = || -> Result<Arc<EpochStore>> {
        Ok(Arc::new(EpochStore::open(path, engine(kind)?, EngineOptions::default())?))
    };
    let mut found = Reads::default();
    // What the descents read is noted beforehand, so that only the store's part is measured.
    let cold_reads = (reads / 20).max(1);
    let (cold_stream, stream) = {
        let store = open()?;
        (descents(&store, root, churn, cold_reads, 2)?, descents(&store, root, churn, reads, 3)?)
    };

    // Cold: opened, so that indexes are in memory as they are in a running node, then the rest dropped.
    let store = open()?;
    drop_from_cache(path)?;
    let start = Instant::now();
    follow(&store, &cold_stream)?;
    found.cold = start.elapsed().as_nanos() as f64 / cold_stream.len().max(1) as f64;
    drop(store);

    // Warm: the same reads twice, the second time counted.
    let store = open()?;
    follow(&store, &stream)?;
    let (cpu, start) = (thread_cpu(), Instant::now());
    follow(&store, &stream)?;
    let each = |spent: Duration| spent.as_nanos() as f64 / stream.len().max(1) as f64;
    (found.warm, found.again) = (each(thread_cpu().saturating_sub(cpu)), each(start.elapsed()));
    drop(store);

    let store = open()?;
    drop_from_cache(path)?;
    let start = Instant::now();
    let recursive = recursive(&store, root)?;
    found.recursive = start.elapsed().as_secs_f64();
    drop(store);

    let store = open()?;
    drop_from_cache(path)?;
    let start = Instant::now();
    let walked = walk_state(&store, &[root], &GcControl::new())?;
    found.mark = start.elapsed().as_secs_f64();
    found.live = (walked.live_records, walked.live_bytes);
    ensure!(recursive == found.live, "two walks differ: {recursive:?} and {:?}", found.live);
    Ok(found)
}

/// A store that notes what is read.
#[derive(Debug)]
struct Noting {
    store: Arc<EpochStore>,
    read: Mutex<Vec<B256>>,
}

impl TrieStore for Noting {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.read.lock().push(*hash);
        self.store.get(hash)
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        self.store.put_batch(nodes)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.store.flush()
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }
}

/// The nodes that look-ups of random keys read, each from the root on, with nothing in memory.
fn descents(store: &Arc<EpochStore>, root: B256, churn: Churn, reads: u64, seed: u64) -> Result<Vec<B256>> {
    let noting = Arc::new(Noting { store: Arc::clone(store), read: Mutex::default() });
    let nodes: Arc<dyn TrieStore> = Arc::clone(&noting) as Arc<dyn TrieStore>;
    let mut numbers = Numbers::new(seed);
    for _ in 0..reads {
        let key = churn.key(numbers.below(churn.entries));
        let found = Trie::open(root, Arc::clone(&nodes))?.get(&key)?;
        ensure!(found.is_some(), "a key of the head state is missing");
    }
    let read = std::mem::take(&mut *noting.read.lock());
    Ok(read)
}

/// Reads these nodes in turn. As in a descent, the next read waits for the record of the one before.
fn follow(store: &EpochStore, hashes: &[B256]) -> Result<()> {
    let nothing = std::hint::black_box(0_u8);
    let mut last = 0;
    for hash in hashes {
        let mut hash = *hash;
        hash[31] ^= last & nothing;
        let record = store.get(&hash)?.ok_or_else(|| eyre!("node {hash} is missing"))?;
        last = record.last().copied().unwrap_or_default();
    }
    Ok(())
}

/// Visits the whole state, each node after its parent was read, one read at a time.
fn recursive(store: &EpochStore, root: B256) -> Result<(u64, u64)> {
    let mut seen: HashSet<B256> = HashSet::new();
    let mut stack = vec![(root, true)];
    let (mut records, mut bytes) = (0, 0);
    while let Some((hash, is_node)) = stack.pop() {
        if !seen.insert(hash) {
            continue;
        }
        let record = store.get(&hash)?.ok_or_else(|| eyre!("node {hash} is missing"))?;
        records += 1;
        bytes += record.len() as u64;
        if !is_node {
            continue;
        }
        let view = NodeView::parse(&record)?;
        for child in view.children {
            match child {
                ChildView::Hash(hash) => stack.push((*hash, true)),
                ChildView::Embedded(inner) => {
                    if let ValueView::Long { hash, .. } = NodeView::parse(inner)?.value {
                        stack.push((*hash, false));
                    }
                }
                ChildView::Empty => {}
            }
        }
        if let ValueView::Long { hash, .. } = view.value {
            stack.push((*hash, false));
        }
    }
    Ok((records, bytes))
}
