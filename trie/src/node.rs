//! A node in memory: its message and its children so far loaded.
//!
//! A node never changes once it is shared. What can be added is a child that its message names and that was not loaded yet
//! (once, for all who share the node) and the note when it was last touched.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use alloy_primitives::{B256, Bytes};

use crate::codec::{ChildView, MAX_EMBEDDED, MAX_SHORT_VALUE, NodeError, NodeView, ORCHID_ARITY, ValueView, count};
use crate::{StoreError, TrieError, TrieStore};

/// Message bytes that a node holds in place: a branch without path takes 70 at most while less than 4 GiB lie below it.
///
/// With the counters of its `Arc` a node then has 128 bytes, two cache lines.
const INLINE: usize = 70;

/// Bytes of a message, in place or on the heap, and a long value that need not be in the store yet.
enum Content {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<HeapContent>),
}

struct HeapContent {
    message: Box<[u8]>,
    long_value: Option<Bytes>,
}

impl Content {
    #[inline]
    fn new(message: &[u8], long_value: Option<Bytes>) -> Self {
        let mut bytes = [0; INLINE];
        match bytes.get_mut(..message.len()) {
            Some(place) if long_value.is_none() => {
                place.copy_from_slice(message);
                Self::Inline { len: message.len() as u8, bytes }
            }
            _ => Self::Heap(Box::new(HeapContent { message: message.into(), long_value })),
        }
    }

    #[inline]
    fn message(&self) -> &[u8] {
        match self {
            Self::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Self::Heap(content) => &content.message,
        }
    }
}

/// A node in memory.
pub(crate) struct Node {
    content: Content,
    /// Children by hash that were loaded; an embedded child only when it has a long value in memory.
    children: [OnceLock<Arc<Node>>; 2],
    /// The generation of the tree that last came by.
    touched: AtomicU32,
}

const _: () = assert!(size_of::<Node>() + 2 * size_of::<usize>() <= 128, "two cache lines");

impl Node {
    /// A node of a message that is known to be one.
    #[inline]
    pub(crate) fn new(
        message: &[u8],
        children: [Option<Arc<Node>>; 2],
        long_value: Option<Bytes>,
        generation: u32,
    ) -> Self {
        Self {
            content: Content::new(message, long_value),
            children: children.map(|child| child.map_or_else(OnceLock::new, OnceLock::from)),
            touched: AtomicU32::new(generation),
        }
    }

    /// Reads a node from the store.
    pub(crate) fn load(store: &dyn TrieStore, hash: &B256, generation: u32) -> Result<Arc<Self>, TrieError> {
        Self::decode(store.get(hash)?, hash, generation)
    }

    /// Makes a node of what the store holds under a hash.
    pub(crate) fn decode(record: Option<Bytes>, hash: &B256, generation: u32) -> Result<Arc<Self>, TrieError> {
        let message = record.ok_or(TrieError::MissingNode { hash: *hash })?;
        check(&message).map_err(|reason| TrieError::Corrupt { hash: *hash, reason })?;
        Ok(Arc::new(Self::new(&message, [None, None], None, generation)))
    }

    #[inline]
    pub(crate) fn message(&self) -> &[u8] {
        self.content.message()
    }

    #[inline]
    pub(crate) fn child(&self, side: usize) -> Option<&Arc<Node>> {
        self.children[side].get()
    }

    /// The place of a child that may be loaded later.
    pub(crate) fn child_cell(&self, side: usize) -> &OnceLock<Arc<Node>> {
        &self.children[side]
    }

    pub(crate) fn long_value(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Inline { .. } => None,
            Content::Heap(content) => content.long_value.as_ref(),
        }
    }

    #[inline]
    pub(crate) fn touch(&self, generation: u32) {
        // Written only on change: many readers share the upper nodes.
        if self.touched.load(Ordering::Relaxed) != generation {
            self.touched.store(generation, Ordering::Relaxed);
        }
    }

    /// Brings the node into the processor's caches: reads that nothing waits for.
    #[inline]
    pub(crate) fn warm(self: &Arc<Self>) {
        let _ = std::hint::black_box(Arc::strong_count(self));
        let _ = std::hint::black_box(self.touched());
    }

    pub(crate) fn touched(&self) -> u32 {
        self.touched.load(Ordering::Relaxed)
    }

    /// Bytes of memory that the node itself takes.
    pub(crate) fn memory(&self) -> usize {
        let heap = match &self.content {
            Content::Inline { .. } => 0,
            Content::Heap(content) => {
                let long_value = content.long_value.as_ref().map_or(0, |value| value.len());
                size_of::<HeapContent>() + content.message.len() + long_value
            }
        };
        // The counters of the `Arc`.
        size_of::<Self>() + 2 * size_of::<usize>() + heap
    }

    /// The same node with other children in memory.
    pub(crate) fn with_loaded(&self, children: [Option<Arc<Node>>; 2]) -> Self {
        Self::new(self.message(), children, self.long_value().cloned(), self.touched())
    }
}

