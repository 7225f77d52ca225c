//! Blocks in memory as ancestors of the block under test.
#![allow(dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::sync::Arc;

use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, Difficulty, ProviderError};

/// Every block added, by hash.
#[derive(Debug, Default)]
pub struct MemoryChain {
    blocks: HashMap<B256, (Arc<Block>, Arc<BlockHeader>, Difficulty)>,
    by_number: HashMap<u64, Vec<B256>>,
}

impl MemoryChain {
    /// Adds a block on top of its parent; without one it is the first.
    pub fn add(&mut self, block: Block) -> Arc<Block> {
        let hash = block.hash();
        let parent = self.blocks.get(&block.header.parent_hash).map_or(Difficulty::ZERO, |(_, _, total)| *total);
        let total = parent.saturating_add(block.cumulative_difficulty());
        let block = Arc::new(block);
        self.by_number.entry(block.number()).or_default().push(hash);
        self.blocks.insert(hash, (Arc::clone(&block), Arc::new(block.header.clone()), total));
        block
    }
}

impl AncestorProvider for MemoryChain {
    fn header(&self, hash: &B256) -> Result<Option<Arc<BlockHeader>>, ProviderError> {
        Ok(self.blocks.get(hash).map(|(_, header, _)| Arc::clone(header)))
    }

    fn block(&self, hash: &B256) -> Result<Option<Arc<Block>>, ProviderError> {
        Ok(self.blocks.get(hash).map(|(block, _, _)| Arc::clone(block)))
    }

    fn total_difficulty(&self, hash: &B256) -> Result<Option<Difficulty>, ProviderError> {
        Ok(self.blocks.get(hash).map(|(_, _, total)| *total))
    }

    fn ancestor_hash(&self, from: &B256, number: u64) -> Result<Option<B256>, ProviderError> {
        let known = self.by_number.get(&number).map(Vec::as_slice).unwrap_or_default();
        if let ([only], true) = (known, self.blocks.get(from).is_some_and(|(block, _, _)| block.number() >= number)) {
            return Ok(Some(*only));
        }
        let mut hash = *from;
        while let Some((block, _, _)) = self.blocks.get(&hash) {
            if block.number() <= number {
                return Ok((block.number() == number).then_some(hash));
            }
            hash = block.header.parent_hash;
        }
        Ok(None)
    }
}
