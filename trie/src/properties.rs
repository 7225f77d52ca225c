//! Properties that hold for any changes: the tree against a sorted map and against a second, naive way to the root.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{B256, Bytes, keccak256};
use proptest::prelude::*;

use crate::bits::Bits;
use crate::codec::{ChildView, EMPTY_ROOT, NodeError, ValueView, encode_into};
use crate::draft::operations;
use crate::{ChangeSet, MemoryTrieStore, Trie, TrieError, TrieKey, ordered_root};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A node as the naive way sees it.
struct Naive {
    message: Vec<u8>,
    terminal: bool,
    size: u64,
}

/// Builds the node of values that share their bits above `depth`, all by the book and one at a time.
fn naive(items: &[(&[u8], &[u8])], depth: usize) -> Option<Naive> {
    let (first, last) = (items.first()?, items.last()?);
    let bits = Bits::of_key(first.0).from(depth);
    let common = bits.common_prefix(&Bits::of_key(last.0).from(depth));
    let end = depth + common;
    let (own, rest) = if first.0.len() * 8 == end { (Some(first.1), &items[1..]) } else { (None, items) };
    let middle = rest.partition_point(|(key, _)| !Bits::of_key(key).get(end));
    let below = [naive(&rest[..middle], end + 1), naive(&rest[middle..], end + 1)];
    let children_size = below.iter().flatten().map(|child| child.size).sum();
    let hashes = [0, 1].map(|side| below[side].as_ref().map_or(B256::ZERO, |child| keccak256(&child.message)));
    let children = [0, 1].map(|side| match &below[side] {
        None => ChildView::Empty,
        Some(child) if child.terminal && child.message.len() <= 44 => ChildView::Embedded(&child.message),
        Some(_) => ChildView::Hash(&hashes[side]),
    });
    let hash = own.map(keccak256).unwrap_or_default();
    let (value, apart) = match own {
        None => (ValueView::None, 0),
        Some(value) if value.len() > 32 => {
            (ValueView::Long { hash: &hash, len: value.len() as u32 }, value.len() as u64)
        }
        Some(value) => (ValueView::Short(value), 0),
    };
    let mut message = Vec::new();
    encode_into(&mut message, bits.to(common), children, children_size, value);
    let size = message.len() as u64 + apart + children_size;
    Some(Naive { message, terminal: below.iter().all(Option::is_none), size })
}

fn naive_root(model: &Model) -> B256 {
    let items: Vec<(&[u8], &[u8])> = model.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
    naive(&items, 0).map_or(EMPTY_ROOT, |root| keccak256(&root.message))
}

#[derive(Clone, Debug)]
struct Changes {
    deletes: Vec<Vec<u8>>,
    puts: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Changes {
    fn set(&self) -> ChangeSet {
        let deletes = self.deletes.iter().map(|key| TrieKey::new(key)).collect();
        let puts =
            self.puts.iter().map(|(key, value)| (TrieKey::new(key), Some(Bytes::copy_from_slice(value)))).collect();
        ChangeSet::from_parts(deletes, puts)
    }

    fn apply_to(&self, model: &mut Model) {
        // Which deletes have a value to find is decided before any of them: none can hide another's value but with its own.
        let found: Vec<&Vec<u8>> = self.deletes.iter().filter(|key| model.contains_key(*key)).collect();
        for key in found {
            model.retain(|other, _| !other.starts_with(key));
        }
        for (key, value) in &self.puts {
            if value.is_empty() {
                let _ = model.remove(key);
            } else {
                let _ = model.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Keys that often share long prefixes or are prefixes of each other.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0x80), Just(0xff)], 0..5),
        2 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (any::<u8>(), 20..60usize).prop_map(|(byte, len)| { let mut key = vec![0; len]; key[len - 1] = byte; key }),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => Just(Vec::new()),
        5 => prop::collection::vec(any::<u8>(), 1..8),
        4 => prop::collection::vec(any::<u8>(), 28..48),
        1 => prop::collection::vec(any::<u8>(), 100..300),
    ]
}

