//! Where a measurement takes its chain from: block files, or a data directory.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use eyre::{Result, WrapErr, bail, eyre};
use rhizome_chain::{Chain, ChainOptions, GenesisBlock, ImportOutcome, Incoming, StreamError};
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{Bytes, hex};
use rhizome_storage::{ChainDefinition, Datadir, OpenOptions, Opened, Stores, VerifyPolicy};

/// Command line options that name a chain.
#[derive(Args, Clone, Debug)]
pub struct ChainSource {
    /// mainnet, testnet, regtest, or a chain file; without it the data directory's own
    #[arg(long, value_name = "NETWORK|FILE.json")]
    pub chain: Option<String>,
    /// A data directory, in place of block files
    #[arg(long, value_name = "DIR", conflicts_with = "blocks", required_unless_present = "blocks")]
    pub datadir: Option<PathBuf>,
    /// Block files as `rhizome export` writes them: plain, gzip or zstd
    #[arg(value_name = "BLOCKS")]
    pub blocks: Vec<PathBuf>,
}

/// A chain with its blocks and states.
#[derive(Debug)]
pub struct LoadedChain {
    /// The chain.
    pub chain: Chain,
    /// What the chain was taken from, for reports.
    pub name: String,
    _datadir: Option<Datadir>,
}

impl ChainSource {
    /// Imports the block files into memory, or opens the data directory.
    ///
    /// # Errors
    /// When a file cannot be read, a block is not valid, or the directory is not one of the chain.
    pub fn load(&self) -> Result<LoadedChain> {
        match &self.datadir {
            Some(path) => self.open(path),
            None => self.import(),
        }
    }

    fn import(&self) -> Result<LoadedChain> {
        let spec = Arc::new(ChainSpec::by_name_or_file(self.chain.as_deref().unwrap_or("mainnet"))?);
        let genesis = GenesisBlock::new(&spec)?;
        let chain = Chain::open(spec, &genesis, Stores::memory(), ChainOptions::default())?;
        for path in &self.blocks {
            import_blocks(&chain, path).wrap_err_with(|| path.display().to_string())?;
        }
        let names: Vec<String> = self.blocks.iter().map(|path| path.display().to_string()).collect();
        Ok(LoadedChain { chain, name: names.join(" "), _datadir: None })
    }

    fn open(&self, path: &Path) -> Result<LoadedChain> {
        let (spec, definition) = match &self.chain {
            Some(chain) => {
                let spec = ChainSpec::by_name_or_file(chain)?;
                let definition = ChainDefinition::of(chain, &spec)?;
                (spec, definition)
            }
            None => {
                let format = Datadir::read_format(path)?;
                let (definition, spec) = ChainDefinition::load(path, &format.network)?;
                (spec, definition)
            }
        };
        let genesis = GenesisBlock::new(&spec)?;
        let opened = Opened::open(OpenOptions {
            path,
            spec: &spec,
            definition: &definition,
            genesis: genesis.hash(),
            engine: None,
            create: false,
            verify: VerifyPolicy::default(),
            gc: None,
        })?;
        let chain = Chain::open(Arc::new(spec), &genesis, opened.stores, ChainOptions::default())?;
        Ok(LoadedChain { chain, name: path.display().to_string(), _datadir: Some(opened.datadir) })
    }
}

/// Imports a block file: plain, gzip or zstd.
///
/// # Errors
/// When the file cannot be read or a block is not valid.
pub fn import_blocks(chain: &Chain, path: &Path) -> Result<()> {
    let lines = open_text(path)?.lines().enumerate().map(|(index, line)| {
        let at = || format!("line {}", index + 1);
        let line = line.wrap_err_with(at)?;
        let block = line.rsplit(',').next().unwrap_or_default();
        Ok(Incoming { encoded: Bytes::from(hex::decode(block).wrap_err_with(at)?), tag: index + 1 })
    });
    let streamed = chain.import_stream(lines, 2, |imported| match imported.outcome {
        Some(ImportOutcome::Best(_) | ImportOutcome::NotBest | ImportOutcome::Exists) => ControlFlow::Continue(()),
        other => ControlFlow::Break(eyre!("line {}: {:?} {other:?}", imported.tag, imported.block)),
    });
    match streamed {
        Ok(()) => Ok(()),
        Err(StreamError::Source(error) | StreamError::Stopped(error)) => Err(error),
        Err(StreamError::Chain(error, at)) => bail!("{error} at {at:?}"),
    }
}

fn open_text(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let mut raw = BufReader::with_capacity(1 << 17, File::open(path)?);
    Ok(match raw.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(BufReader::with_capacity(1 << 18, flate2::bufread::MultiGzDecoder::new(raw))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Box::new(BufReader::with_capacity(1 << 18, zstd::stream::read::Decoder::with_buffer(raw)?))
        }
        _ => Box::new(raw),
    })
}
