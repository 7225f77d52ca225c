//! The walk over the states that are kept: finds every node that they reach, and hands over those that only the oldest
//! epochs have, in an order in which a descent meets neighbours.
//!
//! The walk takes several subtrees at a time and goes down in all of them level by level, so that many reads are in flight. Each
//! subtree is cut off after about a page of nodes and handed over as one piece; what hangs below its edge follows, the left
//! side first. So the copies lie in trie order, in pieces the size of a page: a descent through them touches a new
//! page every five or six levels.
//!
//! Epochs that are small against the memory are read ahead in the order of their files.
//!
//! What was visited is remembered by place (a bit for 16 bytes of heap) where the engine has places, else by hash.

use std::sync::Arc;

use rhizome_keccak::keccak256_batch;
use rhizome_primitives::map::B256Set;
use rhizome_primitives::{B256, Bytes};
use rhizome_trie::EMPTY_ROOT;
use rhizome_trie::codec::{ChildView, NodeView, ValueView};

use super::options::{GcControl, Pace};
use super::{Epoch, size_of};
use crate::engine::Place;
use crate::error::{Result, StorageError};
use crate::machine::usable_memory;

/// Subtrees that are walked side by side.
const LANES: usize = 16;
/// A subtree is cut off after so many bytes of copied nodes, about a page.
const PIECE_BYTES: usize = 4000;
/// A subtree is cut off after so many nodes, copied or not.
const PIECE_NODES: usize = 128;
/// Bytes of an engine that share a bit of what was visited.
const GRAIN: u64 = 16;
/// Epochs that together take at most this part of the memory that the process may use are read ahead.
const AHEAD_SHARE: u64 = 4;

/// Something to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// A node: what it names is visited too.
    Node(B256),
    /// A long value: bytes, whatever they look like.
    Value(B256),
}

impl Item {
    fn hash(&self) -> &B256 {
        match self {
            Self::Node(hash) | Self::Value(hash) => hash,
        }
    }
}

/// What a walk counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) live_records: u64,
    pub(crate) live_bytes: u64,
    pub(crate) copied_records: u64,
    pub(crate) copied_bytes: u64,
}

/// A walk over epochs, newest first. What is found only in the last ones is handed over.
pub(crate) struct Walk<'a> {
    epochs: &'a [Arc<Epoch>],
    /// Where those begin.
    swept_from: usize,
    /// Records of the receiving epoch at or beyond this place are copies of this walk or an earlier one.
    received_from: Option<(usize, Place)>,
    control: &'a GcControl,
    pace: Pace,
    nodes: Visited,
    values: Visited,
    walked: Walked,
}

impl<'a> Walk<'a> {
    /// A walk that ignores the records of the epoch at an index from a place on: those that it puts there itself.
    /// `sweeps` is how many epochs are the last ones.
    pub(crate) fn new(
        epochs: &'a [Arc<Epoch>],
        sweeps: usize,
        received_from: Option<(usize, Place)>,
        control: &'a GcControl,
    ) -> Self {
        let visited =
            || Visited { places: epochs.iter().map(|_| Places::default()).collect(), hashes: B256Set::default() };
        let (nodes, values) = (visited(), visited());
        let swept_from = epochs.len().saturating_sub(sweeps);
        Self {
            epochs,
            swept_from,
            received_from,
            control,
            pace: control.pace(),
            nodes,
            values,
            walked: Walked::default(),
        }
    }