fn changes(most: usize) -> impl Strategy<Value = Changes> {
    (prop::collection::vec(key(), 0..3), prop::collection::vec((key(), value()), 0..most))
        .prop_map(|(deletes, puts)| Changes { deletes, puts })
}

fn empty() -> Trie {
    Trie::empty(Arc::new(MemoryTrieStore::new()))
}

fn sorted(trie: &Trie) -> Vec<(B256, Bytes)> {
    let mut records = trie.commit().into_records();
    records.sort();
    records
}

fn holds(trie: &Trie, model: &Model) -> Result<(), TestCaseError> {
    let pairs: Result<Model, TrieError> =
        trie.iter_values().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect();
    prop_assert_eq!(&pairs.unwrap(), model);
    let keys: Vec<&Vec<u8>> = model.keys().collect();
    let values: Vec<Option<Bytes>> = model.values().map(|value| Some(Bytes::copy_from_slice(value))).collect();
    prop_assert_eq!(&trie.get_many(&keys).unwrap(), &values);
    for (key, value) in keys.iter().zip(values) {
        prop_assert_eq!(trie.value_len(key).unwrap(), value.as_ref().map(|value| value.len() as u32));
        prop_assert_eq!(trie.value_hash(key).unwrap(), value.as_ref().map(keccak256));
        prop_assert_eq!(trie.get(key).unwrap(), value);
        let proof = trie.proof(key).unwrap().unwrap();
        prop_assert!(crate::verify_proof(&trie.root_hash(), key, &proof).is_ok());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_way_leads_to_the_same_root(steps in prop::collection::vec(changes(14), 1..7), unwind in any::<prop::sample::Index>()) {
        let mut versions = vec![(empty(), Model::new())];
        let twin_store = Arc::new(MemoryTrieStore::new());
        let mut parallel = Trie::empty(Arc::clone(&twin_store) as Arc<dyn crate::TrieStore>);
        for (at, step) in steps.iter().enumerate() {
            let (trie, mut model) = versions[versions.len() - 1].clone();
            step.apply_to(&mut model);
            let set = step.set();
            let next = trie.apply_serial(&set).unwrap();
            prop_assert_eq!(next.root_hash(), naive_root(&model));

            // One change at a time.
            let mut single = trie.clone();
            for key in set.deletes() {
                single = single.delete_recursive(key).unwrap();
            }
            for (key, value) in set.puts() {
                single = single.put(key, value.clone()).unwrap();
            }
            prop_assert_eq!(single.root_hash(), next.root_hash());

            // Both sides of every node on threads of their own: the same records.
            parallel = parallel.apply_ops(&operations(&set).unwrap(), 1).unwrap();
            prop_assert_eq!(parallel.root_hash(), next.root_hash());
            // The single steps have taken over what was new before them; they hand nothing out, so it is all still here.
            let records = sorted(&parallel);
            prop_assert_eq!(&records, &sorted(&next));
            twin_store_put(&twin_store, &records);
            next.store().put_batch(&records).unwrap();
            prop_assert!(!next.has_unsaved());

            // What was written is the whole tree; keeping less of it in memory changes nothing.
            let again = Trie::open(next.root_hash(), Arc::clone(next.store())).unwrap();
            holds(&again, &model)?;
            holds(&next, &model)?;
            if at % 2 == 1 {
                parallel = parallel.prune(at * 300);
            }
            prop_assert_eq!(again.node_count().unwrap(), next.node_count().unwrap());
            prop_assert_eq!(again.orchid_root_hash(true).unwrap(), next.orchid_root_hash(true).unwrap());
            versions.push((next, model));
        }
        // Back to an earlier version, and forth again with the last changes.
        let (trie, mut model) = versions[unwind.index(versions.len())].clone();
        holds(&trie, &model)?;
        let last = &steps[steps.len() - 1];
        last.apply_to(&mut model);
        prop_assert_eq!(trie.apply(&last.set()).unwrap().root_hash(), naive_root(&model));
    }

    #[test]
    fn large_sets_agree_on_any_number_of_threads(first in changes(600), second in changes(600)) {
        let mut model = Model::new();
        first.apply_to(&mut model);
        let base = empty().apply(&first.set()).unwrap();
        prop_assert_eq!(base.root_hash(), naive_root(&model));
        second.apply_to(&mut model);
        let set = second.set();
        let _ = base.commit();
        let serial = base.apply_serial(&set).unwrap();
        prop_assert_eq!(serial.root_hash(), naive_root(&model));
        let records = sorted(&serial);
        for threshold in [1, 8, 64] {
            let parallel = base.apply_ops(&operations(&set).unwrap(), threshold).unwrap();
            prop_assert_eq!(parallel.root_hash(), serial.root_hash());
            prop_assert_eq!(&sorted(&parallel), &records);
        }
    }

    #[test]
    fn keys_under_a_prefix_are_those_of_the_map(set in changes(60), prefix in key()) {
        let mut model = Model::new();
        set.apply_to(&mut model);
        let trie = empty().apply(&set.set()).unwrap();
        let expected: Vec<TrieKey> =
            model.keys().filter(|key| key.starts_with(&prefix)).map(|key| TrieKey::new(key)).collect();
        prop_assert_eq!(&trie.keys_under(&prefix).unwrap(), &expected);
        let keys: Vec<TrieKey> = trie.iter_values_under(&prefix).unwrap().map(|pair| pair.unwrap().0).collect();
        prop_assert_eq!(keys, expected);
    }

    #[test]
    fn the_root_of_a_list_is_that_of_its_tree(items in prop::collection::vec(value(), 0..300)) {
        let puts = items.iter().enumerate()
            .map(|(index, item)| (TrieKey::new(&crate::index_key(index)), Some(Bytes::copy_from_slice(item))))
            .collect();
        let trie = empty().apply(&ChangeSet::from_parts(Vec::new(), puts)).unwrap();
        prop_assert_eq!(ordered_root(items.iter().map(Vec::as_slice), false), trie.root_hash());
        prop_assert_eq!(ordered_root(items.iter().map(Vec::as_slice), true), trie.orchid_root_hash(false).unwrap());
    }

    #[test]
    fn any_bytes_as_a_record_give_a_node_or_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..120), flags in any::<u8>()) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = flags;
        }
        let store = Arc::new(MemoryTrieStore::new());
        let hash = keccak256(&bytes);
        crate::TrieStore::put_batch(&*store, &[(hash, bytes.clone().into())]).unwrap();
        if let Ok(trie) = Trie::open(hash, store) {
            prop_assert_eq!(trie.root_message(), bytes.as_slice());
            for key in [&[][..], &[0], &[0xff], &[0; 40]] {
                let _ = trie.get(key);
                let _ = trie.proof(key);
                let _ = trie.put(key, Some(Bytes::from_static(b"x")));
                let _ = trie.delete_recursive(key);
            }
            let _ = trie.iter_values().count();
            let _ = trie.orchid_root_hash(true);
            let _ = crate::verify_proof(&hash, &[], &[bytes.into()]);
        }
    }
}

