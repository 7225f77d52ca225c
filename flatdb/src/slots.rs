//! The slot protocol: how a writer places a record in the table and a reader finds it, over anything that holds slots.
//!
//! A slot holds a 40-bit heap offset, 23 bits of the key that its position does not use (the tag) and one bit that says that
//! the tag does not decide. An empty slot is zero; no record begins at offset zero. A key's probe begins at the position
//! that its first bits name and goes on, cyclically, to the first empty slot.
//!
//! What makes it right without locks:
//! - A slot is filled once, by compare-and-swap, and its offset and tag never change afterwards. So a writer passes filled
//!   slots only, and when it places its own, every slot before it on the probe is one that it has seen.
//! - Before a writer places a slot it has marked every slot with the same tag before it on the probe as ambiguous. So for a
//!   key whose record was placed, the first slot with its tag is its own or is ambiguous.
//! - A writer fills a slot after the record's bytes are in the heap, with release ordering; readers load with acquire.

use crate::digest::Key;

/// Bits of a heap offset.
pub(crate) const OFFSET_BITS: u32 = 40;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
const AMBIGUOUS: u64 = 1 << 63;
const TAG_MASK: u64 = ((1 << 23) - 1) << OFFSET_BITS;

/// A table of slots, two at least. Loads acquire, replacements acquire and release.
pub(crate) trait Slots {
    /// How many slots there are.
    fn len(&self) -> usize;

    /// The slot at a position.
    fn load(&self, position: usize) -> u64;

    /// Replaces a slot if it still is `old`, and tells whether it did.
    fn replace(&self, position: usize, old: u64, new: u64) -> bool;
}

/// One filled slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u64);

impl Slot {
    pub(crate) fn new(key: &Key, offset: u64) -> Self {
        Self(tag(key) | offset)
    }

    /// Where the record begins in the heap.
    #[inline]
    pub(crate) fn offset(self) -> u64 {
        self.0 & OFFSET_MASK
    }

    /// Whether the tag does not decide.
    #[inline]
    pub(crate) fn ambiguous(self) -> bool {
        self.0 & AMBIGUOUS != 0
    }

    #[inline]
    pub(crate) fn has_tag_of(self, key: &Key) -> bool {
        self.0 & TAG_MASK == tag(key)
    }

    /// The slot as it was placed.
    pub(crate) fn unmarked(self) -> u64 {
        self.0 & !AMBIGUOUS
    }
}

/// The tag bits of a key in their place in a slot: the low 23 bits of its bytes 8 to 10, which no position uses.
#[inline]
fn tag(key: &Key) -> u64 {
    (u64::from(key[8]) << 16 | u64::from(key[9]) << 8 | u64::from(key[10])) << OFFSET_BITS & TAG_MASK
}

/// The first eight bytes of a key as a number.
#[inline]
pub(crate) fn head(key: &Key) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *key;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The position where the probe for a key begins, in a table of `len` slots: the key's first 64 bits as a fraction of the
/// table.
#[inline]
pub(crate) fn home(len: usize, key: &Key) -> usize {
    ((u128::from(head(key)) * len as u128) >> 64) as usize
}

/// The position so many steps, fewer than there are slots, after another one.
#[inline]
fn after(len: usize, position: usize, steps: usize) -> usize {
    let next = position + steps;
    if next < len { next } else { next - len }
}

/// The filled slots with the key's tag, in probe order, each with its position.
#[inline]
pub(crate) fn candidates<'a, S: Slots>(slots: &'a S, key: &'a Key) -> impl Iterator<Item = (usize, Slot)> + 'a {
    let len = slots.len();
    let home = home(len, key);
    (0..len)
        .map(move |step| after(len, home, step))
        .map(|position| (position, slots.load(position)))
        .take_while(|(_, slot)| *slot != 0)
        .map(|(position, slot)| (position, Slot(slot)))
        .filter(|(_, slot)| slot.has_tag_of(key))
}

/// Whether a record with this key could have been placed at `position`: its tag is the slot's and its probe leads there.
pub(crate) fn belongs<S: Slots>(slots: &S, key: &Key, position: usize, slot: Slot) -> bool {
    let len = slots.len();
    let home = home(len, key);
    let steps = after(len, position, (len - home) % len);
    slot.has_tag_of(key) && (0..steps).all(|step| slots.load(after(len, home, step)) != 0)
}

/// What came of placing a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It is at this position.
    At(usize),
    /// The same record was there before.
    Known,
    /// Every slot is filled.
    Full,
}

/// Places the record at `offset` under its key. `same` says whether the record at another offset has the same bytes.
/// `marked` is called for each slot that became ambiguous.
pub(crate) fn place<S: Slots, E>(
    slots: &S,
    key: &Key,
    offset: u64,
    mut same: impl FnMut(u64) -> Result<bool, E>,
    mut marked: impl FnMut(),
) -> Result<Placed, E> {
    let len = slots.len();
    let new = Slot::new(key, offset);
    let mut position = home(len, key);
    for _ in 0..len {
        let mut found = slots.load(position);
        if found == 0 {
            if slots.replace(position, 0, new.0) {
                return Ok(Placed::At(position));
            }
            // Another writer was faster here; what it placed stays, so it is treated like any older slot.
            found = slots.load(position);
        }
        let slot = Slot(found);
        if slot.has_tag_of(key) {
            if same(slot.offset())? {
                return Ok(Placed::Known);
            }
            // When the replacement fails, another writer has set the same bit: nothing else of a filled slot changes.
            if !slot.ambiguous() && slots.replace(position, found, found | AMBIGUOUS) {
                marked();
            }
        }
        position = after(len, position, 1);
    }
    Ok(Placed::Full)
}

