//! SIGKILLs of a writer process: after each, the store opens by itself at a flush that was confirmed or under way, with
//! exactly the records that a model has there.
//!
//! `FLATDB_KILLS` sets how many kills (default 20).
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Sha, keyed, put, small};
use rhizome_flatdb::{Digest, FlatDb, Key};

const DIRECTORY: &str = "FLATDB_WRITER_DIRECTORY";
/// Records of a batch; half of them are in the next batch too.
const BATCH: u64 = 40;

fn batch(number: u64) -> Vec<(Key, Vec<u8>)> {
    keyed::<Sha>(number * BATCH / 2..number * BATCH / 2 + BATCH)
}

/// Whether the writer flushes after a batch. Irregular, so that checkpoints have one to some batches.
fn is_flushed(number: u64) -> bool {
    Sha::digest(&number.to_be_bytes())[0].is_multiple_of(3)
}

/// How many batches are there: all up to a number and nothing of the later ones.
fn batches(db: &FlatDb<Sha>) -> u64 {
    // The last record of a batch belongs to the next one too, the one in the middle does not belong to an earlier one.
    let has = |number: u64| db.get(&batch(number)[BATCH as usize - 1].0).unwrap().is_some();
    (0..).find(|number| !has(*number)).unwrap()
}

/// The writer: only in a process of its own, which ends when it is killed.
#[test]
fn writer_process() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    // Little lag, so that some flushes sync the index and most do not.
    let db: FlatDb<Sha> = small().index_lag(9_000).open(Path::new(&directory)).unwrap();
    let mut out = std::io::stdout();
    for number in batches(&db).. {
        put(&db, &batch(number)).unwrap();
        if is_flushed(number) {
            if number.is_multiple_of(13) {
                db.compact().unwrap()
            } else if number.is_multiple_of(11) {
                db.seal().unwrap()
            } else {
                db.flush().unwrap()
            }
            writeln!(out, "flushed {number}").unwrap();
            out.flush().unwrap();
        }
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_was_flushed() {
    let kills: u64 = std::env::var("FLATDB_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let mut directory = tempfile::tempdir().unwrap();
    let (mut confirmed, mut replayed, mut rebuilt) = (0, 0, 0);
    for round in 0..kills {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer_process", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        // Some kills during opening, most during writing.
        if round % 8 != 0 {
            lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("flushed")).unwrap();
        }
        let moment = u64::from(Sha::digest(&round.to_le_bytes())[0]);
        std::thread::sleep(Duration::from_micros(moment * 150));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let told =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("flushed ")?.parse::<u64>().ok()).last();
        confirmed = told.map_or(confirmed, |number| confirmed.max(number + 1));

        let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
        assert_eq!(db.recovery().damage, None);
        replayed += db.recovery().replayed;
        rebuilt += u64::from(db.recovery().index_rebuilt);
        let there = batches(&db);
        assert!(there >= confirmed, "round {round}: {there} batches, {confirmed} were confirmed");
        assert!(there == 0 || is_flushed(there - 1), "round {round}: half a checkpoint, {there} batches");
        for number in 0..there {
            for (key, record) in batch(number) {
                assert_eq!(db.get_known(&key).unwrap(), Some(record.as_slice()), "round {round}, batch {number}");
            }
        }
        let expected = if there == 0 { 0 } else { (there + 1) * BATCH / 2 };
        assert_eq!(db.verify(|_, _| ()).unwrap().records, expected, "round {round}");
        drop(db);
        if there > 1500 {
            directory = tempfile::tempdir().unwrap();
            confirmed = 0;
        }
    }
    println!("{kills} kills, {replayed} records placed anew, {rebuilt} indexes rebuilt");
}
