//! A whole change set in one descent.
//!
//! The sorted changes go down together; every node that lies on the way of one is rebuilt once. Each step hands back what
//! has become of its subtree, not yet written, so that a branch left with one child can still join it. A node is written
//! when its parent takes it as a child; hashes are filled in later, level by level (`seal`).
//!
//! The shape depends only on the values held: a node exists where a value is, and where two of them part. A recursive delete
//! takes a subtree only when a value has exactly its key (rskj: `Trie.internalPut`).

use std::sync::Arc;

use crate::TrieError;
use crate::bits::Bits;
use crate::codec::{ChildView, MAX_EMBEDDED, NodeView, ValueView, encode_into, encoded_len};
use crate::draft::{Draft, Kid, NewValue, Op, Path, Put, Value, same};
use crate::node::{Node, Place, Source};
use crate::seal::{Arena, Piece};

/// Changes of a subtree that is read ahead, and sealed, as a whole: more would push its own first nodes out of the caches
/// again.
const WARM_MOST: usize = 128;
/// Fewer overlap too little to pay.
const WARM_LEAST: usize = 4;

/// What has become of a subtree.
pub(crate) enum Sub<'a> {
    Empty,
    Unchanged,
    Draft(Draft<'a>),
}

/// What has become of one side of a node.
enum Side<'a> {
    Empty,
    /// The child that was there.
    Kept,
    Draft(Draft<'a>),
}

/// Goes down the tree; one for each thread.
pub(crate) struct Applier<'a, 's> {
    source: Source<'s>,
    /// Both sides of a node with at least this many changes are worked on at the same time.
    parallel: usize,
    /// Whether the subtree at hand was read ahead.
    warmed: bool,
    /// Nodes of one level with their changes and depth, while reading ahead.
    frontier: Vec<(&'a Arc<Node>, usize, usize, usize)>,
    pub(crate) arena: Arena<'a>,
}

impl<'a, 's> Applier<'a, 's> {
    pub(crate) fn new(source: Source<'s>, parallel: usize, arena: Arena<'a>) -> Self {
        Self { source, parallel, warmed: false, frontier: Vec::new(), arena }
    }

