//! The engine `flatdb` through the program: import, refusal by name, conversion both ways with proof, damage.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::path::Path;

use program::run;
use rhizome_tests::chains::chain_folder;
use serde_json::Value;
use tempfile::TempDir;

const CHAIN: &str = "uncles";

fn import(folder: &Path, datadir: &Path, more: &[&str]) -> Value {
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let mut arguments = arguments!["import", "--json", "--chain", chain, "--datadir", datadir, blocks].to_vec();
    arguments.extend(more.iter().copied().map(std::ffi::OsString::from));
    run(arguments).assert_ok().json()
}

fn head_state(datadir: &Path, block: u64) -> String {
    let block = block.to_string();
    run(arguments!["db", "export-state", "--datadir", datadir, "--block", block]).assert_ok().stdout
}

#[test]
fn a_directory_moves_between_engines_and_back() {
    let Some(folder) = chain_folder(CHAIN) else { return };
    let place = TempDir::new().unwrap();
    let datadir = place.path().join("data");
    let first = import(&folder, &datadir, &["--trie-engine", "flatdb", "--flatdb-verify", "always"]);
    assert_eq!(first["engine"], "flatdb");
    let head = first["head"]["number"].as_u64().unwrap();
    let state = head_state(&datadir, head);

    // Another engine's directory is refused by name; without a name the directory's own engine is used.
    let blocks = folder.join("blocks.csv.gz");
    run(arguments!["import", "--datadir", datadir, "--trie-engine", "rocksdb", blocks])
        .assert_failure(1, &["uses trie engine flatdb, not rocksdb", "--trie-engine flatdb"]);
    assert_eq!(import(&folder, &datadir, &[])["known"], head);
    run(arguments!["db", "convert", "--datadir", datadir, "--to", "flatdb"]).assert_failure(1, &["flatdb already"]);
    run(arguments!["db", "convert", "--datadir", datadir, "--to", "memory"]).assert_failure(1, &["keeps nothing"]);

    let there = run(arguments!["db", "convert", "--json", "--datadir", datadir, "--to", "rocksdb"]).assert_ok().json();
    let engine = |name: &str| datadir.join("trie").join(format!("{name}.0"));
    assert!(engine("rocksdb").exists() && !engine("flatdb").exists());
    assert_eq!(run(arguments!["db", "info", "--json", "--datadir", datadir]).assert_ok().json()["engine"], "rocksdb");
    assert!(head_state(&datadir, head) == state, "another state after conversion");
    run(arguments!["db", "check", "--datadir", datadir]).assert_ok();

    let back = run(arguments!["db", "convert", "--json", "--datadir", datadir, "--to", "flatdb"]).assert_ok().json();
    for member in ["records", "bytes", "longRecords", "longest", "meanSize", "epochs"] {
        assert_eq!(there[member], back[member], "{member}");
        assert!(there[member].as_u64().unwrap() > 0, "{member}: {there}");
    }
    assert!(head_state(&datadir, head) == state, "another state after conversion back");
    run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
}

#[test]
fn damage_stops_a_conversion_and_leaves_the_directory() {
    let Some(folder) = chain_folder(CHAIN) else { return };
    let place = TempDir::new().unwrap();
    let datadir = place.path().join("data");
    let head = import(&folder, &datadir, &["--trie-engine", "flatdb"])["head"]["number"].as_u64().unwrap();
    // Sealed by a conversion there and back, so that the damage is not in what the opening replays.
    for engine in ["rocksdb", "flatdb"] {
        run(arguments!["db", "convert", "--datadir", datadir, "--to", engine]).assert_ok();
    }
    let heap = datadir.join("trie/flatdb.0/heap");
    let whole = std::fs::read(&heap).unwrap();
    let mut bytes = whole.clone();
    let middle = 4096 + (bytes.len() - 4096) / 2;
    bytes[middle] ^= 1;
    std::fs::write(&heap, &bytes).unwrap();
    run(arguments!["db", "convert", "--datadir", datadir, "--to", "rocksdb"]).assert_failure(1, &["damaged"]);
    std::fs::write(&heap, &whole).unwrap();
    let state = head_state(&datadir, head);
    run(arguments!["db", "convert", "--datadir", datadir, "--to", "rocksdb"]).assert_ok();
    assert!(head_state(&datadir, head) == state);
    assert!(!datadir.join("trie/flatdb.0").exists());
}

#[test]
fn an_interrupted_conversion_is_taken_up_by_the_next_start() {
    let Some(folder) = chain_folder(CHAIN) else { return };
    let place = TempDir::new().unwrap();
    let datadir = place.path().join("data");
    let head = import(&folder, &datadir, &["--trie-engine", "flatdb"])["head"]["number"].as_u64().unwrap();
    let state = head_state(&datadir, head);
    // Stopped before the list changed: half of the new engine's files are there and mean nothing.
    std::fs::create_dir(datadir.join("trie/rocksdb.0")).unwrap();
    std::fs::write(datadir.join("trie/rocksdb.0/CURRENT"), "half").unwrap();
    assert!(head_state(&datadir, head) == state);
    assert!(!datadir.join("trie/rocksdb.0").exists());
    // Stopped after the list changed: FORMAT still names the old engine.
    let format = std::fs::read(datadir.join("FORMAT")).unwrap();
    run(arguments!["db", "convert", "--datadir", datadir, "--to", "rocksdb"]).assert_ok();
    std::fs::write(datadir.join("FORMAT"), &format).unwrap();
    assert!(head_state(&datadir, head) == state);
    assert_eq!(run(arguments!["db", "info", "--json", "--datadir", datadir]).assert_ok().json()["engine"], "rocksdb");
}
