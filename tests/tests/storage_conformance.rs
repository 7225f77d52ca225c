//! One suite for every engine: a new engine is one line in `node_engines` or `data_engines`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use rhizome_primitives::{B256, Bytes, keccak256};
use rhizome_storage::{
    Column, EngineOptions, EpochStore, FlatTrieStore, GcControl, KvStore, MemoryKv, PendingKv, PendingNodes, RocksKv,
    RocksMemory, RocksTrieStore, TrieEngine, VerifyPolicy, WriteBatch,
};
use rhizome_trie::{MemoryTrieStore, TrieStore};
use tempfile::TempDir;

/// An engine and whether it can be opened again.
struct NodeEngine {
    name: &'static str,
    open: fn(&Path) -> Arc<dyn TrieStore>,
    durable: bool,
}

fn node_engines() -> Vec<NodeEngine> {
    vec![
        NodeEngine { name: "memory", open: |_| Arc::new(MemoryTrieStore::new()), durable: false },
        NodeEngine {
            name: "rocksdb",
            open: |path| Arc::new(RocksTrieStore::open(path, &RocksMemory::default()).unwrap()),
            durable: true,
        },
        NodeEngine {
            name: "flatdb",
            open: |path| Arc::new(FlatTrieStore::open(path, VerifyPolicy::First).unwrap()),
            durable: true,
        },
        NodeEngine {
            name: "flatdb, every read verified",
            open: |path| Arc::new(FlatTrieStore::open(path, VerifyPolicy::Always).unwrap()),
            durable: true,
        },
        NodeEngine { name: "epochs of flatdb", open: |path| epochs(path, TrieEngine::FlatDb), durable: true },
        NodeEngine { name: "epochs of rocksdb", open: |path| epochs(path, TrieEngine::RocksDb), durable: true },
        NodeEngine {
            name: "pending over memory",
            open: |_| Arc::new(PendingNodes::new(Arc::new(MemoryTrieStore::new()))),
            durable: false,
        },
    ]
}

/// Epochs, one more at each opening, so that what an earlier one wrote is in an older epoch.
fn epochs(path: &Path, engine: TrieEngine) -> Arc<dyn TrieStore> {
    let store = EpochStore::open(path, engine, EngineOptions::default()).unwrap();
    store.rotate(0, &GcControl::new()).unwrap();
    Arc::new(store)
}

struct DataEngine {
    name: &'static str,
    open: fn(&Path) -> Arc<dyn KvStore>,
    durable: bool,
}

fn data_engines() -> Vec<DataEngine> {
    vec![
        DataEngine { name: "memory", open: |_| Arc::new(MemoryKv::new()), durable: false },
        DataEngine {
            name: "rocksdb",
            open: |path| Arc::new(RocksKv::open(path, &RocksMemory::default()).unwrap()),
            durable: true,
        },
        DataEngine {
            name: "pending over memory",
            open: |_| Arc::new(PendingKv::new(Arc::new(MemoryKv::new()))),
            durable: false,
        },
    ]
}

fn nodes(seed: u8, count: usize, size: usize) -> Vec<(B256, Bytes)> {
    (0..count)
        .map(|index| {
            let mut value = vec![seed; size];
            value.extend_from_slice(&index.to_be_bytes());
            (keccak256(&value), Bytes::from(value))
        })
        .collect()
}

#[test]
fn node_engines_keep_what_they_were_given() {
    for engine in node_engines() {
        let directory = TempDir::new().unwrap();
        let store = (engine.open)(directory.path());
        let absent = keccak256("absent");
        assert_eq!(store.get(&absent).unwrap(), None, "{}", engine.name);
        assert_eq!(store.get_many(&[]).unwrap(), Vec::<Option<Bytes>>::new());
        store.put_batch(&[]).unwrap();

        // Sizes around embedding and long-value limits, an empty record, and one of a contract's size.
        let mut all = Vec::new();
        for size in [0, 1, 24, 36, 72, 25_000] {
            let batch = nodes(7, 5, size);
            store.put_batch(&batch).unwrap();
            // Visible before any flush, and again after a repeated write.
            store.put_batch(&batch[..2]).unwrap();
            all.extend(batch);
        }
        let empty = (keccak256([]), Bytes::new());
        store.put_batch(std::slice::from_ref(&empty)).unwrap();
        all.push(empty);
        let check = |store: &dyn TrieStore| {
            for (hash, node) in &all {
                assert_eq!(store.get(hash).unwrap().as_ref(), Some(node), "{}", engine.name);
            }
            let mut asked: Vec<B256> = all.iter().rev().map(|(hash, _)| *hash).collect();
            asked.insert(3, absent);
            let found = store.get_many(&asked).unwrap();
            assert_eq!(found.len(), asked.len());
            assert_eq!(found[3], None);
            assert_eq!(found[0].as_ref(), Some(&all[all.len() - 1].1));
            assert_eq!(found.iter().flatten().count(), all.len());
        };
        check(&*store);
        store.flush().unwrap();
        check(&*store);
        assert!(store.stats().reads > 0);
        if engine.durable {
            drop(store);
            check(&*(engine.open)(directory.path()));
        }
    }
}

#[test]
fn large_batches_take_the_way_around_the_log_and_are_durable() {
    let directory = TempDir::new().unwrap();
    let open = || RocksTrieStore::open(directory.path(), &RocksMemory::default()).unwrap();
    let large = nodes(1, 40_000, 500);
    let small = nodes(2, 10, 80);
    {
        let store = open();
        store.put_batch(&large).unwrap();
        store.put_batch(&small).unwrap();
        store.flush().unwrap();
    }
    let store = open();
    for (hash, node) in large.iter().step_by(97).chain(&small) {
        assert_eq!(store.get(hash).unwrap().as_ref(), Some(node));
    }
}

