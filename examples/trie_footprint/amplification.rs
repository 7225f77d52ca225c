//! How many bytes an engine fetches from the disk for the bytes that a window asks for.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use eyre::{Result, ensure};
use rhizome_examples::{EngineKind, bytes_below, bytes_read_from_disk, drop_from_cache, open_engine};
use rhizome_primitives::map::B256Set;
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{Segment, SegmentRange, SegmentStore, write_segment};
use rhizome_trie::{Trie, TrieStore};
use serde::Serialize;
use tempfile::TempDir;

use crate::window::BlockFootprint;

/// Records that are written and made durable together.
const BATCH: usize = 4096;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Amplification {
    pub(crate) engine: String,
    pub(crate) store_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) bytes_asked: u64,
    pub(crate) bytes_from_disk: Option<u64>,
    pub(crate) amplification: Option<f64>,
    pub(crate) microseconds_a_read: f64,
}

/// Reads the window's records from every engine, one after another as a descent would, and from a segment of the window.
pub(crate) fn measure(
    engines: &[EngineKind],
    written: &[(B256, Bytes)],
    window: &[BlockFootprint],
    head: &Trie,
) -> Result<Vec<Amplification>> {
    let mut found = Vec::new();
    for &kind in engines {
        let directory = TempDir::new()?;
        let store = open_engine(kind, directory.path())?;
        for batch in written.chunks(BATCH) {
            store.put_batch(batch)?;
            store.flush()?;
        }
        drop(store);
        found.push(cold_reads(kind.name(), directory.path(), window, || {
            Ok(open_engine(kind, directory.path())? as Arc<dyn TrieStore>)
        })?);
    }
    found.push(segment(window, head)?);
    Ok(found)
}

fn segment(window: &[BlockFootprint], head: &Trie) -> Result<Amplification> {
    let directory = TempDir::new()?;
    let mut seen = B256Set::default();
    let touched = window.iter().flat_map(|block| &block.touched);
    let records: Vec<(B256, Bytes)> = touched.filter(|(hash, _)| seen.insert(*hash)).cloned().collect();
    let range = SegmentRange {
        genesis: B256::ZERO,
        from: 1,
        to: window.len() as u64,
        parent: B256::ZERO,
        parent_root: B256::ZERO,
        last: head.root_hash(),
        blocks: window.len() as u64,
    };
    let path = write_segment(directory.path(), range, &records)?;
    cold_reads("segment", directory.path(), window, || {
        Ok(Arc::new(SegmentStore::new(Arc::new(Segment::open(&path)?))) as Arc<dyn TrieStore>)
    })
}

fn cold_reads(
    engine: &str,
    directory: &Path,
    window: &[BlockFootprint],
    open: impl Fn() -> Result<Arc<dyn TrieStore>>,
) -> Result<Amplification> {
    drop_from_cache(directory)?;
    // Opening is part of it: an engine that reads its index first has read it.
    let before = bytes_read_from_disk();
    let start = Instant::now();
    let store = open()?;
    let (mut reads, mut asked) = (0, 0);
    for (hash, record) in window.iter().flat_map(|block| &block.touched) {
        ensure!(store.get(hash)?.as_ref() == Some(record), "{engine}: record {hash} is another one");
        reads += 1;
        asked += record.len() as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    let from_disk = bytes_read_from_disk().zip(before).map(|(after, before)| after - before);
    Ok(Amplification {
        engine: engine.to_owned(),
        store_bytes: bytes_below(directory),
        reads,
        bytes_asked: asked,
        bytes_from_disk: from_disk,
        amplification: from_disk.map(|bytes| bytes as f64 / (asked as f64).max(1.0)),
        microseconds_a_read: 1e6 * seconds / (reads as f64).max(1.0),
    })
}
