//! What giving up old states costs and brings: the same churn with and without collection, in pairs.
//!
//! `cargo run --release --example gc_compare -- --entries 200000 --blocks 4000 --updates 60`
//!
//! Each pair writes the same blocks into two stores, one of them collecting, compares every kept state's root node and the whole
//! head state, and then reads the head state in both: by descents to random keys, and whole. Figures are medians over the
//! pairs; the CPU of a run is that of the whole process between its first and its last block, background threads and the
//! collector included.

mod run;
mod walk;

use std::path::PathBuf;

use clap::Parser;
use eyre::{Result, ensure};
use rhizome_examples::{Churn, EngineKind, Table, median};
use serde::Serialize;

use run::{Finished, Setting};

/// The same churn with and without collection.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    churn: Churn,
    /// Engines to compare on
    #[arg(long, value_enum, default_values_t = EngineKind::ALL)]
    engine: Vec<EngineKind>,
    /// Pairs of runs
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Bytes of nodes after which a new epoch is begun
    #[arg(long, default_value_t = 32 << 20)]
    epoch_size: u64,
    /// Blocks below the head that keep their states
    #[arg(long, default_value_t = 200)]
    depth: u64,
    /// Blocks that are made durable together
    #[arg(long, default_value_t = 20)]
    interval: u64,
    /// Keys that are read after each run
    #[arg(long, default_value_t = 20_000)]
    reads: u64,
    /// Where the stores are made; a directory of its own is removed at the end
    #[arg(long, default_value = ".")]
    directory: PathBuf,
    /// Print one JSON object as the last line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    engine: &'static str,
    pairs: usize,
    rotations: u64,
    collections: u64,
    bytes: [f64; 2],
    size: f64,
    cpu_seconds: [f64; 2],
    cpu: f64,
    cpu_lowest: f64,
    cpu_highest: f64,
    warm_ns: [f64; 2],
    warm: f64,
    cold_us: [f64; 2],
    cold: f64,
    mark_seconds: [f64; 2],
    mark: f64,
    recursive_us: [f64; 2],
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut reports = Vec::new();
    for kind in &args.engine {
        reports.push(compare(&args, *kind)?);
    }
    let title = format!(
        "{:?}, epochs of {} bytes, depth {}, medians of {} pairs; without collection | with it | ratio",
        args.churn, args.epoch_size, args.depth, args.pairs
    );
    let mut table = Table::new(title, ["engine", "bytes", "", "with/without", "CPU s", "", "with/without", "(range)"]);
    for report in &reports {
        table.row([
            report.engine.to_owned(),
            format!("{:.0}", report.bytes[0]),
            format!("{:.0}", report.bytes[1]),
            format!("{:.3}", report.size),
            format!("{:.2}", report.cpu_seconds[0]),
            format!("{:.2}", report.cpu_seconds[1]),
            format!("{:.3}", report.cpu),
            format!("{:.3} to {:.3}", report.cpu_lowest, report.cpu_highest),
        ]);
    }
    println!("{table}");
    let columns = [
        "engine",
        "warm read ns",
        "",
        "faster",
        "cold read us",
        "",
        "faster",
        "cold walk s: recursive",
        "mark",
        "faster",
    ];
    let mut table =
        Table::new("Reads of the head state: descents to random keys, a node each; and the whole state", columns);
    for report in &reports {
        table.row([
            report.engine.to_owned(),
            format!("{:.0}", report.warm_ns[0]),
            format!("{:.0}", report.warm_ns[1]),
            format!("{:.2}x", report.warm),
            format!("{:.1}", report.cold_us[0]),
            format!("{:.1}", report.cold_us[1]),
            format!("{:.2}x", report.cold),
            format!("{:.2}", report.mark_seconds[0]),
            format!("{:.2}", report.mark_seconds[1]),
            format!("{:.2}x", report.mark),
        ]);
    }
    println!("{table}");
    if args.json {
        println!("{}", serde_json::to_string(&reports)?);
    }
    Ok(())
}

/// Runs the pairs of one engine, the order within a pair turning over.
fn compare(args: &Args, kind: EngineKind) -> Result<Report> {
    let mut runs: [Vec<Finished>; 2] = [Vec::new(), Vec::new()];
    for pair in 0..args.pairs {
        let place = tempfile::tempdir_in(&args.directory)?;
        let mut finished: [Option<Finished>; 2] = [None, None];
        let mut paths: [Option<PathBuf>; 2] = [None, None];
        for collecting in if pair % 2 == 0 { [false, true] } else { [true, false] } {
            let path = place.path().join(if collecting { "with" } else { "without" });
            let setting = Setting {
                churn: args.churn,
                kind,
                path: &path,
                interval: args.interval,
                gc: collecting.then_some((args.epoch_size, args.depth)),
            };
            finished[usize::from(collecting)] = Some(run::run(&setting)?);
            paths[usize::from(collecting)] = Some(path);
        }
        let [Some(mut without), Some(mut with)] = finished else { continue };
        ensure!(without.root == with.root, "the heads differ: {} and {}", without.root, with.root);
        for (finished, path) in [&mut without, &mut with].into_iter().zip(paths.into_iter().flatten()) {
            walk::measure(finished, kind, &path, args.churn, args.reads)?;
        }
        ensure!(
            without.live == with.live,
            "the head states differ: {:?} and {:?} nodes and bytes",
            without.live,
            with.live
        );
        eprintln!("{} pair {}: {without:?}\n  {with:?}", kind.name(), pair + 1);
        runs[0].push(without);
        runs[1].push(with);
    }
    let of = |value: fn(&Finished) -> f64| [0, 1].map(|side| median(&runs[side].iter().map(value).collect::<Vec<_>>()));
    let ratios = |value: fn(&Finished) -> f64| -> Vec<f64> {
        runs[0].iter().zip(&runs[1]).map(|(without, with)| value(with) / value(without)).collect()
    };
    let (cpu, cold_walks) = (
        ratios(|run| run.cpu),
        [&runs[0], &runs[1]].map(|runs| median(&runs.iter().map(|run| run.recursive / run.mark).collect::<Vec<_>>())),
    );
    Ok(Report {
        engine: kind.name(),
        pairs: args.pairs,
        rotations: runs[1].first().map_or(0, |run| run.rotations),
        collections: runs[1].first().map_or(0, |run| run.collections),
        bytes: of(|run| run.bytes as f64),
        size: median(&ratios(|run| run.bytes as f64)),
        cpu_seconds: of(|run| run.cpu),
        cpu: median(&cpu),
        cpu_lowest: cpu.iter().copied().fold(f64::INFINITY, f64::min),
        cpu_highest: cpu.iter().copied().fold(0.0, f64::max),
        warm_ns: of(|run| run.warm),
        warm: 1.0 / median(&ratios(|run| run.warm)),
        cold_us: of(|run| run.cold / 1000.0),
        cold: 1.0 / median(&ratios(|run| run.cold)),
        // On the store without collection, as the first collection meets it.
        mark_seconds: [median(&runs[0].iter().map(|run| run.recursive).collect::<Vec<_>>()), of(|run| run.mark)[0]],
        mark: cold_walks[0],
        recursive_us: of(|run| run.recursive / run.live.0.max(1) as f64 * 1e6),
    })
}
