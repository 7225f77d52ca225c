//! The same comparison with real execution: a recorded chain imported into data directories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eyre::{Result, ensure, eyre};
use rhizome_chain::{Chain, ChainOptions, FlushPolicy, GenesisBlock};
use rhizome_chainspec::ChainSpec;
use rhizome_examples::{EngineKind, bytes_below, import_blocks, process_cpu};
use rhizome_storage::{
    ChainDefinition, GcControl, GcOptions, GcSettings, OpenOptions, Opened, VerifyPolicy, walk_state,
};

use crate::run::{Finished, engine};

/// A chain, how often it is imported, and how.
pub(crate) struct Setting<'a> {
    pub(crate) chain: &'a str,
    pub(crate) blocks: &'a [PathBuf],
    pub(crate) kind: EngineKind,
    pub(crate) path: &'a Path,
    pub(crate) interval: u64,
    /// Epoch size and depth.
    pub(crate) gc: Option<(u64, u64)>,
}

/// Imports the block files into a new data directory: what `rhizome replay --gc on|off` does.
pub(crate) fn run(setting: &Setting<'_>) -> Result<Finished> {
    let spec = Arc::new(ChainSpec::by_name_or_file(setting.chain)?);
    let genesis = GenesisBlock::new(&spec)?;
    let gc = setting.gc.map(|(epoch_size, depth)| GcSettings {
        options: GcOptions { epoch_size, depth, rate: 0, ..GcOptions::default() },
        control: GcControl::new(),
    });
    let cpu = process_cpu();
    let opened = Opened::open(OpenOptions {
        path: setting.path,
        spec: &spec,
        definition: &ChainDefinition::of(setting.chain, &spec)?,
        genesis: genesis.hash(),
        engine: Some(engine(setting.kind)?),
        create: true,
        verify: VerifyPolicy::default(),
        gc: gc.as_ref(),
    })?;
    let flush = FlushPolicy { blocks: setting.interval, ..FlushPolicy::BULK };
    let chain = Chain::open(spec, &genesis, opened.stores, ChainOptions { flush, ..ChainOptions::default() })?;
    for path in setting.blocks {
        import_blocks(&chain, path)?;
    }
    chain.flush()?;
    let summary = chain.stores().settle()?.unwrap_or_default();
    let spent = process_cpu().saturating_sub(cpu);
    eprintln!("  {} blocks: {summary:?}", chain.head().record.number);
    let root = chain.head().record.state_root;
    let epochs = chain.stores().epochs().ok_or_else(|| eyre!("no epochs"))?;
    let walked = walk_state(epochs, &[root], &GcControl::new())?;
    ensure!(walked.live_records > 0, "the head has no state");
    epochs.seal()?;
    let trie = epochs.path().to_owned();
    drop(chain);
    drop(opened.datadir);
    Ok(Finished {
        root: root.to_string(),
        bytes: bytes_below(&trie),
        cpu: spent.as_secs_f64(),
        rotations: summary.rotations,
        collections: summary.collections,
    })
}
