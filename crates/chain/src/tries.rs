//! States of recent blocks, so that the next block finds its parent's trie loaded.

use std::collections::VecDeque;
use std::sync::Arc;

use rhizome_primitives::B256;
use rhizome_trie::{Trie, TrieError, TrieStore};

/// How many states are kept: siblings and short reorganisations start from one of the last few.
const KEPT: usize = 8;

/// The tries of the last imported blocks. They share all nodes that they have in common.
#[derive(Debug)]
pub(crate) struct TrieCache {
    recent: VecDeque<(B256, Trie)>,
    budget: usize,
}

impl TrieCache {
    pub(crate) fn new(budget: usize) -> Self {
        Self { recent: VecDeque::with_capacity(KEPT), budget }
    }

    /// The state after a block, loaded as far as an earlier use loaded it.
    pub(crate) fn open(&mut self, block: &B256, root: B256, store: Arc<dyn TrieStore>) -> Result<Trie, TrieError> {
        if let Some((_, trie)) = self.recent.iter().rev().find(|(hash, _)| hash == block) {
            return Ok(trie.clone());
        }
        let trie = Trie::open(root, store)?;
        self.put(*block, trie.clone());
        Ok(trie)
    }

    /// Remembers the state after a block; its new nodes are in the store by now.
    pub(crate) fn put(&mut self, block: B256, trie: Trie) {
        if self.recent.len() == KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back((block, trie.prune(self.budget)));
    }
}
