//! FlatDB, RocksDB, parity-db and redb on the same keys and on the same blocks, in one process and in turns.
//!
//! `cargo run --release --example engine_compare -- --records 1000000`
//! `cargo run --release --example engine_compare -- --chain FILE.json BLOCKS.csv.gz`
//!
//! The key stream loads records in a random order and reads them; the block stream is what blocks read and write, durable after
//! each: of a generated churn, or of a recorded chain.
//!
//! NOMT is not among them: it stores the values of a tree that it hashes itself, not records under the hashes of their bytes.
//!
//! Results are compared before times: every store must answer every read with the same bytes. Each figure is the median of at
//! least five rounds in which the stores take turns; ratios are medians of the ratios within a round.

mod btree;
mod keys;
mod opponents;
mod replay;
mod stream;

use std::path::PathBuf;

use clap::Parser;
use eyre::{Result, ensure};
use rhizome_examples::{Churn, Table, median};
use rhizome_storage::RocksMemory;
use serde::Serialize;
use tempfile::TempDir;

use crate::opponents::Kind;
use crate::stream::{BlockStream, Origin, StreamSize};

/// Compares stores of trie nodes.
///
/// Two streams go over every store: keys, which are loaded in a random order and read warm, cold and absent; and blocks, each of
/// which reads and writes its nodes and is made durable. The blocks are a generated churn's, or with --chain a recorded chain's.
/// Stores are made in TMPDIR, which should not be in memory.
#[derive(Debug, Parser)]
struct Options {
    /// Records of the key stream, 60 to 99 bytes each; takes 36 bytes of memory for each
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    records: u64,
    /// Reads in each round
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    reads: usize,
    /// Reads in each round with the files out of the page cache
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    cold_reads: usize,
    /// Rounds, at least five
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// The block cache of RocksDB and the cache of redb. By default it holds all records with what belongs to them, and is never
    /// smaller than the node's: FlatDB and parity-db read through maps, and a cache that loses its filters would be
    /// compared instead
    #[arg(long, alias = "rocksdb-cache", value_name = "MIB")]
    cache: Option<usize>,
    /// The state and the blocks of the block stream
    #[command(flatten)]
    churn: Churn,
    /// A chain's name or file: the block stream is what its blocks read and write, each executed from its parent's root with
    /// nothing in memory, in place of the churn
    #[arg(
        long,
        value_name = "NETWORK|FILE.json",
        requires = "blocks_of_chain",
        conflicts_with_all = ["entries", "blocks", "updates"]
    )]
    chain: Option<String>,
    /// The chain's block files, as `rhizome export` writes them
    #[arg(value_name = "BLOCKS", id = "blocks_of_chain", requires = "chain")]
    block_files: Vec<PathBuf>,
    /// Stores to leave out; FlatDB stays
    #[arg(long, value_name = "STORE", value_parser = ["rocksdb", "parity-db", "redb"])]
    without: Vec<String>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Bytes of cache for each record, what belongs to it included: redb's pages are three quarters full at best.
const CACHED: u64 = 256;

impl Options {
    fn check(&self) -> Result<()> {
        ensure!(self.rounds >= 5, "--rounds: at least five");
        ensure!(self.records >= 2, "--records: at least two, as each holds the key of another");
        ensure!(self.reads > 0, "--reads: at least one");
        Ok(())
    }

    fn block_stream(&self) -> Result<BlockStream> {
        match &self.chain {
            Some(chain) => BlockStream::recorded(chain, &self.block_files),
            None => BlockStream::generated(self.churn),
        }
    }

    /// Bytes of cache that hold so many records, or those that were asked for.
    fn cache(&self, records: u64) -> usize {
        let all = usize::try_from(records.saturating_mul(CACHED)).unwrap_or(usize::MAX);
        let asked = self.cache.map(|mebibytes| mebibytes.saturating_mul(1 << 20));
        asked.unwrap_or_else(|| all.max(RocksMemory::default().trie_cache))
    }
}

/// The order of the stores in a round: each begins in its turn.
pub(crate) fn turns(round: usize, stores: usize) -> impl Iterator<Item = usize> {
    (0..stores).map(move |at| (at + round) % stores)
}

