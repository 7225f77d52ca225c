//! Damage on real files and refusals of the disk: each is detected or harmless, never a wrong read, and the store reopens at
//! the last good checkpoint.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::{FailingDisk, RESIDENT, Sha, keyed, put, small};
use rhizome_flatdb::{FlatDb, Key, Options, VerifyPolicy};

const SECTOR: usize = 512;
/// Where the records begin in the heap file.
const RECORDS: usize = 3 * 4096;

/// What a store of 300 records, a checkpoint, 300 more and a second checkpoint looks like, and how its files looked at the first.
struct Template {
    directory: tempfile::TempDir,
    older: tempfile::TempDir,
    first_end: u64,
    first: Vec<(Key, Vec<u8>)>,
    second: Vec<(Key, Vec<u8>)>,
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Whether the index file is made durable with the first and the second checkpoint, or its slots are placed anew.
const SEALS: [[bool; 2]; 4] = [[true, true], [true, false], [false, true], [false, false]];

fn template(seals: [bool; 2]) -> Template {
    let (directory, older) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (keyed::<Sha>(0..300), keyed::<Sha>(300..600));
    // 1,536 slots: no power of two.
    let db: FlatDb<Sha> = small().expected_records(1_000).open(directory.path()).unwrap();
    put(&db, &first).unwrap();
    if seals[0] {
        db.seal().unwrap()
    } else {
        db.flush().unwrap()
    }
    copy(directory.path(), older.path());
    let first_end = db.stats().heap_bytes;
    put(&db, &second).unwrap();
    if seals[1] {
        db.seal().unwrap()
    } else {
        db.flush().unwrap()
    }
    drop(db);
    Template { directory, older, first_end, first, second }
}

/// Opens a damaged copy and reads everything: right bytes, an error, or absence of what only the lost checkpoint held.
/// Returns whether nothing was noticed.
fn examine(path: &Path, template: &Template, verify: VerifyPolicy) -> bool {
    // The index in memory with one policy, mapped with the other.
    let resident = RESIDENT[usize::from(verify == VerifyPolicy::Always)];
    let options = Options::default().create(false).verify(verify).resident_index(resident);
    // A reader first: it changes nothing.
    let reader = options.clone().open_read_only::<Sha>(path).map(|db| read_all(&db, template));
    let writer = options.open::<Sha>(path).map(|db| read_all(&db, template));
    match (reader, writer) {
        (Ok(reader), Ok(writer)) => {
            assert_eq!(reader, writer, "a reader and a writer see different stores");
            writer
        }
        (reader, writer) => {
            let text = [reader.err(), writer.err()].map(|error| error.map(|error| error.to_string()));
            assert!(text.iter().all(|text| text.as_ref().is_some_and(|text| !text.is_empty())), "{text:?}");
            false
        }
    }
}

fn read_all(db: &FlatDb<Sha>, template: &Template) -> bool {
    let mut whole = true;
    let mut lost = [0, 0];
    for (records, lost) in [&template.first, &template.second].into_iter().zip(&mut lost) {
        for (key, record) in records {
            match db.get_known(key) {
                Ok(Some(found)) => assert_eq!(found, record, "a wrong read"),
                Ok(None) => *lost += 1,
                Err(_) => whole = false,
            }
        }
    }
    assert_eq!(lost[0], 0, "records of an older checkpoint vanished without an error");
    assert!(lost[1] == 0 || lost[1] == template.second.len(), "half a checkpoint: {}", lost[1]);
    whole && lost[1] == 0
}

#[test]
fn every_sector_zeroed_or_older_or_flipped() {
    let (mut unnoticed, mut cases) = (0, 0);
    for seals in SEALS {
        let template = template(seals);
        for entry in fs::read_dir(template.directory.path()).unwrap() {
            let name = entry.unwrap().file_name();
            let now = fs::read(template.directory.path().join(&name)).unwrap();
            let before = fs::read(template.older.path().join(&name)).unwrap_or_default();
            for at in (0..now.len()).step_by(SECTOR) {
                let end = (at + SECTOR).min(now.len());
                let older: Vec<u8> = (at..end).map(|at| before.get(at).copied().unwrap_or_default()).collect();
                let zeroed = vec![0; end - at];
                let mut flipped = now[at..end].to_vec();
                let bit = at / SECTOR * 37 % (8 * flipped.len());
                flipped[bit / 8] ^= 1 << (bit % 8);
                for sector in [older, zeroed, flipped] {
                    if sector == now[at..end] {
                        continue;
                    }
                    for verify in [VerifyPolicy::Always, VerifyPolicy::First] {
                        let damaged = tempfile::tempdir().unwrap();
                        copy(template.directory.path(), damaged.path());
                        let mut bytes = now.clone();
                        bytes[at..end].copy_from_slice(&sector);
                        fs::write(damaged.path().join(&name), bytes).unwrap();
                        unnoticed += usize::from(examine(damaged.path(), &template, verify));
                        cases += 1;
                    }
                }
            }
        }
    }
    println!("{cases} damaged stores, {unnoticed} repaired or harmless");
    assert!(cases > 2000, "{cases}");
}

#[test]
fn every_file_cut_at_any_sector() {
    for seals in SEALS {
        let template = template(seals);
        for entry in fs::read_dir(template.directory.path()).unwrap() {
            let name = entry.unwrap().file_name();
            let now = fs::read(template.directory.path().join(&name)).unwrap();
            for at in (0..now.len()).step_by(SECTOR).chain([1, 7, now.len().saturating_sub(1)]) {
                let damaged = tempfile::tempdir().unwrap();
                copy(template.directory.path(), damaged.path());
                fs::write(damaged.path().join(&name), &now[..at.min(now.len())]).unwrap();
                examine(damaged.path(), &template, VerifyPolicy::First);
            }
        }
    }
}

#[test]
fn what_the_kernel_wrote_after_the_checkpoint_is_ignored() {
    // Heap and index as of the second checkpoint under the first one's: what a crash before the last sync can leave.
    for seals in SEALS {
        let template = template(seals);
        for part in ["heap", "index.0"] {
            let mixed = tempfile::tempdir().unwrap();
            copy(template.older.path(), mixed.path());
            let mut bytes = fs::read(template.directory.path().join(part)).unwrap();
            if part == "heap" {
                // Its pages of the checkpoint are the older ones.
                bytes[..RECORDS].copy_from_slice(&fs::read(template.older.path().join(part)).unwrap()[..RECORDS]);
            }
            fs::write(mixed.path().join(part), bytes).unwrap();
            let db: FlatDb<Sha> = small().open(mixed.path()).unwrap();
            assert_eq!(db.recovery().damage, None);
            for (key, record) in &template.first {
                assert_eq!(db.get_known(key).unwrap(), Some(record.as_slice()));
            }
            assert!(template.second.iter().all(|(key, _)| db.get(key).unwrap().is_none()));
            put(&db, &template.second).unwrap();
            db.flush().unwrap();
            drop(db);
            assert!(examine(mixed.path(), &template, VerifyPolicy::First));
        }
    }
}

#[test]
fn damage_in_the_last_flush_goes_back_to_the_flush_before() {
    let template = template([true, false]);
    let heap = template.directory.path().join("heap");
    let mut bytes = fs::read(&heap).unwrap();
    bytes[usize::try_from(template.first_end).unwrap() + 700] ^= 4;
    fs::write(&heap, bytes).unwrap();
    let db: FlatDb<Sha> = small().open(template.directory.path()).unwrap();
    let damage = db.recovery().damage.clone().unwrap();
    assert!(damage.contains("damaged"), "{damage}");
    assert!(template.first.iter().all(|(key, record)| db.get(key).unwrap() == Some(record.as_slice())));
    assert!(template.second.iter().all(|(key, _)| db.get(key).unwrap().is_none()));
    put(&db, &template.second).unwrap();
    db.flush().unwrap();
    drop(db);
    assert!(examine(template.directory.path(), &template, VerifyPolicy::First));
}

#[test]
fn every_operation_refused_leaves_a_store_that_opens() {
    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;
    let (first, second, third) = (keyed::<Sha>(0..300), keyed::<Sha>(300..600), keyed::<Sha>(600..2000));
    let cases = [(ENOSPC, false), (ENOSPC, true), (EIO, false)];
    for ((error, short), resident) in cases.into_iter().flat_map(|case| RESIDENT.map(|resident| (case, resident))) {
        let mut refused = 0;
        for operations in 0.. {
            let directory = tempfile::tempdir().unwrap();
            {
                let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
                put(&db, &first).unwrap();
                db.flush().unwrap();
            }
            let disk = Arc::new(FailingDisk::new(operations, error, short));
            let result =
                small().resident_index(resident).disk(disk.clone()).open::<Sha>(directory.path()).and_then(|db| {
                    // The batch of `third` makes the index grow.
                    put(&db, &second)?;
                    db.flush()?;
                    let result = put(&db, &third).and_then(|()| db.flush());
                    if result.is_err() {
                        assert!(put(&db, &second).is_err(), "a poisoned handle wrote");
                        for (key, record) in &first {
                            assert_eq!(
                                db.get(key).unwrap(),
                                Some(record.as_slice()),
                                "a poisoned handle does not read"
                            );
                        }
                    }
                    result
                });
            let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
            for (key, record) in &first {
                assert_eq!(db.get(key).unwrap(), Some(record.as_slice()));
            }
            db.verify(|_, _| ()).unwrap();
            match result {
                Ok(()) => break,
                Err(error) => {
                    assert!(error.to_string().contains("os error"), "{error}");
                    refused += 1;
                }
            }
        }
        println!("error {error}, short {short}, resident {resident}: refused at {refused} operations");
        assert!(refused > 6, "{refused}");
    }
}