    /// Visits everything that the roots reach. `copy` receives what only the swept epochs have, piece by piece.
    ///
    /// # Errors
    /// [`StorageError::Refused`] when a node is in no epoch, or the walk was stopped.
    pub(crate) fn run(
        mut self,
        roots: &[B256],
        mut copy: impl FnMut(&[(B256, Bytes)]) -> Result<()>,
    ) -> Result<Walked> {
        self.read_ahead();
        let mut stack: Vec<Item> =
            roots.iter().rev().filter(|root| **root != EMPTY_ROOT).copied().map(Item::Node).collect();
        while !stack.is_empty() {
            if self.control.is_stopped() {
                return Err(StorageError::Refused("the collection was stopped; nothing was dropped".into()));
            }
            let tops = stack.split_off(stack.len().saturating_sub(LANES));
            // The top of the stack is the next in order.
            let mut pieces: Vec<Piece> = tops.into_iter().rev().map(Piece::new).collect();
            while self.descend(&mut pieces)? {}
            for piece in &mut pieces {
                // Values are long: behind the nodes, so that these stay together.
                piece.copies.append(&mut piece.values);
                if !piece.copies.is_empty() {
                    if !piece.proven {
                        Self::check(&piece.copies)?;
                    }
                    copy(&piece.copies)?;
                }
            }
            for piece in pieces.into_iter().rev() {
                stack.extend(piece.frontier.into_iter().rev());
            }
        }
        Ok(self.walked)
    }

    /// Epochs that are small against the memory are read in the order of their files: live records lie on most of their pages, and
    /// reading page after page costs a fraction of reading them one by one.
    fn read_ahead(&mut self) {
        let bytes: u64 = self.epochs.iter().map(|epoch| size_of(epoch)).sum();
        if bytes > usable_memory() / AHEAD_SHARE {
            return;
        }
        let (control, pace) = (self.control, &mut self.pace);
        for epoch in self.epochs {
            epoch.engine.read_ahead(&mut |bytes| {
                pace.spend(bytes);
                !control.is_stopped()
            });
        }
    }

    /// One level down in every piece that is not full. Returns whether there was one.
    fn descend(&mut self, pieces: &mut [Piece]) -> Result<bool> {
        let mut items = Vec::new();
        for (number, piece) in pieces.iter_mut().enumerate() {
            if !piece.is_full() {
                items.extend(piece.frontier.drain(..).map(|item| (number, item)));
            }
        }
        let (epochs, received_from) = (self.epochs, self.received_from);
        let mut below: Vec<(usize, Item)> = Vec::with_capacity(2 * items.len());
        let mut missing: Vec<usize> = (0..items.len()).collect();
        let mut bytes = 0;
        for (at, epoch) in epochs.iter().enumerate() {
            if missing.is_empty() {
                break;
            }
            let hashes: Vec<B256> = missing.iter().map(|index| *items[*index].1.hash()).collect();
            let mut found = vec![false; missing.len()];
            let mut met = Ok(());
            epoch.engine.visit_many(&hashes, &mut |index, record, place| {
                let own = received_from
                    .is_some_and(|(receiver, from)| receiver == at && place.is_some_and(|place| place >= from));
                if own || met.is_err() {
                    return;
                }
                found[index] = true;
                bytes += record.len() as u64;
                let (number, item) = items[missing[index]];
                let out = |child| below.push((missing[index], child));
                met = self.meet(&mut pieces[number], item, record, (at, place), out);
            })?;
            met?;
            missing = missing.into_iter().zip(found).filter(|(_, found)| !found).map(|(index, _)| index).collect();
        }
        if let Some(index) = missing.first() {
            let hash = items[*index].1.hash();
            let what = format!("node {hash} of a state that must be kept is in no epoch; nothing was dropped");
            return Err(StorageError::Refused(what));
        }
        // In the order of the parents, whichever epochs had them.
        below.sort_by_key(|(index, _)| *index);
        for (index, child) in below {
            pieces[items[index].0].frontier.push(child);
        }
        self.pace.spend(bytes);
        Ok(!items.is_empty())
    }

    /// Visits one record that was found in an epoch. `out` receives what it names.
    fn meet(
        &mut self,
        piece: &mut Piece,
        item: Item,
        record: &[u8],
        (epoch, place): (usize, Option<Place>),
        out: impl FnMut(Item),
    ) -> Result<()> {
        let visited = if matches!(item, Item::Node(_)) { &mut self.nodes } else { &mut self.values };
        if !visited.insert(epoch, item.hash(), record.len(), place) {
            return Ok(());
        }
        self.walked.live_records += 1;
        self.walked.live_bytes += record.len() as u64;
        piece.visited += 1;
        if epoch >= self.swept_from {
            let copy = (*item.hash(), Bytes::copy_from_slice(record));
            piece.bytes += record.len();
            // An engine with places has proven what it visits.
            piece.proven &= place.is_some();
            self.walked.copied_records += 1;
            self.walked.copied_bytes += record.len() as u64;
            if matches!(item, Item::Node(_)) { piece.copies.push(copy) } else { piece.values.push(copy) }
        }
        if let Item::Node(hash) = item {
            children(record, out).map_err(|reason| StorageError::corrupt(format!("trie node {hash}: {reason}")))?;
        }
        Ok(())
    }

