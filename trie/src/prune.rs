//! Bounding what stays in memory: subtrees that no recent version came by are let go.
//!
//! A node is touched when a reader passes it, so none is older than what lies below it: an old node goes with its whole
//! subtree, and only nodes above such a cut are made anew. Other versions keep what they hold until they are dropped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Trie;
use crate::node::Node;

impl Trie {
    /// Bytes of memory that nodes of this line of versions take, about: nodes that only older versions hold do not count.
    pub fn loaded_bytes(&self) -> usize {
        self.inner.loaded.load(Ordering::Relaxed)
    }

    /// The same version with at most about `budget` bytes of nodes in memory; the version itself when they are fewer.
    ///
    /// What is let go is read from the store when needed again, so new nodes have to be there: with new nodes that nobody
    /// has taken ([`Trie::commit`]) nothing is let go, and what was taken must be readable before this is called. Memory is
    /// freed when older versions are dropped.
    pub fn prune(&self, budget: usize) -> Self {
        let inner = &*self.inner;
        let Some(root) = &inner.root else { return self.clone() };
        if self.loaded_bytes() <= budget || self.has_unsaved() {
            return self.clone();
        }
        let mut ages: BTreeMap<u32, usize> = BTreeMap::new();
        weigh(root, inner.generation, &mut ages);
        // Down to three quarters, so that the next walk is not due at once.
        let keep = budget / 4 * 3;
        let mut kept = 0usize;
        let mut oldest = None;
        for (age, bytes) in &ages {
            if kept.saturating_add(*bytes) > keep {
                break;
            }
            kept += bytes;
            oldest = Some(*age);
        }
        if oldest.is_some() && oldest == ages.keys().next_back().copied() {
            inner.loaded.store(kept, Ordering::Relaxed);
            return self.clone();
        }
        let root = cut(root, inner.generation, oldest).unwrap_or_else(|| Arc::clone(root));
        let loaded = Arc::new(AtomicUsize::new(kept.max(root.memory())));
        let store = Arc::clone(&inner.store);
        Self::version(Some(root), inner.root_hash, store, inner.generation, loaded, None)
    }
}

/// Versions since a node was touched.
fn age(node: &Node, generation: u32) -> u32 {
    generation.wrapping_sub(node.touched())
}

/// Adds up the memory of nodes by age.
fn weigh(node: &Node, generation: u32, ages: &mut BTreeMap<u32, usize>) {
    let bytes = ages.entry(age(node, generation)).or_default();
    *bytes = bytes.saturating_add(node.memory());
    for child in [0, 1].into_iter().filter_map(|side| node.child(side)) {
        weigh(child, generation, ages);
    }
}

/// The node without what is older than `oldest`; `None` when nothing below it is. Without an age only the node stays.
fn cut(node: &Arc<Node>, generation: u32, oldest: Option<u32>) -> Option<Arc<Node>> {
    let mut changed = false;
    let children = [0, 1].map(|side| {
        let child = node.child(side)?;
        if oldest.is_none_or(|oldest| age(child, generation) > oldest) {
            changed = true;
            return None;
        }
        match cut(child, generation, oldest) {
            Some(other) => {
                changed = true;
                Some(other)
            }
            None => Some(Arc::clone(child)),
        }
    });
    changed.then(|| Arc::new(node.with_loaded(children)))
}
