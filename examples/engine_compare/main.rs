//! FlatDB, RocksDB and parity-db on the same keys and on the same blocks, in one process and in turns.
//!
//! `cargo run --release --example engine_compare -- --records 1000000`
//!
//! NOMT is not among them: it stores the values of a tree that it hashes itself, not records under the hashes of their bytes.
//!
//! Results are compared before times: every store must answer every read with the same bytes. Each figure is the median of at
//! least five rounds in which the stores take turns; ratios are medians of the ratios within a round.

mod keys;
mod opponents;
mod stream;

use clap::Parser;
use eyre::{Result, ensure};
use rhizome_examples::{Churn, Table, median};
use rhizome_storage::RocksMemory;
use serde::Serialize;
use tempfile::TempDir;

use crate::opponents::Kind;

/// Compares stores of trie nodes.
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
    /// RocksDB's block cache. By default it holds all records with their filters and indexes, and is never smaller than the
    /// node's: FlatDB and parity-db have everything in maps, and a cache that loses its filters would be compared instead
    #[arg(long, value_name = "MIB")]
    rocksdb_cache: Option<usize>,
    /// The state and the blocks of the block stream
    #[command(flatten)]
    churn: Churn,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Bytes of RocksDB's cache for each record, what belongs to it included.
const CACHED: u64 = 160;

impl Options {
    /// Bytes of RocksDB's block cache.
    fn rocksdb_cache(&self) -> usize {
        let all = usize::try_from(self.records.saturating_mul(CACHED)).unwrap_or(usize::MAX);
        let asked = self.rocksdb_cache.map(|mebibytes| mebibytes.saturating_mul(1 << 20));
        asked.unwrap_or_else(|| all.max(RocksMemory::default().trie_cache))
    }
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
    churn: Churn,
    key_stream: Vec<Figure>,
    block_stream: Vec<Figure>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(options.rounds >= 5, "at least five rounds");
    let kinds = Kind::all(options.rocksdb_cache());
    let directories: Vec<TempDir> = kinds.iter().map(|_| TempDir::new()).collect::<Result<_, _>>()?;
    let key_stream = keys::measure(&options, &kinds, &directories)?;
    let shown = kinds
        .iter()
        .zip(&directories)
        .map(|(kind, directory)| kind.options(directory.path()))
        .collect::<Result<_>>()?;
    let report = Report {
        stores: kinds.iter().map(|kind| kind.name()).collect(),
        options: shown,
        records: options.records,
        rounds: options.rounds,
        churn: options.churn,
        key_stream,
        block_stream: stream::measure(&options, &kinds)?,
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
    let churn = &report.churn;
    let titles = [
        format!("\n{} records; medians of {} rounds", report.records, report.rounds),
        format!("{} blocks of {} updates on a state of {} entries", churn.blocks, churn.updates, churn.entries),
    ];
    for (title, figures) in titles.iter().zip([&report.key_stream, &report.block_stream]) {
        let mut table =
            Table::new(title, ["", "flatdb", "rocksdb", "parity-db", "rocksdb / flatdb", "parity-db / flatdb"]);
        for Figure { name, unit, medians, ratios, .. } in figures {
            let values = medians.iter().map(|value| format!("{value:.1} {unit}"));
            let ratios = ratios.iter().skip(1).map(|ratio| format!("{ratio:.2}"));
            table.row([name.clone()].into_iter().chain(values).chain(ratios));
        }
        println!("{table}");
    }
}