fn twin_store_put(store: &MemoryTrieStore, records: &[(B256, Bytes)]) {
    crate::TrieStore::put_batch(store, records).unwrap();
}

/// A tree in a store, none of it in memory, and one key of it.
fn stored() -> (Trie, Arc<MemoryTrieStore>, Vec<u8>) {
    let store = Arc::new(MemoryTrieStore::new());
    let mut changes = ChangeSet::builder();
    for number in 0u32..500 {
        let key = keccak256(number.to_be_bytes());
        changes.put(TrieKey::new(key.as_slice()), Some(Bytes::copy_from_slice(&[7; 40])));
    }
    let trie = Trie::empty(Arc::clone(&store) as Arc<dyn crate::TrieStore>).apply(&changes.build()).unwrap();
    trie.save().unwrap();
    let trie = Trie::open(trie.root_hash(), Arc::clone(trie.store())).unwrap();
    (trie, store, keccak256(3u32.to_be_bytes()).to_vec())
}

#[test]
fn a_missing_node_is_a_fault_and_never_an_absent_key() {
    let (trie, store, key) = stored();
    let proof = trie.proof(&key).unwrap().unwrap();
    let gone = keccak256(&proof[1]);
    let trie = Trie::open(trie.root_hash(), Arc::clone(trie.store())).unwrap();
    let record = store.remove(&gone).unwrap();
    let missing = |error: TrieError| matches!(error, TrieError::MissingNode { hash } if hash == gone);
    assert!(missing(trie.get(&key).unwrap_err()));
    assert!(missing(trie.get_many(&[&key]).unwrap_err()));
    assert!(missing(trie.proof(&key).unwrap_err()));
    assert!(missing(trie.put(&key, Some(Bytes::from_static(b"x"))).unwrap_err()));
    assert!(missing(trie.delete(&key).unwrap_err()));
    assert!(missing(trie.node_count().unwrap_err()));
    assert!(missing(trie.orchid_root_hash(false).unwrap_err()));
    assert!(missing(trie.keys_under(&key).unwrap_err()));
    assert!(matches!(Trie::open(B256::repeat_byte(1), store.clone()), Err(TrieError::MissingNode { .. })));
    // The fault is not remembered.
    crate::TrieStore::put_batch(&*store, &[(gone, record)]).unwrap();
    assert_eq!(trie.get(&key).unwrap().map(|value| value.len()), Some(40));
}

