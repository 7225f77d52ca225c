//! The Bitcoin header chain in the Bridge's cells (rskj's `RepositoryBtcBlockStoreWithCache` and bitcoinj-thin's
//! `BtcBlockChain`).
//!
//! A block lies under its hash, the head of the chain under a name of its own; both are written at once. The index by
//! height is collected here and written by [`BtcChain::save_index`] when the call ends well: look-ups of the same call
//! do not see it, and a call that throws loses it while blocks and head stay.
//!
//! Only the walks that rskj's results depend on are walks: a height is looked up in the index first, and a block on a
//! known main chain block is added without looking for the fork.

use std::collections::{BTreeMap, HashMap};

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::rlp::{self, put_bytes};
use rhizome_primitives::{B256, Bytes, keccak256};

use crate::bitcoin::checkpoints::{checkpoint_before, checkpoints};
use crate::bitcoin::difficulty::{BlockSource, has_right_target};
use crate::bitcoin::lap::Lap;
use crate::bitcoin::{BtcHash, BtcHeader, BtcNetwork, StoredBlock};
use crate::constants::BridgeConstants;
use crate::host::{BridgeHost, HostFault};

/// Seconds that a checkpoint lies before the creation of the federation, at least.
const CHECKPOINT_MARGIN: i64 = 7 * 86_400;
/// Blocks that a call keeps decoded.
const MEMO_CAPACITY: usize = 4_096;

