//! What a block does to the state, ready for one descent: keys in order, one change each.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use alloy_primitives::{Bytes, hex};
use smallvec::SmallVec;

/// Bytes that a key holds without an allocation: the longest state key is 31 + 1 + 10 + 32 bytes.
const INLINE: usize = 76;

/// A key of the tree: any byte string, kept in place when it is a state key. Orders as its bytes do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TrieKey(SmallVec<[u8; INLINE]>);

impl TrieKey {
    /// A key of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(SmallVec::from_slice(bytes))
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// This key with more bytes behind it.
    pub fn join(&self, suffix: &[u8]) -> Self {
        let mut key = self.clone();
        key.0.extend_from_slice(suffix);
        key
    }

    pub(crate) fn extend(&mut self, suffix: &[u8]) {
        self.0.extend_from_slice(suffix);
    }
}

impl Deref for TrieKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for TrieKey {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

// Equality, order and hash are those of the slice, as `Borrow` asks.
impl Borrow<[u8]> for TrieKey {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for TrieKey {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes)
    }
}

impl fmt::Debug for TrieKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(&self.0))
    }
}

/// A whole set of changes, sorted: recursive deletes, which come first, then puts.
///
/// A recursive delete takes away the node with exactly this key, if it has a value, and all that lies below it; it does
/// nothing where no value has this key (as rskj's `Trie.deleteRecursive`). A put of nothing deletes the one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    deletes: Vec<TrieKey>,
    puts: Vec<(TrieKey, Option<Bytes>)>,
}

impl ChangeSet {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sorts changes that come in the order in which they were made: of two puts to one key the later one stays, and an
    /// empty value is a delete.
    pub fn from_parts(mut deletes: Vec<TrieKey>, mut puts: Vec<(TrieKey, Option<Bytes>)>) -> Self {
        deletes.sort_unstable();
        deletes.dedup();
        if !puts.is_sorted_by(|(a, _), (b, _)| a < b) {
            puts.sort_by(|(a, _), (b, _)| a.cmp(b));
            puts.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    earlier.1 = later.1.take();
                }
                same
            });
        }
        for (_, value) in &mut puts {
            if value.as_ref().is_some_and(|value| value.is_empty()) {
                *value = None;
            }
        }
        Self { deletes, puts }
    }

    /// Starts a set.
    pub fn builder() -> ChangeSetBuilder {
        ChangeSetBuilder::default()
    }

    /// The keys deleted with all below them, in order.
    pub fn deletes(&self) -> &[TrieKey] {
        &self.deletes
    }

    /// The values put (`None`: deleted), in the order of their keys.
    pub fn puts(&self) -> &[(TrieKey, Option<Bytes>)] {
        &self.puts
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.deletes.len().saturating_add(self.puts.len())
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.deletes.is_empty() && self.puts.is_empty()
    }
}

/// Collects changes in any order.
#[derive(Clone, Debug, Default)]
pub struct ChangeSetBuilder {
    deletes: Vec<TrieKey>,
    puts: Vec<(TrieKey, Option<Bytes>)>,
}

impl ChangeSetBuilder {
    /// Deletes the value with this key and all below it, before any put of the set whenever it was added.
    pub fn delete_recursive(&mut self, key: TrieKey) -> &mut Self {
        self.deletes.push(key);
        self
    }

    /// Sets or, with nothing or an empty value, deletes one value.
    pub fn put(&mut self, key: TrieKey, value: Option<Bytes>) -> &mut Self {
        self.puts.push((key, value));
        self
    }

    /// The sorted set.
    pub fn build(self) -> ChangeSet {
        ChangeSet::from_parts(self.deletes, self.puts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_put_of_a_key_stays_and_empty_is_a_delete() {
        let mut builder = ChangeSet::builder();
        let key = |byte: u8| TrieKey::new(&[byte]);
        builder.put(key(2), Some(Bytes::from_static(b"a")));
        builder.put(key(1), Some(Bytes::new()));
        builder.put(key(2), Some(Bytes::from_static(b"b")));
        builder.put(key(2), Some(Bytes::from_static(b"c")));
        builder.delete_recursive(key(9)).delete_recursive(key(3)).delete_recursive(key(9));
        let set = builder.build();
        assert_eq!(set.puts(), [(key(1), None), (key(2), Some(Bytes::from_static(b"c")))]);
        assert_eq!(set.deletes(), [key(3), key(9)]);
    }
}
