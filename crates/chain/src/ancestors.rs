//! Blocks that are already known, decoded, for rules and contracts that look back.
//!
//! REMASC and the uncle rules read the same recent blocks for every block, so decoded ones stay in two bounded caches. A cache
//! holds only blocks of the store, and the store never changes the block of a hash; a rewind, which removes blocks, empties both.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::map::B256Map;
use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, Difficulty, ProviderError};
use rhizome_storage::{BlockStore, StorageError, Stores};

/// Decoded headers that are kept: REMASC reaches back 4,000 blocks on the main network, one after another.
const HEADERS: usize = 8192;
/// Decoded blocks that are kept: uncle rules look at the last seven, reorganisations at a few more.
const BLOCKS: usize = 64;

/// Known blocks by hash. Cheap to share.
#[derive(Debug)]
pub struct Ancestors {
    spec: Arc<ChainSpec>,
    stores: Arc<Stores>,
    headers: Mutex<Recent<Arc<BlockHeader>>>,
    blocks: Mutex<Recent<Arc<Block>>>,
}

/// A bounded map that forgets what was put in first.
#[derive(Debug)]
struct Recent<V> {
    values: B256Map<V>,
    order: VecDeque<B256>,
    capacity: usize,
}

impl<V: Clone> Recent<V> {
    fn new(capacity: usize) -> Self {
        Self { values: B256Map::default(), order: VecDeque::new(), capacity }
    }

    fn get(&self, hash: &B256) -> Option<V> {
        self.values.get(hash).cloned()
    }

    fn put(&mut self, hash: B256, value: V) {
        if self.values.insert(hash, value).is_none() {
            self.order.push_back(hash);
            if self.order.len() > self.capacity
                && let Some(oldest) = self.order.pop_front()
            {
                self.values.remove(&oldest);
            }
        }
    }
}

impl Ancestors {
    pub(crate) fn new(spec: Arc<ChainSpec>, stores: Arc<Stores>) -> Self {
        Self { spec, stores, headers: Mutex::new(Recent::new(HEADERS)), blocks: Mutex::new(Recent::new(BLOCKS)) }
    }

    fn store(&self) -> &BlockStore {
        self.stores.blocks()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        *self.headers.lock() = Recent::new(HEADERS);
        *self.blocks.lock() = Recent::new(BLOCKS);
    }

    /// Remembers a block that was just stored.
    pub(crate) fn remember(&self, block: &Arc<Block>) {
        let hash = block.hash();
        self.headers.lock().put(hash, Arc::new(block.header.clone()));
        self.blocks.lock().put(hash, Arc::clone(block));
    }
}

fn fault(error: &StorageError) -> ProviderError {
    ProviderError::new(error.to_string())
}

impl AncestorProvider for Ancestors {
    fn header(&self, hash: &B256) -> Result<Option<Arc<BlockHeader>>, ProviderError> {
        if let Some(header) = self.headers.lock().get(hash) {
            return Ok(Some(header));
        }
        let Some(encoded) = self.store().header(hash).map_err(|error| fault(&error))? else { return Ok(None) };
        let header = BlockHeader::decode(&encoded, &*self.spec)
            .map_err(|error| ProviderError::new(format!("stored header {hash} does not decode: {error}")))?;
        let header = Arc::new(header);
        self.headers.lock().put(*hash, Arc::clone(&header));
        Ok(Some(header))
    }

    fn block(&self, hash: &B256) -> Result<Option<Arc<Block>>, ProviderError> {
        if let Some(block) = self.blocks.lock().get(hash) {
            return Ok(Some(block));
        }
        let Some(encoded) = self.store().block(hash).map_err(|error| fault(&error))? else { return Ok(None) };
        let block = Block::decode_bytes(&encoded.into(), &*self.spec)
            .map_err(|error| ProviderError::new(format!("stored block {hash} does not decode: {error}")))?;
        let block = Arc::new(block);
        self.blocks.lock().put(*hash, Arc::clone(&block));
        Ok(Some(block))
    }

    fn total_difficulty(&self, hash: &B256) -> Result<Option<Difficulty>, ProviderError> {
        let record = self.store().record(hash).map_err(|error| fault(&error))?;
        Ok(record.map(|record| Difficulty(record.total_difficulty)))
    }

    /// Walks back to the main chain, then looks the height up.
    fn ancestor_hash(&self, from: &B256, number: u64) -> Result<Option<B256>, ProviderError> {
        let mut hash = *from;
        while let Some(record) = self.store().record(&hash).map_err(|error| fault(&error))? {
            if record.number < number {
                return Ok(None);
            }
            if record.number == number {
                return Ok(Some(hash));
            }
            if self.store().canonical_hash(record.number).map_err(|error| fault(&error))? == Some(hash) {
                return self.store().canonical_hash(number).map_err(|error| fault(&error));
            }
            let Some(header) = self.header(&hash)? else { return Ok(None) };
            hash = header.parent_hash;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut recent = Recent::new(2);
        for byte in 1..=3 {
            recent.put(B256::repeat_byte(byte), byte);
            recent.put(B256::repeat_byte(byte), byte);
        }
        assert_eq!(recent.get(&B256::repeat_byte(1)), None);
        assert_eq!(recent.get(&B256::repeat_byte(3)), Some(3));
        assert_eq!(recent.order.len(), 2);
    }
}
