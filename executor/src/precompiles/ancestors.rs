//! The ancestors of the block under execution, by parent links. One that is linked but cannot be found is a damaged store, not
//! an answer.

use std::sync::Arc;

use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, Difficulty, ProviderError};

use crate::Fault;
use crate::evm::BlockEnv;

/// A view from the block under execution down.
pub(crate) struct Ancestors<'a> {
    block: &'a BlockEnv,
    provider: &'a dyn AncestorProvider,
}

impl<'a> Ancestors<'a> {
    pub(crate) fn new(block: &'a BlockEnv, provider: &'a dyn AncestorProvider) -> Self {
        Self { block, provider }
    }

    /// Height of the parent; block 0 has none.
    pub(crate) fn parent_number(&self) -> Option<u64> {
        self.block.number.checked_sub(1)
    }

    /// The ancestor's hash at a height, `None` where the chain below is unknown.
    pub(crate) fn hash_at(&self, number: u64) -> Result<Option<B256>, Fault> {
        Ok(self.provider.ancestor_hash(&self.block.parent_hash, number)?)
    }

    /// The ancestor's header.
    pub(crate) fn header(&self, hash: &B256) -> Result<Arc<BlockHeader>, Fault> {
        self.provider.header(hash)?.ok_or_else(|| missing(hash))
    }

    /// The ancestor with its uncles.
    pub(crate) fn block(&self, hash: &B256) -> Result<Arc<Block>, Fault> {
        self.provider.block(hash)?.ok_or_else(|| missing(hash))
    }

    /// Total difficulty up to the ancestor; rskj answers zero where it has none.
    pub(crate) fn total_difficulty(&self, hash: &B256) -> Result<Difficulty, Fault> {
        Ok(self.provider.total_difficulty(hash)?.unwrap_or_default())
    }
}

fn missing(hash: &B256) -> Fault {
    ProviderError::new(format!("ancestor {hash} is missing")).into()
}
