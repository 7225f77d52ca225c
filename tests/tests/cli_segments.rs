//! `db segments` and `replay --segments` of the real program.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::io::{Read, Write};
use std::path::Path;

use program::run;
use rhizome_tests::chains::chain_folder;
use tempfile::TempDir;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn stored_blocks_run_on_segments_until_one_is_damaged() {
    let Some(folder) = chain_folder("lowgas") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let directory = TempDir::new().unwrap();
    let (data, segments) = (directory.path().join("data"), directory.path().join("segments"));
    let (data, segments) = (text(&data), text(&segments));
    let imported =
        run(["import", "--json", "--datadir", data, "--chain", text(&chain), text(&blocks)]).assert_ok().json();
    let head = imported["head"]["number"].as_u64().unwrap();

    let build = ["db", "segments", "build", "--json", "--datadir", data, "--segments", segments, "--blocks", "100"];
    let built = run(build).assert_ok().json();
    assert_eq!(
        (built["segments"].as_array().unwrap().len() as u64, built["kept"].as_u64()),
        (head.div_ceil(100), Some(0))
    );
    // The same command again finds everything done; another division of the blocks is refused.
    let again = run(build).assert_ok().json();
    assert_eq!((&again["segments"], again["kept"].as_u64()), (&built["segments"], Some(head.div_ceil(100))));
    run(build.map(|argument| if argument == "100" { "30" } else { argument })).assert_failure(2, &["--blocks"]);
    assert_eq!(
        run(["db", "segments", "list", "--json", "--segments", segments]).assert_ok().json()["segments"],
        built["segments"]
    );
    let verify = ["db", "segments", "verify", "--json", "--segments", segments];
    let nodes: u64 =
        built["segments"].as_array().unwrap().iter().map(|segment| segment["nodes"].as_u64().unwrap()).sum();
    assert_eq!(run(verify).assert_ok().json()["nodes"].as_u64(), Some(nodes));

    let replay = ["replay", "--json", "--datadir", data, "--segments", segments];
    let whole = run(replay).assert_ok().json();
    assert_eq!((whole["blocks"].as_u64(), whole["lastHash"].as_str()), (Some(head), imported["head"]["hash"].as_str()));
    assert_eq!((whole["gas"].as_u64(), whole["misses"].as_u64()), (imported["gas"].as_u64(), Some(0)));
    let part = run(replay.into_iter().chain(["--from", "150", "--to", "160"])).assert_ok().json();
    assert_eq!(part["blocks"].as_u64(), Some(11));
    run(["replay", "--segments", segments]).assert_failure(2, &["--datadir"]);
    assert_eq!(run(replay.into_iter().chain([text(&blocks)])).code, Some(2));

    let first = Path::new(segments).join("0000000001-0000000100.segment");
    let mut bytes = std::fs::read(&first).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&first, &bytes).unwrap();
    run(verify).assert_failure(1, &["0000000001-0000000100.segment", "damaged in bytes 4096..8192"]);
    std::fs::remove_file(&first).unwrap();
    run(replay.into_iter().chain(["--from", "1", "--to", "10"])).assert_failure(1, &["no segment covers block 1"]);
    run(build).assert_ok();
    run(replay).assert_ok();
}

/// Segments outlive the states that they were built from: the archive becomes a collecting node, and its old blocks still run.
#[test]
fn old_blocks_run_on_their_segments_after_their_states_were_collected() {
    let Some(folder) = chain_folder("lowgas") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let mut lines = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(&blocks).unwrap()).read_to_string(&mut lines).unwrap();
    for engine in ["flatdb", "rocksdb"] {
        let directory = TempDir::new().unwrap();
        let [data, segments, early] =
            ["data", "segments", "early.csv"].map(|name| text(&directory.path().join(name)).to_owned());
        let mut file = std::fs::File::create(&early).unwrap();
        lines.lines().take(200).for_each(|line| writeln!(file, "{line}").unwrap());
        let import = ["import", "--json", "--datadir", &data, "--chain", text(&chain), "--trie-engine", engine];
        run(import.into_iter().chain([&early[..]])).assert_ok();
        let build =
            ["db", "segments", "build", "--json", "--datadir", &data, "--segments", &segments, "--blocks", "50"];
        let built = run(build).assert_ok().json();
        assert_eq!(built["segments"].as_array().unwrap().len(), 4);

        let collecting = ["--gc", "on", "--gc.epoch-size", "30KiB", "--gc.depth", "20", text(&blocks)];
        let report = run(import.into_iter().chain(collecting)).assert_ok().json();
        assert!(report["gc"]["collections"].as_u64().unwrap() >= 1, "{engine}: {report}");
        run(["db", "export-state", "--datadir", &data, "--block", "150"]).assert_failure(1, &["was collected"]);

        let replay = ["replay", "--json", "--datadir", &data, "--segments", &segments];
        let whole = run(replay.into_iter().chain(["--to", "200"])).assert_ok().json();
        assert_eq!((whole["blocks"].as_u64(), whole["misses"].as_u64()), (Some(200), Some(0)), "{engine}");
        run(["db", "segments", "verify", "--json", "--segments", &segments]).assert_ok();
        // A range whose states are gone cannot be built, and says so.
        run(build).assert_failure(1, &["was collected"]);
    }
}
