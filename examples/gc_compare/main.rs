//! What giving up old states costs and brings: the same blocks with and without collection, in pairs.
//!
//! `cargo run --release --example gc_compare -- --entries 200000 --blocks 4000 --updates 60`
//! `cargo run --release --example gc_compare -- --chain FILE.json BLOCKS.csv.gz --pairs 15 --epoch-size 1000000 --depth 20`
//!
//! With the generated churn each pair writes the same blocks into two stores, one of them collecting, compares the roots and
//! the whole head state, and reads the head state: in the store that kept everything, in the one that collected as the last
//! block left it, and in that one drained, with everything else given up and the state in one piece. With a chain each pair
//! executes its blocks and there is nothing but size and CPU to compare: those states fit every cache.
//!
//! Every run, and every measurement of reads, is a process of its own. Figures are medians over the pairs; the CPU of a run is that of the whole process from its first block to its last,
//! background threads and collections included. The churn executes nothing, so there the trie and the store are all of the
//! CPU: a collection that walks L records for every E that are written costs it L/E walked records for each written one.

mod chain;
mod picture;
mod run;
mod walk;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser;
use eyre::{Result, ensure, eyre};
use rhizome_examples::{Churn, EngineKind, Interval, Table, median, median_interval};
use rhizome_primitives::B256;
use serde::Serialize;
use serde::de::DeserializeOwned;

use picture::Picture;
use run::Finished;
use walk::Reads;

/// What the system does after a run, such as removing files, does not become a part of the next one's time.
const PAUSE: Duration = Duration::from_secs(1);

/// The same blocks with and without collection.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    churn: Churn,
    /// A chain's name or file: its blocks are executed in place of the churn
    #[arg(long, value_name = "NETWORK|FILE.json", requires = "blocks_of_chain")]
    chain: Option<String>,
    /// The chain's block files
    #[arg(value_name = "BLOCKS", id = "blocks_of_chain", requires = "chain")]
    block_files: Vec<PathBuf>,
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
    /// Keys that are read after each run; none: sizes and CPU only
    #[arg(long, default_value_t = 20_000)]
    reads: u64,
    /// Where the stores are made; a directory of its own is removed at the end
    #[arg(long, default_value = ".")]
    directory: PathBuf,
    /// Where a picture of the first pair's three stores goes: the live share by position (FlatDB only)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object as the last line
    #[arg(long)]
    json: bool,
    /// Internal: make one run into this directory, and print what it came to
    #[arg(long, hide = true, value_name = "DIR")]
    run_into: Option<PathBuf>,
    /// Internal: with collection
    #[arg(long, hide = true, requires = "run_into")]
    collecting: bool,
    /// Internal: read the head state in this directory, and print what it cost
    #[arg(long, hide = true, value_name = "DIR", requires = "root")]
    read_from: Option<PathBuf>,
    /// Internal: the head state's root
    #[arg(long, hide = true)]
    root: Option<B256>,
}

/// Medians; of two the store that kept everything is the first, and of three the drained one the last.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    engine: &'static str,
    pairs: usize,
    rotations: u64,
    collections: u64,
    bytes: [f64; 2],
    drained_bytes: Option<f64>,
    size: f64,
    cpu_seconds: [f64; 2],
    cpu: f64,
    cpu_interval: Interval,
    reads: Option<ReadReport>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadReport {
    live_records: u64,
    live_bytes: u64,
    warm_ns: [f64; 3],
    /// How many times faster than in the store that kept everything.
    warm: [f64; 3],
    again_us: [f64; 3],
    again: [f64; 3],
    cold_us: [f64; 3],
    cold: [f64; 3],
    recursive_seconds: [f64; 3],
    mark_seconds: [f64; 3],
    /// How many times faster the mark is than the recursive walk of the same store.
    mark: [f64; 3],
}

/// How many times faster FlatDB reads than RocksDB that kept everything: as FlatDB kept everything, collected, drained.
#[derive(Debug, Serialize)]
struct Across {
    again: [f64; 3],
    cold: [f64; 3],
}

