//! SIGKILL in every step of rotation and collection: after each restart every state that is kept is whole, by a full walk.
//!
//! `RHIZOME_GC_KILLS` sets how many kills for each engine (default 24: three in each step). The engines run side by side. A killed
//! process leaves its files to the kernel, so it makes no difference whether they are on a disk: `TMPDIR=/dev/shm` is faster.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rhizome_chain::{Chain, ChainOptions, FlushPolicy, GenesisBlock, Incoming};
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::Bytes;
use rhizome_storage::{
    ChainDefinition, Datadir, DatadirError, GcControl, GcOptions, GcSettings, GcStep, OpenOptions, Opened,
    StorageError, TrieEngine, VerifyPolicy,
};
use rhizome_tests::chains::{block_lines, chain_folder};
use tempfile::TempDir;

/// Tells the process of its own what to do: directory, engine, chain folder, step, and which of its occurrences.
const TASK: &str = "RHIZOME_GC_KILL_TASK";

const STEPS: [&str; 8] =
    ["rotation-sealed", "rotation-listed", "rotated", "marking", "drained", "sealed", "unlisted", "dropped"];

fn open(path: &Path, folder: &Path, engine: TrieEngine, gc: Option<&GcSettings>) -> (Chain, Datadir) {
    let file = folder.join("chain.json");
    let spec = Arc::new(ChainSpec::from_file(&file).unwrap());
    let genesis = GenesisBlock::new(&spec).unwrap();
    let definition = ChainDefinition::of(&file.display().to_string(), &spec).unwrap();
    let options = OpenOptions {
        path,
        spec: &spec,
        definition: &definition,
        genesis: genesis.hash(),
        engine: Some(engine),
        create: true,
        verify: VerifyPolicy::First,
        gc,
    };
    let mut tries = 0;
    let opened = loop {
        match Opened::open(options) {
            // A process that the other engine's test starts at this moment has our closed lock until it runs its own program.
            Err(StorageError::Datadir(DatadirError::InUse { .. })) if tries < 100 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => break opened.unwrap(),
        }
    };
    let options = ChainOptions { flush: FlushPolicy::EACH_BLOCK, ..ChainOptions::default() };
    (Chain::open(Arc::clone(&spec), &genesis, opened.stores, options).unwrap(), opened.datadir)
}

/// Imports the chain with collection, and stands still for ever at a step.
#[test]
fn importing_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let [directory, engine, folder, step, occurrence] = task.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let (step, occurrence): (String, u64) = (step.to_owned(), occurrence.parse().unwrap());
    let seen = AtomicU64::new(0);
    let watch = move |now: GcStep| {
        if now.to_string().split(' ').next() == Some(&step) && seen.fetch_add(1, Ordering::SeqCst) == occurrence {
            let mut out = std::io::stdout();
            writeln!(out, "at {now}").unwrap();
            out.flush().unwrap();
            std::thread::sleep(Duration::from_secs(3600));
        }
    };
    let options = GcOptions { epochs: 3, epoch_size: 60_000, depth: 12, rate: 0 };
    let gc = GcSettings { options, control: GcControl::new().watch(watch) };
    let folder = PathBuf::from(folder);
    let (chain, _datadir) = open(Path::new(directory), &folder, engine.parse().unwrap(), Some(&gc));
    let blocks = block_lines(&folder.join("blocks.csv.gz"));
    let blocks = blocks.map(|line| Ok::<_, ()>(Incoming { encoded: Bytes::from(line.rlp), tag: () }));
    chain.import_stream(blocks, 1, |_| ControlFlow::<()>::Continue(())).unwrap_or_else(|_| panic!("the import fails"));
    chain.stores().settle().unwrap();
    println!("done");
}

/// Walks every state that is kept, on every branch. Returns how many.
fn walk_all(chain: &Chain) -> u64 {
    let (blocks, kept) = (chain.stores().blocks(), chain.stores().complete_from());
    let head = chain.head().record.number;
    let mut walked = 0;
    for number in kept..=head {
        for entry in blocks.at_height(number).unwrap() {
            // Reads every node and every long value below the root.
            let state = chain.state(&entry.record).unwrap();
            state.export_lines(|_| Ok::<_, rhizome_trie::TrieError>(())).unwrap_or_else(|error| {
                panic!("block {number} ({}) of {kept}..={head}: {error}", entry.record.hash);
            });
            walked += 1;
        }
    }
    walked
}

#[test]
fn a_kill_in_any_step_loses_no_kept_state_of_flatdb() {
    kill_in_every_step(TrieEngine::FlatDb);
}

#[test]
fn a_kill_in_any_step_loses_no_kept_state_of_rocksdb() {
    kill_in_every_step(TrieEngine::RocksDb);
}

fn kill_in_every_step(engine: TrieEngine) {
    let Some(folder) = chain_folder("sublists") else { return };
    let kills: usize = std::env::var("RHIZOME_GC_KILLS").map_or(24, |kills| kills.parse().unwrap());
    let mut place = TempDir::new().unwrap();
    let (mut killed, mut finished, mut walked, mut round) = ([0; STEPS.len()], 0, 0, 0);
    while killed.iter().sum::<usize>() < kills {
        // The step that had the fewest kills, which is another one each time, and a later occurrence of it when all had their turn.
        let (at, _) = killed.iter().enumerate().min_by_key(|(_, killed)| **killed).unwrap();
        let occurrence = killed[at] % 3;
        round += 1;
        let task = [
            place.path().display().to_string(),
            engine.to_string(),
            folder.display().to_string(),
            STEPS[at].to_owned(),
            occurrence.to_string(),
        ];
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "importing_process", "--nocapture"])
            .env(TASK, task.join("\n"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told = lines.find(|line| line.starts_with("at ") || line == "done").expect("the import fails");
        // Collections run beside the import: it goes on for a while around a collector that stands still.
        std::thread::sleep(Duration::from_millis(3 * (round % 7)));
        child.kill().unwrap();
        child.wait().unwrap();
        let (chain, datadir) = open(place.path(), &folder, engine, None);
        walked += walk_all(&chain);
        drop((chain, datadir));
        if told == "done" {
            finished += 1;
            place = TempDir::new().unwrap();
        } else {
            killed[at] += 1;
        }
    }
    let each: Vec<String> = STEPS.iter().zip(killed).map(|(step, killed)| format!("{step} {killed}")).collect();
    println!("{engine}: killed at {}; {finished} imports finished, {walked} states walked", each.join(", "));
}
