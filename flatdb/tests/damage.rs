//! Damage on real files and refusals of the disk: each is detected or harmless, never a wrong read, and the store reopens at
//! the last good checkpoint.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::{FailingDisk, Sha, keyed, put, small};
use rhizome_flatdb::{FlatDb, Key, Options, VerifyPolicy};

const SECTOR: usize = 512;

/// What a store of 300 records, a checkpoint, 300 more and a second checkpoint looks like, and how its files looked at the first.
struct Template {
    directory: tempfile::TempDir,
    older: tempfile::TempDir,
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

fn template() -> Template {
    let (directory, older) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (keyed::<Sha>(0..300), keyed::<Sha>(300..600));
    let db: FlatDb<Sha> = small().expected_records(700).open(directory.path()).unwrap();
    put(&db, &first).unwrap();
    db.flush().unwrap();
    copy(directory.path(), older.path());
    put(&db, &second).unwrap();
    db.flush().unwrap();
    drop(db);
    Template { directory, older, first, second }
}

/// Opens a damaged copy and reads everything: right bytes, an error, or absence of what only the lost checkpoint held.
/// Returns whether nothing was noticed.
fn examine(path: &Path, template: &Template, verify: VerifyPolicy) -> bool {
    let db = match Options::default().create(false).verify(verify).open::<Sha>(path) {
        Ok(db) => db,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let mut whole = true;
    let mut lost_first = 0;
    let mut lost_second = 0;
    for (records, lost) in [(&template.first, &mut lost_first), (&template.second, &mut lost_second)] {
        for (key, record) in records {
            match db.get_known(key) {
                Ok(Some(found)) => assert_eq!(found, record, "a wrong read"),
                Ok(None) => *lost += 1,
                Err(_) => whole = false,
            }
        }
    }
    assert_eq!(lost_first, 0, "records of an older checkpoint vanished without an error");
    assert!(lost_second == 0 || lost_second == template.second.len(), "half a checkpoint: {lost_second}");
    whole && lost_second == 0
}

#[test]
fn every_sector_zeroed_or_older_or_flipped() {
    let template = template();
    let (mut unnoticed, mut cases) = (0, 0);
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
    println!("{cases} damaged stores, {unnoticed} repaired or harmless");
    assert!(cases > 500, "{cases}");
}

#[test]
fn every_file_cut_at_any_sector() {
    let template = template();
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

#[test]
fn what_the_kernel_wrote_after_the_checkpoint_is_ignored() {
    // Heap and index as of the second checkpoint under the first one's: what a crash before the last sync can leave.
    let template = template();
    for part in ["heap", "index.0"] {
        let mixed = tempfile::tempdir().unwrap();
        copy(template.older.path(), mixed.path());
        fs::copy(template.directory.path().join(part), mixed.path().join(part)).unwrap();
        let db: FlatDb<Sha> = small().open(mixed.path()).unwrap();
        for (key, record) in &template.first {
            assert_eq!(db.get_known(key).unwrap(), Some(record.as_slice()));
        }
        assert!(template.second.iter().all(|(key, _)| db.get_known(key).unwrap().is_none()));
        put(&db, &template.second).unwrap();
        db.flush().unwrap();
        drop(db);
        assert!(examine(mixed.path(), &template, VerifyPolicy::First));
    }
}

#[test]
fn every_operation_refused_leaves_a_store_that_opens() {
    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;
    let (first, second, third) = (keyed::<Sha>(0..300), keyed::<Sha>(300..600), keyed::<Sha>(600..2000));
    for (error, short) in [(ENOSPC, false), (ENOSPC, true), (EIO, false)] {
        let mut refused = 0;
        for operations in 0.. {
            let directory = tempfile::tempdir().unwrap();
            {
                let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
                put(&db, &first).unwrap();
                db.flush().unwrap();
            }
            let disk = Arc::new(FailingDisk::new(operations, error, short));
            let result = small().disk(disk.clone()).open::<Sha>(directory.path()).and_then(|db| {
                // The batch of `third` makes the index grow.
                put(&db, &second)?;
                db.flush()?;
                let result = put(&db, &third).and_then(|()| db.flush());
                if result.is_err() {
                    assert!(put(&db, &second).is_err(), "a poisoned handle wrote");
                    for (key, record) in &first {
                        assert_eq!(db.get(key).unwrap(), Some(record.as_slice()), "a poisoned handle does not read");
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
        println!("error {error}, short {short}: refused at {refused} operations");
        assert!(refused > 8);
    }
}
