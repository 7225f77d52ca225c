//! The slot protocol: how a writer places a record in the table and a reader finds it, over anything that holds slots.
//!
//! A slot holds a 40-bit heap offset, 23 bits of the key (the tag) and one bit that says that the tag does not decide. An empty
//! slot is zero; no record begins at offset zero. A key's probe begins at the position that its first bits name and goes
//! on, cyclically, to the first empty slot.
//!
//! The tag's bits follow the key's first 14, so they overlap with those that the position tells. In a table of 2^20 slots 17 of
//! them are news, in one of 2^27 ten, which is still enough to tell the slots of one probe apart; in return position and tag
//! together say where a record belongs in a table of another size ([`moved`]), so growing reads no record and hashes none.
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
const TAG_BITS: u32 = 23;
const TAG_MASK: u64 = ((1 << TAG_BITS) - 1) << OFFSET_BITS;

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

/// How many bits of a key precede the tag's, and how many of its first 64 follow them.
const PREFIX_BITS: u32 = 14;
const REST_BITS: u32 = 64 - PREFIX_BITS - TAG_BITS;

/// The tag bits of a key in their place in a slot.
#[inline]
fn tag(key: &Key) -> u64 {
    (head(key) >> REST_BITS) << OFFSET_BITS & TAG_MASK
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
    home_of(len, head(key))
}

#[inline]
fn home_of(len: usize, head: u64) -> usize {
    ((u128::from(head) * len as u128) >> 64) as usize
}

/// Where the probe begins, in a table of `to` slots, for the record of a slot at `position` of a table of `from` slots whose run of
/// filled slots began `steps` before. Nothing when position and tag leave more than one answer: then its hash has to be asked.
pub(crate) fn moved((from, to): (usize, usize), position: usize, steps: usize, slot: Slot) -> Option<usize> {
    // A run over the end of the table, and tables whose positions say less than the bits before the tag.
    let first = position.checked_sub(steps)?;
    if from < 1 << PREFIX_BITS {
        return None;
    }
    let prefix_at = |position: usize| ((position as u128) << PREFIX_BITS) / from as u128;
    let prefixes = prefix_at(first)..=(((position as u128 + 1) << PREFIX_BITS) - 1) / from as u128;
    if prefixes.end() - prefixes.start() > 4 {
        return None;
    }
    let tag = (slot.0 & TAG_MASK) >> OFFSET_BITS;
    let heads = |prefix: u128| {
        let low = (prefix as u64) << (TAG_BITS + REST_BITS) | tag << REST_BITS;
        (low, low | ((1 << REST_BITS) - 1))
    };
    // The record's own probe began inside the run, so one prefix at least fits.
    let mut fitting =
        prefixes.map(heads).filter(|(low, high)| home_of(from, *low) <= position && home_of(from, *high) >= first);
    let (low, high) = fitting.next()?;
    let (home, other) = (home_of(to, low), home_of(to, high));
    (fitting.next().is_none() && home == other).then_some(home)
}

/// Calls `each` with the position of every filled slot and the number of filled slots directly before it, as far back as the
/// table's begin. For tables that no writer uses at the moment.
pub(crate) fn walk<S: Slots, E>(slots: &S, mut each: impl FnMut(usize, usize, Slot) -> Result<(), E>) -> Result<(), E> {
    let mut steps = 0;
    // What is before the first slot is at the end of the table: a run that begins there is known only in part.
    let mut is_whole = slots.load(slots.len() - 1) == 0;
    for position in 0..slots.len() {
        match slots.load(position) {
            0 => (steps, is_whole) = (0, true),
            slot => {
                // More steps than there are positions before say that the run passes the begin.
                each(position, if is_whole { steps } else { position + 1 }, Slot(slot))?;
                steps += 1;
            }
        }
    }
    Ok(())
}

/// Puts the slot of another table at the first empty position from `home` on, and marks those with its tag that it passes. The
/// record must not be there. For a table that no one else uses. Nothing when every slot is filled.
pub(crate) fn put<S: Slots>(slots: &S, home: usize, slot: Slot, mut marked: impl FnMut()) -> Option<usize> {
    let len = slots.len();
    let new = slot.unmarked();
    (0..len).map(|step| after(len, home, step)).find(|position| {
        let found = slots.load(*position);
        if found == 0 {
            return slots.replace(*position, 0, new);
        }
        if found & TAG_MASK == new & TAG_MASK
            && found & AMBIGUOUS == 0
            && slots.replace(*position, found, found | AMBIGUOUS)
        {
            marked();
        }
        false
    })
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
            if slot.offset() == offset {
                // A writer that opens the store beside this reader was faster.
                return Ok(Placed::At(position));
            }
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
        key[3] = (seed % 3) as u8;
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
    fn a_move_to_another_size_needs_few_hashes_and_errs_never() {
        // Heads that crowd, for every third key of some tables, make runs long and tags repeat.
        for (from, to, records, crowded, most_asked) in [
            (1 << 20, 2 << 20, 700_000, false, 0.001),
            (1 << 20, 900 << 10, 730_000, false, 0.01),
            (500 * 512, 1_000 * 512, 179_000, false, 0.15),
            (1_000 * 512, 1_777 * 512, 350_000, true, 1.0),
            (1 << 14, 1 << 15, 11_000, false, 1.0),
            (1 << 12, 1 << 13, 2_800, true, 1.0),
        ] {
            if cfg!(miri) && from > 1 << 12 {
                continue;
            }
            let (table, other) = (Table::new(from), Table::new(to));
            let mut keys = Vec::with_capacity(records);
            for at in 0..records as u64 {
                let mut key = [0; 32];
                let head = match mix(1, at) {
                    head if crowded && at % 3 == 0 => head & 0xfff0_0000_ffff_ffff | (at % 7) << 36,
                    head => head,
                };
                key[..8].copy_from_slice(&head.to_be_bytes());
                key[8..16].copy_from_slice(&at.to_be_bytes());
                keys.push(key);
                let placed: Result<_, Infallible> = place(&table, &key, 4096 + at, |_| Ok(false), || ());
                assert!(matches!(placed, Ok(Placed::At(_))));
            }
            let key_of = |slot: Slot| &keys[slot.offset() as usize - 4096];
            let (mut asked, mut marks, mut moves) = (0, 0, 0);
            let result: Result<(), Infallible> = walk(&table, |position, steps, slot| {
                let expected = home(to, key_of(slot));
                let found = moved((from, to), position, steps, slot);
                assert!(found.is_none_or(|found| found == expected), "{found:?}, not {expected}, at {position}");
                asked += u64::from(found.is_none());
                assert!(put(&other, expected, slot, || marks += 1).is_some());
                moves += 1;
                Ok(())
            });
            assert_eq!((result, moves), (Ok(()), records));
            let share = asked as f64 / records as f64;
            println!("{from} to {to}: {share} asked for");
            assert!(share <= most_asked, "{from} to {to}: asked for {share}");
            for (at, key) in keys.iter().enumerate() {
                assert_eq!(first(&other, key, 4096 + at as u64), Some(4096 + at as u64));
            }
            let ambiguous = (0..to).filter(|at| Slot(other.load(*at)).ambiguous()).count();
            assert_eq!(ambiguous, marks);
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