/// The runs of one pair and the reads of its three stores.
struct Pair {
    runs: [Finished; 2],
    reads: Option<([Reads; 3], u64)>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(path) = &args.run_into {
        let kind = *args.engine.first().ok_or_else(|| eyre!("no engine to run"))?;
        println!("{}", serde_json::to_string(&run_one(&args, kind, path)?)?);
        return Ok(());
    }
    if let (Some(path), Some(root)) = (&args.read_from, args.root) {
        let kind = *args.engine.first().ok_or_else(|| eyre!("no engine to read"))?;
        println!("{}", serde_json::to_string(&walk::measure(kind, path, root, args.churn, args.reads)?)?);
        return Ok(());
    }
    ensure!(args.pairs > 0, "no pairs to run");
    // One pair of each engine after the other, so that the engines can be compared too.
    let mut pairs: Vec<Vec<Pair>> = args.engine.iter().map(|_| Vec::new()).collect();
    for number in 0..args.pairs {
        for (kind, pairs) in args.engine.iter().zip(&mut pairs) {
            let mut picture =
                args.svg.as_ref().filter(|_| number == 0 && *kind == EngineKind::Flatdb).map(Picture::new);
            let pair = run_pair(&args, *kind, number % 2 == 1, picture.as_mut())?;
            if let Some(picture) = picture {
                picture.write()?;
            }
            eprintln!("{} pair {}: {:?} {:?}", kind.name(), number + 1, pair.runs, pair.reads);
            pairs.push(pair);
        }
    }
    let reports: Vec<Report> = args.engine.iter().zip(&pairs).map(|(kind, pairs)| Report::new(*kind, pairs)).collect();
    let of = |kind| args.engine.iter().position(|engine| *engine == kind).map(|at| &pairs[at][..]);
    let across = of(EngineKind::Flatdb).zip(of(EngineKind::Rocksdb)).and_then(|(flat, rocks)| Across::new(flat, rocks));
    print(&args, &reports, across.as_ref());
    if args.json {
        println!("{}", serde_json::json!({ "engines": reports, "flatdbAgainstRocksdb": across }));
    }
    Ok(())
}

impl Report {
    fn new(kind: EngineKind, pairs: &[Pair]) -> Self {
        let of = |value: &dyn Fn(&Pair) -> f64| median(&pairs.iter().map(value).collect::<Vec<_>>());
        let both = |value: fn(&Finished) -> f64| [0, 1].map(|side| of(&|pair| value(&pair.runs[side])));
        let cpu: Vec<f64> = pairs.iter().map(|pair| pair.runs[1].cpu / pair.runs[0].cpu).collect();
        let each = |value: &dyn Fn(&[Reads; 3], usize) -> f64| {
            [0, 1, 2].map(|state| of(&|pair| pair.reads.as_ref().map_or(f64::NAN, |(reads, _)| value(reads, state))))
        };
        let first = pairs.first().and_then(|pair| pair.reads.as_ref());
        let reads = first.map(|(reads, _)| ReadReport {
            live_records: reads[0].live.0,
            live_bytes: reads[0].live.1,
            warm_ns: each(&|reads, state| reads[state].warm),
            warm: each(&|reads, state| reads[0].warm / reads[state].warm),
            again_us: each(&|reads, state| reads[state].again / 1000.0),
            again: each(&|reads, state| reads[0].again / reads[state].again),
            cold_us: each(&|reads, state| reads[state].cold / 1000.0),
            cold: each(&|reads, state| reads[0].cold / reads[state].cold),
            recursive_seconds: each(&|reads, state| reads[state].recursive),
            mark_seconds: each(&|reads, state| reads[state].mark),
            mark: each(&|reads, state| reads[state].recursive / reads[state].mark),
        });
        Self {
            engine: kind.name(),
            pairs: pairs.len(),
            rotations: pairs.first().map_or(0, |pair| pair.runs[1].rotations),
            collections: pairs.first().map_or(0, |pair| pair.runs[1].collections),
            bytes: both(|run| run.bytes as f64),
            drained_bytes: first.map(|_| of(&|pair| pair.reads.as_ref().map_or(f64::NAN, |(_, bytes)| *bytes as f64))),
            size: of(&|pair| pair.runs[1].bytes as f64 / pair.runs[0].bytes as f64),
            cpu_seconds: both(|run| run.cpu),
            cpu: median(&cpu),
            cpu_interval: median_interval(&cpu),
            reads,
        }
    }
}

impl Across {
    fn new(flat: &[Pair], rocks: &[Pair]) -> Option<Self> {
        let reads: Vec<_> = flat
            .iter()
            .zip(rocks)
            .filter_map(|(flat, rocks)| Some((&flat.reads.as_ref()?.0, &rocks.reads.as_ref()?.0[0])))
            .collect();
        let each = |value: fn(&Reads) -> f64| {
            [0, 1, 2].map(|state| {
                median(&reads.iter().map(|(flat, rocks)| value(rocks) / value(&flat[state])).collect::<Vec<_>>())
            })
        };
        if reads.is_empty() {
            return None;
        }
        Some(Self { again: each(|reads| reads.again), cold: each(|reads| reads.cold) })
    }
}

