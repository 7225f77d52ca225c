//! SIGKILL at random moments of an import: each restart needs no tool, continues, and the end is the same.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::io::BufRead;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use program::{command, run};
use rhizome_tests::chains::chain_folder;
use rhizome_tests::open;
use tempfile::TempDir;

/// How often the import is killed; `RHIZOME_KILLS` asks for more.
fn rounds() -> usize {
    std::env::var("RHIZOME_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// A small generator (xorshift) whose seed is printed, so that a failing run can be repeated.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let seed = std::env::var("RHIZOME_SEED")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| u64::from(std::process::id()));
        println!("RHIZOME_SEED={seed}");
        Self(seed | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn state(datadir: &Path, block: u64) -> Vec<String> {
    let block = block.to_string();
    let out = run(arguments!["db", "export-state", "--datadir", datadir, "--block", block]).assert_ok();
    out.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bl_01_kills_lose_nothing_but_the_tail() {
    let Some(folder) = chain_folder("mixed") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let lines: Vec<String> = open(&blocks).lines().map(|line| line.unwrap()).collect();
    let head = lines.len() as u64;
    let place = TempDir::new().unwrap();
    let arguments = |datadir: &Path| arguments!["import", "--json", "--chain", chain, "--datadir", datadir, blocks];

    // An import that nobody disturbs: its time bounds the kills, its state is the right one.
    let calm = place.path().join("calm");
    let start = Instant::now();
    run(arguments(&calm)).assert_ok();
    let whole = start.elapsed().as_micros() as u64;
    let expected = state(&calm, head);

    let mut random = Random::new();
    let mut generation = 0;
    let mut datadir = place.path().join("killed-0");
    let (mut lowest, mut ended) = (0, 0);
    for round in 0..rounds() {
        let mut child =
            command().args(arguments(&datadir)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.below(whole * 2 / 3)));
        let early = child.try_wait().unwrap();
        child.kill().unwrap();
        let left = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&left.stderr);
        assert!(
            !said.contains("error") && !said.contains("panicked") && !said.contains("warning"),
            "round {round}: {said}"
        );
        // The restart: no tool, no repair, never behind what was there before.
        if datadir.join("FORMAT").exists() {
            let info = run(arguments!["db", "info", "--json", "--chain", chain, "--datadir", datadir]).assert_ok();
            assert!(!info.stderr.contains("warning"), "round {round}: {info:?}");
            let number = info.json()["head"]["number"].as_u64().unwrap();
            assert!(number >= lowest, "round {round}: head {number} after {lowest}");
            lowest = number;
        }
        if early.is_some() || lowest == head {
            ended += 1;
            assert_eq!(state(&datadir, head), expected, "round {round}");
            run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
            std::fs::remove_dir_all(&datadir).unwrap();
            generation += 1;
            lowest = 0;
            datadir = place.path().join(format!("killed-{generation}"));
        }
    }
    println!("{} kills, {ended} whole imports among them", rounds());
    // The last one, to its end.
    let report = run(arguments(&datadir)).assert_ok().json();
    assert_eq!(report["head"]["hash"].as_str().unwrap()[2..], *lines[lines.len() - 1].split(',').nth(1).unwrap());
    assert_eq!(report["known"].as_u64(), Some(lowest));
    assert_eq!(state(&datadir, head), expected);
    run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
}

#[test]
fn bl_29_kills_of_a_rewind_end_where_it_wants_to_go() {
    let Some(folder) = chain_folder("lowgas") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let place = TempDir::new().unwrap();
    let datadir = place.path().join("data");
    run(arguments!["import", "--chain", chain, "--datadir", datadir, blocks]).assert_ok();
    let mut random = Random::new();
    for _ in 0..rounds() {
        let mut child = command()
            .args(arguments!["db", "rewind", "--datadir", datadir, "--to", "3"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let head = run(arguments!["db", "info", "--json", "--datadir", datadir]).assert_ok().json()["head"]["number"]
            .as_u64()
            .unwrap();
        run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
        if head == 3 {
            run(arguments!["import", "--chain", chain, "--datadir", datadir, blocks]).assert_ok();
        }
    }
    run(arguments!["db", "rewind", "--datadir", datadir, "--to", "3"]).assert_ok();
    run(arguments!["import", "--chain", chain, "--datadir", datadir, blocks]).assert_ok();
    run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
}
