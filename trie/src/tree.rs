//! The tree as a value: one version of the state, sharing with others all that is equal.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::{B256, Bytes, keccak256};

use crate::apply::{Applier, Sub};
use crate::batch::{NodeBatch, Pending};
use crate::bits::Bits;
use crate::codec::{EMPTY_MESSAGE, EMPTY_ROOT, NodeHead, NodeView, ValueView};
use crate::draft::{Op, operations};
use crate::node::{Node, Place, Source};
use crate::seal::Arena;
use crate::{ChangeSet, TrieError, TrieKey, TrieStore};

/// Changes on either side of a node from which on both are worked on at the same time: below it, handing work to another
/// thread costs more than it saves.
const PARALLEL_CHANGES: usize = 96;

/// A version of the tree.
///
/// Cloning is one `Arc` clone. A change gives another version and leaves this one as it is. Nodes are read from the store
/// when first needed and then stay in memory with all versions that share them, until [`Trie::prune`].
#[derive(Clone)]
pub struct Trie {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) root: Option<Arc<Node>>,
    pub(crate) root_hash: B256,
    pub(crate) store: Arc<dyn TrieStore>,
    /// Counts versions, to tell what was touched lately.
    pub(crate) generation: u32,
    /// Memory of the nodes that this line of versions has loaded and made, less what it replaced.
    pub(crate) loaded: Arc<AtomicUsize>,
    /// New nodes that nobody has taken.
    pub(crate) pending: Option<Arc<Pending>>,
}

impl Inner {
    #[inline]
    pub(crate) fn source(&self) -> Source<'_> {
        Source { store: &*self.store, generation: self.generation, loaded: &self.loaded }
    }

    /// The root's place, if there is one.
    #[inline]
    pub(crate) fn root_place(&self) -> Result<Option<Place<'_>>, TrieError> {
        match &self.root {
            None => Ok(None),
            Some(root) => Place::of(root, || self.root_hash).map(Some),
        }
    }
}

/// A node found under a key, with or without a value.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    place: Place<'a>,
    source: Source<'a>,
}

