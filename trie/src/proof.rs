//! Inclusion proofs: the messages from a node up to the root (rskj: `Trie.getNodes`).

use alloy_primitives::{B256, Bytes, keccak256};

use crate::bits::Bits;
use crate::codec::{ChildView, NodeError, NodeView, ValueView};
use crate::{Trie, TrieError};

/// Why a proof proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofError {
    /// No message.
    #[error("the proof is empty: expected the nodes from the key's one up to the root")]
    Empty,
    /// A message is not the one that its parent, or the root hash, names.
    #[error("node {index} is not the one that is named above it: expected {expected}, got {got}")]
    Unlinked {
        /// Its place in the proof, from the leaf.
        index: usize,
        /// Keccak of the message that its parent, or the root hash, names.
        expected: B256,
        /// Keccak of the message that is there.
        got: B256,
    },
    /// The way to the key does not go through these nodes.
    #[error("node {index} does not lie on the way to the key: expected a path that the key goes on from")]
    OffPath {
        /// Its place in the proof, from the leaf.
        index: usize,
    },
    /// A message is no node.
    #[error("node {index} is no node: {reason}")]
    Corrupt {
        /// Its place in the proof, from the leaf.
        index: usize,
        /// What is wrong.
        reason: NodeError,
    },
}

/// What a proof says about its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proven {
    /// The node has no value.
    NoValue,
    /// The value itself.
    Value(Bytes),
    /// A long value, by keccak and length.
    Hash {
        /// Its keccak.
        hash: B256,
        /// Its length in bytes.
        len: u32,
    },
}

impl Trie {
    /// The messages from the node with this key up to the root; `None` when no node has it. A node need not have a value.
    ///
    /// # Errors
    /// When a node on the way is missing or corrupt, or the store fails.
    pub fn proof(&self, key: &[u8]) -> Result<Option<Vec<Bytes>>, TrieError> {
        let source = self.inner.source();
        let Some(mut place) = self.inner.root_place()? else {
            return Ok(key.is_empty().then(|| vec![Bytes::copy_from_slice(self.root_message())]));
        };
        let mut rest = Bits::of_key(key);
        let mut messages = Vec::new();
        loop {
            messages.push(Bytes::copy_from_slice(place.view.message));
            let path = place.view.path;
            if path.len() > rest.len() || path.common_prefix(&rest) < path.len() {
                return Ok(None);
            }
            if path.len() == rest.len() {
                messages.reverse();
                return Ok(Some(messages));
            }
            let side = usize::from(rest.get(path.len()));
            match source.child(&place, side)? {
                None => return Ok(None),
                Some(child) => place = child,
            }
            rest = rest.from(path.len() + 1);
        }
    }
}

/// Checks a proof against a root hash: each message as it was received, an embedded one against the bytes in its parent.
///
/// # Errors
/// When the messages do not lead from the root to the key.
pub fn verify_proof(root: &B256, key: &[u8], proof: &[Bytes]) -> Result<Proven, ProofError> {
    let mut rest = Bits::of_key(key);
    let last = proof.len().checked_sub(1).ok_or(ProofError::Empty)?;
    let got = keccak256(&proof[last]);
    if got != *root {
        return Err(ProofError::Unlinked { index: last, expected: *root, got });
    }
    for index in (0..=last).rev() {
        let view = NodeView::parse(&proof[index]).map_err(|reason| ProofError::Corrupt { index, reason })?;
        let path = view.path;
        if path.len() > rest.len() || path.common_prefix(&rest) < path.len() {
            return Err(ProofError::OffPath { index });
        }
        if index == 0 {
            if path.len() != rest.len() {
                return Err(ProofError::OffPath { index });
            }
            return Ok(match view.value {
                ValueView::None => Proven::NoValue,
                ValueView::Short(bytes) => Proven::Value(Bytes::copy_from_slice(bytes)),
                ValueView::Long { hash, len } => Proven::Hash { hash: *hash, len },
            });
        }
        if path.len() == rest.len() {
            return Err(ProofError::OffPath { index });
        }
        let below = &proof[index - 1];
        let (expected, got) = match view.children[usize::from(rest.get(path.len()))] {
            ChildView::Empty => return Err(ProofError::OffPath { index }),
            ChildView::Hash(hash) => (*hash, keccak256(below)),
            ChildView::Embedded(message) => (keccak256(message), keccak256(below)),
        };
        if expected != got {
            return Err(ProofError::Unlinked { index: index - 1, expected, got });
        }
        rest = rest.from(path.len() + 1);
    }
    Err(ProofError::Empty)
}
