//! The store as its users see it: reads, batches, reopening, growth, locks, threads, and a model to compare with.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Clustered, PausingDisk, RESIDENT, Sha, keyed, put, record, small};
use proptest::prelude::*;
use rhizome_flatdb::{Digest, Error, FlatDb, Key, Options, VerifyPolicy};

const POLICIES: [VerifyPolicy; 3] = [VerifyPolicy::Always, VerifyPolicy::First, VerifyPolicy::Never];

fn check<D: Digest>(db: &FlatDb<D>, records: &[(Key, Vec<u8>)]) {
    for (key, record) in records {
        assert_eq!(db.get(key).unwrap(), Some(record.as_slice()));
        assert_eq!(db.get_known(key).unwrap(), Some(record.as_slice()));
    }
    let keys: Vec<Key> = records.iter().map(|(key, _)| *key).collect();
    let many = db.get_many(&keys).unwrap();
    assert!(many.iter().zip(records).all(|(got, (_, record))| *got == Some(record.as_slice())));
    assert_eq!(db.get_many_known(&keys).unwrap(), many);
}

fn write_reopen_read<D: Digest>(verify: VerifyPolicy) {
    let directory = tempfile::tempdir().unwrap();
    let records = keyed::<D>(0..2000);
    {
        let db: FlatDb<D> = small().verify(verify).open(directory.path()).unwrap();
        for batch in records.chunks(300) {
            put(&db, batch).unwrap();
            check(&db, batch);
        }
        db.flush().unwrap();
        assert!(db.stats().generation > 0, "the index never grew");
    }
    let db: FlatDb<D> = Options::default().create(false).verify(verify).open(directory.path()).unwrap();
    check(&db, &records);
    let distinct: BTreeSet<&Key> = records.iter().map(|(key, _)| key).collect();
    assert_eq!(db.stats().records, distinct.len() as u64);
    let verification = db.verify(|done, total| assert!(done < total)).unwrap();
    assert_eq!(verification.records, distinct.len() as u64);
    assert_eq!(verification.twice, 0);
    assert_eq!(db.iter().count(), distinct.len());
}

#[test]
fn what_was_written_is_read_under_every_policy() {
    for verify in POLICIES {
        write_reopen_read::<Sha>(verify);
    }
}

#[test]
fn keys_that_slots_cannot_tell_apart_are_told_apart() {
    for verify in POLICIES {
        write_reopen_read::<Clustered>(verify);
    }
}

#[test]
fn an_absent_key_is_absent_whatever_its_tag() {
    let directory = tempfile::tempdir().unwrap();
    let db: FlatDb<Clustered> = small().open(directory.path()).unwrap();
    put(&db, &keyed::<Clustered>(0..300)).unwrap();
    for (key, _) in keyed::<Clustered>(300..600) {
        assert_eq!(db.get(&key).unwrap(), None);
    }
}

#[test]
fn writing_again_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    let records = keyed::<Sha>(0..500);
    put(&db, &records).unwrap();
    let before = db.stats();
    put(&db, &records).unwrap();
    let twice: Vec<_> = keyed::<Sha>(500..501).into_iter().cycle().take(3).collect();
    put(&db, &twice).unwrap();
    let after = db.stats();
    assert_eq!(after.records, before.records + 1);
    assert_eq!(after.duplicates, 502);
    assert_eq!(db.iter().count() as u64, after.records);
}

#[test]
fn records_lie_in_the_order_they_were_given() {
    let directory = tempfile::tempdir().unwrap();
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    let records = keyed::<Sha>(0..500);
    put(&db, &records).unwrap();
    let order: Vec<Vec<u8>> = db.iter().map(|found| found.unwrap().1.to_vec()).collect();
    assert_eq!(order, records.into_iter().map(|(_, record)| record).collect::<Vec<_>>());
}

#[test]
fn only_a_checkpoint_makes_a_batch_real() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (keyed::<Sha>(0..400), keyed::<Sha>(400..900));
    {
        let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
        put(&db, &first).unwrap();
        db.flush().unwrap();
        put(&db, &second).unwrap();
    }
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    check(&db, &first);
    assert!(second.iter().all(|(key, _)| db.get(key).unwrap().is_none()));
    put(&db, &second).unwrap();
    db.flush().unwrap();
    check(&db, &first);
    check(&db, &second);
}

