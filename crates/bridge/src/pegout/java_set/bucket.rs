//! A bucket: a list, or a tree that is walked as one.
//!
//! Where the outcome of a comparison by addresses is needed, the bucket goes on in every shape that it may have. As long as
//! all of them are walked in one order, that order is known.

use super::ties::{Ties, all_outcomes};
use super::tree::Tree;
use super::{MAX_SHAPES, Slot, TREEIFY_THRESHOLD, UNTREEIFY_THRESHOLD};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    List(Vec<Slot>),
    Tree(Tree),
}

impl Shape {
    fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let (list, tree) = match self {
            Shape::List(list) => (Some(list), None),
            Shape::Tree(tree) => (None, Some(tree)),
        };
        list.into_iter().flatten().copied().chain(tree.into_iter().flat_map(Tree::slots))
    }

    fn insert(&mut self, slot: Slot, trees: bool, ties: &mut Ties) {
        match self {
            Shape::Tree(tree) => tree.insert(slot, ties),
            Shape::List(list) => {
                list.push(slot);
                if trees && list.len() > TREEIFY_THRESHOLD {
                    *self = Shape::Tree(Tree::of(list, ties));
                }
            }
        }
    }

    fn remove(&mut self, entry: usize) {
        match self {
            Shape::List(list) => list.retain(|slot| slot.entry != entry),
            Shape::Tree(tree) => {
                if let Some(list) = tree.remove(entry) {
                    *self = Shape::List(list);
                }
            }
        }
    }

    /// The part of the bucket that a larger table keeps together.
    fn part(&self, keep: impl Fn(&Slot) -> bool, ties: &mut Ties) -> Self {
        let list: Vec<_> = self.slots().filter(keep).collect();
        match self {
            Shape::Tree(_) if list.len() <= UNTREEIFY_THRESHOLD => Shape::List(list),
            Shape::Tree(tree) if list.len() == tree.slots().count() => self.clone(),
            Shape::Tree(_) => Shape::Tree(Tree::of(&list, ties)),
            Shape::List(_) => Shape::List(list),
        }
    }
}

/// A bucket in all the shapes that it may have; none if it is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Bucket {
    shapes: Vec<Shape>,
    /// There are more shapes than are kept.
    is_cut: bool,
}

impl Bucket {
    pub(super) fn len(&self) -> usize {
        self.slots().count()
    }

    /// The entries in one of the orders that may be.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.shapes.first().into_iter().flat_map(Shape::slots)
    }

    pub(super) fn is_order_known(&self) -> bool {
        !self.is_cut && self.shapes.iter().skip(1).all(|shape| shape.slots().eq(self.slots()))
    }

    /// Adds an entry. `trees`: whether the table is large enough for trees.
    pub(super) fn insert(&mut self, slot: Slot, trees: bool) {
        if self.shapes.is_empty() {
            self.shapes.push(Shape::List(Vec::new()));
        }
        *self = self.step(|shape, ties| {
            let mut shape = shape.clone();
            shape.insert(slot, trees, ties);
            shape
        });
    }

    pub(super) fn remove(&mut self, entry: usize) {
        for shape in &mut self.shapes {
            shape.remove(entry);
        }
        if self.len() == 0 {
            *self = Self::default();
        }
    }

    /// The two buckets that this one becomes when the table doubles from a size.
    pub(super) fn split(&self, size: usize) -> [Self; 2] {
        [false, true].map(|upper| {
            let part = self.step(|shape, ties| shape.part(|slot| (slot.hash as usize & size != 0) == upper, ties));
            if part.len() == 0 { Self::default() } else { part }
        })
    }

    fn step(&self, step: impl Fn(&Shape, &mut Ties) -> Shape) -> Self {
        let mut next = Bucket { shapes: Vec::new(), is_cut: self.is_cut };
        for shape in &self.shapes {
            let (shapes, complete) = all_outcomes(MAX_SHAPES, |ties| step(shape, ties));
            next.is_cut |= !complete;
            for shape in shapes {
                if !next.shapes.contains(&shape) {
                    next.shapes.push(shape);
                }
            }
        }
        next.is_cut |= next.shapes.len() > MAX_SHAPES;
        next.shapes.truncate(MAX_SHAPES);
        next
    }
}
