//! Iteration order of a Java 17 `HashSet`, which decides until RSKIP-559 which confirmed release comes first.
//!
//! A table of buckets, its size a power of two, doubled when it is three quarters full; inside a bucket insertion order, which
//! doubling keeps. Nine entries in one bucket of a small table double it too. In a table of 64 and more they would become a
//! tree with an order of its own, partly by memory addresses: that is not rebuilt, [`JavaSet::order`] refuses.

/// Places of entries in a set; the entries are the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaSet {
    buckets: Vec<Vec<Slot>>,
    size: usize,
    has_tree: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    hash: u32,
    entry: usize,
}

/// The set holds a bucket that Java would have made a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many entries with one hash: their order in rskj depends on memory addresses")]
pub struct OrderUnknown;

const DEFAULT_CAPACITY: usize = 16;
const TREEIFY_THRESHOLD: usize = 8;
const MIN_TREE_CAPACITY: usize = 64;

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
        Self { buckets: vec![Vec::new(); capacity], size: 0, has_tree: false }
    }

    fn bucket(&self, hash: u32) -> usize {
        (hash ^ (hash >> 16)) as usize & (self.buckets.len() - 1)
    }

    /// Adds an entry that the set does not hold yet. `hash` is its `hashCode`.
    pub fn insert(&mut self, hash: i32, entry: usize) {
        let hash = hash as u32;
        let at = self.bucket(hash);
        let bucket = &mut self.buckets[at];
        bucket.push(Slot { hash, entry });
        if bucket.len() > TREEIFY_THRESHOLD {
            if self.buckets.len() < MIN_TREE_CAPACITY {
                self.double();
            } else {
                self.has_tree = true;
            }
        }
        self.size += 1;
        if self.size > self.buckets.len() / 4 * 3 {
            self.double();
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, hash: i32, entry: usize) {
        let at = self.bucket(hash as u32);
        let before = self.buckets[at].len();
        self.buckets[at].retain(|slot| slot.entry != entry);
        self.size -= before - self.buckets[at].len();
    }

    /// Entries with this hash.
    pub fn with_hash(&self, hash: i32) -> impl Iterator<Item = usize> + '_ {
        let hash = hash as u32;
        self.buckets[self.bucket(hash)].iter().filter(move |slot| slot.hash == hash).map(|slot| slot.entry)
    }

    /// The entries as the set is walked.
    pub fn order(&self) -> Result<impl Iterator<Item = usize> + '_, OrderUnknown> {
        if self.has_tree { Err(OrderUnknown) } else { Ok(self.unordered()) }
    }

    /// The entries where their order does not matter.
    pub fn unordered(&self) -> impl Iterator<Item = usize> + '_ {
        self.buckets.iter().flatten().map(|slot| slot.entry)
    }

    fn double(&mut self) {
        let old = std::mem::take(&mut self.buckets);
        self.buckets = vec![Vec::new(); old.len() * 2];
        for slot in old.into_iter().flatten() {
            let at = self.bucket(slot.hash);
            self.buckets[at].push(slot);
        }
    }
}

impl Default for JavaSet {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_by_bucket_then_by_insertion() {
        let mut set = JavaSet::new();
        for (entry, hash) in [17, 1, 0x0001_0000, 16].into_iter().enumerate() {
            set.insert(hash, entry);
        }
        assert_eq!(set.order().unwrap().collect::<Vec<_>>(), [3, 0, 1, 2]);
        set.remove(1, 1);
        assert_eq!(set.order().unwrap().collect::<Vec<_>>(), [3, 0, 2]);
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

    #[test]
    fn a_tree_is_refused() {
        let mut set = JavaSet::new();
        (0..12).for_each(|entry| set.insert(0, entry));
        assert_eq!(set.order().err(), Some(OrderUnknown));
    }
}