#[test]
fn a_second_writer_and_a_wrong_digest_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let missing = small().create(false).open::<Sha>(directory.path());
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    assert!(matches!(small().open::<Sha>(directory.path()), Err(Error::InUse { .. })));
    drop(db);
    let error = small().open::<Clustered>(directory.path()).unwrap_err().to_string();
    assert!(error.contains("expected digest cluster, got digest sha-256"), "{error}");
}

#[test]
fn a_reader_beside_a_writer_sees_the_last_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let writer: FlatDb<Sha> = small().open(directory.path()).unwrap();
    let (first, second) = (keyed::<Sha>(0..500), keyed::<Sha>(500..2000));
    put(&writer, &first).unwrap();
    writer.flush().unwrap();
    put(&writer, &second[..10]).unwrap();
    let reader = Options::default().open_read_only::<Sha>(directory.path()).unwrap();
    check(&reader, &first);
    assert!(second.iter().all(|(key, _)| reader.get(key).unwrap().is_none()));
    assert!(matches!(put(&reader, &first), Err(Error::ReadOnly)));
    put(&writer, &second).unwrap();
    writer.flush().unwrap();
    check(&reader, &first);
    let later = Options::default().open_read_only::<Sha>(directory.path()).unwrap();
    check(&later, &second);
}

#[test]
fn an_empty_record_is_a_record() {
    let directory = tempfile::tempdir().unwrap();
    let empty = (Sha::digest(&[]), Vec::new());
    {
        let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
        assert_eq!(db.get(&empty.0).unwrap(), None);
        put(&db, std::slice::from_ref(&empty)).unwrap();
        put(&db, &keyed::<Sha>(0..10)).unwrap();
        put(&db, std::slice::from_ref(&empty)).unwrap();
        db.flush().unwrap();
    }
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    check(&db, &[empty]);
    check(&db, &keyed::<Sha>(0..10));
    assert_eq!(db.verify(|_, _| ()).unwrap().records, 11);
}

#[test]
fn what_the_index_file_lacks_is_placed_anew() {
    for (seal, resident) in RESIDENT.into_iter().flat_map(|resident| [(false, resident), (true, resident)]) {
        let directory = tempfile::tempdir().unwrap();
        let (first, second, third) = (keyed::<Sha>(0..200), keyed::<Sha>(200..420), keyed::<Sha>(420..500));
        {
            let db: FlatDb<Sha> =
                small().resident_index(resident).expected_records(1000).open(directory.path()).unwrap();
            put(&db, &first).unwrap();
            db.seal().unwrap();
            put(&db, &second).unwrap();
            if seal {
                db.seal().unwrap()
            } else {
                db.flush().unwrap()
            }
            put(&db, &third).unwrap();
        }
        let readers = Options::default().resident_index(resident).open_read_only::<Sha>(directory.path()).unwrap();
        let db: FlatDb<Sha> = small().resident_index(resident).open(directory.path()).unwrap();
        for db in [&readers, &db] {
            assert_eq!(db.recovery().replayed, if seal { 0 } else { 220 });
            assert!(!db.recovery().index_rebuilt && db.recovery().damage.is_none());
            check(db, &first);
            check(db, &second);
            assert!(third.iter().all(|(key, _)| db.get(key).unwrap().is_none()));
            assert_eq!(db.stats().records, 420);
        }
    }
}

#[test]
fn ambiguous_slots_are_counted_after_opening() {
    for resident in RESIDENT {
        let directory = tempfile::tempdir().unwrap();
        let options = || small().resident_index(resident).expected_records(500);
        // One record of a home and a tag is durable, others with the same are not, and leave marks in the file.
        let db: FlatDb<Clustered> = options().open(directory.path()).unwrap();
        put(&db, &keyed::<Clustered>(0..1)).unwrap();
        db.seal().unwrap();
        put(&db, &keyed::<Clustered>(1..100)).unwrap();
        drop(db);
        let db: FlatDb<Clustered> = options().open(directory.path()).unwrap();
        assert_eq!((db.stats().records, db.stats().ambiguous), (1, 0));
        put(&db, &keyed::<Clustered>(0..100)).unwrap();
        assert!(db.stats().ambiguous > 0);
    }
}

