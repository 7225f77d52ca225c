//! An old range of blocks read from a store that keeps everything, and from its segment, files out of the page cache.
//!
//! `cargo run --release --example segment_compare -- --entries 2000000 --blocks 20000`
//!
//! Writes the change sets of a big state that changes, records what the trie asks for in an early range, and repeats that
//! stream on both sides in turns. `--directory` keeps the store, for measurements of a collector.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use eyre::{Result, ensure};
use rhizome_examples::{
    Churn, EngineKind, Table, bytes_below, bytes_read_from_disk, drop_from_cache, median, open_engine,
};
use rhizome_primitives::map::B256Set;
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{RecordingStore, Segment, SegmentRange, SegmentStore, write_segment};
use rhizome_trie::TrieStore;
use serde::Serialize;
use tempfile::TempDir;

/// Nodes that are made durable together while the store is written.
const FLUSH: u64 = 1 << 16;

/// Compares a store with a segment of it.
#[derive(Debug, Parser)]
struct Options {
    #[command(flatten)]
    churn: Churn,
    /// The engine that keeps everything
    #[arg(long, value_enum, default_value = "flatdb", value_name = "ENGINE")]
    engine: EngineKind,
    /// The range's first block
    #[arg(long, value_name = "N", default_value_t = 100)]
    from: u64,
    /// Blocks of the range
    #[arg(long, value_name = "N", default_value_t = 100)]
    range: u64,
    /// Rounds, at least five
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Keep the store in this directory, which must be empty or absent
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    churn: Churn,
    engine: &'static str,
    nodes_written: u64,
    reads: u64,
    distinct_reads: u64,
    root: String,
    sides: [Side; 2],
    /// The engine's time over the segment's, the median of the rounds.
    ratio: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Side {
    name: &'static str,
    store_bytes: u64,
    milliseconds: f64,
    bytes_from_disk: f64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let Options { churn, engine, from, range, rounds, .. } = options;
    ensure!(rounds >= 5, "at least five rounds");
    ensure!(
        from > 0 && range > 0 && from + range - 1 <= churn.blocks,
        "the range is not inside blocks 1 to {}",
        churn.blocks
    );
    let temporary = TempDir::new()?;
    let directory = options.directory.clone().unwrap_or_else(|| temporary.path().join("store"));
    let empty = std::fs::read_dir(&directory).map_or(true, |mut entries| entries.next().is_none());
    ensure!(empty, "{} is not empty", directory.display());
    std::fs::create_dir_all(&directory)?;

    let store: Arc<dyn TrieStore> = open_engine(engine, &directory)?;
    let (mut nodes_written, mut unflushed, mut start, mut end) = (0, 0, B256::ZERO, B256::ZERO);
    let head = churn.build(&store, |number, root, made| {
        nodes_written += made.len() as u64;
        unflushed += made.len() as u64;
        if unflushed >= FLUSH {
            unflushed = 0;
            store.flush()?;
        }
        if number + 1 == from {
            start = root;
        }
        if number + 1 == from + range {
            end = root;
        }
        Ok(())
    })?;
    store.flush()?;
    let root = head.root_hash().to_string();
    drop(head);

    let recorder = Arc::new(RecordingStore::new(Arc::clone(&store)));
    let mut stream: Vec<(B256, Bytes)> = Vec::new();
    let mut at = start;
    for number in from..from + range {
        let (next, footprint) = churn.footprint(number, at, &recorder)?;
        stream.extend(footprint.touched);
        at = next;
    }
    ensure!(at == end, "the range gives another root when repeated");
    drop((recorder, store));
    let mut seen = B256Set::default();
    let records: Vec<_> = stream.iter().filter(|(hash, _)| seen.insert(*hash)).cloned().collect();
    let described = SegmentRange {
        genesis: B256::ZERO,
        from,
        to: from + range - 1,
        parent: B256::ZERO,
        parent_root: start,
        last: B256::ZERO,
        blocks: range,
    };
    let segments = temporary.path().join("segments");
    let path = write_segment(&segments, described, &records)?;

    let mut rounds_of = [Vec::new(), Vec::new()];
    let mut disk = [0, 0];
    for _ in 0..rounds {
        let archive = || Ok(open_engine(engine, &directory)? as Arc<dyn TrieStore>);
        let segment = || {
            let segment = Arc::new(Segment::open(&path)?);
            segment.preload();
            Ok(Arc::new(SegmentStore::new(segment)) as Arc<dyn TrieStore>)
        };
        for (side, (milliseconds, bytes)) in
            [read(&directory, &stream, archive)?, read(&segments, &stream, segment)?].into_iter().enumerate()
        {
            rounds_of[side].push(milliseconds);
            disk[side] += bytes;
        }
    }
    let ratios: Vec<f64> = rounds_of[0].iter().zip(&rounds_of[1]).map(|(archive, segment)| archive / segment).collect();
    let side = |index: usize, name, place: &Path| Side {
        name,
        store_bytes: bytes_below(place),
        milliseconds: median(&rounds_of[index]),
        bytes_from_disk: disk[index] as f64 / rounds as f64,
    };
    let report = Report {
        churn,
        engine: engine.name(),
        nodes_written,
        reads: stream.len() as u64,
        distinct_reads: records.len() as u64,
        root,
        sides: [side(0, engine.name(), &directory), side(1, "segment", &segments)],
        ratio: median(&ratios),
    };
    if options.json {
        println!("{}", serde_json::to_string(&report)?);
        return Ok(());
    }
    println!("{nodes_written} nodes written, state {}", report.root);
    let title =
        format!("{} reads of {} nodes, blocks {from} to {}", report.reads, report.distinct_reads, from + range - 1);
    let mut table = Table::new(title, ["", "store bytes", "ms, opening included", "bytes from disk"]);
    for side in &report.sides {
        let cells =
            [side.store_bytes.to_string(), format!("{:.2}", side.milliseconds), format!("{:.0}", side.bytes_from_disk)];
        table.row([side.name.to_owned()].into_iter().chain(cells));
    }
    println!("{table}{} / segment: {:.1}", report.engine, report.ratio);
    Ok(())
}

/// Repeats a stream of reads with the files out of the page cache: milliseconds, opening included, and bytes from the disk.
fn read(
    directory: &Path,
    stream: &[(B256, Bytes)],
    open: impl Fn() -> Result<Arc<dyn TrieStore>>,
) -> Result<(f64, u64)> {
    drop_from_cache(directory)?;
    let before = bytes_read_from_disk().unwrap_or(0);
    let start = Instant::now();
    let store = open()?;
    for (hash, record) in stream {
        ensure!(store.get(hash)?.as_ref() == Some(record), "record {hash} is another one");
    }
    Ok((start.elapsed().as_secs_f64() * 1e3, bytes_read_from_disk().unwrap_or(0).saturating_sub(before)))
}
