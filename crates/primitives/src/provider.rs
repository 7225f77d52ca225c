//! Reading the ancestors of a block.
//!
//! Look-ups go by hash: several blocks may share a height, and a block under validation need not be on the best chain.

use std::sync::Arc;

use crate::B256;
use crate::block::Block;
use crate::coin::Difficulty;
use crate::header::BlockHeader;

/// A fault of the store behind a provider. It says nothing about the block that was looked at.
#[derive(Debug, Clone, thiserror::Error)]
#[error("block store: {0}")]
pub struct ProviderError(pub Arc<str>);

impl ProviderError {
    /// A fault with its description.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self(message.into())
    }
}

/// Headers and blocks that are already known.
pub trait AncestorProvider: Send + Sync {
    /// The header with this hash.
    ///
    /// # Errors
    /// When the store fails; an unknown hash is `None`.
    fn header(&self, hash: &B256) -> Result<Option<Arc<BlockHeader>>, ProviderError>;

    /// The block with this hash.
    ///
    /// # Errors
    /// When the store fails; an unknown hash is `None`.
    fn block(&self, hash: &B256) -> Result<Option<Arc<Block>>, ProviderError>;

    /// The total difficulty of the chain up to the block with this hash, uncles counted.
    ///
    /// # Errors
    /// When the store fails; an unknown hash is `None`.
    fn total_difficulty(&self, hash: &B256) -> Result<Option<Difficulty>, ProviderError>;

    /// The hash at height `number` on the chain that ends in `from` (which counts as its own ancestor).
    ///
    /// # Errors
    /// When the store fails; `None` when `from` is unknown or lower than `number`.
    fn ancestor_hash(&self, from: &B256, number: u64) -> Result<Option<B256>, ProviderError> {
        let mut hash = *from;
        while let Some(header) = self.header(&hash)? {
            if header.number == number {
                return Ok(Some(hash));
            }
            if header.number < number {
                return Ok(None);
            }
            hash = header.parent_hash;
        }
        Ok(None)
    }
}