fn run_pair(
    args: &Args,
    kind: EngineKind,
    collecting_first: bool,
    mut picture: Option<&mut Picture<'_>>,
) -> Result<Pair> {
    let place = tempfile::tempdir_in(&args.directory)?;
    let paths = ["without", "with"].map(|name| place.path().join(name));
    let mut runs: [Finished; 2] = Default::default();
    for side in if collecting_first { [1, 0] } else { [0, 1] } {
        runs[side] = run_apart(kind, &paths[side], side == 1)?;
    }
    ensure!(runs[0].root == runs[1].root, "the heads differ: {} and {}", runs[0].root, runs[1].root);
    if args.chain.is_some() || args.reads == 0 {
        return Ok(Pair { runs, reads: None });
    }
    let root: B256 = runs[0].root.parse()?;
    let mut measure = |name: &str, path: &Path| -> Result<Reads> {
        let root_text = root.to_string();
        let found =
            apart(kind, &[OsStr::new("--root"), OsStr::new(&root_text), OsStr::new("--read-from"), path.as_os_str()])?;
        if let Some(picture) = &mut picture {
            picture.add(name, path, root)?;
        }
        Ok(found)
    };
    let (without, with) = (measure("kept everything", &paths[0])?, measure("collected", &paths[1])?);
    let drained_bytes = run::drain(kind, &paths[1], root)?;
    let reads = [without, with, measure("drained", &paths[1])?];
    ensure!(reads.iter().all(|found| found.live == reads[0].live), "the head states differ: {reads:?}");
    Ok(Pair { runs, reads: Some((reads, drained_bytes)) })
}

/// One run in a process of its own, so that it does not begin with what an earlier one left to be written.
fn run_apart(kind: EngineKind, path: &Path, collecting: bool) -> Result<Finished> {
    rustix::fs::sync();
    std::thread::sleep(PAUSE);
    let mut arguments = vec![OsStr::new("--run-into"), path.as_os_str()];
    arguments.extend(collecting.then_some(OsStr::new("--collecting")));
    apart(kind, &arguments)
}

/// What this program prints in a process of its own, where nothing of other runs is in memory.
fn apart<T: DeserializeOwned>(kind: EngineKind, arguments: &[&OsStr]) -> Result<T> {
    // The engine first: of several the first counts there.
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--engine", kind.name()]).args(arguments).args(std::env::args_os().skip(1));
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the run with {arguments:?} ended with {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    Ok(serde_json::from_str(text.lines().last().unwrap_or_default())?)
}

fn run_one(args: &Args, kind: EngineKind, path: &Path) -> Result<Finished> {
    let gc = args.collecting.then_some((args.epoch_size, args.depth));
    match &args.chain {
        Some(chain) => {
            let blocks = &args.block_files;
            chain::run(&chain::Setting { chain, blocks, kind, path, interval: args.interval, gc })
        }
        None => run::run(&run::Setting { churn: args.churn, kind, path, interval: args.interval, gc }),
    }
}

fn print(args: &Args, reports: &[Report], across: Option<&Across>) {
    let Args { churn, epoch_size, depth, interval, .. } = args;
    let what = args.chain.as_ref().map_or_else(|| format!("{churn:?}"), Clone::clone);
    let title = format!(
        "{what}, epochs of {epoch_size} bytes, depth {depth}, durable every {interval} blocks, {} MiB of memory; without \
         collection | with it",
        rhizome_storage::usable_memory() >> 20
    );
    let columns =
        ["engine", "pairs", "rotations", "collections", "bytes", "", "ratio", "CPU s", "", "ratio", "interval"];
    let mut table = Table::new(title, columns);
    for report in reports {
        let Interval { low, high, confidence } = report.cpu_interval;
        table.row([
            report.engine.to_owned(),
            report.pairs.to_string(),
            report.rotations.to_string(),
            report.collections.to_string(),
            format!("{:.0}", report.bytes[0]),
            format!("{:.0}", report.bytes[1]),
            format!("{:.3}", report.size),
            format!("{:.2}", report.cpu_seconds[0]),
            format!("{:.2}", report.cpu_seconds[1]),
            format!("{:.3}", report.cpu),
            format!("{low:.3} to {high:.3} ({:.0} %)", 100.0 * confidence),
        ]);
    }
    println!("{table}");
    let columns = [
        "engine, store",
        "CPU ns",
        "faster",
        "again us",
        "faster",
        "cold us",
        "faster",
        "recursive s",
        "mark s",
        "faster",
    ];
    let mut table =
        Table::new("A node of the head state in descents, one after another; and the whole state, cold", columns);
    let mut rows = 0;
    for (report, reads) in reports.iter().filter_map(|report| report.reads.as_ref().map(|reads| (report, reads))) {
        for (state, name) in ["kept everything", "collected", "drained"].into_iter().enumerate() {
            rows += 1;
            table.row([
                format!("{}, {name}", report.engine),
                format!("{:.0}", reads.warm_ns[state]),
                format!("{:.2}x", reads.warm[state]),
                format!("{:.2}", reads.again_us[state]),
                format!("{:.2}x", reads.again[state]),
                format!("{:.1}", reads.cold_us[state]),
                format!("{:.2}x", reads.cold[state]),
                format!("{:.2}", reads.recursive_seconds[state]),
                format!("{:.2}", reads.mark_seconds[state]),
                format!("{:.2}x", reads.mark[state]),
            ]);
        }
    }
    if rows > 0 {
        println!("{table}");
    }
    if let Some(across) = across {
        for (what, [kept, collected, drained]) in [("reads again", across.again), ("cold reads", across.cold)] {
            println!(
                "{what} of flatdb against rocksdb that kept everything: {kept:.2}x, collected {collected:.2}x, drained {drained:.2}x"
            );
        }
    }
}
