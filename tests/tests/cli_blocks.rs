//! Replay, import, export and the database commands of the real program, on real chains.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use program::{Run, command, finish, run};
use rhizome_tests::chains::chain_folder;
use rhizome_tests::open;
use serde_json::Value;
use tempfile::TempDir;

struct Chain {
    file: PathBuf,
    blocks: PathBuf,
    lines: Vec<String>,
    folder: PathBuf,
}

fn chain(name: &str) -> Option<Chain> {
    let folder = chain_folder(name)?;
    let blocks = folder.join("blocks.csv.gz");
    let lines = open(&blocks).lines().map(|line| line.unwrap()).collect();
    Some(Chain { file: folder.join("chain.json"), blocks, lines, folder })
}

impl Chain {
    fn head(&self) -> (u64, String) {
        let last = self.lines.last().unwrap();
        let mut fields = last.split(',');
        (fields.next().unwrap().parse().unwrap(), format!("0x{}", fields.next().unwrap()))
    }

    fn write(&self, directory: &Path, name: &str, lines: &[String]) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        path
    }
}

fn import(chain: &Chain, datadir: &Path, files: &[&Path]) -> Run {
    let mut arguments = arguments!["import", "--json", "--chain", chain.file, "--datadir", datadir].to_vec();
    arguments.extend(files.iter().map(|file| file.as_os_str().to_owned()));
    run(arguments)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn replay_reports_as_documented() {
    let Some(chain) = chain("uncles") else { return };
    for engine in ["rocksdb", "memory"] {
        let done = run(arguments!["replay", "--json", "--trie-engine", engine, "--chain", chain.file, chain.blocks])
            .assert_ok();
        assert_eq!(done.stdout.lines().count(), 1, "{done:?}");
        let report = done.json();
        let mut expected = vec![
            "ok",
            "blocks",
            "known",
            "transactions",
            "gas",
            "head",
            "seconds",
            "blocksPerSecond",
            "mgasPerSecond",
            "phases",
            "engine",
            "executor",
            "workers",
        ];
        expected.sort_unstable();
        assert_eq!(keys(&report), expected);
        assert_eq!(
            keys(&report["phases"]),
            ["bridge", "commit", "decode", "execute", "persist", "recover", "validate"]
        );
        let (number, hash) = chain.head();
        assert_eq!((report["ok"].as_bool(), report["head"]["number"].as_u64()), (Some(true), Some(number)));
        assert_eq!((report["head"]["hash"].as_str(), report["engine"].as_str()), (Some(hash.as_str()), Some(engine)));
        assert_eq!((report["blocks"].as_u64(), report["known"].as_u64()), (Some(chain.lines.len() as u64), Some(0)));
        assert_eq!((report["executor"].as_str(), report["workers"].as_u64()), (Some("sequential"), Some(1)));
    }
    // For people.
    let done = run(arguments!["replay", "--chain", chain.file, chain.blocks]).assert_ok();
    assert!(done.stdout.contains("blocks/s") && done.stdout.contains(&chain.head().1), "{done:?}");
}

#[test]
fn every_compression_and_both_branches_are_one_stream() {
    let (Some(a), Some(b)) = (chain("reorg/a"), chain("reorg/b")) else { return };
    let place = TempDir::new().unwrap();
    let plain = a.write(place.path(), "a.csv", &a.lines);
    let zstd = place.path().join("b.zst");
    let compress = std::process::Command::new("zstd").args(["-q", "-f", "-o"]).arg(&zstd).stdin(Stdio::piped()).spawn();
    let second = match compress {
        Ok(mut child) => {
            child.stdin.take().unwrap().write_all(b.lines.join("\n").as_bytes()).unwrap();
            assert!(child.wait().unwrap().success());
            zstd
        }
        Err(_) => b.blocks.clone(),
    };
    for files in [[&plain, &second], [&second, &plain]] {
        let report = run(arguments!["replay", "--json", "--chain", a.file, *files[0], *files[1]]).assert_ok().json();
        assert_eq!(report["head"]["hash"].as_str(), Some(b.head().1.as_str()));
        assert_eq!(report["known"].as_u64(), Some(21), "the common trunk is known the second time");
    }
}

#[test]
fn an_import_is_kept_continued_exported_and_checked() {
    let Some(chain) = chain("mergedmining") else { return };
    let place = TempDir::new().unwrap();
    let datadir = place.path().join("data");
    let half = chain.lines.len() / 2;
    let first = chain.write(place.path(), "first.csv", &chain.lines[..half]);
    let report = import(&chain, &datadir, &[&first]).assert_ok().json();
    assert_eq!(report["blocks"].as_u64(), Some(half as u64));
    let report = import(&chain, &datadir, &[&chain.blocks]).assert_ok().json();
    assert_eq!(report["known"].as_u64(), Some(half as u64));
    assert_eq!(report["head"]["hash"].as_str(), Some(chain.head().1.as_str()));
    // Again: nothing to do.
    let report = import(&chain, &datadir, &[&chain.blocks]).assert_ok().json();
    assert_eq!((report["blocks"].as_u64(), report["known"].as_u64()), (Some(0), Some(chain.lines.len() as u64)));

    // The directory knows its own chain: no --chain from here on.
    let to = chain.head().0.to_string();
    let exported = run(arguments!["export", "--datadir", datadir, "--from", "1", "--to", to]).assert_ok();
    assert!(exported.stdout.lines().eq(chain.lines.iter()), "the export is not the file");
    let output = place.path().join("out.csv");
    let report =
        run(arguments!["export", "--json", "--datadir", datadir, "--from", "3", "--to", "5", "--output", output])
            .assert_ok()
            .json();
    assert_eq!(report["blocks"].as_u64(), Some(3));
    assert_eq!(std::fs::read_to_string(&output).unwrap().lines().collect::<Vec<_>>(), &chain.lines[2..5]);

    let report = run(arguments!["db", "check", "--json", "--datadir", datadir]).assert_ok().json();
    assert_eq!(report["blocks"].as_u64(), Some(chain.head().0 + 1));
    let report = run(arguments!["db", "info", "--json", "--datadir", datadir]).assert_ok().json();
    assert_eq!((report["network"].as_str(), report["engine"].as_str()), (Some("regtest"), Some("rocksdb")));
    assert_eq!(report["head"]["hash"].as_str(), Some(chain.head().1.as_str()));

    for entry in std::fs::read_dir(&chain.folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Some(number) = name.strip_prefix("state-").and_then(|rest| rest.strip_suffix(".txt.gz")) else { continue };
        let state = run(arguments!["db", "export-state", "--datadir", datadir, "--block", number]).assert_ok();
        let expected: Vec<String> = open(&entry.path()).lines().map(|line| line.unwrap()).collect();
        assert!(state.stdout.lines().eq(expected.iter()), "{name} differs");
    }

    // Back, and forward again.
    let report = run(arguments!["db", "rewind", "--json", "--datadir", datadir, "--to", "400"]).assert_ok().json();
    assert_eq!(report["head"]["hash"].as_str().unwrap()[2..], *chain.lines[399].split(',').nth(1).unwrap());
    run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
    run(arguments!["export", "--datadir", datadir, "--from", "1", "--to", "401"]).assert_failure(1, &["401", "400"]);
    let report = import(&chain, &datadir, &[&chain.blocks]).assert_ok().json();
    assert_eq!((report["known"].as_u64(), report["head"]["hash"].as_str()), (Some(400), Some(chain.head().1.as_str())));
    run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
}

#[test]
fn a_range_of_blocks_can_be_taken() {
    let Some(chain) = chain("lowgas") else { return };
    let place = TempDir::new().unwrap();
    let range = |from: &str, to: &str| {
        run(arguments![
            "replay",
            "--json",
            "--chain",
            chain.file,
            "--datadir",
            place.path(),
            "--from",
            from,
            "--to",
            to,
            chain.blocks
        ])
    };
    assert_eq!(range("1", "20").assert_ok().json()["head"]["number"].as_u64(), Some(20));
    let report = range("11", "30").assert_ok().json();
    assert_eq!((report["known"].as_u64(), report["blocks"].as_u64()), (Some(10), Some(10)));
    range("40", "50").assert_failure(1, &["blocks.csv.gz:40:", "block 40", "does not connect"]);
    range("9", "8").assert_failure(2, &["--from 9"]);
}

#[test]
fn bl_10_rules_that_changed_below_the_head_send_the_chain_back() {
    let Some(chain) = chain("lowgas") else { return };
    let place = TempDir::new().unwrap();
    let datadir = place.path().join("data");
    let rules = |name: &str, height: i64| {
        let path = place.path().join(name);
        std::fs::write(&path, format!("{{\"base\":\"regtest\",\"rskips\":{{\"rskip529\":{height}}}}}")).unwrap();
        path
    };
    // A rule that these blocks do not touch, moved from far away to block 100.
    let (late, now) = (rules("late.json", 1_000_000_000), rules("now.json", 100));
    let fed = chain.write(place.path(), "fed.csv", &chain.lines[..150]);
    run(arguments!["import", "--chain", late, "--datadir", datadir, fed]).assert_ok();
    let done = run(arguments!["import", "--json", "--chain", now, "--datadir", datadir, chain.blocks]).assert_ok();
    assert!(done.stderr.contains("went back from block 150 to block 99"), "{done:?}");
    let report = done.json();
    assert_eq!((report["known"].as_u64(), report["head"]["hash"].as_str()), (Some(99), Some(chain.head().1.as_str())));
    run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
    // The directory remembers the new rules, and a later change above the head needs no rewind.
    let above = rules("above.json", 1_000);
    run(arguments!["db", "rewind", "--datadir", datadir, "--to", "99"]).assert_ok();
    let done = run(arguments!["db", "info", "--chain", above, "--datadir", datadir]).assert_ok();
    assert!(!done.stderr.contains("warning"), "{done:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let Some(chain) = chain("lowgas") else { return };
    let place = TempDir::new().unwrap();
    import(&chain, place.path(), &[&chain.blocks]).assert_ok();
    let mut child = command()
        .args(arguments!["export", "--datadir", place.path(), "--from", "1", "--to", "419"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = finish(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}