#[test]
fn only_a_directory_of_its_own_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("CURRENT"), "MANIFEST-000001").unwrap();
    let error = small().open::<Sha>(directory.path()).unwrap_err();
    assert!(matches!(&error, Error::Format { .. }), "{error}");
    assert!(error.to_string().contains("CURRENT"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "something was written");

    // Records without a checkpoint are never overwritten.
    let directory = tempfile::tempdir().unwrap();
    {
        let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
        put(&db, &keyed::<Sha>(0..50)).unwrap();
        db.flush().unwrap();
    }
    let mut heap = std::fs::read(directory.path().join("heap")).unwrap();
    heap[4096..3 * 4096].fill(0);
    std::fs::write(directory.path().join("heap"), &heap).unwrap();
    assert!(matches!(small().open::<Sha>(directory.path()), Err(Error::Corrupt { .. })));
    assert_eq!(std::fs::read(directory.path().join("heap")).unwrap(), heap);
}

#[test]
fn writers_never_fill_the_index_between_them() {
    // Each batch alone fits the index, all together do not.
    let directory = tempfile::tempdir().unwrap();
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8_u64 {
            let db = &db;
            scope.spawn(move || put(db, &keyed::<Sha>(writer * 400..writer * 400 + 400)).unwrap());
        }
    });
    check(&db, &keyed::<Sha>(0..3200));
    let stats = db.stats();
    assert!(stats.records * 10 <= stats.index_slots * 7, "{stats:?}");
}

#[test]
fn writers_and_readers_work_side_by_side() {
    RESIDENT.into_iter().for_each(side_by_side);
}

