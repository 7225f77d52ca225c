//! The chain: the known blocks, the best one among them, and the one door through which blocks enter.
//!
//! A block file, a peer and a miner all end in [`Chain::import`] or [`Chain::import_stream`]; both do the same steps. Invariants:
//! one block is imported at a time; a block in the store was valid and its state is there; the head is the block that rskj's
//! fork choice picks from the blocks seen, in the order seen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use parking_lot::{Mutex, RwLock};
use rhizome_chainspec::ChainSpec;
use rhizome_consensus::BlockValidator;
use rhizome_executor::BlockExecutor;
use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, Bytes, Difficulty};
use rhizome_storage::{BlockRecord, StorageError, Stores, Writer};
use rhizome_trie::Trie;

use crate::ancestors::Ancestors;
use crate::error::{ChainError, InvalidBlock, NotABlock, Result};
use crate::events::{ChainEvent, Events, HeadChange};
use crate::genesis::GenesisBlock;
use crate::phases::{ContractClock, Phase, PhaseTimers};
use crate::recover::{self, PreparedBlock};
use crate::tries::TrieCache;

/// How the chain works; nothing in it changes a result.
#[derive(Clone, Copy, Debug)]
pub struct ChainOptions {
    /// Seconds since 1970 for the rule against blocks from the future; `None` does not ask that rule.
    pub clock: Option<fn() -> u64>,
    /// Bytes of trie nodes that stay in memory from block to block.
    pub trie_budget: usize,
    /// When imported blocks are made durable.
    pub flush: FlushPolicy,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self { clock: None, trie_budget: 160 << 20, flush: FlushPolicy::BULK }
    }
}

/// When imported blocks are made durable: at the first limit that is reached. A kill loses at most what is not durable yet, and
/// nothing else.
#[derive(Clone, Copy, Debug)]
pub struct FlushPolicy {
    /// After so many bytes of nodes and block data.
    pub bytes: u64,
    /// After so many blocks.
    pub blocks: u64,
    /// After so much time, when the next block arrives: the first time after this, later less often, up to
    /// [`FlushPolicy::longest`], so that a kill loses at most about a fifth of a run's work and a long run is not held up.
    pub interval: Duration,
    /// The longest time.
    pub longest: Duration,
}

impl FlushPolicy {
    /// For many blocks in a row: a sync costs some milliseconds and a small table file costs compaction.
    pub const BULK: Self =
        Self { bytes: 16 << 20, blocks: 4096, interval: Duration::from_millis(200), longest: Duration::from_secs(5) };
    /// After every block.
    pub const EACH_BLOCK: Self = Self { bytes: 0, blocks: 0, interval: Duration::ZERO, longest: Duration::ZERO };

    fn due_after(&self, running: Duration) -> Duration {
        (running / 5).clamp(self.interval, self.longest)
    }
}

/// The best block.
#[derive(Clone, Debug)]
pub struct Head {
    /// Number, hash, state root, total difficulty.
    pub record: BlockRecord,
    /// Its header.
    pub header: Arc<BlockHeader>,
}

/// What became of an offered block (`ImportResult`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is the new head.
    Best(HeadChange),
    /// It is valid and kept; the head stays.
    NotBest,
    /// It was known.
    Exists,
    /// Its parent is not known.
    NoParent,
    /// Its parent is known and so old that its state was given up.
    ParentCollected {
        /// The states of blocks from this height on are kept.
        complete_from: u64,
    },
    /// It breaks a rule.
    Invalid(Box<InvalidBlock>),
}

/// The chain over its stores.
#[derive(Debug)]
pub struct Chain {
    pub(crate) spec: Arc<ChainSpec>,
    pub(crate) stores: Arc<Stores>,
    pub(crate) ancestors: Arc<Ancestors>,
    pub(crate) validator: BlockValidator,
    pub(crate) executor: BlockExecutor,
    pub(crate) options: ChainOptions,
    pub(crate) head: RwLock<Head>,
    pub(crate) events: Events,
    pub(crate) phases: Arc<PhaseTimers>,
    /// Of this machine.
    pub(crate) cores: usize,
    pub(crate) importing: Mutex<Importing>,
}

/// What only the importing thread uses.
#[derive(Debug)]
pub(crate) struct Importing {
    pub(crate) writer: Writer,
    pub(crate) tries: TrieCache,
    pub(crate) unflushed_blocks: u64,
    start: Instant,
    last_flush: Instant,
    persisted: Duration,
}

impl Chain {
    /// Opens the chain in stores that belong to it, and writes the genesis block where there is none.
    ///
    /// # Errors
    /// When a store fails, or its block 0 is another.
    pub fn open(spec: Arc<ChainSpec>, genesis: &GenesisBlock, stores: Stores, options: ChainOptions) -> Result<Self> {
        let stores = Arc::new(stores);
        if stores.blocks().head()?.is_none() {
            genesis.write(&stores)?;
        }
        let ancestors = Arc::new(Ancestors::new(Arc::clone(&spec), Arc::clone(&stores)));
        let head = load_head(&stores, &ancestors)?;
        if stores.blocks().canonical_hash(0)? != Some(genesis.hash()) {
            return Err(StorageError::Refused(format!("the store's block 0 is not {}", genesis.hash())).into());
        }
        let importing = Importing {
            writer: Writer::spawn(Arc::clone(&stores))?,
            tries: TrieCache::new(options.trie_budget),
            unflushed_blocks: 0,
            start: Instant::now(),
            last_flush: Instant::now(),
            persisted: Duration::ZERO,
        };
        let phases = Arc::new(PhaseTimers::default());
        let clock = Arc::new(ContractClock::new(Arc::clone(&phases)));
        Ok(Self {
            validator: BlockValidator::new(Arc::clone(&spec)),
            executor: BlockExecutor::new(Arc::clone(&spec)).with_stopwatch(clock),
            spec,
            stores,
            ancestors,
            options,
            head: RwLock::new(head),
            events: Events::default(),
            phases,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            importing: Mutex::new(importing),
        })
    }

