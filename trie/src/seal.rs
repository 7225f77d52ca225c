//! From written messages to nodes: hashes level by level, many at a time, then the nodes themselves.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use rhizome_keccak::keccak256_batch;

use crate::apply::Applier;
use crate::batch::Written;
use crate::codec::EMPTY_ROOT;
use crate::draft::Op;
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
///
/// Pieces are sealed a subtree at a time, while they are in the processor's caches.
pub(crate) struct Arena<'a> {
    /// All messages; the hashes of new children are filled in when these are sealed.
    pub(crate) buffer: Vec<u8>,
    /// What is not sealed yet.
    pieces: Vec<Piece<'a>>,
    /// How many levels of new nodes each piece has below it.
    heights: Vec<u16>,
    /// Hash, offset and length of what is sealed.
    messages: Vec<(B256, usize, usize)>,
    pub(crate) values: Vec<(B256, Bytes)>,
    /// Memory of the nodes that new ones replace.
    pub(crate) replaced: usize,
    /// Memory of the new nodes.
    pub(crate) added: usize,
    /// What other threads have sealed.
    earlier: Vec<Written>,
    scratch: Scratch,
}

/// Lists that one seal after another uses.
#[derive(Default)]
struct Scratch {
    hashes: Vec<B256>,
    nodes: Vec<Option<Arc<Node>>>,
    /// Pieces by height: how many lie below each height, then their indexes.
    begins: Vec<usize>,
    order: Vec<usize>,
    digests: Vec<B256>,
}

/// What a thread hands over.
pub(crate) struct Sealed {
    pub(crate) written: Vec<Written>,
    pub(crate) added: usize,
    pub(crate) replaced: usize,
}

impl<'a> Arena<'a> {
    /// Room for what about so many changes of a large tree write.
    pub(crate) fn for_changes(changes: usize) -> Self {
        let messages = changes.saturating_mul(12).min(1 << 16);
        Self { messages: Vec::with_capacity(messages), ..Self::for_messages(messages) }
    }

    /// Room for so many messages of which only the last one's hash is wanted.
    fn for_messages(messages: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(messages * 76),
            pieces: Vec::new(),
            heights: Vec::new(),
            messages: Vec::new(),
            values: Vec::new(),
            replaced: 0,
            added: 0,
            earlier: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    pub(crate) fn push(&mut self, piece: Piece<'a>) -> usize {
        let below = piece.new.iter().flatten().map(|child| self.heights[*child] + 1).max();
        self.heights.push(below.unwrap_or(0));
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// The number of pieces not sealed yet.
    pub(crate) fn waiting(&self) -> usize {
        self.pieces.len()
    }

    /// Takes over what another thread has sealed.
    pub(crate) fn absorb(&mut self, sealed: Sealed) {
        self.replaced += sealed.replaced;
        self.added += sealed.added;
        self.earlier.extend(sealed.written);
    }

    /// Hashes the pieces from `start` on, the lowest level first, into the scratch list.
    fn hash(&mut self, start: usize) {
        let Scratch { hashes, begins, order, digests, .. } = &mut self.scratch;
        let heights = &self.heights[start..];
        let count = heights.iter().max().map_or(0, |height| usize::from(*height) + 1);
        begins.clear();
        begins.resize(count + 1, 0);
        for height in heights {
            begins[usize::from(*height) + 1] += 1;
        }
        for height in 0..count {
            begins[height + 1] += begins[height];
        }
        order.clear();
        order.resize(heights.len(), 0);
        for (index, height) in heights.iter().enumerate() {
            // The begin of each height moves on while it is filled, and ends where the next one began.
            let place = &mut begins[usize::from(*height)];
            order[*place] = index;
            *place += 1;
        }
        hashes.clear();
        hashes.resize(heights.len(), B256::ZERO);
        let pieces = &self.pieces[start..];
        let mut from = 0;
        for &to in &begins[..count] {
            let level = &order[from..to];
            from = to;
            for &index in level {
                let piece = &pieces[index];
                for side in 0..2 {
                    if let Some(child) = piece.new[side] {
                        let at = piece.hash_at[side];
                        self.buffer[at..at + 32].copy_from_slice(hashes[child - start].as_slice());
                    }
                }
            }
            let messages: Vec<&[u8]> = level
                .iter()
                .map(|&index| &self.buffer[pieces[index].offset..pieces[index].offset + pieces[index].len])
                .collect();
            digests.clear();
            digests.resize(level.len(), B256::ZERO);
            keccak256_batch(&messages, digests);
            for (&index, digest) in level.iter().zip(digests.iter()) {
                hashes[index] = *digest;
            }
        }
    }

    /// Hashes the pieces from `start` on and makes their nodes. [`Arena::take`] gives those that become children of a node
    /// still to be written.
    pub(crate) fn seal(&mut self, start: usize, generation: u32) {
        self.hash(start);
        let Scratch { hashes, nodes, .. } = &mut self.scratch;
        nodes.clear();
        self.heights.truncate(start);
        for (piece, hash) in self.pieces.drain(start..).zip(hashes.iter()) {
            let [mut left, mut right] = piece.nodes;
            if let Some(child) = piece.new[0] {
                left = nodes[child - start].take();
            }
            if let Some(child) = piece.new[1] {
                right = nodes[child - start].take();
            }
            let message = &self.buffer[piece.offset..piece.offset + piece.len];
            let node = Arc::new(Node::new(message, [left, right], piece.long_value.cloned(), generation));
            self.added += node.memory();
            nodes.push(Some(node));
            self.messages.push((*hash, piece.offset, piece.len));
        }
    }

    /// A node of the last seal, which began at `start`.
    pub(crate) fn take(&mut self, index: usize, start: usize) -> (B256, Option<Arc<Node>>) {
        (self.scratch.hashes[index - start], self.scratch.nodes[index - start].take())
    }

    /// The hash of one message, all of which are hashed for it.
    pub(crate) fn hash_of(mut self, index: usize) -> B256 {
        self.hash(0);
        self.scratch.hashes[index]
    }

    /// All that was sealed.
    pub(crate) fn finish(self) -> Sealed {
        let mut written = self.earlier;
        if !self.messages.is_empty() || !self.values.is_empty() {
            written.push(Written { buffer: self.buffer, messages: self.messages, values: self.values });
        }
        Sealed { written, added: self.added, replaced: self.replaced }
    }
}

/// The root of a tree that holds just these values; no node outlives the call.
pub(crate) fn root_of(ops: &[Op<'_>]) -> B256 {
    let loaded = std::sync::atomic::AtomicUsize::new(0);
    let source = Source { store: &NoStore, generation: 0, loaded: &loaded };
    // A node for each value, and one where two of them part.
    let arena = Arena::for_messages(ops.len().saturating_mul(2).min(1 << 16));
    let mut applier = Applier::new(source, usize::MAX, arena);
    match applier.build(ops, 0) {
        None => EMPTY_ROOT,
        Some(draft) => {
            let index = applier.write(draft);
            applier.arena.hash_of(index)
        }
    }
}