/// How an operation on the chain fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// rskj throws here.
    #[error("bitcoin chain: {0}")]
    Threw(&'static str),
    /// The state is not available.
    #[error(transparent)]
    Host(#[from] HostFault),
}

impl ChainError {
    /// Blocks are each other's ancestors, and rskj's loop would not end.
    pub(crate) fn circle() -> Self {
        Self::Host(HostFault("Bitcoin blocks whose parents form a circle: rskj does not end here".into()))
    }
}

/// Key of the chain head's cell.
fn head_key() -> B256 {
    let mut key = [0; 32];
    key[32 - 19..].copy_from_slice(b"blockStoreChainHead");
    B256::new(key)
}

/// Key of the index cell of a height.
fn index_key(height: i32) -> B256 {
    keccak256(format!("btcBlockHeight-{height}"))
}

/// The header chain during one call.
#[derive(Debug)]
pub struct BtcChain {
    network: BtcNetwork,
    index_floor: i32,
    max_depth_below_index: i32,
    rskip199: bool,
    rskip454: bool,
    head: StoredBlock,
    index: BTreeMap<i32, BtcHash>,
    memo: HashMap<BtcHash, StoredBlock>,
}

impl BtcChain {
    /// Opens the chain. The first time ever this writes the network's first block and makes it the head.
    ///
    /// If [`Self::head_is_genesis`] afterwards, rskj asks for the active federation (which has effects of its own) and
    /// then does what [`Self::start_from_checkpoint`] does.
    pub fn open(
        host: &mut dyn BridgeHost,
        constants: &BridgeConstants,
        activations: Activations,
    ) -> Result<Self, ChainError> {
        let head = match host.cell(&head_key())? {
            Some(bytes) => Some(decode(&bytes)?),
            None => None,
        };
        let genesis = StoredBlock::genesis(constants.network);
        let fresh = head.is_none();
        let mut chain = BtcChain {
            network: constants.network,
            index_floor: constants.btc_index_height,
            max_depth_below_index: constants.max_depth_below_index,
            rskip199: activations.is_active(Rskip::R199),
            rskip454: activations.is_active(Rskip::R454),
            head: head.unwrap_or_else(|| genesis.clone()),
            index: BTreeMap::new(),
            memo: HashMap::new(),
        };
        if fresh {
            chain.put(host, &genesis)?;
            chain.set_head(host, genesis)?;
        }
        Ok(chain)
    }

    /// Whether no header was added yet and no checkpoint was taken.
    pub fn head_is_genesis(&self) -> bool {
        self.head.header.hash() == self.network.genesis().hash()
    }

    /// Starts from the last checkpoint a week before the creation of the active federation. The time is in milliseconds
    /// and is compared with seconds, as rskj does. Nothing happens on networks without checkpoints.
    pub fn start_from_checkpoint(
        &mut self,
        host: &mut dyn BridgeHost,
        creation_time_ms: i64,
    ) -> Result<(), ChainError> {
        if creation_time_ms <= 0 || checkpoints(self.network).is_none() {
            return Ok(());
        }
        let time = creation_time_ms - CHECKPOINT_MARGIN;
        if time <= 0 {
            return Err(ChainError::Threw("time of the checkpoint"));
        }
        let block = checkpoint_before(self.network, time).ok_or(ChainError::Threw("time of the checkpoint"))?;
        self.put(host, &block)?;
        self.set_head(host, block)
    }

    /// The head of the best chain.
    pub fn head(&self) -> &StoredBlock {
        &self.head
    }

    /// A block by hash.
    pub fn get(&mut self, host: &mut dyn BridgeHost, hash: &BtcHash) -> Result<Option<StoredBlock>, ChainError> {
        if let Some(block) = self.memo.get(hash) {
            return Ok(Some(block.clone()));
        }
        let Some(bytes) = host.cell(&hash.word())? else { return Ok(None) };
        let block = decode(&bytes)?;
        // The cell of the chain's head is one too, for who asks for a block of that number, and it changes.
        if block.header.hash() == *hash {
            self.remember(*hash, &block);
        }
        Ok(Some(block))
    }

    fn remember(&mut self, hash: BtcHash, block: &StoredBlock) {
        if self.memo.len() >= MEMO_CAPACITY {
            self.memo.clear();
        }
        self.memo.insert(hash, block.clone());
    }

    fn encode(&self, block: &StoredBlock) -> Result<Bytes, ChainError> {
        let bytes = if self.rskip454 {
            block.encode_v2()
        } else {
            block.encode_legacy().ok_or(ChainError::Threw("chain work does not fit 12 bytes"))?
        };
        Ok(bytes.into())
    }

    fn put(&mut self, host: &mut dyn BridgeHost, block: &StoredBlock) -> Result<(), ChainError> {
        let bytes = self.encode(block)?;
        host.set_cell(block.header.hash().word(), Some(bytes))?;
        self.remember(block.header.hash(), block);
        Ok(())
    }

    fn set_head(&mut self, host: &mut dyn BridgeHost, block: StoredBlock) -> Result<(), ChainError> {
        let bytes = self.encode(&block)?;
        host.set_cell(head_key(), Some(bytes))?;
        self.set_main_chain_block(&block);
        self.head = block;
        Ok(())
    }

    fn set_main_chain_block(&mut self, block: &StoredBlock) {
        if self.rskip199 {
            self.index.insert(block.height, block.header.hash());
        }
    }

    /// Hash in the index cell of a height (`getBtcBestBlockHashByHeight`): RLP of the 32 bytes.
    fn indexed_hash(&self, host: &mut dyn BridgeHost, height: i32) -> Result<Option<BtcHash>, ChainError> {
        if !self.rskip199 {
            return Ok(None);
        }
        let Some(bytes) = host.cell(&index_key(height))? else { return Ok(None) };
        let item = rlp::first(&bytes).map_err(|_| ChainError::Threw("index cell"))?;
        BtcHash::from_display_slice(item.data()).map(Some).ok_or(ChainError::Threw("index cell"))
    }

    /// `getStoredBlockAtMainChainHeight`: from the index, else by walking back from the head. `None` below the block that
    /// the chain started from.
    ///
    /// # Errors
    /// Above the head; with RSKIP-199 also below the height down to which rskj looks.
    pub fn block_at_main_chain_height(
        &mut self,
        host: &mut dyn BridgeHost,
        height: i32,
    ) -> Result<Option<StoredBlock>, ChainError> {
        let head = self.head.height;
        let depth = head.wrapping_sub(height);
        if depth < 0 {
            return Err(ChainError::Threw("height above the head"));
        }
        if self.rskip199 {
            let limit = if head.wrapping_sub(self.index_floor) > self.max_depth_below_index {
                self.index_floor
            } else {
                head.wrapping_sub(self.max_depth_below_index)
            };
            if height < limit {
                return Err(ChainError::Threw("height below the depth limit"));
            }
        }
        if let Some(hash) = self.indexed_hash(host, height)?
            && let Some(block) = self.get(host, &hash)?
        {
            return Ok(Some(block));
        }
        self.block_at_main_chain_depth(host, depth)
    }

    /// `getStoredBlockAtMainChainDepth`: the block so many steps back from the head. `None` if the chain breaks off.
    ///
    /// # Errors
    /// If the block there claims another height.
    pub fn block_at_main_chain_depth(
        &mut self,
        host: &mut dyn BridgeHost,
        depth: i32,
    ) -> Result<Option<StoredBlock>, ChainError> {
        let mut hash = self.head.header.hash();
        for _ in 0..depth {
            match self.get(host, &hash)? {
                Some(block) => hash = block.header.prev_hash(),
                None => return Ok(None),
            }
        }
        let block = self.get(host, &hash)?;
        if block.as_ref().is_some_and(|block| block.height != self.head.height.wrapping_sub(depth)) {
            return Err(ChainError::Threw("block at another height than its depth says"));
        }
        Ok(block)
    }

    /// `BtcBlockChain.add`: stores a header and moves the head if its chain has more work. `false` if its parent is not
    /// known.
    ///
    /// # Errors
    /// If the header breaks a rule. Nothing is written then.
    pub fn add(&mut self, host: &mut dyn BridgeHost, header: &BtcHeader) -> Result<bool, ChainError> {
        let hash = header.hash();
        if hash == self.head.header.hash() || self.get(host, &hash)?.is_some() {
            return Ok(true);
        }
        if !header.has_valid_work(self.network) {
            return Err(ChainError::Threw("proof of work"));
        }
        let Some(parent) = self.get(host, &header.prev_hash())? else { return Ok(false) };
        let network = self.network;
        if !has_right_target(network, &parent, header, &mut Stored { chain: self, host })? {
            return Err(ChainError::Threw("difficulty target"));
        }
        let height = parent.height.wrapping_add(1);
        if !network.passes_lock_in(height, &hash) {
            return Err(ChainError::Threw("another block is locked in at this height"));
        }
        let work = header.work(network).ok_or(ChainError::Threw("difficulty target"))?;
        let chain_work = parent.chain_work.checked_add(work).ok_or(ChainError::Threw("chain work"))?;
        let block = StoredBlock { header: header.clone(), chain_work, height };
        if parent == self.head {
            self.put(host, &block)?;
            self.set_head(host, block)?;
        } else if block.chain_work > self.head.chain_work {
            for reorganised in self.branch_above_fork(host, &block)? {
                self.set_main_chain_block(&reorganised);
            }
            self.put(host, &block)?;
            self.set_head(host, block)?;
        } else {
            self.require_common_ancestor(host, &parent, &block)?;
            self.put(host, &block)?;
        }
        Ok(true)
    }

    /// The blocks of a new best chain above the fork from the old one, the new head included.
    fn branch_above_fork(
        &mut self,
        host: &mut dyn BridgeHost,
        new_head: &StoredBlock,
    ) -> Result<Vec<StoredBlock>, ChainError> {
        const ORPHAN: ChainError = ChainError::Threw("attempt to follow an orphan chain");
        let mut old = self.head.clone();
        let mut new = new_head.clone();
        let (mut branch, mut lap) = (Vec::new(), Lap::new());
        while old != new {
            if lap.is_closed((old.header.hash(), new.header.hash())) {
                return Err(ChainError::circle());
            }
            if old.height > new.height {
                old = self.get(host, &old.header.prev_hash())?.ok_or(ORPHAN)?;
            } else {
                let parent = self.get(host, &new.header.prev_hash())?.ok_or(ORPHAN)?;
                branch.push(std::mem::replace(&mut new, parent));
            }
        }
        // rskj wants the new head above the fork, which it is: it is not stored yet.
        Ok(branch)
    }

    /// rskj refuses a side block whose chain does not meet the main chain. Only the network's first block can be stored
    /// without meeting it, under a chain that started from a checkpoint; every other stored block was itself added this
    /// way. A parent that is on the main chain needs no walk.
    fn require_common_ancestor(
        &mut self,
        host: &mut dyn BridgeHost,
        parent: &StoredBlock,
        block: &StoredBlock,
    ) -> Result<(), ChainError> {
        if parent.height != 0 && self.indexed_hash(host, parent.height)? == Some(parent.header.hash()) {
            return Ok(());
        }
        self.branch_above_fork(host, block).map(drop)
    }

    /// Writes the index entries that were collected, as a call does when it ends well.
    pub fn save_index(&mut self, host: &mut dyn BridgeHost) -> Result<(), ChainError> {
        for (height, hash) in std::mem::take(&mut self.index) {
            let mut value = Vec::with_capacity(33);
            put_bytes(&mut value, hash.display_bytes());
            host.set_cell(index_key(height), Some(value.into()))?;
        }
        Ok(())
    }
}

fn decode(bytes: &[u8]) -> Result<StoredBlock, ChainError> {
    StoredBlock::decode(bytes).map_err(|_| ChainError::Threw("stored block"))
}

struct Stored<'c, 'h> {
    chain: &'c mut BtcChain,
    host: &'h mut dyn BridgeHost,
}

impl BlockSource for Stored<'_, '_> {
    type Error = ChainError;

    fn block(&mut self, hash: &BtcHash) -> Result<Option<StoredBlock>, ChainError> {
        self.chain.get(self.host, hash)
    }

    fn circle(&self) -> ChainError {
        ChainError::circle()
    }
}

/// `BridgeSupport.getLowestBlock`: the block from which the chain starts for a federation of this creation time (in
/// milliseconds, compared with seconds): a checkpoint, or the first block on networks without.
///
/// # Errors
/// For times before the network's first block.
pub fn lowest_block(network: BtcNetwork, creation_time_ms: i64) -> Result<StoredBlock, ChainError> {
    if checkpoints(network).is_none() {
        return Ok(StoredBlock::genesis(network));
    }
    checkpoint_before(network, creation_time_ms.wrapping_sub(CHECKPOINT_MARGIN))
        .ok_or(ChainError::Threw("time of the checkpoint"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rhizome_primitives::{Address, U256};

    /// Cells alone, with a count of reads.
    #[derive(Default)]
    struct Cells {
        cells: HashMap<B256, Bytes>,
        reads: usize,
    }

    impl BridgeHost for Cells {
        fn cell(&mut self, key: &B256) -> Result<Option<Bytes>, HostFault> {
            self.reads += 1;
            Ok(self.cells.get(key).cloned())
        }
        fn set_cell(&mut self, key: B256, value: Option<Bytes>) -> Result<(), HostFault> {
            match value {
                Some(value) => self.cells.insert(key, value),
                None => self.cells.remove(&key),
            };
            Ok(())
        }
        fn balance(&mut self, _: &Address) -> Result<U256, HostFault> {
            Ok(U256::ZERO)
        }
        fn transfer(&mut self, _: Address, _: Address, _: U256) -> Result<(), HostFault> {
            Ok(())
        }
        fn is_contract(&mut self, _: &Address) -> Result<bool, HostFault> {
            Ok(false)
        }
        fn log(&mut self, _: Vec<B256>, _: Bytes) {}
        fn sender_public_key(&mut self) -> Option<[u8; 33]> {
            None
        }
    }

    /// A child with a valid proof of work; `salt` tells siblings apart.
    fn mine(parent: &BtcHeader, bits: u32, salt: u8) -> BtcHeader {
        let mut raw = *parent.bytes();
        raw[4..36].copy_from_slice(&parent.hash().wire_bytes());
        raw[36] = salt;
        raw[68..72].copy_from_slice(&(parent.time() + 600).to_le_bytes());
        raw[72..76].copy_from_slice(&bits.to_le_bytes());
        (0u32..)
            .map(|nonce| {
                raw[76..].copy_from_slice(&nonce.to_le_bytes());
                BtcHeader::from_bytes(raw)
            })
            .find(|header| header.has_valid_work(BtcNetwork::Regtest))
            .unwrap()
    }

    const EASY: u32 = 0x207f_ffff;

    fn open(host: &mut Cells, activations: Activations) -> BtcChain {
        BtcChain::open(host, BridgeConstants::regtest(), activations).unwrap()
    }

    fn run(parent: &BtcHeader, length: usize, salt: u8) -> Vec<BtcHeader> {
        let mut out = vec![parent.clone()];
        for _ in 0..length {
            out.push(mine(&out[out.len() - 1], EASY, salt));
        }
        out.remove(0);
        out
    }

    #[test]
    fn first_opening_writes_block_head_and_index() {
        let mut host = Cells::default();
        let mut chain = open(&mut host, Activations::ALL);
        assert!(chain.head_is_genesis());
        assert_eq!(host.cells.len(), 2);
        assert!(host.cells.values().all(|cell| cell.len() == 116));
        chain.save_index(&mut host).unwrap();
        assert_eq!(host.cells[&index_key(0)].len(), 33);
        // Opening again writes nothing.
        let cells = host.cells.clone();
        open(&mut host, Activations::NONE);
        assert_eq!(host.cells, cells);
        // Before RSKIP-199 there is no index, before RSKIP-454 the work has 12 bytes.
        let mut old = Cells::default();
        let mut chain = open(&mut old, Activations::NONE);
        chain.save_index(&mut old).unwrap();
        assert_eq!(old.cells.len(), 2);
        assert!(old.cells.values().all(|cell| cell.len() == 96));
    }

    #[test]
    fn refused_headers_leave_no_trace() {
        let mut host = Cells::default();
        let mut chain = open(&mut host, Activations::ALL);
        let genesis = BtcNetwork::Regtest.genesis();
        let first = mine(genesis, EASY, 1);
        let orphan = mine(&mine(&first, EASY, 1), EASY, 1);
        let cells = host.cells.clone();
        assert!(!chain.add(&mut host, &orphan).unwrap());
        assert!(chain.add(&mut host, &mine(genesis, 0x207f_fffe, 1)).is_err());
        let mut bad = *first.bytes();
        let bad = (0u8..=255)
            .map(|nonce| {
                bad[79] = nonce;
                BtcHeader::from_bytes(bad)
            })
            .find(|header| !header.has_valid_work(BtcNetwork::Regtest))
            .unwrap();
        assert!(chain.add(&mut host, &bad).is_err());
        assert_eq!(host.cells, cells);
        assert!(chain.add(&mut host, &first).unwrap());
        assert!(chain.add(&mut host, &first).unwrap());
        assert_eq!(chain.head().height, 1);
    }

    #[test]
    fn a_header_that_names_the_head_s_cell_as_its_parent_makes_a_circle_that_is_noticed() {
        let mut host = Cells::default();
        let mut chain = open(&mut host, Activations::ALL);
        let main = run(BtcNetwork::Regtest.genesis(), 3, 1);
        for header in &main {
            assert!(chain.add(&mut host, header).unwrap());
        }
        let mut raw = *mine(&main[2], EASY, 2).bytes();
        raw[4..36].copy_from_slice(&head_key().0);
        raw[4..36].reverse();
        let header = (0u32..).map(|nonce| {
            raw[76..].copy_from_slice(&nonce.to_le_bytes());
            BtcHeader::from_bytes(raw)
        });
        let header = header.into_iter().find(|header| header.has_valid_work(BtcNetwork::Regtest)).unwrap();
        // The cell holds the head, so the header becomes its child, and then its own.
        assert!(chain.add(&mut host, &header).unwrap());
        assert_eq!((chain.head().height, &chain.head().header), (4, &header));
        let own = BtcHash::from_display_slice(head_key().as_slice()).unwrap();
        assert_eq!(chain.get(&mut host, &own).unwrap().unwrap().header, header);
        let error = chain.add(&mut host, &mine(&main[2], EASY, 3)).unwrap_err();
        assert!(matches!(&error, ChainError::Host(_)), "{error}");
        assert!(error.to_string().contains("circle"), "{error}");
    }

    #[test]
    fn more_work_moves_the_head_and_the_index() {
        let mut host = Cells::default();
        let mut chain = open(&mut host, Activations::ALL);
        let genesis = BtcNetwork::Regtest.genesis();
        let main = run(genesis, 6, 1);
        let side = run(&main[1], 5, 2);
        for header in &main {
            assert!(chain.add(&mut host, header).unwrap());
        }
        chain.save_index(&mut host).unwrap();
        // Up to the same height the side branch is only stored.
        for header in &side[..4] {
            assert!(chain.add(&mut host, header).unwrap());
            assert_eq!(chain.head().header, main[5]);
        }
        assert!(chain.add(&mut host, &side[4]).unwrap());
        assert_eq!(chain.head().header, side[4]);
        assert_eq!(chain.head().height, 7);
        // The index of this call is not seen yet.
        let at = |chain: &mut BtcChain, host: &mut Cells, height| {
            chain.block_at_main_chain_height(host, height).unwrap().unwrap().header
        };
        assert_eq!(at(&mut chain, &mut host, 4), main[3]);
        chain.save_index(&mut host).unwrap();
        assert_eq!(at(&mut chain, &mut host, 4), side[1]);
        assert_eq!(at(&mut chain, &mut host, 2), main[1]);
        assert_eq!(chain.block_at_main_chain_depth(&mut host, 6).unwrap().unwrap().header, main[0]);
        // And back again.
        let longer = run(&main[5], 2, 1);
        for header in &longer {
            chain.add(&mut host, header).unwrap();
        }
        chain.save_index(&mut host).unwrap();
        assert_eq!(chain.head().header, longer[1]);
        assert_eq!(at(&mut chain, &mut host, 4), main[3]);
        // Nothing lies above the head, nor, on regtest, more than five blocks below it.
        assert!(chain.block_at_main_chain_height(&mut host, 9).is_err());
        assert!(chain.block_at_main_chain_height(&mut host, 2).is_err());
        assert!(chain.block_at_main_chain_height(&mut host, 3).is_ok());
    }

    #[test]
    fn an_indexed_look_up_reads_two_cells() {
        // Whatever the length of the chain and the depth below its head.
        let mut host = Cells::default();
        let mut chain = open(&mut host, Activations::ALL);
        for (length, depths) in [(30, &[1, 10, 18][..]), (2_100, &[1, 10, 18, 2_000])] {
            let parent = chain.head().clone();
            for header in run(&parent.header, (length - parent.height) as usize, 1) {
                assert!(chain.add(&mut host, &header).unwrap());
            }
            chain.save_index(&mut host).unwrap();
            for depth in depths {
                let mut reopened = open(&mut host, Activations::ALL);
                host.reads = 0;
                let block = reopened.block_at_main_chain_height(&mut host, length - depth).unwrap().unwrap();
                assert_eq!(block.height, length - depth);
                assert_eq!(host.reads, 2, "depth {depth} of {length}");
            }
        }
    }

    #[test]
    fn chains_start_from_a_checkpoint() {
        let mut host = Cells::default();
        let constants = BridgeConstants::mainnet();
        let mut chain = BtcChain::open(&mut host, constants, Activations::NONE).unwrap();
        chain.start_from_checkpoint(&mut host, constants.federation.genesis_creation_time_ms).unwrap();
        assert!(!chain.head_is_genesis());
        let head = chain.head().clone();
        assert_eq!(lowest_block(constants.network, constants.federation.genesis_creation_time_ms).unwrap(), head);
        assert_eq!(head.height % 2_016, 0);
        // The chain breaks off below its start.
        assert_eq!(chain.block_at_main_chain_depth(&mut host, 0).unwrap(), Some(head));
        assert_eq!(chain.block_at_main_chain_depth(&mut host, 1).unwrap(), None);
        assert!(chain.start_from_checkpoint(&mut host, 604_800).is_err());
        chain.start_from_checkpoint(&mut host, 0).unwrap();
    }

    #[test]
    fn damaged_cells_are_errors() {
        let mut host = Cells::default();
        host.cells.insert(head_key(), Bytes::from_static(&[1, 2, 3]));
        assert!(BtcChain::open(&mut host, BridgeConstants::regtest(), Activations::ALL).is_err());
    }
}
