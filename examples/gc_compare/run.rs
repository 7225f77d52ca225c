//! One run: the churn's blocks through the stores of a chain.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use eyre::{Result, eyre};
use rhizome_examples::{Churn, EngineKind, bytes_below, process_cpu};
use rhizome_primitives::{B256, Bloom, U256, keccak256};
use rhizome_storage::{
    BlockRecord, EngineOptions, EpochStore, ExecutedBlock, GcControl, GcOptions, GcPlan, MemoryKv, Stores, TrieEngine,
    WriteBatch,
};
use rhizome_trie::Trie;
use serde::{Deserialize, Serialize};

/// A block without header fields, transactions and uncles: the stores look at nothing else.
const EMPTY_BLOCK: [u8; 4] = [0xc3, 0xc0, 0xc0, 0xc0];
/// Bytes of nodes in memory: like the node's, small against the state, so that blocks read from the store.
const BUDGET: usize = 8 << 20;

pub(crate) struct Setting<'a> {
    pub(crate) churn: Churn,
    pub(crate) kind: EngineKind,
    pub(crate) path: &'a Path,
    pub(crate) interval: u64,
    /// Epoch size and depth.
    pub(crate) gc: Option<(u64, u64)>,
}

/// What a run came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// Hexadecimal.
    pub(crate) root: String,
    pub(crate) bytes: u64,
    /// Seconds.
    pub(crate) cpu: f64,
    pub(crate) rotations: u64,
    pub(crate) collections: u64,
}

pub(crate) fn engine(kind: EngineKind) -> Result<TrieEngine> {
    kind.name().parse().map_err(|error: String| eyre!(error))
}

/// Writes the first state and the blocks.
pub(crate) fn run(setting: &Setting<'_>) -> Result<Finished> {
    let epochs = EpochStore::open(setting.path, engine(setting.kind)?, EngineOptions::default())?;
    let gc = setting.gc.map(|(epoch_size, depth)| {
        (GcOptions { epoch_size, depth, rate: 0, ..GcOptions::default() }, GcControl::new())
    });
    let stores = Stores::over_epochs(epochs, Arc::new(MemoryKv::new()), gc)?;
    let mut state = Trie::empty(stores.nodes());
    for changes in setting.churn.first_state() {
        state = state.apply(&changes)?;
        state.save()?;
        state = state.prune(BUDGET);
        stores.commit()?;
    }
    // Block 0 is the first state: from here on states are kept or given up.
    let mut parent = add(&stores, 0, None, state.root_hash())?;
    stores.commit()?;
    let (cpu, start) = (process_cpu(), Instant::now());
    for number in 1..=setting.churn.blocks {
        state = state.apply(&setting.churn.block(number))?;
        state.save()?;
        state = state.prune(BUDGET);
        parent = add(&stores, number, Some(parent), state.root_hash())?;
        if number % setting.interval == 0 {
            stores.commit()?;
        }
    }
    stores.commit()?;
    let summary = stores.settle()?.unwrap_or_default();
    let spent = process_cpu().saturating_sub(cpu);
    eprintln!("  {} blocks in {:.1} s: {summary:?}", setting.churn.blocks, start.elapsed().as_secs_f64());
    if let Some(epochs) = stores.epochs() {
        epochs.seal()?;
    }
    drop(stores);
    Ok(Finished {
        root: state.root_hash().to_string(),
        bytes: bytes_below(setting.path),
        cpu: spent.as_secs_f64(),
        rotations: summary.rotations,
        collections: summary.collections,
    })
}

/// Gives up everything but one state, and leaves that in one piece in trie order: what a store is after collections while nothing
/// else is written.
pub(crate) fn drain(kind: EngineKind, path: &Path, root: B256) -> Result<u64> {
    let stores = Stores::over_epochs(
        EpochStore::open(path, engine(kind)?, EngineOptions::default())?,
        Arc::new(MemoryKv::new()),
        None,
    )?;
    let first = add(&stores, 1, None, root)?;
    add(&stores, 2, Some(first), root)?;
    stores.commit()?;
    let (control, durable) = (GcControl::new(), stores.durable_blocks());
    let epochs = stores.epochs().ok_or_else(|| eyre!("no epochs"))?;
    // The first new epoch receives all in the end; the second is written, which the one that receives must not be.
    for _ in 0..2 {
        epochs.rotate(2, &control)?;
    }
    while epochs.count() >= GcOptions::MIN_EPOCHS {
        GcPlan::new(epochs, &durable, stores.blocks(), 0)?.collect(&control)?;
    }
    epochs.seal()?;
    drop(stores);
    Ok(bytes_below(path))
}

/// Adds a block as the new head.
fn add(stores: &Stores, number: u64, parent: Option<B256>, state_root: B256) -> Result<B256> {
    let hash = keccak256([parent.unwrap_or_default().as_slice(), &number.to_be_bytes()].concat());
    let record = BlockRecord { number, hash, state_root, total_difficulty: U256::from(number + 1) };
    let block =
        ExecutedBlock { record, encoding: &EMPTY_BLOCK, transactions: &[], receipts: &[], logs_bloom: Bloom::ZERO };
    let mut batch = WriteBatch::new();
    stores.blocks().add(&mut batch, &block)?;
    stores.blocks().set_head(&mut batch, &hash, &[(number, hash)], &[]);
    stores.blocks().write(batch)?;
    Ok(hash)
}
