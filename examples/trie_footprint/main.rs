//! What a window of blocks reads and writes of the trie, and how the live state lies in a store that keeps everything.
//!
//! `cargo run --release --example trie_footprint -- --chain FILE.json BLOCKS.csv.gz`
//!
//! Every block from 1 to the window's end is executed again from its parent's root with nothing in memory, over a store that
//! records what passes. From that come the nodes of each block, the growth of their union with the window, the order in which
//! an appending store holds everything, and the reads that are then repeated on each engine with its files dropped from the
//! page cache.

mod amplification;
mod collection;
mod window;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use eyre::{Result, WrapErr, ensure};
use rhizome_examples::{ChainSource, Density, EngineKind, Layout, LoadedChain, Table, density_picture};
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::RecordingStore;
use rhizome_trie::Trie;
use serde::Serialize;

use crate::amplification::Amplification;
use crate::window::{BlockFootprint, Growth, Summary};

/// Parts of the store in the picture.
const BINS: usize = 240;

/// Measures the trie footprint of blocks.
#[derive(Debug, Parser)]
struct Options {
    #[command(flatten)]
    source: ChainSource,
    /// The window's first block; default: the last 100 blocks
    #[arg(long, value_name = "N")]
    from: Option<u64>,
    /// The window's last block; default: the head
    #[arg(long, value_name = "N")]
    to: Option<u64>,
    /// Engines whose read amplification is measured
    #[arg(long, value_enum, value_name = "ENGINE")]
    engine: Vec<EngineKind>,
    /// Where the picture goes
    #[arg(long, value_name = "FILE", default_value = "trie_footprint.svg")]
    svg: PathBuf,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    chain: String,
    from: u64,
    to: u64,
    window: Summary,
    growth: Vec<Growth>,
    density: Densities,
    amplification: Vec<Amplification>,
    picture: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Densities {
    /// Everything that was written.
    before: Density,
    /// What real collections left of it; none when the chain is too short for one.
    after: Option<Density>,
    /// Epochs that they dropped.
    epochs_dropped: usize,
    /// The bound: the live records alone, in trie order.
    bound: Density,
}

/// Everything that re-execution gave.
struct Recorded {
    /// Every record in the order in which it was written, by block.
    blocks: Vec<(u64, Vec<(B256, Bytes)>)>,
    window: Vec<BlockFootprint>,
    head: Trie,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let loaded = options.source.load()?;
    let head = loaded.chain.head().record.number;
    let to = options.to.unwrap_or(head);
    let from = options.from.unwrap_or_else(|| to.saturating_sub(99)).max(1);
    ensure!(from <= to && to <= head, "blocks {from} to {to} are no window of a chain with head {head}");
    let recorded = record(&loaded, from, to)?;

    let mut layout = Layout::default();
    let written: Vec<(B256, Bytes)> = recorded.blocks.iter().flat_map(|(_, records)| records).cloned().collect();
    written.iter().for_each(|(hash, record)| layout.push(*hash, record.len()));
    let mut charts = Vec::new();
    let mut measured = |name: &str, layout: &Layout| -> Result<Density> {
        let (density, bins) = layout.density(&recorded.head, BINS)?;
        let (size, share) = (mib(density.bytes), 100.0 * density.share);
        charts.push((format!("{name}: {size:.1} MiB, {share:.1} % of the records are live"), bins));
        Ok(density)
    };
    let before = measured("everything that was written", &layout)?;
    let collected = collection::collected(&loaded, &recorded.blocks, to)?;
    let epochs_dropped = collected.as_ref().map_or(0, |(_, dropped)| *dropped);
    let after = collected
        .map(|(layout, dropped)| measured(&format!("after {dropped} collections of the oldest epoch"), &layout))
        .transpose()?;
    let bound = measured("the live records alone, in trie order", &Layout::of_state(&recorded.head)?)?;
    let density = Densities { before, after, epochs_dropped, bound };
    let charts: Vec<(String, &[f64])> = charts.iter().map(|(name, bins)| (name.clone(), &bins[..])).collect();
    let title = format!("Live share of the store by position, state of block {to}");
    std::fs::write(&options.svg, density_picture(&title, &charts))
        .wrap_err_with(|| options.svg.display().to_string())?;