/// Checks all that later steps rely on: the message and each embedded one can be taken apart and are such as the tree
/// writes, as far as that can be seen without other nodes.
fn check(message: &[u8]) -> Result<(), NodeError> {
    if message.first() == Some(&ORCHID_ARITY) {
        return Err(NodeError::OldForm);
    }
    let view = NodeView::parse(message)?;
    check_value(&view)?;
    for child in view.children {
        if let ChildView::Embedded(message) = child {
            let child = NodeView::parse(message)?;
            check_value(&child)?;
            if !child.is_terminal() {
                return Err(NodeError::EmbeddedChildren);
            }
            if message.len() > MAX_EMBEDDED {
                return Err(NodeError::EmbeddedLength { got: count(message.len()) });
            }
        }
    }
    Ok(())
}

fn check_value(view: &NodeView<'_>) -> Result<(), NodeError> {
    match view.value {
        ValueView::Short(bytes) if bytes.len() > MAX_SHORT_VALUE => {
            Err(NodeError::LongInPlace { got: count(bytes.len()) })
        }
        ValueView::Long { len, .. } if len as usize <= MAX_SHORT_VALUE => Err(NodeError::ShortByHash { got: len }),
        ValueView::None if view.is_terminal() => Err(NodeError::Empty),
        _ => Ok(()),
    }
}

/// A place in the tree: a node's parts and, unless it is embedded, the node.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) view: NodeView<'a>,
    /// `None` for an embedded node, but for one whose long value is in memory.
    pub(crate) node: Option<&'a Arc<Node>>,
}

impl<'a> Place<'a> {
    pub(crate) fn of(node: &'a Arc<Node>, hash: impl FnOnce() -> B256) -> Result<Self, TrieError> {
        let view = NodeView::parse(node.message()).map_err(|reason| TrieError::Corrupt { hash: hash(), reason })?;
        Ok(Self { view, node: Some(node) })
    }

    pub(crate) fn long_value(&self) -> Option<&'a Bytes> {
        self.node.and_then(|node| node.long_value())
    }
}

/// Where nodes come from, and what they are marked with.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) store: &'a dyn TrieStore,
    pub(crate) generation: u32,
    /// Bytes of memory that loaded nodes take.
    pub(crate) loaded: &'a std::sync::atomic::AtomicUsize,
}

impl Source<'_> {
    /// The child on one side, loaded when need be; the loaded node stays with its parent.
    #[inline]
    pub(crate) fn child<'a>(&self, parent: &Place<'a>, side: usize) -> Result<Option<Place<'a>>, TrieError> {
        match parent.view.children[side] {
            ChildView::Empty => Ok(None),
            ChildView::Embedded(message) => {
                let view = NodeView::parse(message)
                    .map_err(|reason| TrieError::Corrupt { hash: alloy_primitives::keccak256(message), reason })?;
                Ok(Some(Place { view, node: parent.node.and_then(|node| node.child(side)) }))
            }
            ChildView::Hash(hash) => {
                let Some(node) = parent.node else {
                    return Err(TrieError::Corrupt { hash: *hash, reason: NodeError::EmbeddedChildren });
                };
                let child = match node.child(side) {
                    Some(child) => child,
                    None => self.fill(node.child_cell(side), Node::load(self.store, hash, self.generation)?),
                };
                child.touch(self.generation);
                Place::of(child, || *hash).map(Some)
            }
        }
    }

    /// Puts a loaded node in its place, or finds that another reader was faster.
    pub(crate) fn fill<'a>(&self, cell: &'a OnceLock<Arc<Node>>, node: Arc<Node>) -> &'a Arc<Node> {
        let memory = node.memory();
        cell.get_or_init(|| {
            self.loaded.fetch_add(memory, Ordering::Relaxed);
            node
        })
    }

    /// The bytes of a value, short or long.
    pub(crate) fn value(&self, place: &Place<'_>) -> Result<Option<Bytes>, TrieError> {
        match place.view.value {
            ValueView::None => Ok(None),
            ValueView::Short(bytes) => Ok(Some(Bytes::copy_from_slice(bytes))),
            ValueView::Long { len: 0, .. } => Ok(None),
            ValueView::Long { hash, len } => match place.long_value() {
                Some(value) => Ok(Some(value.clone())),
                None => load_value(self.store, hash, len).map(Some),
            },
        }
    }
}

/// Reads a long value from the store.
pub(crate) fn load_value(store: &dyn TrieStore, hash: &B256, len: u32) -> Result<Bytes, TrieError> {
    let found: Result<Option<Bytes>, StoreError> = store.get(hash);
    match found? {
        Some(value) if value.len() == len as usize => Ok(value),
        _ => Err(TrieError::MissingValue { hash: *hash, length: len }),
    }
}
