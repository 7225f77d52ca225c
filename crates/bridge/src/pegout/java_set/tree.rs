//! A bucket that Java keeps as a red-black tree (`HashMap.TreeNode`).
//!
//! The bucket is still walked as a list, and the tree shapes that list: a new entry comes right behind its parent in the tree,
//! and the root always to the front. So colours and rotations must be Java's own. Entries are sorted by hash, signed; those
//! with equal hashes are not comparable in rskj, and Java puts them left or right by their addresses: [`Ties`] says which.

use super::Slot;
use super::ties::Ties;

const LEFT: usize = 0;
const RIGHT: usize = 1;

const fn opposite(side: usize) -> usize {
    1 - side
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    slot: Slot,
    parent: Option<usize>,
    children: [Option<usize>; 2],
    is_red: bool,
}

impl Node {
    fn new(slot: Slot) -> Self {
        Node { slot, parent: None, children: [None; 2], is_red: false }
    }
}

/// A tree of at least one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// Also those that were removed, without links.
    nodes: Vec<Node>,
    root: usize,
    /// Nodes as the bucket is walked; the root is the first.
    list: Vec<usize>,
}

impl Tree {
    /// `treeify`: the tree of a list, which is not empty.
    pub(super) fn of(list: &[Slot], ties: &mut Ties) -> Self {
        let mut tree =
            Tree { nodes: list.iter().copied().map(Node::new).collect(), root: 0, list: (0..list.len()).collect() };
        for node in 1..list.len() {
            tree.attach(node, ties);
        }
        tree.move_root_to_front();
        tree
    }

    /// `putTreeVal` of an entry that is not in.
    pub(super) fn insert(&mut self, slot: Slot, ties: &mut Ties) {
        let node = self.nodes.len();
        self.nodes.push(Node::new(slot));
        let parent = self.attach(node, ties);
        let place = self.list.iter().position(|other| *other == parent).map_or(0, |place| place + 1);
        self.list.insert(place, node);
        self.move_root_to_front();
    }

    /// `removeTreeNode`. The rest as a list if it is too small for a tree, judged, as Java does, by the tree with the entry.
    pub(super) fn remove(&mut self, entry: usize) -> Option<Vec<Slot>> {
        let place = self.list.iter().position(|node| self.nodes[*node].slot.entry == entry)?;
        let node = self.list.remove(place);
        let [left, right] = self.nodes[self.root].children;
        if right.is_none() || left.is_none_or(|left| self.child(left, LEFT).is_none()) {
            return Some(self.slots().collect());
        }
        self.detach(node);
        self.move_root_to_front();
        None
    }

