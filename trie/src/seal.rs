//! From written messages to nodes: hashes level by level, many at a time, then the nodes themselves.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use rhizome_keccak::keccak256_batch;

use crate::apply::{Applier, Op};
use crate::batch::Written;
use crate::codec::EMPTY_ROOT;
use crate::node::{Node, Source};
use crate::store::NoStore;

/// A message in the arena, its children before it.
pub(crate) struct Piece<'a> {
    pub(crate) offset: usize,
    pub(crate) len: usize,
    /// Where in the buffer the hash of each child stands; of meaning for new children only.
    pub(crate) hash_at: [usize; 2],
    /// Children in the arena.
    pub(crate) new: [Option<usize>; 2],
    /// Children known before, as far as they are in memory.
    pub(crate) nodes: [Option<Arc<Node>>; 2],
    pub(crate) long_value: Option<&'a Bytes>,
}

/// Messages that one thread writes, with zeros where the hashes of new children will be.
pub(crate) struct Arena<'a> {
    pub(crate) buffer: Vec<u8>,
    pieces: Vec<Piece<'a>>,
    /// How many levels of new nodes each piece has below it.
    heights: Vec<u16>,
    pub(crate) values: Vec<(B256, Bytes)>,
    /// Memory of the nodes that new ones replace.
    pub(crate) replaced: usize,
    /// Memory of the new nodes, once sealed.
    added: usize,
    /// What other threads have sealed.
    earlier: Vec<Written>,
}

/// Nodes with their hashes.
pub(crate) struct Sealed {
    pub(crate) hashes: Vec<B256>,
    /// Each node once; whoever takes it as a child leaves `None`.
    pub(crate) nodes: Vec<Option<Arc<Node>>>,
    pub(crate) written: Vec<Written>,
    pub(crate) added: usize,
    pub(crate) replaced: usize,
}

impl<'a> Arena<'a> {
    /// Room for what about so many changes write.
    pub(crate) fn with_capacity(changes: usize) -> Self {
        let pieces = changes.saturating_mul(8).min(1 << 16);
        Self {
            buffer: Vec::with_capacity(pieces * 80),
            pieces: Vec::with_capacity(pieces),
            heights: Vec::with_capacity(pieces),
            values: Vec::new(),
            replaced: 0,
            added: 0,
            earlier: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, piece: Piece<'a>) -> usize {
        let below = piece.new.iter().flatten().map(|child| self.heights[*child] + 1).max();
        self.heights.push(below.unwrap_or(0));
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// Takes over what another thread has sealed.
    pub(crate) fn absorb(&mut self, sealed: Sealed) {
        self.replaced += sealed.replaced;
        self.added += sealed.added;
        self.earlier.extend(sealed.written);
    }

    /// Hashes every message, the lowest level first.
    pub(crate) fn hash(&mut self) -> Vec<B256> {
        let mut hashes = vec![B256::ZERO; self.pieces.len()];
        let mut digests = Vec::new();
        for level in self.levels() {
            for &index in &level {
                let piece = &self.pieces[index];
                for side in 0..2 {
                    if let Some(child) = piece.new[side] {
                        let at = piece.hash_at[side];
                        self.buffer[at..at + 32].copy_from_slice(hashes[child].as_slice());
                    }
                }
            }
            let messages: Vec<&[u8]> = level
                .iter()
                .map(|&index| {
                    let piece = &self.pieces[index];
                    &self.buffer[piece.offset..piece.offset + piece.len]
                })
                .collect();
            digests.resize(level.len(), B256::ZERO);
            keccak256_batch(&messages, &mut digests);
            for (&index, digest) in level.iter().zip(&digests) {
                hashes[index] = *digest;
            }
        }
        hashes
    }

    /// The pieces of each height, the lowest first.
    fn levels(&self) -> Vec<Vec<usize>> {
        let count = self.heights.iter().max().map_or(0, |height| usize::from(*height) + 1);
        let mut levels = vec![Vec::new(); count];
        for (index, height) in self.heights.iter().enumerate() {
            levels[usize::from(*height)].push(index);
        }
        levels
    }

    /// Hashes every message and makes the nodes.
    pub(crate) fn seal(mut self, generation: u32) -> Sealed {
        let hashes = self.hash();
        let mut nodes: Vec<Option<Arc<Node>>> = Vec::with_capacity(hashes.len());
        let mut messages = Vec::with_capacity(hashes.len());
        let mut added = self.added;
        for (piece, hash) in self.pieces.into_iter().zip(&hashes) {
            let [mut left, mut right] = piece.nodes;
            if let Some(child) = piece.new[0] {
                left = nodes[child].take();
            }
            if let Some(child) = piece.new[1] {
                right = nodes[child].take();
            }
            let message = &self.buffer[piece.offset..piece.offset + piece.len];
            let node = Node::new(message, [left, right], piece.long_value.cloned(), generation);
            added += node.memory();
            nodes.push(Some(Arc::new(node)));
            messages.push((*hash, piece.offset, piece.len));
        }
        let mut written = self.earlier;
        if !messages.is_empty() || !self.values.is_empty() {
            written.push(Written { buffer: self.buffer, messages, values: self.values });
        }
        Sealed { hashes, nodes, written, added, replaced: self.replaced }
    }
}

/// The root of a tree that holds just these values; no node outlives the call.
pub(crate) fn root_of(ops: &[Op<'_>]) -> B256 {
    let loaded = std::sync::atomic::AtomicUsize::new(0);
    let source = Source { store: &NoStore, generation: 0, loaded: &loaded };
    let mut applier = Applier::new(source, usize::MAX, ops.len());
    match applier.build(ops, 0) {
        None => EMPTY_ROOT,
        Some(draft) => {
            let index = applier.write(draft);
            applier.arena.hash()[index]
        }
    }
}