#[test]
fn a_missing_long_value_is_a_fault_but_its_length_and_hash_are_known() {
    let (trie, store, key) = stored();
    let hash = keccak256([7; 40]);
    assert!(store.remove(&hash).is_some());
    assert_eq!(trie.value_len(&key).unwrap(), Some(40));
    assert_eq!(trie.value_hash(&key).unwrap(), Some(hash));
    assert!(matches!(trie.get(&key), Err(TrieError::MissingValue { length: 40, .. })));
    crate::TrieStore::put_batch(&*store, &[(hash, Bytes::from_static(&[7; 39]))]).unwrap();
    assert!(matches!(trie.get(&key), Err(TrieError::MissingValue { length: 40, .. })));
}

#[test]
fn a_record_that_is_no_node_is_a_fault() {
    let mut long_in_place = vec![0x50, 7, 1];
    long_in_place.extend([9; 33]);
    let mut long_embedded = vec![0x4a, 45, 0x50, 0x20 + 72];
    long_embedded.extend([1; 43]);
    long_embedded.push(45);
    let mut short_by_hash = vec![0x70, 7, 1];
    short_by_hash.extend([9; 32]);
    short_by_hash.extend([0, 0, 32]);
    for (record, reason) in [
        (&long_in_place[..], NodeError::LongInPlace { got: 33 }),
        (&long_embedded, NodeError::EmbeddedLength { got: 45 }),
        (&short_by_hash, NodeError::ShortByHash { got: 32 }),
        (&[], NodeError::Truncated { expected: 1, got: 0 }),
        (&[0x40], NodeError::Empty),
        (&[0x02, 0, 0, 0, 0, 0], NodeError::OldForm),
        (&[0x4a, 2, 0x48, 1], NodeError::Truncated { expected: 1, got: 0 }),
        (&[0x4a, 1, 0x40, 1], NodeError::Empty),
        (&[0x4a, 5, 0x4a, 1, 0x40, 1, 9, 1], NodeError::EmbeddedChildren),
        (&[0x50, 255, 255, 0, 0, 0, 0x80, 0, 0, 0, 0], NodeError::PathLength { got: 0x8000_0000 }),
    ] {
        let store = Arc::new(MemoryTrieStore::new());
        let hash = keccak256(record);
        crate::TrieStore::put_batch(&*store, &[(hash, Bytes::copy_from_slice(record))]).unwrap();
        match Trie::open(hash, store) {
            Err(TrieError::Corrupt { reason: found, .. }) => assert_eq!(found, reason),
            other => panic!("{record:?}: {other:?}"),
        }
    }
}

