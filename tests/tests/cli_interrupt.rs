//! SIGINT during an import and a replay: the program ends after the block at hand, and says where it stands and what holds.
#![allow(clippy::unwrap_used, missing_docs)]

mod program;

use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};

use program::{Run, command, finish, run};
use rhizome_tests::chains::chain_folder;
use rhizome_tests::open;
use tempfile::TempDir;

/// What a pipe holds at most: once so much and more was written, the program has begun to read, and listens for signals.
const PIPE: usize = 1 << 20;

/// Feeds the lines by a pipe, with a signal before the last of them.
fn stopped(arguments: &[OsString], lines: &[String]) -> Run {
    let mut child = command()
        .args(arguments)
        .arg("/dev/stdin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let mut written = 0;
    let mut lines = lines.iter();
    for line in lines.by_ref() {
        writeln!(pipe, "{line}").unwrap();
        written += line.len();
        if written > 2 * PIPE {
            break;
        }
    }
    assert!(written > PIPE, "the chain is too short");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    // It may be gone before it has read the rest.
    for line in lines {
        if writeln!(pipe, "{line}").is_err() {
            break;
        }
    }
    drop(pipe);
    finish(child.wait_with_output().unwrap())
}

#[test]
fn a_stop_by_the_user_says_where_and_what_holds() {
    let Some(folder) = chain_folder("mixed") else { return };
    let (chain, blocks) = (folder.join("chain.json"), folder.join("blocks.csv.gz"));
    let lines: Vec<String> = open(&blocks).lines().map(|line| line.unwrap()).collect();
    let place = TempDir::new().unwrap();
    let datadir = place.path().join("data");

    let import = arguments!["import", "--json", "--chain", chain, "--datadir", datadir];
    let text = datadir.display().to_string();
    let failed =
        stopped(&import, &lines).assert_failure(130, &["stopped by the user", &text, "the same command continues"]);
    let error = &failed.json()["error"];
    assert_eq!(error["kind"], "interrupted");
    let head = error["block"].as_u64().unwrap();
    // Everything that was executed is there.
    let info = run(arguments!["db", "info", "--json", "--datadir", datadir]).assert_ok().json();
    assert_eq!(info["head"]["number"].as_u64(), Some(head), "{info}");
    let mut again = import.to_vec();
    again.push(blocks.into());
    let report = run(again).assert_ok().json();
    assert!(report["known"].as_u64().unwrap() >= head, "{report}");

    let replay = arguments!["replay", "--json", "--trie-engine", "memory", "--chain", chain];
    stopped(&replay, &lines).assert_failure(130, &["stopped by the user", "nothing was kept", "starts again"]);
}

#[test]
fn a_command_that_ends_at_once_says_what_holds() {
    let Some(folder) = chain_folder("mixed") else { return };
    let place = TempDir::new().unwrap();
    let (datadir, chain) = (place.path().join("data"), folder.join("chain.json"));
    let imported =
        run(arguments!["import", "--json", "--chain", chain, "--datadir", datadir, folder.join("blocks.csv.gz")]);
    let last = imported.assert_ok().json()["head"]["number"].to_string();
    let mut child = command()
        .args(arguments!["export", "--datadir", datadir, "--from", "1", "--to", last])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It has begun, and waits for us to read on: the pipe holds less than the chain.
    let mut first = [0; 16];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut text = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.starts_with("error: stopped by the user; the data directory is as it was"), "{text}");
}
