//! Old states given up, through the program: while blocks are imported, and by command.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::path::Path;

use program::run;
use rhizome_tests::chains::chain_folder;
use tempfile::TempDir;

fn state(datadir: &Path, block: u64) -> String {
    let block = block.to_string();
    run(arguments!["db", "export-state", "--datadir", datadir, "--block", block]).assert_ok().stdout
}

#[test]
fn an_import_gives_up_old_states() {
    let Some(folder) = chain_folder("mixed") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let place = TempDir::new().unwrap();
    let all = place.path().join("all");
    run(arguments!["import", "--chain", chain, "--datadir", all, blocks]).assert_ok();
    for engine in ["rocksdb", "flatdb"] {
        let datadir = place.path().join(engine);
        let arguments = arguments![
            "import",
            "--json",
            "--chain",
            chain,
            "--datadir",
            datadir,
            "--trie-engine",
            engine,
            "--gc",
            "on",
            "--gc.epoch-size",
            "300KiB",
            "--gc.depth",
            "20",
            "--gc.epochs",
            "3",
            blocks
        ];
        let report = run(arguments).assert_ok().json();
        let (rotations, collections) = (&report["gc"]["rotations"], &report["gc"]["collections"]);
        assert!(rotations.as_u64().unwrap() >= 3 && collections.as_u64().unwrap() >= 1, "{report}");
        assert_eq!(report["gc"].get("declined"), None, "{report}");
        let head = report["head"]["number"].as_u64().unwrap();
        for block in [head, head - 10, head - 20] {
            assert!(state(&datadir, block) == state(&all, block), "{engine}: state of block {block}");
        }
        run(arguments!["db", "export-state", "--datadir", datadir, "--block", "3"])
            .assert_failure(1, &["the state of block 3 was collected"]);
        run(arguments!["db", "rewind", "--datadir", datadir, "--to", "3"]).assert_failure(1, &["was collected"]);
        run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
        // The switch may be off the next time, and on again.
        let to = (head - 5).to_string();
        run(arguments!["db", "rewind", "--datadir", datadir, "--to", to]).assert_ok();
        let again =
            run(arguments!["import", "--json", "--chain", chain, "--datadir", datadir, blocks]).assert_ok().json();
        assert_eq!(again["head"], report["head"]);
        assert_eq!(again.get("gc"), None);
        assert!(state(&datadir, head) == state(&all, head));
    }
}

#[test]
fn a_command_gives_up_old_states_now() {
    let Some(folder) = chain_folder("mixed") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let place = TempDir::new().unwrap();
    for engine in ["rocksdb", "flatdb"] {
        let datadir = place.path().join(engine);
        let report = run(arguments![
            "import",
            "--json",
            "--chain",
            chain,
            "--datadir",
            datadir,
            "--trie-engine",
            engine,
            blocks
        ]);
        let head = report.assert_ok().json()["head"]["number"].as_u64().unwrap();
        let kept = [head, head - 10].map(|block| state(&datadir, block));
        run(arguments!["db", "gc", "--datadir", datadir])
            .assert_failure(1, &["nothing is 10000 blocks below the head"]);

        let gc = |more: &str| {
            let mut arguments = arguments!["db", "gc", "--json", "--datadir", datadir, "--gc.depth", "10"].to_vec();
            arguments.extend((!more.is_empty()).then(|| std::ffi::OsString::from(more)));
            run(arguments).assert_ok().json()
        };
        let dry = gc("--dry-run");
        assert_eq!(dry["dryRun"], true);
        assert_eq!(dry["keepFrom"], head - 10);
        assert_eq!(dry["epochs"].as_array().unwrap().len(), 1);
        run(arguments!["db", "export-state", "--datadir", datadir, "--block", "3"]).assert_ok();

        let done = gc("");
        for member in ["keepFrom", "liveRecords", "liveBytes", "copiedRecords", "copiedBytes"] {
            assert_eq!(done[member], dry[member], "{engine} {member}");
        }
        assert!(done["copiedRecords"].as_u64().unwrap() > 0);
        assert_eq!(done["epochs"].as_array().unwrap().len(), 2);
        for (block, before) in [head, head - 10].into_iter().zip(&kept) {
            assert!(state(&datadir, block) == *before, "{engine}: state of block {block}");
        }
        run(arguments!["db", "export-state", "--datadir", datadir, "--block", "3"])
            .assert_failure(1, &["was collected"]);
        // Again: nothing new to give up, nothing lost.
        let again = gc("");
        assert_eq!(again["liveRecords"], done["liveRecords"]);
        assert!(state(&datadir, head) == kept[0]);
        run(arguments!["db", "check", "--datadir", datadir]).assert_ok();
        run(arguments!["import", "--chain", chain, "--datadir", datadir, blocks]).assert_ok();
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let Some(folder) = chain_folder("uncles") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let place = TempDir::new().unwrap();
    let with = |more: &[&str]| {
        let mut arguments =
            arguments!["import", "--chain", chain, "--datadir", place.path().join("data"), blocks].to_vec();
        arguments.extend(more.iter().copied().map(std::ffi::OsString::from));
        run(arguments)
    };
    with(&["--gc", "on", "--gc.epochs", "2"]).assert_failure(1, &["2 epochs are too few"]);
    with(&["--gc", "on", "--gc.epoch-size", "12"]).assert_failure(2, &["is no size"]);
    with(&["--gc", "perhaps"]).assert_failure(2, &["perhaps"]);
    run(arguments!["replay", "--chain", chain, "--trie-engine", "memory", "--gc", "on", blocks])
        .assert_failure(2, &["--gc on needs an engine that keeps its nodes on disk"]);
}
