//! The protocols between threads, model-checked: slot publication, heap claims, the writers' gate, written-back pages.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p rhizome-flatdb --test loom_protocol` tries every order of steps that the
//! memory model allows. The modules are the store's own, over loom's atomics.
#![cfg(loom)]
#![allow(clippy::unwrap_used, missing_docs, dead_code, unused_imports, unreachable_pub)]

#[path = "../src/claim.rs"]
mod claim;
mod digest {
    pub(crate) type Key = [u8; 32];
}
#[path = "../src/dirty.rs"]
mod dirty;
#[path = "../src/gate.rs"]
mod gate;
#[path = "../src/slots.rs"]
mod slots;
#[path = "../src/sync.rs"]
mod sync;

use std::convert::Infallible;

use claim::End;
use digest::Key;
use dirty::Dirty;
use gate::{Gate, Poisoned};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use slots::{Placed, Slot, Slots};

/// Slots in loom's memory.
struct Table(Vec<AtomicU64>);

impl Slots for Table {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn load(&self, position: usize) -> u64 {
        self.0[position].load(Ordering::Acquire)
    }

    fn replace(&self, position: usize, old: u64, new: u64) -> bool {
        self.0[position].compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A store in little: a heap of words, a table, an end. Words are written without any ordering of their own, as bytes in a
/// file are.
struct Store {
    words: Vec<AtomicU64>,
    table: Table,
    end: End,
}

/// Where offsets begin, as in the real heap: no record is at zero.
const FIRST: u64 = 1;

impl Store {
    fn new() -> Self {
        Self {
            words: (0..6).map(|_| AtomicU64::new(0)).collect(),
            table: Table((0..4).map(|_| AtomicU64::new(0)).collect()),
            end: End::new(FIRST, FIRST + 5),
        }
    }

    /// Writes a record of one word, whose key it is.
    fn put(&self, key: &Key) -> Placed {
        let offset = self.end.claim(1).unwrap();
        self.words[offset as usize].store(word(key), Ordering::Relaxed);
        let same = |other| Ok::<_, Infallible>(self.word_at(other) == word(key));
        slots::place(&self.table, key, offset, same, || ()).unwrap()
    }

    /// What a reader finds that believes an unambiguous slot.
    fn get_known(&self, key: &Key) -> Option<u64> {
        for (_, slot) in slots::candidates(&self.table, key) {
            let found = self.word_at(slot.offset());
            if !slot.ambiguous() || found == word(key) {
                return Some(found);
            }
        }
        None
    }

    fn word_at(&self, offset: u64) -> u64 {
        assert!(offset < self.end.get(), "a slot points beyond the end");
        let word = self.words[offset as usize].load(Ordering::Relaxed);
        assert_ne!(word, 0, "a slot is seen before its record");
        word
    }
}

/// Keys with one home and one tag, told apart by their last byte.
fn key(number: u8) -> Key {
    let mut key = [0; 32];
    key[31] = number;
    key
}

fn word(key: &Key) -> u64 {
    u64::from(key[31])
}

#[test]
fn a_record_is_there_when_its_slot_is() {
    loom::model(|| {
        let store = Arc::new(Store::new());
        let writer = thread::spawn({
            let store = Arc::clone(&store);
            move || store.put(&key(1))
        });
        // Nothing tells the reader that the record exists: it finds all of it or nothing.
        assert!(store.get_known(&key(1)).is_none_or(|found| found == 1));
        assert!(matches!(writer.join().unwrap(), Placed::At(_)));
        assert_eq!(store.get_known(&key(1)), Some(1));
    });
}

#[test]
fn a_known_key_is_never_answered_with_its_twin() {
    loom::model(|| {
        let store = Arc::new(Store::new());
        let known = Arc::new(AtomicU64::new(0));
        let writers: Vec<_> = [1, 2]
            .map(|number| {
                let (store, known) = (Arc::clone(&store), Arc::clone(&known));
                thread::spawn(move || {
                    store.put(&key(number));
                    known.fetch_add(1 << (8 * number), Ordering::Release);
                })
            })
            .into();
        // Whoever was told that a record was written finds that record.
        let told = known.load(Ordering::Acquire);
        for number in [1, 2] {
            if told >> (8 * number) & 1 == 1 {
                assert_eq!(store.get_known(&key(number)), Some(u64::from(number)));
            }
        }
        for writer in writers {
            writer.join().unwrap();
        }
        for number in [1, 2] {
            assert_eq!(store.get_known(&key(number)), Some(u64::from(number)));
        }
        let ambiguous = (0..4).filter(|at| Slot(store.table.load(*at)).ambiguous()).count();
        assert_eq!(ambiguous, 1, "the earlier of the two slots, and only that");
    });
}

#[test]
fn writers_of_one_record_place_it_once() {
    loom::model(|| {
        let store = Arc::new(Store::new());
        let other = thread::spawn({
            let store = Arc::clone(&store);
            move || store.put(&key(1))
        });
        let mine = store.put(&key(1));
        let theirs = other.join().unwrap();
        assert!((mine == Placed::Known) != (theirs == Placed::Known), "{mine:?} {theirs:?}");
        assert_eq!((0..4).filter(|at| store.table.load(*at) != 0).count(), 1);
        assert_eq!(store.get_known(&key(1)), Some(1));
    });
}

#[test]
fn claims_do_not_overlap_and_stop_at_the_limit() {
    loom::model(|| {
        let end = Arc::new(End::new(10, 15));
        let other = thread::spawn({
            let end = Arc::clone(&end);
            move || (end.claim(2), end.claim(2))
        });
        let mine = end.claim(2);
        let (first, second) = other.join().unwrap();
        let mut starts: Vec<u64> = [mine, first, second].into_iter().filter_map(Result::ok).collect();
        starts.sort_unstable();
        assert_eq!(starts, [10, 12], "one of three does not fit");
        assert_eq!(end.get(), 14);
    });
}

#[test]
fn a_cut_never_counts_a_batch_that_failed() {
    loom::model(|| {
        let gate = Arc::new(Gate::new());
        let end = Arc::new(AtomicU64::new(0));
        let written = Arc::new(AtomicU64::new(0));
        let writer = thread::spawn({
            let (gate, end) = (Arc::clone(&gate), Arc::clone(&end));
            move || {
                // Claims its space, fails to write it.
                let inside = gate.enter();
                end.store(1, Ordering::Relaxed);
                gate.poison();
                drop(inside);
            }
        });
        match gate.enter_alone() {
            Ok(_alone) => {
                assert_eq!(end.load(Ordering::Relaxed), written.load(Ordering::Relaxed), "the cut has a hole")
            }
            Err(Poisoned) => assert!(gate.is_poisoned()),
        }
        writer.join().unwrap();
        assert!(gate.enter().is_err());
        assert!(gate.enter_alone().is_err());
    });
}

#[test]
fn what_is_placed_before_a_cut_is_written_back() {
    loom::model(|| {
        let gate = Arc::new(Gate::new());
        let slot = Arc::new(AtomicU64::new(0));
        let dirty = Arc::new(Dirty::new(512));
        let writer = thread::spawn({
            let (gate, slot, dirty) = (Arc::clone(&gate), Arc::clone(&slot), Arc::clone(&dirty));
            move || {
                for value in [1, 2] {
                    let _inside = gate.enter().unwrap();
                    slot.store(value, Ordering::Release);
                    dirty.mark(0);
                }
            }
        });
        let mut file = 0;
        for _ in 0..2 {
            // The cut sees what is placed; the pages are taken and read after it, beside the writer.
            let counted = {
                let _alone = gate.enter_alone().unwrap();
                slot.load(Ordering::Acquire)
            };
            if !dirty.take().is_empty() {
                file = slot.load(Ordering::Acquire);
            }
            assert!(file >= counted, "{counted} is counted, the file has {file}");
        }
        writer.join().unwrap();
    });
}