/// Marks every slot that shares its tag with another of the same run of filled slots, and returns how many slots are
/// marked then. A probe stays inside one run, so this marks at least what writers would have marked: after it, nothing
/// depends on the ambiguous bits that were there before. For tables that no writer uses at the moment.
pub(crate) fn mark_runs<S: Slots>(slots: &S) -> u64 {
    let len = slots.len();
    let Some(start) = (0..len).find(|position| slots.load(*position) == 0) else {
        // No writer fills a table, so this one is damaged: nothing in it decides.
        for position in 0..len {
            let slot = slots.load(position);
            slots.replace(position, slot, slot | AMBIGUOUS);
        }
        return len as u64;
    };
    let mut marked = 0;
    let mut run: Vec<(u64, usize)> = Vec::new();
    for step in 1..=len {
        let position = after(len, start, step % len);
        let slot = slots.load(position);
        if slot != 0 {
            run.push((slot & TAG_MASK, position));
            continue;
        }
        if run.len() > 1 {
            run.sort_unstable();
            for same in run.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
                for (_, position) in same {
                    let slot = slots.load(*position);
                    slots.replace(*position, slot, slot | AMBIGUOUS);
                    marked += 1;
                }
            }
        }
        run.clear();
    }
    marked
}

/// A mix of a position and a slot (the finaliser of SplitMix64 over both).
pub(crate) fn mix(position: u64, value: u64) -> u64 {
    let mut x = value ^ position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Table(Vec<AtomicU64>);

    impl Table {
        fn new(len: usize) -> Self {
            Self((0..len).map(|_| AtomicU64::new(0)).collect())
        }
    }

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

    /// Keys with few homes and tags; the last bytes tell them apart.
    fn key(seed: u64) -> Key {
        let mut key = [0; 32];
        key[0] = (seed % 5 * 60) as u8;
        key[10] = (seed % 3) as u8;
        key[24..].copy_from_slice(&seed.to_be_bytes());
        key
    }

    /// The first slot with the key's tag that is its own or that a reader may not believe.
    fn first(table: &Table, key: &Key, offset: u64) -> Option<u64> {
        candidates(table, key)
            .find(|(_, slot)| !slot.ambiguous() || slot.offset() == offset)
            .map(|(_, slot)| slot.offset())
    }

    #[test]
    fn the_first_unambiguous_candidate_of_a_placed_key_is_its_own() {
        let table = Table::new(250);
        let mut placed: BTreeMap<Key, u64> = BTreeMap::new();
        let mut marks = 0;
        // The check after each step is quadratic: fewer steps where an interpreter runs them.
        let records = if cfg!(miri) { 40 } else { 180_u64 };
        for seed in 0..records {
            let (key, offset) = (key(seed), 4096 + seed * 7);
            let result: Result<_, Infallible> = place(&table, &key, offset, |_| Ok(false), || marks += 1);
            assert!(matches!(result, Ok(Placed::At(_))));
            placed.insert(key, offset);
            for (key, offset) in &placed {
                assert_eq!(first(&table, key, *offset), Some(*offset));
                let (position, slot) =
                    candidates(&table, key).find(|(_, slot)| slot.offset() == *offset).expect("it is placed");
                assert!(belongs(&table, key, position, slot));
            }
        }
        let ambiguous =
            |table: &Table| (0..250).filter(|at| table.load(*at) != 0 && Slot(table.load(*at)).ambiguous()).count();
        assert_eq!(ambiguous(&table), marks);
        // Without the bits, marking by runs gives at least the same ones.
        let exact: Vec<u64> = (0..250).map(|at| table.load(at)).collect();
        for (at, slot) in exact.iter().enumerate() {
            table.0[at].store(Slot(*slot).unmarked(), Ordering::Relaxed);
        }
        let again = mark_runs(&table);
        assert_eq!(ambiguous(&table) as u64, again);
        for (at, slot) in exact.iter().enumerate() {
            assert_eq!(table.load(at) | *slot, table.load(at), "a mark is missing at {at}");
        }
    }

    #[test]
    fn a_full_table_says_so_and_equal_records_are_known() {
        let table = Table::new(4);
        for seed in 0..4_u64 {
            let placed: Result<_, Infallible> = place(&table, &key(seed), 100 + seed, |_| Ok(false), || ());
            assert!(matches!(placed, Ok(Placed::At(_))));
        }
        assert_eq!(place::<_, Infallible>(&table, &key(9), 200, |_| Ok(false), || ()), Ok(Placed::Full));
        assert_eq!(place::<_, Infallible>(&table, &key(3), 200, |other| Ok(other == 103), || ()), Ok(Placed::Known));
        assert_eq!(mark_runs(&table), 4, "in a full table nothing decides");
    }
}