/// One quantity of every store, a value a round.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figure {
    name: String,
    unit: &'static str,
    medians: Vec<f64>,
    /// The others' over the first store's, the median over the rounds.
    ratios: Vec<f64>,
    #[serde(skip)]
    rounds: Vec<Vec<f64>>,
}

impl Figure {
    pub(crate) fn new(name: &str, unit: &'static str) -> Self {
        Self { name: name.into(), unit, medians: Vec::new(), ratios: Vec::new(), rounds: Vec::new() }
    }

    /// The values of one round, a value a store.
    pub(crate) fn round(&mut self, values: Vec<f64>) {
        self.rounds.push(values);
    }

    pub(crate) fn done(mut self) -> Self {
        let stores = self.rounds.first().map_or(0, Vec::len);
        let over = |of: &dyn Fn(&Vec<f64>) -> f64| median(&self.rounds.iter().map(of).collect::<Vec<_>>());
        let medians = (0..stores).map(|store| over(&|round| round[store])).collect();
        let ratios = (0..stores).map(|store| over(&|round| round[store] / round[0])).collect();
        (self.medians, self.ratios) = (medians, ratios);
        self
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    stores: Vec<&'static str>,
    options: Vec<Vec<String>>,
    records: u64,
    rounds: usize,
    /// Of the block stream.
    origin: Origin,
    stream: StreamSize,
    key_stream: Vec<Figure>,
    block_stream: Vec<Figure>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    options.check()?;
    // First: a chain that cannot be read is told at once.
    eprintln!("executing the blocks");
    let stream = options.block_stream()?;
    let cache = options.cache(options.records.max(stream.records() as u64));
    let kinds: Vec<Kind> =
        Kind::all(cache).into_iter().filter(|kind| options.without.iter().all(|name| name != kind.name())).collect();
    let directories: Vec<TempDir> = kinds.iter().map(|_| TempDir::new()).collect::<Result<_, _>>()?;
    let key_stream = keys::measure(&options, &kinds, &directories)?;
    let shown = kinds
        .iter()
        .zip(&directories)
        .map(|(kind, directory)| kind.options(directory.path()))
        .collect::<Result<_>>()?;
    drop(directories);
    let report = Report {
        stores: kinds.iter().map(|kind| kind.name()).collect(),
        options: shown,
        records: options.records,
        rounds: options.rounds,
        origin: stream.origin.clone(),
        stream: stream.size(),
        key_stream,
        block_stream: replay::measure(&options, &kinds, &stream)?,
    };
    if options.json {
        println!("{}", serde_json::to_string(&report)?)
    } else {
        print(&report)
    }
    Ok(())
}

fn print(report: &Report) {
    for (name, options) in report.stores.iter().zip(&report.options) {
        println!("{name}: {}", options.join(", "));
    }
    let StreamSize { blocks, first_records, reads_a_block, writes_a_block, written_bytes_a_block } = &report.stream;
    let of = match &report.origin {
        Origin::Churn(churn) => format!("{} updates on a state of {} entries", churn.updates, churn.entries),
        Origin::Chain(name) => name.clone(),
    };
    let titles = [
        format!(
            "\n{} records; medians of {} rounds; the last columns are ratios, store / flatdb",
            report.records, report.rounds
        ),
        format!(
            "{blocks} blocks of {of}, from {first_records} records; a block reads {reads_a_block:.1} records and writes \
             {writes_a_block:.1} of {written_bytes_a_block:.0} bytes"
        ),
    ];
    let over = report.stores.iter().skip(1).map(|name| format!("{name} /"));
    let columns: Vec<String> =
        ["", ""].iter().chain(&report.stores).map(|name| (*name).to_owned()).chain(over).collect();
    for (title, figures) in titles.iter().zip([&report.key_stream, &report.block_stream]) {
        let mut table = Table::new(title, columns.clone());
        for Figure { name, unit, medians, ratios, .. } in figures {
            let values = medians.iter().map(|value| format!("{value:.1}"));
            let ratios = ratios.iter().skip(1).map(|ratio| format!("{ratio:.2}"));
            table.row([name.clone(), (*unit).to_owned()].into_iter().chain(values).chain(ratios));
        }
        println!("{table}");
    }
}