    /// The entries as the bucket is walked.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.iter().map(|node| self.nodes[*node].slot)
    }

    fn move_root_to_front(&mut self) {
        if let Some(place) = self.list.iter().position(|node| *node == self.root) {
            self.list[..=place].rotate_right(1);
        }
    }

    fn child(&self, node: usize, side: usize) -> Option<usize> {
        self.nodes[node].children[side]
    }

    fn parent(&self, node: usize) -> Option<usize> {
        self.nodes[node].parent
    }

    fn is_red(&self, node: Option<usize>) -> bool {
        node.is_some_and(|node| self.nodes[node].is_red)
    }

    fn paint(&mut self, node: Option<usize>, red: bool) {
        if let Some(node) = node {
            self.nodes[node].is_red = red;
        }
    }

    fn side_under(&self, parent: usize, node: usize) -> usize {
        if self.child(parent, LEFT) == Some(node) { LEFT } else { RIGHT }
    }

    fn link(&mut self, parent: usize, side: usize, node: Option<usize>) {
        self.nodes[parent].children[side] = node;
        if let Some(node) = node {
            self.nodes[node].parent = Some(parent);
        }
    }

    /// Puts a node where another is under its parent, or at the root.
    fn replace(&mut self, old: usize, new: usize) {
        match self.parent(old) {
            Some(parent) => self.link(parent, self.side_under(parent, old), Some(new)),
            None => {
                self.nodes[new].parent = None;
                self.root = new;
            }
        }
    }

    /// Hangs a new node under a leaf; the leaf.
    fn attach(&mut self, node: usize, ties: &mut Ties) -> usize {
        let hash = self.nodes[node].slot.hash;
        let mut parent = self.root;
        let side = loop {
            let side = match hash.cmp(&self.nodes[parent].slot.hash) {
                std::cmp::Ordering::Less => LEFT,
                std::cmp::Ordering::Greater => RIGHT,
                std::cmp::Ordering::Equal if ties.goes_left() => LEFT,
                std::cmp::Ordering::Equal => RIGHT,
            };
            match self.child(parent, side) {
                Some(next) => parent = next,
                None => break side,
            }
        };
        self.link(parent, side, Some(node));
        self.balance_after_insertion(node);
        parent
    }

    /// Turns a node down to the side given; its other child comes up.
    fn rotate(&mut self, node: usize, side: usize) {
        let Some(riser) = self.child(node, opposite(side)) else { return };
        self.link(node, opposite(side), self.child(riser, side));
        self.replace(node, riser);
        if self.root == riser {
            self.nodes[riser].is_red = false;
        }
        self.link(riser, side, Some(node));
    }

    fn balance_after_insertion(&mut self, mut node: usize) {
        self.nodes[node].is_red = true;
        loop {
            let Some(mut parent) = self.parent(node) else {
                self.nodes[node].is_red = false;
                return;
            };
            let Some(grandparent) = self.parent(parent).filter(|_| self.nodes[parent].is_red) else { return };
            let side = self.side_under(grandparent, parent);
            let uncle = self.child(grandparent, opposite(side));
            if self.is_red(uncle) {
                self.paint(uncle, false);
                self.nodes[parent].is_red = false;
                self.nodes[grandparent].is_red = true;
                node = grandparent;
                continue;
            }
            if self.child(parent, opposite(side)) == Some(node) {
                self.rotate(parent, side);
                std::mem::swap(&mut node, &mut parent);
            }
            self.nodes[parent].is_red = false;
            self.nodes[grandparent].is_red = true;
            self.rotate(grandparent, opposite(side));
        }
    }

    /// Takes a node out of the tree.
    fn detach(&mut self, node: usize) {
        if let [Some(_), Some(right)] = self.nodes[node].children {
            self.swap_with_successor(node, right);
        }
        let [left, right] = self.nodes[node].children;
        match left.or(right) {
            Some(replacement) => {
                self.replace(node, replacement);
                if self.root == replacement {
                    self.nodes[replacement].is_red = false;
                }
                if !self.nodes[node].is_red {
                    self.balance_after_deletion(replacement);
                }
            }
            None => {
                if !self.nodes[node].is_red {
                    self.balance_after_deletion(node);
                }
                if let Some(parent) = self.parent(node) {
                    self.link(parent, self.side_under(parent, node), None);
                }
            }
        }
        self.nodes[node] = Node::new(self.nodes[node].slot);
    }

    /// Lets a node with two children and the next greater one change places and colours.
    fn swap_with_successor(&mut self, node: usize, right: usize) {
        let mut successor = right;
        while let Some(next) = self.child(successor, LEFT) {
            successor = next;
        }
        let red = self.nodes[node].is_red;
        self.nodes[node].is_red = self.nodes[successor].is_red;
        self.nodes[successor].is_red = red;
        let [left, _] = self.nodes[node].children;
        let below = self.child(successor, RIGHT);
        let above = self.parent(successor);
        self.replace(node, successor);
        match above {
            Some(above) if successor != right => {
                self.link(above, LEFT, Some(node));
                self.link(successor, RIGHT, Some(right));
            }
            _ => self.link(successor, RIGHT, Some(node)),
        }
        self.link(successor, LEFT, left);
        self.nodes[node].children[LEFT] = None;
        self.link(node, RIGHT, below);
    }

    fn balance_after_deletion(&mut self, mut node: usize) {
        while node != self.root {
            if self.nodes[node].is_red {
                self.nodes[node].is_red = false;
                return;
            }
            let Some(parent) = self.parent(node) else { return };
            let side = self.side_under(parent, node);
            let far_side = opposite(side);
            if let Some(sibling) = self.child(parent, far_side).filter(|sibling| self.nodes[*sibling].is_red) {
                self.nodes[sibling].is_red = false;
                self.nodes[parent].is_red = true;
                self.rotate(parent, side);
            }
            let Some(sibling) = self.child(parent, far_side) else {
                node = parent;
                continue;
            };
            let [near, far] = [side, far_side].map(|side| self.child(sibling, side));
            if !self.is_red(near) && !self.is_red(far) {
                self.nodes[sibling].is_red = true;
                node = parent;
                continue;
            }
            if !self.is_red(far) {
                self.paint(near, false);
                self.nodes[sibling].is_red = true;
                self.rotate(sibling, far_side);
            }
            if let Some(sibling) = self.child(parent, far_side) {
                self.nodes[sibling].is_red = self.nodes[parent].is_red;
                self.paint(self.child(sibling, far_side), false);
            }
            self.nodes[parent].is_red = false;
            self.rotate(parent, side);
            return;
        }
    }
}