    /// The best block.
    pub fn head(&self) -> Head {
        self.head.read().clone()
    }

    /// The chain's rules and constants.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// Blocks, receipts and indexes.
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Known blocks, decoded.
    pub fn ancestors(&self) -> &Arc<Ancestors> {
        &self.ancestors
    }

    /// Where the time went.
    pub fn phases(&self) -> &PhaseTimers {
        &self.phases
    }

    /// The state after a known block.
    ///
    /// # Errors
    /// When the store fails or the state is no longer kept.
    pub fn state(&self, record: &BlockRecord) -> Result<Trie> {
        let kept = self.stores.complete_from();
        if record.number < kept {
            let what =
                format!("the state of block {} was collected; the states from block {kept} on are kept", record.number);
            return Err(StorageError::Refused(what).into());
        }
        Ok(Trie::open(record.state_root, self.stores.nodes())?)
    }

    /// A subscription to [`ChainEvent`]s from now on.
    pub fn subscribe(&self) -> Receiver<ChainEvent> {
        self.events.subscribe()
    }

    /// Reads a block's bytes.
    ///
    /// # Errors
    /// When they are no block.
    pub fn decode(&self, encoded: &Bytes) -> Result<PreparedBlock, NotABlock> {
        Ok(self.prepare(recover::decode(encoded, &self.spec, &self.phases)?))
    }

    /// Recovers the senders of a block and asks the rules that need the block alone, on the current thread pool.
    pub fn prepare(&self, block: Block) -> PreparedBlock {
        let senders = recover::recover_batch(&[&block], &self.phases).pop().unwrap_or_else(|| Ok(Vec::new()));
        PreparedBlock { sound: self.is_sound(&block), senders, block }
    }

    pub(crate) fn is_sound(&self, block: &Block) -> bool {
        self.phases.time(Phase::Validate, || self.validator.validate_alone(block, self.now()).is_ok())
    }

    pub(crate) fn now(&self) -> Option<u64> {
        self.options.clock.map(|clock| clock())
    }

    /// Offers a block. What it changes is visible when this returns and durable as the flush policy says, at the latest with
    /// [`Chain::flush`].
    ///
    /// # Errors
    /// When this node is in trouble; that is never a verdict about the block.
    pub fn import(&self, block: PreparedBlock) -> Result<ImportOutcome> {
        let importing = &mut *self.importing.lock();
        let outcome = self.import_locked(importing, block)?;
        self.flush_if_due(importing)?;
        Ok(outcome)
    }

    /// Makes every imported block durable.
    ///
    /// # Errors
    /// When a store fails.
    pub fn flush(&self) -> Result<()> {
        let importing = &mut *self.importing.lock();
        self.start_flush(importing)?;
        importing.writer.wait()?;
        self.account_persist(importing);
        Ok(())
    }

    /// Goes back to a lower block of the main chain; see [`Stores::rewind`].
    ///
    /// # Errors
    /// When a store fails, or there is no such block with its state.
    pub fn rewind(&self, to: u64) -> Result<Head> {
        let importing = &mut *self.importing.lock();
        self.start_flush(importing)?;
        importing.writer.wait()?;
        let rewound = self.stores.rewind(to, &*self.spec);
        self.ancestors.clear();
        rewound?;
        let head = load_head(&self.stores, &self.ancestors)?;
        *self.head.write() = head.clone();
        Ok(head)
    }

    pub(crate) fn flush_if_due(&self, importing: &mut Importing) -> Result<()> {
        let policy = &self.options.flush;
        if importing.unflushed_blocks == 0 {
            return Ok(());
        }
        let full = self.stores.open_bytes() >= policy.bytes || importing.unflushed_blocks >= policy.blocks;
        let late = || importing.last_flush.elapsed() >= policy.due_after(importing.start.elapsed());
        // Time alone never makes the execution wait for the disk.
        let due = full || (late() && !importing.writer.is_busy()?);
        if due { self.start_flush(importing) } else { Ok(()) }
    }

    fn start_flush(&self, importing: &mut Importing) -> Result<()> {
        importing.writer.submit()?;
        importing.unflushed_blocks = 0;
        importing.last_flush = Instant::now();
        self.account_persist(importing);
        Ok(())
    }

    fn account_persist(&self, importing: &mut Importing) {
        let spent = importing.writer.spent();
        self.phases.add(Phase::Persist, spent.saturating_sub(importing.persisted));
        importing.persisted = spent;
    }

    /// The difficulty that decides between branches, as block files write it.
    pub fn total_difficulty(record: &BlockRecord) -> Difficulty {
        Difficulty(record.total_difficulty)
    }
}

/// A normal stop loses nothing (BL-56). Who wants to hear of a failure calls [`Chain::flush`] before.
impl Drop for Chain {
    fn drop(&mut self) {
        let pending = self.importing.get_mut().unflushed_blocks > 0;
        if pending && let Err(error) = self.flush() {
            tracing::error!("the last blocks could not be written: {error}");
        }
    }
}

fn load_head(stores: &Stores, ancestors: &Ancestors) -> Result<Head> {
    let record = stores.blocks().head()?.ok_or_else(|| StorageError::Refused("the store holds no chain".into()))?;
    let header = ancestors.header(&record.hash)?;
    let header = header.ok_or_else(|| missing_header(&record.hash))?;
    Ok(Head { record, header })
}

pub(crate) fn missing_header(hash: &B256) -> ChainError {
    StorageError::Corrupt { what: format!("block {hash} has a record and no header") }.into()
}
