//! Going through the tree in order: nodes, values, keys, and the lines of rskj's ExportState.
//!
//! A walk reads what is not in memory without keeping it there, so that it can pass through a tree of any size.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes, keccak256};

use crate::bits::{BitBuf, Bits};
use crate::codec::{ChildView, NodeView, ValueView};
use crate::node::{Node, Place, load_value};
use crate::orchid::{OrchidValue, encode_into};
use crate::{Trie, TrieError, TrieKey};

/// A node met on a walk.
#[derive(Debug, Clone)]
pub struct NodeItem {
    path: BitBuf,
    message: Bytes,
    hash: Option<B256>,
    long_value: Option<Bytes>,
}

impl NodeItem {
    /// All bits from the root to the end of the node's own path: its key when it has a value.
    pub fn path(&self) -> Bits<'_> {
        self.path.as_bits()
    }

    /// The message as it is stored or stands in its parent.
    pub fn message(&self) -> &Bytes {
        &self.message
    }

    /// The hash of the message.
    pub fn hash(&self) -> B256 {
        self.hash.unwrap_or_else(|| keccak256(&self.message))
    }

    /// Whether the message stands in its parent and has no record of its own.
    pub fn is_embedded(&self) -> bool {
        self.hash.is_none()
    }

    /// The parts of the node.
    ///
    /// # Errors
    /// Never for an item of a walk, which has taken the message apart before.
    pub fn view(&self) -> Result<NodeView<'_>, TrieError> {
        NodeView::parse(&self.message).map_err(|reason| TrieError::Corrupt { hash: self.hash(), reason })
    }
}

/// A child still to be visited.
struct Step {
    /// Bits above the node's own path.
    prefix: BitBuf,
    target: Target,
}

enum Target {
    Hash(B256, Option<Arc<Node>>),
    Embedded(Bytes, Option<Arc<Node>>),
}

/// Nodes in pre-order, the left side first, embedded ones included.
pub struct NodeIter<'a> {
    trie: &'a Trie,
    stack: Vec<Step>,
}

impl std::fmt::Debug for NodeIter<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NodeIter").field("waiting", &self.stack.len()).finish_non_exhaustive()
    }
}

impl NodeIter<'_> {
    fn visit(&mut self, step: Step) -> Result<NodeItem, TrieError> {
        let (message, hash, node) = match step.target {
            Target::Hash(hash, node) => {
                let node = match node {
                    Some(node) => node,
                    None => Node::load(&*self.trie.inner.store, &hash, self.trie.inner.generation)?,
                };
                (Bytes::copy_from_slice(node.message()), Some(hash), Some(node))
            }
            Target::Embedded(message, node) => (message, None, node),
        };
        let view = NodeView::parse(&message)
            .map_err(|reason| TrieError::Corrupt { hash: hash.unwrap_or_else(|| keccak256(&message)), reason })?;
        let mut path = step.prefix;
        path.push_bits(view.path);
        for side in [1, 0] {
            let loaded = node.as_ref().and_then(|node| node.child(side)).cloned();
            let target = match view.children[side] {
                ChildView::Empty => continue,
                ChildView::Hash(hash) => Target::Hash(*hash, loaded),
                ChildView::Embedded(inner) => Target::Embedded(message.slice_ref(inner), loaded),
            };
            let mut prefix = path.clone();
            prefix.push(side == 1);
            self.stack.push(Step { prefix, target });
        }
        let long_value = node.as_ref().and_then(|node| node.long_value()).cloned();
        Ok(NodeItem { path, message, hash, long_value })
    }
}

impl Iterator for NodeIter<'_> {
    type Item = Result<NodeItem, TrieError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.stack.pop()?;
        let item = self.visit(step);
        if item.is_err() {
            self.stack.clear();
        }
        Some(item)
    }
}

/// Keys with their values, in the order of the keys.
#[derive(Debug)]
pub struct ValueIter<'a> {
    nodes: NodeIter<'a>,
}