    /// Proves that copies are what their hashes say: not every engine proves what it is asked for.
    fn check(copies: &[(B256, Bytes)]) -> Result<()> {
        let bytes: Vec<&[u8]> = copies.iter().map(|(_, record)| &record[..]).collect();
        let mut digests = vec![B256::ZERO; bytes.len()];
        keccak256_batch(&bytes, &mut digests);
        match copies.iter().zip(&digests).find(|((hash, _), digest)| hash != *digest) {
            Some(((hash, _), digest)) => {
                Err(StorageError::corrupt(format!("the record of trie node {hash} hashes to {digest}")))
            }
            None => Ok(()),
        }
    }
}

/// One subtree of the walk.
#[derive(Debug)]
struct Piece {
    frontier: Vec<Item>,
    copies: Vec<(B256, Bytes)>,
    values: Vec<(B256, Bytes)>,
    bytes: usize,
    visited: usize,
    /// Whether all copies are known to be what their hashes say.
    proven: bool,
}

impl Piece {
    fn new(root: Item) -> Self {
        Self { frontier: vec![root], copies: Vec::new(), values: Vec::new(), bytes: 0, visited: 0, proven: true }
    }

    fn is_full(&self) -> bool {
        self.bytes >= PIECE_BYTES || self.visited >= PIECE_NODES
    }
}

/// What was met so far.
#[derive(Debug)]
struct Visited {
    /// By epoch.
    places: Vec<Places>,
    hashes: B256Set,
}

impl Visited {
    fn insert(&mut self, epoch: usize, hash: &B256, len: usize, place: Option<Place>) -> bool {
        match place {
            Some(place) => self.places[epoch].insert(place, len),
            None => self.hashes.insert(*hash),
        }
    }
}

/// Places of one engine: a bit for so many bytes of it, up to the highest place that was added.
#[derive(Debug, Default)]
struct Places(Vec<u64>);

impl Places {
    /// Adds the place of a record of so many bytes, and tells whether it was not there. Two short records could share a bit, so
    /// such are always new.
    fn insert(&mut self, place: Place, len: usize) -> bool {
        if (len as u64) < GRAIN {
            return true;
        }
        let (word, bit) = ((place / GRAIN / 64) as usize, 1 << (place / GRAIN % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let before = self.0[word];
        self.0[word] = before | bit;
        before & bit == 0
    }
}

/// Hands on what a node names: children by hash, and long values, also of nodes that stand inside it.
fn children(message: &[u8], mut out: impl FnMut(Item)) -> Result<(), rhizome_trie::codec::NodeError> {
    let view = NodeView::parse(message)?;
    for child in view.children {
        match child {
            ChildView::Empty => {}
            ChildView::Hash(hash) => out(Item::Node(*hash)),
            ChildView::Embedded(inner) => {
                // An embedded node has no children; one that has is refused when the tree is read.
                if let ValueView::Long { hash, .. } = NodeView::parse(inner)?.value {
                    out(Item::Value(*hash));
                }
            }
        }
    }
    if let ValueView::Long { hash, .. } = view.value {
        out(Item::Value(*hash));
    }
    Ok(())
}

impl From<Walked> for super::GcReport {
    fn from(walked: Walked) -> Self {
        let Walked { live_records, live_bytes, copied_records, copied_bytes } = walked;
        Self { live_records, live_bytes, copied_records, copied_bytes, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_new_once() {
        let mut places = Places::default();
        for place in [12_288, 12_288 + 17, 70, 1 << 30] {
            assert!(places.insert(place, 16));
            assert!(!places.insert(place, 16));
        }
        assert!(places.insert(40, 15) && places.insert(40, 15));
    }
}
