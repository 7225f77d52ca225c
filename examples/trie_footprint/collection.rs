//! The store after real collections: what was written goes into epochs of FlatDB, block by block, the old epochs are dropped,
//! and the records that are left are looked at in the order of the files.

use std::path::Path;
use std::sync::Arc;

use eyre::Result;
use rhizome_examples::{EngineKind, Layout, LoadedChain, open_engine};
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{EngineOptions, EpochStore, GcControl, GcOptions, GcPlan, TrieEngine};
use rhizome_trie::TrieStore;
use tempfile::TempDir;

/// Rotations over the whole chain.
const ROTATIONS: u64 = 5;
/// Blocks below the window's end whose states are kept, at most.
const DEPTH: u64 = 20;

/// The layout after every epoch that can be dropped was dropped, and how many were; none when the chain is too short for one.
pub(crate) fn collected(
    loaded: &LoadedChain,
    blocks: &[(u64, Vec<(B256, Bytes)>)],
    to: u64,
) -> Result<Option<(Layout, usize)>> {
    let directory = TempDir::new()?;
    let control = GcControl::new();
    let total: usize = blocks.iter().flat_map(|(_, records)| records).map(|(_, record)| record.len()).sum();
    let each = total as u64 / (ROTATIONS + 1);
    let store = Arc::new(EpochStore::open(directory.path(), TrieEngine::FlatDb, EngineOptions::default())?);
    for (number, records) in blocks {
        store.put_batch(records)?;
        if store.newest_bytes() > each && *number < to {
            store.rotate(*number, &control)?;
        }
    }
    store.flush()?;
    let all = loaded.chain.stores().blocks();
    let depth = loaded.chain.head().record.number - to + DEPTH.min(to / 10);
    let mut dropped = 0;
    while store.epochs().len() >= GcOptions::MIN_EPOCHS
        && store.epochs().last().and_then(|epoch| epoch.sealed_at) < Some(to)
    {
        let Ok(plan) = GcPlan::new(&store, all, all, depth) else { break };
        plan.collect(&control)?;
        dropped += 1;
    }
    if dropped == 0 {
        return Ok(None);
    }
    let oldest_first: Vec<u64> = store.epochs().iter().rev().map(|epoch| epoch.number).collect();
    drop(store);
    let mut layout = Layout::default();
    for number in oldest_first {
        append(&mut layout, &directory.path().join(format!("{}.{number}", TrieEngine::FlatDb)))?;
    }
    Ok(Some((layout, dropped)))
}

fn append(layout: &mut Layout, path: &Path) -> Result<()> {
    open_engine(EngineKind::Flatdb, path)?.for_each(&mut |hash, record| {
        layout.push(*hash, record.len());
        Ok(())
    })?;
    Ok(())
}
