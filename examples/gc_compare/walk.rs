//! Reads of a head state: descents, a recursive walk, and the collector's walk.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use eyre::{Result, ensure, eyre};
use rhizome_examples::{Churn, EngineKind, Numbers, drop_from_cache, thread_cpu};
use rhizome_primitives::B256;
use rhizome_storage::{EngineOptions, EpochStore, GcControl, walk_state};
use rhizome_trie::codec::{ChildView, NodeView, ValueView};
use rhizome_trie::{Trie, TrieStore};

use crate::run::{Finished, engine};

/// Measures the reads of a finished run's directory.
pub(crate) fn measure(run: &mut Finished, kind: EngineKind, path: &Path, churn: Churn, reads: u64) -> Result<()> {
    let open = || -> Result<Arc<EpochStore>> {
        Ok(Arc::new(EpochStore::open(path, engine(kind)?, EngineOptions::default())?))
    };
    // Cold: opened, so that indexes are in memory as they are in a running node, then the rest dropped.
    let cold_reads = (reads / 20).max(1);
    let store = open()?;
    drop_from_cache(path)?;
    let start = Instant::now();
    let nodes = descend(&store, run.root, churn, cold_reads, 2)?;
    run.cold = start.elapsed().as_nanos() as f64 / nodes.max(1) as f64;
    drop(store);

    // Warm: the same descents twice, the second time counted.
    let store = open()?;
    descend(&store, run.root, churn, reads, 3)?;
    let cpu = thread_cpu();
    let nodes = descend(&store, run.root, churn, reads, 3)?;
    run.warm = thread_cpu().saturating_sub(cpu).as_nanos() as f64 / nodes.max(1) as f64;
    drop(store);

    let store = open()?;
    drop_from_cache(path)?;
    let start = Instant::now();
    let recursive = recursive(&store, run.root)?;
    run.recursive = start.elapsed().as_secs_f64();
    drop(store);

    let store = open()?;
    drop_from_cache(path)?;
    let start = Instant::now();
    let walked = walk_state(&store, &[run.root], &GcControl::new())?;
    run.mark = start.elapsed().as_secs_f64();
    run.live = (walked.live_records, walked.live_bytes);
    ensure!(recursive == run.live, "two walks differ: {recursive:?} and {:?}", run.live);
    Ok(())
}

/// Reads random keys, each from the root on, with nothing in memory. Returns how many nodes were read.
fn descend(store: &Arc<EpochStore>, root: B256, churn: Churn, reads: u64, seed: u64) -> Result<u64> {
    let before = store.stats().reads;
    let nodes: Arc<dyn TrieStore> = Arc::clone(store) as Arc<dyn TrieStore>;
    let mut numbers = Numbers::new(seed);
    for _ in 0..reads {
        let key = churn.key(numbers.below(churn.entries));
        let found = Trie::open(root, Arc::clone(&nodes))?.get(&key)?;
        ensure!(found.is_some(), "a key of the head state is missing");
    }
    Ok(store.stats().reads - before)
}

/// Visits the whole state, each node after its parent was read, one read at a time.
fn recursive(store: &Arc<EpochStore>, root: B256) -> Result<(u64, u64)> {
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