fn side_by_side(resident: u64) {
    let directory = tempfile::tempdir().unwrap();
    let db: FlatDb<Sha> = small().index_lag(100_000).resident_index(resident).open(directory.path()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u64)
            .map(|writer| {
                let db = &db;
                scope.spawn(move || {
                    for batch in 0..40_u64 {
                        // Half of every batch is what the neighbour writes too.
                        let start = batch * 100 + writer * 50;
                        put(db, &keyed::<Sha>(start..start + 100)).unwrap();
                        if batch % 10 == 0 {
                            db.flush().unwrap();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    for (key, record) in keyed::<Sha>(0..500) {
                        assert!(db.get(&key).unwrap().is_none_or(|found| found == record));
                    }
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Release);
    });
    let all = keyed::<Sha>(0..4150);
    check(&db, &all);
    db.flush().unwrap();
    assert_eq!(db.verify(|_, _| ()).unwrap().records, 4150);
    drop(db);
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    check(&db, &all);
}

#[test]
fn a_heap_is_read_ahead_whole_or_as_far_as_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let open = || -> FlatDb<Sha> { Options::default().open(directory.path()).unwrap() };
    let records = keyed::<Sha>(0..20_000);
    let db = open();
    put(&db, &records).unwrap();
    db.seal().unwrap();
    drop(db);
    let forget = || {
        let heap = std::fs::File::open(directory.path().join("heap")).unwrap();
        rustix::fs::fadvise(&heap, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    };
    forget();
    let db = open();
    let (mut ahead, mut pieces) = (0, 0);
    db.read_ahead(|bytes| {
        ahead += bytes;
        true
    });
    // A file system in memory forgets nothing.
    assert!(ahead == 0 || ahead == db.stats().heap_bytes, "{ahead} of {:?}", db.stats());
    check(&db, &records);
    drop(db);
    forget();
    let db = open();
    db.read_ahead(|_| {
        pieces += 1;
        false
    });
    assert!(pieces <= 1);
    check(&db, &records);
}

#[test]
fn a_compacted_store_is_small_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let open = || -> FlatDb<Sha> { Options::default().open(directory.path()).unwrap() };
    let db = open();
    let mut records = Vec::new();
    // More rounds than an open store has room for: then it keeps its table, and still grows.
    for round in 0..60_u64 {
        let batch = keyed::<Sha>(round * 1_500..round * 1_500 + 1_500);
        put(&db, &batch).unwrap();
        records.extend(batch);
        let before = db.stats().index_slots;
        db.compact().unwrap();
        let stats = db.stats();
        assert!(stats.index_slots <= before);
        if round < 10 {
            assert!(stats.index_slots * 9 <= (stats.records * 100 / 80 + 1024) * 10, "round {round}: {stats:?}");
        }
    }
    check(&db, &records);
    assert!(db.get(&Sha::digest(b"absent")).unwrap().is_none());
    drop(db);
    let db = open();
    assert_eq!((db.recovery().replayed, db.recovery().index_rebuilt), (0, false));
    db.compact().unwrap();
    let (heap, index) = (directory.path().join("heap"), db.stats().generation);
    assert_eq!(
        std::fs::metadata(directory.path().join(format!("index.{index}"))).unwrap().len(),
        db.stats().index_bytes
    );
    check(&db, &records);
    let bytes = db.stats().heap_bytes;
    drop(db);
    assert_eq!(std::fs::metadata(heap).unwrap().len(), bytes);
    check(&open(), &records);
}

#[test]
fn known_records_leave_a_compacted_table_alone() {
    let directory = tempfile::tempdir().unwrap();
    let db: FlatDb<Sha> = Options::default().open(directory.path()).unwrap();
    let records = keyed::<Sha>(0..5_000);
    put(&db, &records).unwrap();
    db.compact().unwrap();
    let before = db.stats();
    put(&db, &records).unwrap();
    put(&db, &[]).unwrap();
    let after = db.stats();
    assert_eq!((after.generation, after.index_slots), (before.generation, before.index_slots));
    put(&db, &keyed::<Sha>(5_000..5_001)).unwrap();
    assert!(db.stats().index_slots > before.index_slots, "a new record makes it grow");
}

#[test]
fn an_index_that_grew_during_a_flush_keeps_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let (batches, names) = ([keyed::<Sha>(0..1_000), keyed::<Sha>(1_000..4_000)], ["index.1", "index.2"]);
    {
        let (disk, reached, go_on) = PausingDisk::new(names[0]);
        let db: FlatDb<Sha> = small().disk(Arc::new(disk)).open(directory.path()).unwrap();
        put(&db, &batches[0]).unwrap();
        std::thread::scope(|scope| {
            let flush = scope.spawn(|| db.flush());
            reached.recv().unwrap();
            put(&db, &batches[1]).unwrap();
            assert_eq!(db.stats().generation, 2);
            go_on.send(()).unwrap();
            flush.join().unwrap().unwrap();
        });
        assert!(names.map(|name| directory.path().join(name).exists()) == [true, true], "a file in use was removed");
        db.flush().unwrap();
        assert!(names.map(|name| directory.path().join(name).exists()) == [false, true]);
    }
    let db: FlatDb<Sha> = small().open(directory.path()).unwrap();
    assert!(!db.recovery().index_rebuilt);
    batches.iter().for_each(|batch| check(&db, batch));
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u64>),
    Get(u64),
    Flush,
    Seal,
    Compact,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(0..300_u64, 0..60).prop_map(Step::Put),
        4 => (0..300_u64).prop_map(Step::Get),
        1 => Just(Step::Flush),
        1 => Just(Step::Seal),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

fn agrees_with_model<D: Digest>(steps: Vec<Step>, verify: VerifyPolicy, resident: u64) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::default().expected_records(1).verify(verify).resident_index(resident);
    let open = || -> FlatDb<D> { options.clone().open(directory.path()).unwrap() };
    let mut db = open();
    let mut model: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    let mut durable = model.clone();
    for step in steps {
        match step {
            Step::Put(seeds) => {
                let batch: Vec<_> = seeds.into_iter().flat_map(|seed| keyed::<D>(seed..seed + 1)).collect();
                put(&db, &batch).unwrap();
                model.extend(batch);
            }
            Step::Get(seed) => {
                let key = D::digest(&record(seed));
                assert_eq!(db.get(&key).unwrap(), model.get(&key).map(Vec::as_slice));
            }
            Step::Flush => {
                db.flush().unwrap();
                durable.clone_from(&model);
            }
            Step::Seal => {
                db.seal().unwrap();
                durable.clone_from(&model);
            }
            Step::Compact => {
                db.compact().unwrap();
                durable.clone_from(&model);
            }
            Step::Reopen => {
                drop(db);
                db = open();
                model.clone_from(&durable);
            }
        }
    }
    let records: Vec<_> = model.into_iter().collect();
    check(&db, &records);
    assert_eq!(db.stats().records, records.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_steps_agree_with_a_map(steps in prop::collection::vec(step(), 1..40), policy in 0..3_usize, clustered: bool, resident in 0..2_usize) {
        if clustered {
            agrees_with_model::<Clustered>(steps, POLICIES[policy], RESIDENT[resident]);
        } else {
            agrees_with_model::<Sha>(steps, POLICIES[policy], RESIDENT[resident]);
        }
    }
}