#[test]
fn a_root_is_believed_only_if_its_record_has_its_hash() {
    // A store that keeps no keys may answer a hash that was never written with another record.
    let (trie, store, _) = stored();
    let record = crate::TrieStore::get(&*store, &trie.root_hash()).unwrap().unwrap();
    let absent = B256::repeat_byte(3);
    crate::TrieStore::put_batch(&*store, &[(absent, record)]).unwrap();
    assert!(matches!(Trie::open(absent, store.clone()), Err(TrieError::MissingNode { hash }) if hash == absent));
    assert_eq!(Trie::open(trie.root_hash(), store).unwrap().root_hash(), trie.root_hash());
}

#[test]
fn deleting_reads_the_sibling_that_joins_and_no_other() {
    let (trie, store, key) = stored();
    let _ = trie.get(&key).unwrap();
    let before = crate::TrieStore::stats(&*store).reads;
    let _ = trie.put(&key, Some(Bytes::from_static(b"short"))).unwrap();
    assert_eq!(crate::TrieStore::stats(&*store).reads, before);
    let _ = trie.delete(&key).unwrap();
    assert_eq!(crate::TrieStore::stats(&*store).reads, before + 1);
}

#[test]
fn pruning_keeps_to_the_budget_and_to_what_was_touched() {
    let (trie, store, key) = stored();
    let _ = trie.get_many(&(0u32..500).map(|number| keccak256(number.to_be_bytes())).collect::<Vec<_>>()).unwrap();
    let full = trie.loaded_bytes();
    let next = trie.put(b"new", Some(Bytes::from_static(b"value"))).unwrap();
    assert_eq!(next.prune(0).loaded_bytes(), next.loaded_bytes(), "new nodes are not in the store");
    next.save().unwrap();
    let _ = next.get(&key).unwrap();
    let pruned = next.prune(full / 4);
    assert!(pruned.loaded_bytes() <= full / 4);
    let before = crate::TrieStore::stats(&*store).reads;
    let _ = pruned.find(&key).unwrap();
    assert_eq!(crate::TrieStore::stats(&*store).reads, before, "what was touched last is kept");
    assert_eq!(pruned.root_hash(), next.root_hash());
    assert_eq!(pruned.node_count().unwrap(), next.node_count().unwrap());
    let bare = pruned.prune(0);
    assert_eq!(bare.get(b"new").unwrap(), Some(Bytes::from_static(b"value")));
}

#[test]
fn a_long_chain_of_unsaved_versions_can_be_dropped_and_taken() {
    let mut trie = empty();
    for number in 0u32..20_000 {
        trie = trie.put(&number.to_be_bytes(), Some(Bytes::from_static(b"x"))).unwrap();
    }
    let copy = trie.put(b"y", Some(Bytes::from_static(b"y"))).unwrap();
    assert!(copy.commit().len() > 20_000);
    assert!(trie.commit().is_empty());
    for number in 0u32..20_000 {
        trie = trie.put(&number.to_be_bytes(), None).unwrap();
    }
    assert!(trie.is_empty());
    drop(trie);
}

#[test]
fn a_value_that_is_too_long_changes_nothing() {
    let trie = empty();
    let value = Bytes::from(vec![1; 1 << 24]);
    assert!(matches!(trie.put(b"k", Some(value)), Err(TrieError::ValueTooLong { .. })));
    let longest = Bytes::from(vec![1; (1 << 24) - 1]);
    let next = trie.put(b"k", Some(longest.clone())).unwrap();
    next.save().unwrap();
    let again = Trie::open(next.root_hash(), Arc::clone(next.store())).unwrap();
    assert_eq!(again.get(b"k").unwrap(), Some(longest));
}
