//! Bad input: one clear line that says what and where, exit code 1 or 2, nothing lost, no panic.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use program::{Run, command, run};
use rhizome_tests::chains::{block_lines, chain_folder};
use rhizome_tests::{bytes, number, open, text, vectors};
use tempfile::TempDir;

struct Place {
    directory: TempDir,
    file: PathBuf,
    blocks: PathBuf,
    lines: Vec<String>,
}

impl Place {
    fn new(name: &str) -> Option<Self> {
        let folder = chain_folder(name)?;
        let blocks = folder.join("blocks.csv.gz");
        let lines = open(&blocks).lines().map(|line| line.unwrap()).collect();
        Some(Self { directory: TempDir::new().unwrap(), file: folder.join("chain.json"), blocks, lines })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn lines(&self, name: &str, lines: &[String]) -> PathBuf {
        self.write(name, lines.join("\n") + "\n")
    }

    fn import(&self, file: &Path) -> Run {
        run(arguments!["import", "--json", "--chain", self.file, "--datadir", self.path("data"), file])
    }

    /// The import failed, what came before is kept, and the whole file still goes in.
    fn nothing_lost(&self, kept: u64) {
        let info = run(arguments!["db", "info", "--json", "--datadir", self.path("data")]).assert_ok().json();
        assert_eq!(info["head"]["number"].as_u64(), Some(kept));
        run(arguments!["db", "check", "--datadir", self.path("data")]).assert_ok();
        let report = self.import(&self.blocks).assert_ok().json();
        assert_eq!(report["known"].as_u64(), Some(kept));
        assert_eq!(report["head"]["number"].as_u64(), Some(self.lines.len() as u64));
    }
}

#[test]
fn cut_and_corrupt_compression() {
    for what in ["cut", "corrupt"] {
        let Some(place) = Place::new("lowgas") else { return };
        let mut data = Vec::new();
        std::fs::File::open(&place.blocks).unwrap().read_to_end(&mut data).unwrap();
        let middle = data.len() / 2;
        if what == "cut" {
            data.truncate(middle);
        } else {
            data[middle..middle + 64].fill(0);
        }
        let file = place.write("bad.csv.gz", &data);
        let failed = place.import(&file).assert_failure(1, &["bad.csv.gz:"]);
        let error = &failed.json()["error"];
        assert_eq!(error["kind"], "input", "{error}");
        assert!(error["line"].as_u64().unwrap() > 10 && error["file"].as_str().unwrap().ends_with("bad.csv.gz"));
        let head = run(arguments!["db", "info", "--json", "--datadir", place.path("data")]).assert_ok().json();
        let kept = head["head"]["number"].as_u64().unwrap();
        assert!(kept > 10, "the blocks before the damage are kept, not only {kept}");
        place.nothing_lost(kept);
    }
}

#[test]
fn lines_that_are_no_lines() {
    let Some(place) = Place::new("uncles") else { return };
    let good = place.lines[..20].to_vec();
    let fields: Vec<&str> = place.lines[20].split(',').collect();
    let cases: &[(&str, String, &[&str])] = &[
        ("three fields", fields[..3].join(","), &["expected 4 fields", "got 3"]),
        ("five fields", format!("{},x", place.lines[20]), &["expected 4 fields", "got 5"]),
        ("a number that is none", format!("x{}", place.lines[20]), &["expected a block number", "x21"]),
        ("a negative number", format!("-{}", place.lines[20]), &["expected a block number", "-21"]),
        (
            "a short hash",
            place.lines[20].replacen(fields[1], &fields[1][2..], 1),
            &["hash", "expected 32 bytes", "got 31"],
        ),
        (
            "hex that is none",
            place.lines[20].replacen(fields[3], &format!("zz{}", fields[3]), 1),
            &["expected hex", "zz"],
        ),
        ("odd hex", format!("{}a", place.lines[20]), &["expected hex"]),
        ("a cut block", place.lines[20][..place.lines[20].len() - 8].to_owned(), &["not a block"]),
        ("no block", format!("{},{},{},", fields[0], fields[1], fields[2]), &["not a block"]),
        ("another number", place.lines[20].replacen("21,", "22,", 1), &["the line says 22", "the block 21"]),
        ("another hash", place.lines[20].replacen(fields[1], &"11".repeat(32), 1), &["hash", "the line says 0x1111"]),
        ("another difficulty", format!("21,{},7f,{}", fields[1], fields[3]), &["total difficulty", "the line says 7f"]),
    ];
    for (name, line, words) in cases {
        let mut lines = good.clone();
        lines.push(line.clone());
        let file = place.lines("lines.csv", &lines);
        let mut expected = vec!["lines.csv:21: "];
        expected.extend_from_slice(words);
        println!("{name}");
        let failed = run(arguments!["replay", "--json", "--chain", place.file, file]).assert_failure(1, &expected);
        assert_eq!(failed.json()["error"]["kind"], "input");
        assert_eq!(failed.json()["error"]["line"], 21);
    }
    // Blank lines and line ends of another system are no faults.
    let text = place.lines.iter().map(|line| format!("{line}\r\n\r\n")).collect::<String>();
    run(arguments!["replay", "--chain", place.file, place.write("crlf.csv", text)]).assert_ok();
    for absent in ["absent.csv", "."] {
        run(arguments!["replay", "--chain", place.file, place.path(absent)]).assert_failure(1, &[absent]);
    }
}

#[test]
fn a_block_that_does_not_connect() {
    let Some(place) = Place::new("lowgas") else { return };
    let mut lines = place.lines.clone();
    lines.remove(99);
    let failed = place
        .import(&place.lines("gap.csv", &lines))
        .assert_failure(1, &["gap.csv:100: ", "block 101", "does not connect", "block 99"]);
    assert_eq!((&failed.json()["error"]["kind"], &failed.json()["error"]["block"]), (&"input".into(), &101.into()));
    place.nothing_lost(99);
}

/// Mutated blocks whose proof of work was redone: the fault is in what execution determines, or in a named rule.
#[test]
fn a_wrong_block_in_the_middle() {
    let (Some(place), Some(cases)) = (Place::new("mergedmining"), vectors("invalid")) else { return };
    let folder = chain_folder("mergedmining").unwrap();
    let valid: Vec<_> = block_lines(&folder.join("blocks.csv.gz")).collect();
    let rejected: Vec<_> = cases
        .filter(|case| text(case, "chain") == "mergedmining" && text(case, "result") == "INVALID_BLOCK")
        .filter(|case| number(case, "number") >= 300 && !case["delta"].is_null())
        .collect();
    assert!(!rejected.is_empty());
    // A dozen over the whole file, so that many kinds are seen.
    for case in rejected.iter().step_by(rejected.len().div_ceil(12)) {
        let height = number(case, "number");
        let block = &valid.iter().find(|block| block.number == height).unwrap().rlp;
        let (prefix, suffix) = (number(&case["delta"], "prefix") as usize, number(&case["delta"], "suffix") as usize);
        let encoded = [&block[..prefix], &bytes(&case["delta"], "middle"), &block[block.len() - suffix..]].concat();
        let mut lines = place.lines.clone();
        let at = height as usize - 1;
        let fields: Vec<&str> = place.lines[at].split(',').collect();
        lines[at] = format!("{},{},{},{}", fields[0], fields[1], fields[2], rhizome_primitives::hex::encode(encoded));
        let here = format!("wrong.csv:{height}: ");
        let failed = run(arguments!["replay", "--json", "--chain", place.file, place.lines("wrong.csv", &lines)]);
        let failed = failed.assert_failure(1, &[&here, "is invalid", "expected ", "got "]);
        let error = &failed.json()["error"];
        assert_eq!((&error["kind"], &error["line"]), (&"invalidBlock".into(), &height.into()), "{error}");
        for member in ["rule", "expected", "got", "hash"] {
            assert!(error[member].is_string(), "{member} in {error}");
        }
        println!("{:?}: {}", text(case, "name"), error["message"]);
    }
}

#[test]
fn places_that_cannot_be_written() {
    let Some(place) = Place::new("transfers") else { return };
    run(arguments!["import", "--chain", place.file, "--datadir", "/proc/x", place.blocks])
        .assert_failure(1, &["data directory /proc/x cannot be made", "expected a place", "choose another --datadir"]);
    let data = place.path("data");
    run(arguments!["import", "--chain", place.file, "--datadir", data, "--to", "3", place.blocks]).assert_ok();
    let missing = place.path("missing").join("x");
    let words = ["missing/x cannot be made", "expected a place", "choose another --output"];
    let export = arguments!["export", "--datadir", data, "--from", "1", "--to", "2", "--output", missing];
    run(export).assert_failure(1, &words);
    run(arguments!["db", "export-state", "--datadir", data, "--block", "2", "--output", missing])
        .assert_failure(1, &words);
}

#[test]
fn files_without_a_block_are_worth_a_warning() {
    let Some(place) = Place::new("transfers") else { return };
    let (empty, blank) = (place.write("empty", ""), place.write("blank", "\n\n"));
    let done =
        run(arguments!["replay", "--json", "--chain", place.file, empty, blank, place.blocks, "--from", "1000000"]);
    let done = done.assert_ok();
    let report = done.json();
    assert_eq!(report["blocks"], 0);
    let warnings: Vec<&str> =
        report["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(warnings.len(), 3);
    for (warning, words) in warnings.iter().zip(["empty: expected one block a line, got none", "blank: ", "--from"]) {
        assert!(warning.contains(words), "{warning}");
        assert!(done.stderr.contains(&format!("warning: {warning}")), "{done:?}");
    }
}

#[test]
fn chain_files_that_make_no_sense() {
    let Some(place) = Place::new("uncles") else { return };
    let cases: &[(&str, &str, &[&str])] = &[
        ("fork.json", "{\"base\":\"regtest\",\"activations\":{\"orchld\":60}}", &["fork.json", "orchld", "orchid"]),
        ("rule.json", "{\"base\":\"regtest\",\"rskips\":{\"rskip9999\":60}}", &["rule.json", "rskip9999"]),
        ("base.json", "{\"base\":\"moonnet\"}", &["base.json", "moonnet"]),
        ("syntax.json", "{\"base\":", &["syntax.json"]),
        ("height.json", "{\"base\":\"regtest\",\"activations\":{\"orchid\":\"soon\"}}", &["height.json", "soon"]),
        ("genesis.json", "{\"base\":\"regtest\",\"genesis\":\"nowhere.json\"}", &["nowhere.json"]),
    ];
    for (name, content, words) in cases {
        let file = place.write(name, content);
        let failed = run(arguments!["replay", "--json", "--chain", file, place.blocks]).assert_failure(1, words);
        assert_eq!(failed.json()["error"]["kind"], "input");
    }
    run(arguments!["replay", "--chain", "moonnet", place.blocks]).assert_failure(1, &["moonnet", "mainnet"]);
}

#[test]
fn bl_02_a_directory_in_use_and_one_of_another_chain() {
    let (Some(place), Some(other)) =
        (Place::new("transfers").or_else(|| Place::new("mixed")), Place::new("mergedmining"))
    else {
        return;
    };
    // In use: a long import runs while another command wants the directory.
    let mut running = command()
        .args(arguments!["import", "--chain", place.file, "--datadir", place.path("data"), place.blocks])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !place.path("data/FORMAT").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let process = running.id().to_string();
    let failed = place.import(&place.blocks).assert_failure(1, &["in use", &process]);
    assert_eq!(failed.json()["error"]["kind"], "store");
    assert!(running.wait().unwrap().success());

    let data = place.path("data");
    run(arguments!["import", "--json", "--chain", other.file, "--datadir", data, other.blocks])
        .assert_failure(1, &["another chain", "genesis"]);
    run(arguments!["db", "info", "--chain", "testnet", "--datadir", data])
        .assert_failure(1, &["another chain", "testnet", "regtest"]);
    run(arguments!["replay", "--trie-engine", "memory", "--chain", place.file, "--datadir", data, place.blocks])
        .assert_failure(2, &["memory"]);
    let foreign = place.path("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("holiday.jpg"), "x").unwrap();
    run(arguments!["import", "--chain", place.file, "--datadir", foreign, place.blocks])
        .assert_failure(1, &["not a data directory", "foreign"]);
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 1);
    run(arguments!["db", "info", "--datadir", place.path("absent")]).assert_failure(1, &["does not exist", "absent"]);
    // Nothing of it did any harm.
    run(arguments!["db", "check", "--datadir", data]).assert_ok();
}

/// A file system of a few megabytes, where this process may make one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(path: PathBuf, megabytes: u32) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let size = format!("size={megabytes}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).stderr(Stdio::null()).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(path));
        }
        println!("full disk: absent: this process may not mount a small tmpfs");
        None
    }

    fn grow(&self, megabytes: u32) {
        let size = format!("remount,size={megabytes}m");
        assert!(Command::new("mount").args(["-o", &size]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn bl_32_a_full_disk() {
    let Some(place) = Place::new("mixed") else { return };
    for (megabytes, name) in [(1, "tiny"), (4, "small"), (12, "medium")] {
        let Some(disk) = SmallDisk::new(place.path(name), megabytes) else { return };
        let data = disk.0.join("data");
        let import = || run(arguments!["import", "--json", "--chain", place.file, "--datadir", data, place.blocks]);
        let failed = import().assert_failure(1, &["No space left on device"]);
        assert_eq!(failed.json()["error"]["kind"], "store", "{failed:?}");
        // A second try on the full disk fails the same way; with room it goes on.
        import().assert_failure(1, &["No space left on device"]);
        disk.grow(512);
        let report = import().assert_ok().json();
        assert_eq!(report["head"]["number"].as_u64(), Some(place.lines.len() as u64));
        println!("{megabytes} MB: {} of {} blocks were kept", report["known"], place.lines.len());
        run(arguments!["db", "check", "--datadir", data]).assert_ok();
    }
}

#[test]
fn wrong_usage_exits_2() {
    let shallow = run(arguments!["db", "gc", "--gc.depth", "6", "--datadir", "nowhere"]);
    assert_eq!(shallow.code, Some(2));
    assert!(shallow.stderr.contains("expected at least 7 blocks, got 6"), "{shallow:?}");
    for arguments in [
        arguments!["--nonsense"].to_vec(),
        arguments!["replay"].to_vec(),
        arguments!["replay", "--trie-engine", "leveldb", "x"].to_vec(),
        arguments!["replay", "--executor", "quantum", "x"].to_vec(),
        arguments!["export", "--from", "x", "--to", "1"].to_vec(),
        arguments!["db", "rewind"].to_vec(),
        arguments!["nonsense"].to_vec(),
    ] {
        let failed = run(&arguments);
        assert_eq!(failed.code, Some(2), "{failed:?}");
        assert!(!failed.stderr.contains("panicked"));
    }
    let failed = run(arguments!["replay", "--trie-engine", "leveldb", "x"]);
    assert!(failed.stderr.contains("rocksdb") && failed.stderr.contains("memory"), "{failed:?}");
    for arguments in
        [arguments!["--help"].to_vec(), arguments!["--version"].to_vec(), arguments!["replay", "--help"].to_vec()]
    {
        run(arguments).assert_ok();
    }
}