    /// Builds a subtree where there was none. Keys share their bits above `depth`.
    pub(crate) fn build(&mut self, ops: &[Op<'a>], depth: usize) -> Option<Draft<'a>> {
        let first = ops.iter().position(|op| op.set().is_some())?;
        let last = ops.iter().rposition(|op| op.set().is_some())?;
        let (low, high) = (&ops[first], &ops[last]);
        let value = low.set()?;
        if first == last {
            self.note(value);
            return Some(Draft::leaf(low.below(depth), value));
        }
        let common = low.below(depth).common_prefix(&high.below(depth));
        let end = depth + common;
        let path = low.below(depth).to(common);
        let (own, rest) = if low.ends_at(end) {
            self.note(value);
            (Value::new(value), &ops[first + 1..=last])
        } else {
            (Value::None, &ops[first..=last])
        };
        let middle = rest.partition_point(|op| !op.bit(end));
        let sides = [self.build(&rest[..middle], end + 1), self.build(&rest[middle..], end + 1)];
        let mut children_size = 0u64;
        let kids = sides.map(|side| match side {
            None => Kid::Empty,
            Some(draft) => {
                let (kid, size) = self.attach(draft);
                children_size = children_size.wrapping_add(size);
                kid
            }
        });
        Some(Draft { path: Path::Slice(path), kids, children_size, value: own })
    }

    /// Reads ahead what changes to a subtree will pass, level by level: within a level no read waits for another, so their
    /// cache misses overlap. Only what is in memory is visited.
    fn warm(&mut self, node: &'a Arc<Node>, ops: &[Op<'a>], depth: usize) {
        self.frontier.clear();
        self.frontier.push((node, 0, ops.len(), depth));
        let mut next = Vec::with_capacity(ops.len());
        while !self.frontier.is_empty() {
            for (node, ..) in &self.frontier {
                node.warm();
            }
            for &(node, from, to, depth) in &self.frontier {
                let Ok(view) = NodeView::parse(node.message()) else { continue };
                let end = depth + view.path.len();
                let middle = from + ops[from..to].partition_point(|op| !op.bit(end));
                for (side, from, to) in [(0, from, middle), (1, middle, to)] {
                    if let Some(child) = node.child(side) {
                        if from < to {
                            next.push((child, from, to, end + 1));
                        } else {
                            // A sibling that stays gets one more owner.
                            child.warm();
                        }
                    }
                }
            }
            std::mem::swap(&mut self.frontier, &mut next);
            next.clear();
        }
    }

    /// Applies changes to the subtree of a place whose path has lost its first `skip` bits. Keys share their bits above
    /// `depth`, where the rest of the path begins; there is at least one.
    pub(crate) fn change(
        &mut self,
        place: &Place<'a>,
        skip: usize,
        ops: &[Op<'a>],
        depth: usize,
    ) -> Result<Sub<'a>, TrieError> {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return Ok(Sub::Unchanged) };
        if !self.warmed
            && (WARM_LEAST..=WARM_MOST).contains(&ops.len())
            && let Some(node) = place.node
        {
            self.warm(node, ops, depth);
            self.warmed = true;
            let start = self.arena.waiting();
            let sub = self.change(place, skip, ops, depth)?;
            self.warmed = false;
            return Ok(self.seal(sub, start));
        }
        let path = place.view.path.from(skip);
        // Between the first and the last key all share with the path what these two do.
        let common = path.common_prefix(&first.below(depth)).min(path.common_prefix(&last.below(depth)));
        let end = depth + common;
        let exact = first.ends_at(end).then_some(first);
        let rest = if exact.is_some() { &ops[1..] } else { ops };
        let middle = rest.partition_point(|op| !op.bit(end));
        let parts = [&rest[..middle], &rest[middle..]];
        if common < path.len() {
            return self.part(place, skip, common, exact.and_then(Op::set), parts, depth);
        }

        if exact.is_some_and(|op| op.recursive) && !place.view.value.is_empty() {
            self.forget(place);
            return Ok(self.build(ops, depth).map_or(Sub::Empty, Sub::Draft));
        }
        let old = Value::of(place);
        let (value, value_changed) = match exact.map_or(Put::Keep, |op| op.put) {
            Put::Keep => (old, false),
            Put::Remove => (Value::None, !old.is_none()),
            Put::Set(new) if same(&old, new) => (old, false),
            Put::Set(new) => {
                self.note(new);
                (Value::new(new), true)
            }
        };

        let mut children_size = place.view.children_size;
        let mut changed = value_changed;
        let mut children = [None, None];
        for side in 0..2 {
            if !parts[side].is_empty() {
                children[side] = self.source.child(place, side)?;
            }
        }
        let subs = self.both_sides(&children, parts, end + 1)?;
        let mut sides = [Side::Kept, Side::Kept];
        for (side, sub) in subs.into_iter().enumerate() {
            let was_empty = place.view.children[side].is_empty();
            sides[side] = match sub {
                Sub::Unchanged if was_empty => Side::Empty,
                Sub::Empty if was_empty => Side::Empty,
                Sub::Unchanged => Side::Kept,
                Sub::Empty => {
                    changed = true;
                    Side::Empty
                }
                Sub::Draft(draft) => {
                    changed = true;
                    Side::Draft(draft)
                }
            };
            if !matches!(sides[side], Side::Kept)
                && let Some(child) = &children[side]
            {
                children_size = children_size.wrapping_sub(child.view.reference_size());
            }
        }
        if !changed {
            return Ok(Sub::Unchanged);
        }
        self.forget(place);
        let [left, right] = sides;
        match (left, right) {
            (Side::Empty, Side::Empty) if value.is_none() => Ok(Sub::Empty),
            (only, Side::Empty) if value.is_none() => self.join(place, path, 0, only),
            (Side::Empty, only) if value.is_none() => self.join(place, path, 1, only),
            (left, right) => {
                let kids = [(0, left), (1, right)].map(|(at, side)| match side {
                    Side::Empty => Kid::Empty,
                    Side::Kept => Kid::of(place, at),
                    Side::Draft(draft) => {
                        let (kid, size) = self.attach(draft);
                        children_size = children_size.wrapping_add(size);
                        kid
                    }
                });
                Ok(Sub::Draft(Draft { path: Path::Slice(path), kids, children_size, value }))
            }
        }
    }

    /// A branch without value keeps one child: the two become one node.
    fn join(&mut self, place: &Place<'a>, path: Bits<'a>, side: usize, only: Side<'a>) -> Result<Sub<'a>, TrieError> {
        let child = match only {
            Side::Draft(draft) => draft,
            Side::Kept | Side::Empty => match self.source.child(place, side)? {
                Some(child) => {
                    self.forget(&child);
                    Draft::of(&child, 0)
                }
                None => return Ok(Sub::Empty),
            },
        };
        Ok(Sub::Draft(child.prefixed(path, side)))
    }

    /// Some keys leave the path `common` bits behind its start: the place goes below a new branch, if anything is set there.
    fn part(
        &mut self,
        place: &Place<'a>,
        skip: usize,
        common: usize,
        own: Option<NewValue<'a>>,
        parts: [&[Op<'a>]; 2],
        depth: usize,
    ) -> Result<Sub<'a>, TrieError> {
        let path = place.view.path.from(skip);
        let end = depth + common;
        let here = usize::from(path.get(common));
        let below = self.change(place, skip + common + 1, parts[here], end + 1)?;
        let beside = self.build(parts[1 - here], end + 1);
        let path = path.to(common);
        if beside.is_none() && own.is_none() {
            return Ok(match below {
                Sub::Draft(draft) => Sub::Draft(draft.prefixed(path, here)),
                other => other,
            });
        }
        let below = match below {
            Sub::Empty => None,
            Sub::Draft(draft) => Some(draft),
            Sub::Unchanged => {
                self.forget(place);
                Some(Draft::of(place, skip + common + 1))
            }
        };
        let (below, beside) = match (below, beside, own) {
            (None, Some(only), None) => return Ok(Sub::Draft(only.prefixed(path, 1 - here))),
            (below, beside, _) => (below, beside),
        };
        let mut children_size = 0u64;
        let mut kids = [Kid::Empty, Kid::Empty];
        // The left side first, as everywhere: the order of the records is then that of the tree.
        let mut sides = [(here, below), (1 - here, beside)];
        sides.sort_by_key(|(side, _)| *side);
        for (side, draft) in sides {
            if let Some(draft) = draft {
                let (kid, size) = self.attach(draft);
                kids[side] = kid;
                children_size = children_size.wrapping_add(size);
            }
        }
        let value = own.map_or(Value::None, |value| {
            self.note(value);
            Value::new(value)
        });
        Ok(Sub::Draft(Draft { path: Path::Slice(path), kids, children_size, value }))
    }

    /// Both sides of a node, at the same time when both have enough to do.
    fn both_sides(
        &mut self,
        children: &[Option<Place<'a>>; 2],
        parts: [&[Op<'a>]; 2],
        depth: usize,
    ) -> Result<[Sub<'a>; 2], TrieError> {
        if parts[0].len().min(parts[1].len()) < self.parallel {
            return Ok([self.side(&children[0], parts[0], depth)?, self.side(&children[1], parts[1], depth)?]);
        }
        let run = |side: usize| {
            let mut applier = Applier::new(self.source, self.parallel, Arena::for_changes(parts[side].len()));
            let sub = applier.side(&children[side], parts[side], depth)?;
            let sub = applier.seal(sub, 0);
            Ok::<_, TrieError>((sub, applier.arena.finish()))
        };
        let (left, right) = rayon::join(|| run(0), || run(1));
        let ((left, sealed_left), (right, sealed_right)) = (left?, right?);
        self.arena.absorb(sealed_left);
        self.arena.absorb(sealed_right);
        Ok([left, right])
    }

    fn side(&mut self, child: &Option<Place<'a>>, ops: &[Op<'a>], depth: usize) -> Result<Sub<'a>, TrieError> {
        match child {
            _ if ops.is_empty() => Ok(Sub::Unchanged),
            Some(child) => self.change(child, 0, ops, depth),
            None => Ok(self.build(ops, depth).map_or(Sub::Empty, Sub::Draft)),
        }
    }

    /// Writes a node and takes it as a child; also gives what it counts for in the parent's children size.
    fn attach(&mut self, draft: Draft<'a>) -> (Kid, u64) {
        let views = [draft.kids[0].view(), draft.kids[1].view()];
        let len = encoded_len(draft.path.bits().len(), views, draft.children_size, draft.value.view());
        let size = (len as u64).wrapping_add(draft.value.view().stored_apart()).wrapping_add(draft.children_size);
        if len <= MAX_EMBEDDED && draft.is_terminal() {
            let start = self.arena.buffer.len();
            let empty = [ChildView::Empty; 2];
            encode_into(&mut self.arena.buffer, draft.path.bits(), empty, 0, draft.value.view());
            let message = &self.arena.buffer[start..];
            let node = draft
                .value
                .bytes()
                .map(|value| Arc::new(Node::new(message, [None, None], Some(value.clone()), self.source.generation)));
            let kid = Kid::embedded(message, node);
            self.arena.buffer.truncate(start);
            return (kid, size);
        }
        (Kid::New(self.write(draft)), size)
    }

    /// Writes a node into the arena, embeddable or not: the root has to be stored.
    pub(crate) fn write(&mut self, draft: Draft<'a>) -> usize {
        let views = [draft.kids[0].view(), draft.kids[1].view()];
        let offset = self.arena.buffer.len();
        encode_into(&mut self.arena.buffer, draft.path.bits(), views, draft.children_size, draft.value.view());
        let len = self.arena.buffer.len() - offset;
        // Children lie right before the size and the value, so their place is found from the front: flags, path, children.
        let head = encoded_len(draft.path.bits().len(), [ChildView::Empty; 2], 0, ValueView::None);
        let left_len = match &draft.kids[0] {
            Kid::Empty => 0,
            Kid::Ready { .. } | Kid::New(_) => 32,
            Kid::Embedded { len, .. } => 1 + usize::from(*len),
        };
        let hash_at = [offset + head, offset + head + left_len];
        let mut new = [None, None];
        let mut nodes = [None, None];
        for (side, kid) in draft.kids.into_iter().enumerate() {
            match kid {
                Kid::Empty => {}
                Kid::Ready { node, .. } | Kid::Embedded { node, .. } => nodes[side] = node,
                Kid::New(index) => new[side] = Some(index),
            }
        }
        self.arena.push(Piece { offset, len, hash_at, new, nodes, long_value: draft.value.bytes() })
    }

    /// Hashes what was written since `start`, and puts the hashes into the node that is handed up.
    fn seal(&mut self, mut sub: Sub<'a>, start: usize) -> Sub<'a> {
        self.arena.seal(start, self.source.generation);
        if let Sub::Draft(draft) = &mut sub {
            for kid in &mut draft.kids {
                if let Kid::New(index) = kid {
                    let (hash, node) = self.arena.take(*index, start);
                    *kid = Kid::Ready { hash, node };
                }
            }
        }
        sub
    }

    /// A long value that was set has to be stored.
    fn note(&mut self, value: NewValue<'a>) {
        if let NewValue::Long { bytes, hash } = value {
            self.arena.values.push((hash, bytes.clone()));
        }
    }

    /// A node is replaced: its memory will go with the old version.
    fn forget(&mut self, place: &Place<'a>) {
        if let Some(node) = place.node {
            self.arena.replaced += node.memory();
        }
    }
}