    let engines = if options.engine.is_empty() { EngineKind::ALL.to_vec() } else { options.engine };
    let report = Report {
        chain: loaded.name,
        from,
        to,
        window: Summary::of(&recorded.window),
        growth: window::growth(&recorded.window),
        density,
        amplification: amplification::measure(&engines, &written, &recorded.window, &recorded.head)?,
        picture: options.svg.display().to_string(),
    };
    if options.json {
        println!("{}", serde_json::to_string(&report)?)
    } else {
        print(&report)
    }
    Ok(())
}

fn record(loaded: &LoadedChain, from: u64, to: u64) -> Result<Recorded> {
    let chain = &loaded.chain;
    let nodes = chain.stores().nodes();
    let record_at = |number| -> Result<_> {
        let hash = chain.stores().blocks().canonical_hash(number)?;
        let record = hash.map(|hash| chain.stores().blocks().record(&hash)).transpose()?.flatten();
        record.ok_or_else(|| eyre::eyre!("there is no block {number} on the main chain"))
    };
    let genesis = Trie::open(record_at(0)?.state_root, Arc::clone(&nodes))?;
    let mut written = Vec::new();
    for item in genesis.iter_nodes() {
        let item = item?;
        if let rhizome_trie::codec::ValueView::Long { hash, .. } = item.view()?.value {
            written.extend(nodes.get(hash)?.map(|value| (*hash, value)));
        }
        if !item.is_embedded() {
            written.push((item.hash(), item.message().clone()));
        }
    }
    let recorder = Arc::new(RecordingStore::new(Arc::clone(&nodes)));
    let mut blocks = vec![(0, written)];
    let mut window = Vec::new();
    for number in 1..=to {
        let mut made = Vec::new();
        for (stored, footprint) in chain.footprints(number, &recorder)? {
            made.extend(footprint.made.iter().cloned());
            // A block beside the main chain is written and not counted as a block of the window.
            if number >= from && stored.main {
                window.push(BlockFootprint::new(&stored.block, footprint));
            }
        }
        blocks.push((number, made));
    }
    Ok(Recorded { blocks, window, head: Trie::open(record_at(to)?.state_root, nodes)? })
}

fn print(report: &Report) {
    let Report { chain, from, to, window, growth, density, amplification, picture } = report;
    println!("{chain}, blocks {from} to {to}\n");
    let mut table = Table::new("a block of the window", ["", "mean", "median", "p99", "most"]);
    for (name, figure) in window.figures() {
        table.row([
            name.into(),
            format!("{:.1}", figure.mean),
            figure.median.to_string(),
            figure.p99.to_string(),
            figure.most.to_string(),
        ]);
    }
    println!("{table}");
    let columns = ["blocks", "distinct nodes", "bytes", "nodes a block", "new nodes", "new bytes"];
    let mut table = Table::new("growth with the window", columns);
    for step in growth {
        let each = step.touched as f64 / step.blocks as f64;
        let cells = [step.blocks, step.touched, step.touched_bytes].map(|number| number.to_string());
        table.row(cells.into_iter().chain([format!("{each:.1}"), step.made.to_string(), step.made_bytes.to_string()]));
    }
    println!("{table}");
    let Densities { before, after, epochs_dropped, bound } = density;
    let collected = format!("after {epochs_dropped} collections");
    let columns = ["", "before", &collected, "live alone, trie order"];
    let mut table = Table::new(format!("density of the state of block {to} in the store"), columns);
    let mut row = |name: &str, of: fn(&Density) -> String| {
        table.row([name.into(), of(before), after.as_ref().map_or_else(|| "-".into(), of), of(bound)]);
    };
    row("records", |density| density.records.to_string());
    row("live records", |density| density.live_records.to_string());
    row("bytes", |density| density.bytes.to_string());
    row("live bytes", |density| density.live_bytes.to_string());
    row("share of records that is live", |density| format!("{:.2} %", 100.0 * density.share));
    row("bytes from one live record to the next, mean", |density| format!("{:.0}", density.mean_distance));
    row("bytes from a node to its child, mean", |density| format!("{:.0}", density.mean_distance_to_child));
    row("share of 4 KiB pages with a live record", |density| format!("{:.2} %", 100.0 * density.page_share));
    row("bytes of those pages / live bytes", |density| format!("{:.1}", density.page_amplification));
    println!("{table}");
    let columns = ["engine", "store bytes", "reads", "bytes asked", "bytes from disk", "amplification", "us a read"];
    let mut table = Table::new("the window's reads, files out of the page cache", columns);
    for found in amplification {
        let disk = found.bytes_from_disk.map_or_else(|| "not told".into(), |bytes| bytes.to_string());
        let ratio = found.amplification.map_or_else(|| "-".into(), |ratio| format!("{ratio:.1}"));
        let cells = [found.store_bytes, found.reads, found.bytes_asked].map(|number| number.to_string());
        let rest = [disk, ratio, format!("{:.2}", found.microseconds_a_read)];
        table.row([found.engine.clone()].into_iter().chain(cells).chain(rest));
    }
    println!("{table}");
    println!("picture: {picture}");
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1_u32 << 20)
}
