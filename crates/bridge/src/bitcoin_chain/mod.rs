//! The Bridge's methods about Bitcoin's chain of headers (`BridgeSupport`, `Bridge`). The store itself is [`crate::chain_store`].
//!
//! The store is opened at its first use within a call, also when only the gas is asked, and its first opening ever writes.

pub(crate) mod coinbase;
mod confirmations;
mod headers;

use crate::bitcoin::checkpoints::checkpoints;
use crate::bitcoin::lap::Lap;
use crate::bitcoin::{BtcHash, StoredBlock};
use crate::chain_store::{BtcChain, ChainError, lowest_block};
use crate::failure::{Failure, Result};
use crate::host::BridgeHost;
use crate::peg::Peg;

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Threw(message) => Failure::Threw(message.into()),
            ChainError::Host(fault) => Failure::Host(fault),
        }
    }
}

impl Peg<'_> {
    /// Opens the store if this call has not done so. A store that holds nothing but the first block starts at the last
    /// checkpoint before the active federation's creation.
    pub(crate) fn open_btc_chain(&mut self) -> Result<()> {
        if self.chain.is_some() {
            return Ok(());
        }
        let chain = BtcChain::open(self.host, self.constants, self.call.activations)?;
        let from_genesis = chain.head_is_genesis();
        *self.chain = Some(chain);
        if from_genesis {
            let time = self.active_federation()?.creation_time_ms();
            self.with_btc_chain(|chain, host| chain.start_from_checkpoint(host, time))?;
        }
        Ok(())
    }

    /// Works with the store, opening it if need be.
    pub(crate) fn with_btc_chain<T>(
        &mut self,
        work: impl FnOnce(&mut BtcChain, &mut dyn BridgeHost) -> Result<T, ChainError>,
    ) -> Result<T> {
        if self.chain.is_none() {
            self.open_btc_chain()?;
        }
        let chain = self.chain.as_mut().ok_or_else(|| Failure::threw("BTC store is not open"))?;
        Ok(work(chain, self.host)?)
    }

    pub(crate) fn btc_head(&mut self) -> Result<StoredBlock> {
        self.with_btc_chain(|chain, _| Ok(chain.head().clone()))
    }

    pub(crate) fn btc_block(&mut self, hash: &BtcHash) -> Result<Option<StoredBlock>> {
        self.with_btc_chain(|chain, host| chain.get(host, hash))
    }

    /// Height of the best Bitcoin block known.
    pub(crate) fn btc_best_height(&mut self) -> Result<i32> {
        Ok(self.btc_head()?.height)
    }

    /// The first block of the store: a checkpoint, or block 0 where the network has none (and then no federation is
    /// read: what is read is written again).
    fn btc_lowest(&mut self) -> Result<StoredBlock> {
        if checkpoints(self.constants.network).is_none() {
            return Ok(StoredBlock::genesis(self.constants.network));
        }
        let time = self.active_federation()?.creation_time_ms();
        Ok(lowest_block(self.constants.network, time)?)
    }

    /// Height of the first block of the store.
    pub(crate) fn btc_initial_height(&mut self) -> Result<i32> {
        Ok(self.btc_lowest()?.height)
    }

    /// Hash of the block so many blocks below the best one.
    pub(crate) fn btc_hash_at_depth(&mut self, depth: i32) -> Result<BtcHash> {
        let head = self.btc_head()?;
        let max_depth = head.height.wrapping_sub(self.btc_lowest()?.height);
        if depth < 0 || depth > max_depth {
            return Err(Failure::threw(format!("depth must be between 0 and {max_depth}")));
        }
        let block = self.with_btc_chain(|chain, host| chain.block_at_main_chain_depth(host, depth))?;
        Ok(block.ok_or_else(|| Failure::threw("no block at this depth"))?.header.hash())
    }

    /// Hashes from the best block down, at distances that double, to the first block of the store.
    pub(crate) fn btc_block_locator(&mut self) -> Result<Vec<BtcHash>> {
        const MAX_HASHES: usize = 100;
        let lowest = self.btc_lowest()?;
        let mut cursor = self.btc_head()?;
        let best = i64::from(cursor.height);
        let mut hashes = vec![cursor.header.hash()];
        if cursor.height <= lowest.height {
            return Ok(hashes);
        }
        let mut distance = 1i64;
        while hashes.len() <= MAX_HASHES {
            let height = best - distance;
            if height <= i64::from(lowest.height) {
                break;
            }
            let mut lap = Lap::new();
            while i64::from(cursor.height) != height {
                if lap.is_closed(cursor.header.hash()) {
                    return Err(ChainError::circle().into());
                }
                let previous = cursor.header.prev_hash();
                cursor = self.btc_block(&previous)?.ok_or_else(|| Failure::threw("gap in the BTC store"))?;
            }
            hashes.push(cursor.header.hash());
            distance = distance.saturating_mul(2);
        }
        hashes.push(lowest.header.hash());
        Ok(hashes)
    }

    /// Header of the best block.
    pub(crate) fn btc_best_header(&mut self) -> Result<Vec<u8>> {
        Ok(self.btc_head()?.header.bytes().to_vec())
    }

    /// Header of a block of the store; empty if there is none.
    pub(crate) fn btc_header_by_hash(&mut self, hash: BtcHash) -> Result<Vec<u8>> {
        Ok(header_bytes(self.btc_block(&hash)?))
    }

    /// Header of a block of the best chain.
    pub(crate) fn btc_header_by_height(&mut self, height: i32) -> Result<Vec<u8>> {
        Ok(header_bytes(self.with_btc_chain(|chain, host| chain.block_at_main_chain_height(host, height))?))
    }

    /// Header of a block's parent; empty if either is unknown.
    pub(crate) fn btc_parent_header(&mut self, hash: BtcHash) -> Result<Vec<u8>> {
        match self.btc_block(&hash)? {
            None => Ok(Vec::new()),
            Some(block) => Ok(header_bytes(self.btc_block(&block.header.prev_hash())?)),
        }
    }
}

fn header_bytes(block: Option<StoredBlock>) -> Vec<u8> {
    block.map(|block| block.header.bytes().to_vec()).unwrap_or_default()
}