impl<'a> Entry<'a> {
    /// The parts of the node.
    pub fn view(&self) -> &NodeView<'a> {
        &self.place.view
    }

    /// The value's length in bytes, 0 without a value. Reads no long value.
    pub fn value_len(&self) -> u32 {
        self.place.view.value.len()
    }

    /// The keccak of the value; `None` without a value. Reads no long value.
    pub fn value_hash(&self) -> Option<B256> {
        match self.place.view.value {
            ValueView::None | ValueView::Long { len: 0, .. } => None,
            ValueView::Short(bytes) => Some(keccak256(bytes)),
            ValueView::Long { hash, .. } => Some(*hash),
        }
    }

    /// The bytes of a value of at most 32 bytes, which are in the node itself; `None` for a long one and without one.
    pub fn short_value(&self) -> Option<&'a [u8]> {
        match self.place.view.value {
            ValueView::Short(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value; reads a long one from the store.
    ///
    /// # Errors
    /// When a long value is missing or the store fails.
    pub fn value(&self) -> Result<Option<Bytes>, TrieError> {
        self.source.value(&self.place)
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Entry").field("view", &self.place.view).finish_non_exhaustive()
    }
}

impl Trie {
    /// The tree without nodes.
    pub fn empty(store: Arc<dyn TrieStore>) -> Self {
        let loaded = Arc::new(AtomicUsize::new(0));
        Self::version(None, EMPTY_ROOT, store, 0, loaded, None)
    }

    /// The tree with this root, which is read at once.
    ///
    /// # Errors
    /// When the root is not in the store, or is no node, or the store fails.
    pub fn open(root: B256, store: Arc<dyn TrieStore>) -> Result<Self, TrieError> {
        if root == EMPTY_ROOT {
            return Ok(Self::empty(store));
        }
        // The store may take every hash for one that a node names. Nothing may have written this one: then it is proven here.
        let record = store.get(&root)?.filter(|record| keccak256(record) == root);
        let node = Node::decode(record, &root, 0)?;
        let loaded = Arc::new(AtomicUsize::new(node.memory()));
        Ok(Self::version(Some(node), root, store, 0, loaded, None))
    }

    pub(crate) fn version(
        root: Option<Arc<Node>>,
        root_hash: B256,
        store: Arc<dyn TrieStore>,
        generation: u32,
        loaded: Arc<AtomicUsize>,
        pending: Option<Arc<Pending>>,
    ) -> Self {
        Self { inner: Arc::new(Inner { root, root_hash, store, generation, loaded, pending }) }
    }

    /// The hash of the root's message; [`EMPTY_ROOT`] for the tree without nodes.
    pub fn root_hash(&self) -> B256 {
        self.inner.root_hash
    }

    /// Whether the tree has no nodes.
    pub fn is_empty(&self) -> bool {
        self.inner.root.is_none()
    }

    /// The store that nodes come from.
    pub fn store(&self) -> &Arc<dyn TrieStore> {
        &self.inner.store
    }

    /// The message of the root; that of a node with nothing in it for the tree without nodes.
    pub fn root_message(&self) -> &[u8] {
        self.inner.root.as_ref().map_or(&EMPTY_MESSAGE, |root| root.message())
    }

    /// Bytes of all messages and long values below the root.
    ///
    /// # Errors
    /// When the root is no node.
    pub fn children_size(&self) -> Result<u64, TrieError> {
        Ok(self.inner.root_place()?.map_or(0, |root| root.view.children_size))
    }

    /// The node with exactly this key, with or without a value. It borrows from the tree: no allocation.
    ///
    /// # Errors
    /// When a node on the way is missing or corrupt, or the store fails: never for an absent key.
    pub fn find(&self, key: &[u8]) -> Result<Option<Entry<'_>>, TrieError> {
        let source = self.inner.source();
        let mut rest = Bits::of_key(key);
        let corrupt = |node: &Node, reason| TrieError::Corrupt { hash: keccak256(node.message()), reason };
        let Some(mut node) = self.inner.root.as_ref() else { return Ok(None) };
        // Loaded nodes above the key are passed by the front of their message.
        let mut place = loop {
            node.touch(source.generation);
            let head = NodeHead::parse(node.message()).map_err(|reason| corrupt(node, reason))?;
            let path = head.path;
            if path.len() < rest.len() && path.common_prefix(&rest) == path.len() {
                let side = usize::from(rest.get(path.len()));
                if head.has_child_by_hash(side)
                    && let Some(child) = node.child(side)
                {
                    rest = rest.from(path.len() + 1);
                    node = child;
                    continue;
                }
            }
            break Place::of(node, || keccak256(node.message()))?;
        };
        loop {
            let path = place.view.path;
            if path.len() > rest.len() || path.common_prefix(&rest) < path.len() {
                return Ok(None);
            }
            if path.len() == rest.len() {
                return Ok(Some(Entry { place, source }));
            }
            let side = usize::from(rest.get(path.len()));
            match source.child(&place, side)? {
                None => return Ok(None),
                Some(child) => place = child,
            }
            rest = rest.from(path.len() + 1);
        }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// As [`Trie::find`]; also when a long value is missing.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, TrieError> {
        match self.find(key)? {
            Some(entry) => entry.value(),
            None => Ok(None),
        }
    }

    /// The length of a key's value in bytes; `None` without one. Reads no long value.
    ///
    /// # Errors
    /// As [`Trie::find`].
    pub fn value_len(&self, key: &[u8]) -> Result<Option<u32>, TrieError> {
        Ok(self.find(key)?.map(|entry| entry.value_len()).filter(|len| *len > 0))
    }

    /// The keccak of a key's value; `None` without one. Reads no long value.
    ///
    /// # Errors
    /// As [`Trie::find`].
    pub fn value_hash(&self, key: &[u8]) -> Result<Option<B256>, TrieError> {
        Ok(self.find(key)?.and_then(|entry| entry.value_hash()))
    }

    /// Whether a key has a value.
    ///
    /// # Errors
    /// As [`Trie::find`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, TrieError> {
        Ok(self.value_len(key)?.is_some())
    }

    /// The tree after a whole change set, all hashes known. Large sets are worked on by several threads; the result is the
    /// same for any number of them.
    ///
    /// # Errors
    /// When a node on the way is missing or corrupt, the store fails, or a value is too long; this version stays as it is.
    pub fn apply(&self, changes: &ChangeSet) -> Result<Self, TrieError> {
        let parallel = if changes.len() < 2 * PARALLEL_CHANGES {
            usize::MAX
        } else {
            match rayon::current_num_threads() {
                1 => usize::MAX,
                threads => PARALLEL_CHANGES.max(changes.len() / (threads * 8)),
            }
        };
        self.apply_ops(&operations(changes)?, parallel)
    }

    /// As [`Trie::apply`], on the calling thread alone.
    ///
    /// # Errors
    /// As [`Trie::apply`].
    pub fn apply_serial(&self, changes: &ChangeSet) -> Result<Self, TrieError> {
        self.apply_ops(&operations(changes)?, usize::MAX)
    }

    pub(crate) fn apply_ops(&self, ops: &[Op<'_>], parallel: usize) -> Result<Self, TrieError> {
        if ops.is_empty() {
            return Ok(self.clone());
        }
        let inner = &*self.inner;
        let generation = inner.generation.wrapping_add(1);
        let source = Source { generation, ..inner.source() };
        let mut applier = Applier::new(source, parallel, Arena::for_changes(ops.len()));
        let sub = match inner.root_place()? {
            Some(root) => applier.change(&root, 0, ops, 0)?,
            None => applier.build(ops, 0).map_or(Sub::Unchanged, Sub::Draft),
        };
        let (root, root_hash) = match sub {
            Sub::Unchanged => return Ok(self.clone()),
            Sub::Empty => {
                applier.arena.seal(0, generation);
                (None, EMPTY_ROOT)
            }
            Sub::Draft(draft) => {
                let index = applier.write(draft);
                applier.arena.seal(0, generation);
                let (hash, node) = applier.arena.take(index, 0);
                (node, hash)
            }
        };
        let sealed = applier.arena.finish();
        inner.loaded.fetch_add(sealed.added, Ordering::Relaxed);
        // Other versions may have been counted twice or not at all: the figure is a guide, it must only not wrap.
        let _ = inner
            .loaded
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |loaded| Some(loaded.saturating_sub(sealed.replaced)));
        let pending = Arc::new(Pending::new(sealed.written, inner.pending.clone()));
        let store = Arc::clone(&inner.store);
        Ok(Self::version(root, root_hash, store, generation, Arc::clone(&inner.loaded), Some(pending)))
    }

    /// The tree with one value set or, with nothing or an empty value, deleted. A block's changes go through
    /// [`Trie::apply`] together.
    ///
    /// # Errors
    /// As [`Trie::apply`].
    pub fn put(&self, key: &[u8], value: Option<Bytes>) -> Result<Self, TrieError> {
        self.apply(&ChangeSet::from_parts(Vec::new(), vec![(TrieKey::new(key), value)]))
    }

    /// The tree without one value.
    ///
    /// # Errors
    /// As [`Trie::apply`].
    pub fn delete(&self, key: &[u8]) -> Result<Self, TrieError> {
        self.put(key, None)
    }

    /// The tree without one value and all below it; the same tree when no value has exactly this key.
    ///
    /// # Errors
    /// As [`Trie::apply`].
    pub fn delete_recursive(&self, key: &[u8]) -> Result<Self, TrieError> {
        self.apply(&ChangeSet::from_parts(vec![TrieKey::new(key)], Vec::new()))
    }

    /// Takes the new nodes and long values of this version and those it was made from, as far as nobody has taken them. The
    /// caller writes them to the store; the order in which that becomes durable is the caller's.
    pub fn commit(&self) -> NodeBatch {
        self.inner.pending.as_ref().map(Pending::take).unwrap_or_default()
    }

    /// Takes the new nodes and writes them to the tree's own store; gives their number and bytes.
    ///
    /// # Errors
    /// When the store fails.
    pub fn save(&self) -> Result<(usize, usize), TrieError> {
        let batch = self.commit();
        if !batch.is_empty() {
            self.inner.store.put_batch(batch.records())?;
        }
        Ok((batch.len(), batch.bytes()))
    }

    /// Whether there are new nodes that nobody has taken.
    pub fn has_unsaved(&self) -> bool {
        self.inner.pending.as_ref().is_some_and(|pending| !pending.is_taken())
    }
}

impl fmt::Debug for Trie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Trie").field("root", &self.inner.root_hash).finish_non_exhaustive()
    }
}