/// The database takes a table file over by a second name and then removes the first. A kill between the two leaves both.
#[test]
fn a_table_that_was_taken_over_is_not_written_over() {
    let directory = TempDir::new().unwrap();
    let open = || RocksTrieStore::open(directory.path(), &RocksMemory::default()).unwrap();
    // Above the size from which batches go around the log.
    let batch = |seed: u32, records: u32| -> Vec<(B256, Bytes)> {
        let record = |number: u32| Bytes::from([seed.to_be_bytes(), number.to_be_bytes()].concat().repeat(12));
        (0..records).map(|number| (keccak256(record(number)), record(number))).collect()
    };
    let (first, second) = (batch(1, 40_000), batch(2, 25_000));
    let tables = || -> Vec<std::path::PathBuf> {
        let files = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|ending| ending == "sst")).collect()
    };
    let store = open();
    store.put_batch(&first).unwrap();
    drop(store);
    let taken = tables();
    assert_eq!(taken.len(), 1, "the batch is one table: {taken:?}");
    std::fs::hard_link(&taken[0], directory.path().join("incoming.table")).unwrap();

    let store = open();
    store.put_batch(&second).unwrap();
    drop(store);
    let store = open();
    for (hash, record) in first.iter().chain(&second) {
        assert_eq!(store.get(hash).unwrap().as_ref(), Some(record));
    }
}

#[test]
fn node_engines_serve_readers_beside_a_writer() {
    for engine in node_engines() {
        let directory = TempDir::new().unwrap();
        let store = (engine.open)(directory.path());
        let first = nodes(3, 500, 60);
        store.put_batch(&first).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for (hash, node) in first.iter().cycle().take(5_000) {
                        assert_eq!(store.get(hash).unwrap().as_ref(), Some(node));
                    }
                });
            }
            for seed in 10..40 {
                store.put_batch(&nodes(seed, 100, 60)).unwrap();
                store.flush().unwrap();
            }
        });
    }
}

type Model = BTreeMap<(Column, Vec<u8>), Vec<u8>>;

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff)], 0..4)
}

fn operation() -> impl Strategy<Value = (usize, Vec<u8>, Option<Vec<u8>>)> {
    (0..Column::ALL.len(), key(), prop::option::weighted(0.7, prop::collection::vec(any::<u8>(), 0..5)))
}

fn check_range(store: &dyn KvStore, model: &Model, column: Column, from: &[u8], to: Option<&[u8]>, limit: usize) {
    let expected: Vec<(Vec<u8>, Bytes)> = model
        .iter()
        .filter(|((other, key), _)| {
            *other == column && key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to)
        })
        .map(|((_, key), value)| (key.clone(), Bytes::from(value.clone())))
        .take(limit)
        .collect();
    assert_eq!(store.range(column, from, to, limit).unwrap(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn data_engines_are_ordered_maps(batches in prop::collection::vec(prop::collection::vec(operation(), 1..20), 1..8), bounds in (key(), key())) {
        for engine in data_engines() {
            let directory = TempDir::new().unwrap();
            let mut store = (engine.open)(directory.path());
            let mut model = Model::new();
            for (round, operations) in batches.iter().enumerate() {
                let mut batch = WriteBatch::new();
                for (column, key, value) in operations {
                    let column = Column::ALL[*column];
                    match value {
                        Some(value) => {
                            batch.put(column, key.clone(), value.clone());
                            model.insert((column, key.clone()), value.clone());
                        }
                        None => {
                            batch.delete(column, key.clone());
                            model.remove(&(column, key.clone()));
                        }
                    }
                }
                store.write(batch).unwrap();
                if engine.durable && round == 2 {
                    drop(store);
                    store = (engine.open)(directory.path());
                }
                for (column, key, _) in operations {
                    let column = Column::ALL[*column];
                    let expected = model.get(&(column, key.clone())).cloned().map(Bytes::from);
                    prop_assert_eq!(store.get(column, key).unwrap(), expected, "{}", engine.name);
                    check_range(&*store, &model, column, key, None, 2);
                    check_range(&*store, &model, column, &bounds.0, Some(&bounds.1), usize::MAX);
                }
            }
        }
    }

    #[test]
    fn pending_layers_show_one_map(batches in prop::collection::vec(prop::collection::vec(operation(), 1..12), 1..8)) {
        // The engine below holds the first batches, the layer above the others, whatever they overwrite or delete.
        let below: Arc<dyn KvStore> = Arc::new(MemoryKv::new());
        let above = PendingKv::new(Arc::clone(&below));
        let mut model = Model::new();
        for (round, operations) in batches.iter().enumerate() {
            let mut batch = WriteBatch::new();
            for (column, key, value) in operations {
                let place = (Column::ALL[*column], key.clone());
                match value {
                    Some(value) => { batch.put(place.0, key.clone(), value.clone()); model.insert(place, value.clone()); }
                    None => { batch.delete(place.0, key.clone()); model.remove(&place); }
                }
            }
            if round < 3 { below.write(batch).unwrap() } else { above.write(batch).unwrap() }
        }
        for column in Column::ALL {
            for limit in [0, 1, 3, usize::MAX] {
                check_range(&above, &model, column, &[], None, limit);
                check_range(&above, &model, column, &[0], Some(&[1, 1]), limit);
            }
        }
    }
}
