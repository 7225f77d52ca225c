//! Many keys at once: what is not in memory is asked of the store in rounds, all keys of a round together.

use alloy_primitives::{B256, Bytes};

use crate::bits::Bits;
use crate::codec::ChildView;
use crate::node::{Node, Place};
use crate::{Trie, TrieError};

/// A key on its way down.
struct Cursor<'a> {
    key: usize,
    place: Place<'a>,
    rest: Bits<'a>,
}

/// Where a key's way ended.
enum Stop<'a> {
    Absent,
    Found(Place<'a>),
    /// The child on this side has to be read.
    Unloaded(Cursor<'a>, usize, &'a B256),
}

impl Trie {
    /// Loads what reading these keys will need, so that later reads find it in memory. Long values are not read.
    ///
    /// # Errors
    /// When a node on the way is missing or corrupt, or the store fails.
    pub fn prefetch<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<(), TrieError> {
        self.places(keys).map(|_| ())
    }

    /// The values of several keys, in their order.
    ///
    /// # Errors
    /// As [`Trie::get`].
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Bytes>>, TrieError> {
        let source = self.inner.source();
        let places = self.places(keys)?;
        places.into_iter().map(|place| place.map_or(Ok(None), |place| source.value(&place))).collect()
    }

    fn places<'a, K: AsRef<[u8]>>(&'a self, keys: &'a [K]) -> Result<Vec<Option<Place<'a>>>, TrieError> {
        let source = self.inner.source();
        let mut found: Vec<Option<Place<'a>>> = vec![None; keys.len()];
        let Some(root) = self.inner.root_place()? else { return Ok(found) };
        let mut active: Vec<Cursor<'a>> = keys
            .iter()
            .enumerate()
            .map(|(key, bytes)| Cursor { key, place: root, rest: Bits::of_key(bytes.as_ref()) })
            .collect();
        while !active.is_empty() {
            let mut waiting: Vec<(Cursor<'a>, usize, &'a B256)> = Vec::new();
            for cursor in active.drain(..) {
                let key = cursor.key;
                match self.advance(cursor)? {
                    Stop::Absent => {}
                    Stop::Found(place) => found[key] = Some(place),
                    Stop::Unloaded(cursor, side, hash) => waiting.push((cursor, side, hash)),
                }
            }
            let mut hashes: Vec<B256> = waiting.iter().map(|(_, _, hash)| **hash).collect();
            hashes.sort_unstable();
            hashes.dedup();
            let mut nodes = Vec::with_capacity(hashes.len());
            for (record, hash) in source.store.get_many(&hashes)?.into_iter().zip(&hashes) {
                nodes.push(Node::decode(record, hash, source.generation)?);
            }
            for (cursor, side, hash) in waiting {
                // The same node under two parents is shared: it does not know where it hangs.
                if let (Some(parent), Ok(at)) = (cursor.place.node, hashes.binary_search(hash))
                    && let Some(node) = nodes.get(at)
                    && parent.child(side).is_none()
                {
                    source.fill(parent.child_cell(side), node.clone());
                }
                active.push(cursor);
            }
        }
        Ok(found)
    }

    /// Goes down as far as memory holds the way.
    fn advance<'a>(&'a self, mut cursor: Cursor<'a>) -> Result<Stop<'a>, TrieError> {
        let source = self.inner.source();
        loop {
            let path = cursor.place.view.path;
            if path.len() > cursor.rest.len() || path.common_prefix(&cursor.rest) < path.len() {
                return Ok(Stop::Absent);
            }
            if path.len() == cursor.rest.len() {
                return Ok(Stop::Found(cursor.place));
            }
            let side = usize::from(cursor.rest.get(path.len()));
            if let ChildView::Hash(hash) = cursor.place.view.children[side]
                && cursor.place.node.is_some_and(|node| node.child(side).is_none())
            {
                return Ok(Stop::Unloaded(cursor, side, hash));
            }
            match source.child(&cursor.place, side)? {
                None => return Ok(Stop::Absent),
                Some(child) => cursor.place = child,
            }
            cursor.rest = cursor.rest.from(path.len() + 1);
        }
    }
}