impl ValueIter<'_> {
    fn value(&self, item: &NodeItem) -> Result<Option<(TrieKey, Bytes)>, TrieError> {
        let value = match item.view()?.value {
            ValueView::None | ValueView::Long { len: 0, .. } => return Ok(None),
            ValueView::Short(bytes) => Bytes::copy_from_slice(bytes),
            ValueView::Long { hash, len } => match &item.long_value {
                Some(value) => value.clone(),
                None => load_value(&*self.nodes.trie.inner.store, hash, len)?,
            },
        };
        Ok(Some((TrieKey::new(item.path.as_bytes()), value)))
    }
}

impl Iterator for ValueIter<'_> {
    type Item = Result<(TrieKey, Bytes), TrieError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = match self.nodes.next()? {
                Ok(item) => item,
                Err(fault) => return Some(Err(fault)),
            };
            if let Some(result) = self.value(&item).transpose() {
                return Some(result);
            }
        }
    }
}

impl Trie {
    /// All nodes in pre-order, the left side first, embedded ones included. The tree without nodes has none.
    pub fn iter_nodes(&self) -> NodeIter<'_> {
        let root = self.inner.root.clone();
        let stack =
            root.map(|root| Step { prefix: BitBuf::default(), target: Target::Hash(self.inner.root_hash, Some(root)) });
        NodeIter { trie: self, stack: stack.into_iter().collect() }
    }

    /// All keys and values in the order of the keys.
    pub fn iter_values(&self) -> ValueIter<'_> {
        ValueIter { nodes: self.iter_nodes() }
    }

    /// The nodes whose keys begin with a prefix, in pre-order.
    ///
    /// # Errors
    /// When a node on the way to the prefix is missing or corrupt, or the store fails.
    pub fn iter_nodes_under(&self, prefix: &[u8]) -> Result<NodeIter<'_>, TrieError> {
        let key = Bits::of_key(prefix);
        let mut nodes = self.iter_nodes();
        while let Some(step) = nodes.stack.pop() {
            let above = step.prefix.as_bits();
            if above.common_prefix(&key) < above.len().min(key.len()) {
                continue;
            }
            if above.len() >= key.len() {
                nodes.stack = vec![step];
                return Ok(nodes);
            }
            let begin = step.prefix.clone();
            let waiting = nodes.stack.len();
            let again = match &step.target {
                Target::Hash(hash, node) => Target::Hash(*hash, node.clone()),
                Target::Embedded(message, node) => Target::Embedded(message.clone(), node.clone()),
            };
            let item = nodes.visit(step)?;
            if item.path().common_prefix(&key) == key.len() {
                nodes.stack = vec![Step { prefix: begin, target: again }];
                return Ok(nodes);
            }
            if item.path().common_prefix(&key) < item.path().len() {
                nodes.stack.truncate(waiting);
            }
        }
        Ok(nodes)
    }

    /// The keys with a value that begin with a prefix, and the values, in the order of the keys.
    ///
    /// # Errors
    /// As [`Trie::iter_nodes_under`].
    pub fn iter_values_under(&self, prefix: &[u8]) -> Result<ValueIter<'_>, TrieError> {
        Ok(ValueIter { nodes: self.iter_nodes_under(prefix)? })
    }

    /// The keys with a value that begin with a prefix, in order. Reads no long value.
    ///
    /// # Errors
    /// As [`Trie::iter_nodes_under`].
    pub fn keys_under(&self, prefix: &[u8]) -> Result<Vec<TrieKey>, TrieError> {
        let mut keys = Vec::new();
        for item in self.iter_nodes_under(prefix)? {
            let item = item?;
            if !item.view()?.value.is_empty() {
                keys.push(TrieKey::new(item.path.as_bytes()));
            }
        }
        Ok(keys)
    }

    /// The number of nodes, embedded ones included; 1 for the tree without nodes (rskj: `Trie.trieSize`).
    ///
    /// # Errors
    /// When a node is missing or corrupt, or the store fails.
    pub fn node_count(&self) -> Result<u64, TrieError> {
        let mut count = 0u64;
        for item in self.iter_nodes() {
            let _ = item?;
            count = count.saturating_add(1);
        }
        Ok(count.max(1))
    }

    /// Gives the lines of rskj's ExportState, in order: the message of each node with its own record, then what is below it,
    /// left first; the long value of a child when its subtree is through, and before that, when the child is not embedded,
    /// once more as the end of its own lines.
    ///
    /// # Errors
    /// When a node or value is missing or corrupt, the store fails, or `line` fails.
    pub fn export_lines<E: From<TrieError>>(&self, mut line: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match &self.inner.root {
            None => line(self.root_message()),
            Some(root) => self.export_node(root, &self.inner.root_hash, &mut line),
        }
    }

    fn export_node<E: From<TrieError>>(
        &self,
        node: &Arc<Node>,
        hash: &B256,
        line: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        line(node.message())?;
        let place = Place::of(node, || *hash)?;
        for side in 0..2 {
            let loaded = node.child(side);
            let child = match place.view.children[side] {
                ChildView::Empty => continue,
                ChildView::Hash(hash) => {
                    let child = match loaded {
                        Some(child) => Arc::clone(child),
                        None => Node::load(&*self.inner.store, hash, self.inner.generation)?,
                    };
                    self.export_node(&child, hash, line)?;
                    self.export_long_value(&Place::of(&child, || *hash)?, line)?;
                    continue;
                }
                ChildView::Embedded(message) => message,
            };
            let view =
                NodeView::parse(child).map_err(|reason| TrieError::Corrupt { hash: keccak256(child), reason })?;
            self.export_long_value(&Place { view, node: loaded }, line)?;
        }
        self.export_long_value(&place, line)
    }

    fn export_long_value<E: From<TrieError>>(
        &self,
        place: &Place<'_>,
        line: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match (place.view.value, place.long_value()) {
            (ValueView::Long { len: 1.., .. }, Some(value)) => line(value),
            (ValueView::Long { hash, len: len @ 1.. }, None) => line(&load_value(&*self.inner.store, hash, len)?),
            _ => Ok(()),
        }
    }

    /// The root hash in the form before RSKIP107. Reads the whole tree.
    ///
    /// # Errors
    /// When a node is missing or corrupt, or the store fails.
    pub fn orchid_root_hash(&self, secure: bool) -> Result<B256, TrieError> {
        match &self.inner.root {
            None => Ok(self.inner.root_hash),
            Some(root) => Ok(keccak256(self.orchid_message(&Place::of(root, || self.inner.root_hash)?, secure)?)),
        }
    }

    /// The root's message in the form before RSKIP107; `None` for the tree without nodes. Reads the whole tree.
    ///
    /// # Errors
    /// When a node is missing or corrupt, or the store fails.
    pub fn orchid_root_message(&self, secure: bool) -> Result<Option<Vec<u8>>, TrieError> {
        match &self.inner.root {
            None => Ok(None),
            Some(root) => self.orchid_message(&Place::of(root, || self.inner.root_hash)?, secure).map(Some),
        }
    }

    fn orchid_message(&self, place: &Place<'_>, secure: bool) -> Result<Vec<u8>, TrieError> {
        let mut children = [None, None];
        for (side, hash) in children.iter_mut().enumerate() {
            let loaded = place.node.and_then(|node| node.child(side));
            *hash = match place.view.children[side] {
                ChildView::Empty => None,
                ChildView::Hash(child) => {
                    let node = match loaded {
                        Some(node) => Arc::clone(node),
                        None => Node::load(&*self.inner.store, child, self.inner.generation)?,
                    };
                    Some(keccak256(self.orchid_message(&Place::of(&node, || *child)?, secure)?))
                }
                ChildView::Embedded(message) => {
                    let view = NodeView::parse(message)
                        .map_err(|reason| TrieError::Corrupt { hash: keccak256(message), reason })?;
                    Some(keccak256(self.orchid_message(&Place { view, node: loaded }, secure)?))
                }
            };
        }
        let value = match place.view.value {
            ValueView::None => OrchidValue::None,
            ValueView::Short(bytes) => OrchidValue::Short(bytes),
            ValueView::Long { hash, .. } => OrchidValue::Long(hash),
        };
        let mut message = Vec::with_capacity(128);
        encode_into(&mut message, secure, place.view.path, [children[0].as_ref(), children[1].as_ref()], value);
        Ok(message)
    }
}
