//! Iteration order of a Java 17 `HashSet`, which decides until RSKIP-559 which confirmed release comes first.
//!
//! A table of buckets, its size a power of two, doubled when it is three quarters full; inside a bucket insertion order, which
//! doubling keeps. Nine entries in one bucket of a small table double it too; in a table of 64 and more they become a tree
//! with an order of its own. Among entries of one hash in a tree that order may depend on memory addresses:
//! [`JavaSet::order`] refuses where it does.

mod bucket;
mod ties;
mod tree;

use bucket::Bucket;

/// Places of entries in a set; the entries are the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaSet {
    buckets: Vec<Bucket>,
    size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    /// The hash as Java's table uses it, with its upper half mixed into the lower.
    hash: i32,
    entry: usize,
}

impl Slot {
    fn new(hash: i32, entry: usize) -> Self {
        Slot { hash: spread(hash), entry }
    }
}

fn spread(hash: i32) -> i32 {
    hash ^ (hash as u32 >> 16) as i32
}

/// Entries of one hash lie in a tree in an order that Java takes from memory addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an order that hashes decide; it depends on memory addresses in rskj: equal hashes in one tree of its set"
)]
pub struct OrderUnknown;

const DEFAULT_CAPACITY: usize = 16;
const TREEIFY_THRESHOLD: usize = 8;
const UNTREEIFY_THRESHOLD: usize = 6;
const MIN_TREE_CAPACITY: usize = 64;
/// Shapes of a bucket that are followed; with more its order counts as unknown.
const MAX_SHAPES: usize = 32;

impl JavaSet {
    /// `new HashSet<>(16, 0.75f)`.
    pub fn new() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }

    /// The set that a copy of a collection of this size starts as.
    pub fn for_copy(size: usize) -> Self {
        Self::with_capacity((size * 4 / 3 + 1).max(DEFAULT_CAPACITY).next_power_of_two())
    }

    fn with_capacity(capacity: usize) -> Self {
        Self { buckets: vec![Bucket::default(); capacity], size: 0 }
    }

    fn place(&self, hash: i32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Adds an entry that the set does not hold yet. `hash` is its `hashCode`.
    pub fn insert(&mut self, hash: i32, entry: usize) {
        let slot = Slot::new(hash, entry);
        let place = self.place(slot.hash);
        let trees = self.buckets.len() >= MIN_TREE_CAPACITY;
        self.buckets[place].insert(slot, trees);
        if !trees && self.buckets[place].len() > TREEIFY_THRESHOLD {
            self.double();
        }
        self.size += 1;
        if self.size > self.buckets.len() / 4 * 3 {
            self.double();
        }
    }

    /// Removes an entry that is in. `hash` is its `hashCode`.
    pub fn remove(&mut self, hash: i32, entry: usize) {
        let place = self.place(spread(hash));
        let before = self.buckets[place].len();
        self.buckets[place].remove(entry);
        self.size -= before - self.buckets[place].len();
    }

    /// Entries with this hash.
    pub fn with_hash(&self, hash: i32) -> impl Iterator<Item = usize> + '_ {
        let hash = spread(hash);
        self.buckets[self.place(hash)].slots().filter(move |slot| slot.hash == hash).map(|slot| slot.entry)
    }

    /// The entries as the set is walked, up to the first bucket whose order is unknown.
    pub fn order(&self) -> impl Iterator<Item = Result<usize, OrderUnknown>> + '_ {
        self.buckets.iter().flat_map(|bucket| {
            let known = bucket.is_order_known();
            bucket.slots().map(move |slot| if known { Ok(slot.entry) } else { Err(OrderUnknown) })
        })
    }

    /// The entries where their order does not matter; where it is known they come in it.
    pub fn unordered(&self) -> impl Iterator<Item = usize> + '_ {
        self.buckets.iter().flat_map(Bucket::slots).map(|slot| slot.entry)
    }

    fn double(&mut self) {
        let size = self.buckets.len();
        let (lower, upper): (Vec<_>, Vec<_>) =
            self.buckets.iter().map(|bucket| bucket.split(size)).map(|[lower, upper]| (lower, upper)).unzip();
        self.buckets = lower;
        self.buckets.extend(upper);
    }
}

impl Default for JavaSet {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn order(set: &JavaSet) -> Vec<usize> {
        set.order().map(Result::unwrap).collect()
    }

    #[test]
    fn order_is_by_bucket_then_by_insertion() {
        let mut set = JavaSet::new();
        for (entry, hash) in [17, 1, 0x0001_0000, 16].into_iter().enumerate() {
            set.insert(hash, entry);
        }
        assert_eq!(order(&set), [3, 0, 1, 2]);
        set.remove(1, 1);
        assert_eq!(order(&set), [3, 0, 2]);
    }

    #[test]
    fn doubles_beyond_three_quarters() {
        let mut set = JavaSet::new();
        (0..13).for_each(|entry| set.insert(entry as i32 * 16, entry));
        assert_eq!(set.buckets.len(), 32); // at the ninth entry of one bucket
        let mut set = JavaSet::new();
        (0..13).for_each(|entry| set.insert(entry as i32, entry));
        assert_eq!(set.buckets.len(), 32);
    }

    /// Mostly one bucket of 64 or more: trees that grow, shrink, split and turn into lists again.
    #[test]
    fn orders_are_those_of_java() {
        for case in include_str!("orders.txt").lines().skip(1) {
            let (steps, expected) = case.split_once('=').unwrap();
            let (mut set, mut hashes) = (JavaSet::new(), Vec::new());
            for step in steps.split_whitespace() {
                if step == "copy" {
                    let entries = order(&set);
                    set = JavaSet::for_copy(entries.len());
                    entries.into_iter().for_each(|entry| set.insert(hashes[entry], entry));
                } else if let Some(entry) = step.strip_prefix('x') {
                    let entry: usize = entry.parse().unwrap();
                    set.remove(hashes[entry], entry);
                } else {
                    let hash = step.parse().unwrap();
                    set.insert(hash, hashes.len());
                    hashes.push(hash);
                }
            }
            let expected: Vec<usize> = expected.split_whitespace().map(|entry| entry.parse().unwrap()).collect();
            assert_eq!(order(&set), expected, "{steps}");
            assert_eq!(set.unordered().collect::<Vec<_>>(), expected);
            assert_eq!(set.size, expected.len());
        }
    }

    #[test]
    fn addresses_in_a_tree_are_refused_where_they_matter() {
        // Ten entries of one hash are still a list.
        let mut set = JavaSet::new();
        (0..10).for_each(|entry| set.insert(0, entry));
        assert_eq!(order(&set), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        set.insert(0, 10);
        assert_eq!(set.order().find_map(Result::err), Some(OrderUnknown));
        assert_eq!(set.unordered().count(), 11);
        (0..11).for_each(|entry| set.remove(0, entry));
        assert_eq!(set.order().count(), 0);
        // A second entry below its equal comes behind it, left or right.
        let mut set = JavaSet::new();
        (0..11).for_each(|entry| set.insert(entry as i32 * 64, entry));
        set.insert(10 * 64, 11);
        assert_eq!(order(&set), [3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    }
}
