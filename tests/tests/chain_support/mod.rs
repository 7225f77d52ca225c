//! A chain under test: opened from a chain file, fed from block files.
#![allow(dead_code, unreachable_pub)]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use rhizome_chain::{Chain, ChainError, ChainOptions, FlushPolicy, GenesisBlock, ImportOutcome, Incoming, StreamError};
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{ChainDefinition, Datadir, GcSettings, OpenOptions, Opened, Stores, TrieEngine, VerifyPolicy};
use rhizome_tests::chains::block_lines;
use tempfile::TempDir;

pub struct TestChain {
    pub chain: Chain,
    _datadir: Option<Datadir>,
    _directory: Option<TempDir>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Memory,
    RocksDb,
    FlatDb,
}

/// How a file was taken.
pub enum Fed {
    /// To its last block.
    Whole { last: B256 },
    /// To a call of something that is not built.
    NotBuilt(String),
}

impl TestChain {
    pub fn open(chain_file: &Path, engine: Engine) -> Self {
        Self::open_with(chain_file, engine, ChainOptions::default().flush, None)
    }

    /// A chain that gives up old states and makes every block durable by itself, so that epochs rotate at any block.
    pub fn open_collecting(chain_file: &Path, engine: Engine, gc: &GcSettings) -> Self {
        Self::open_with(chain_file, engine, FlushPolicy::EACH_BLOCK, Some(gc))
    }

    fn open_with(chain_file: &Path, engine: Engine, flush: FlushPolicy, gc: Option<&GcSettings>) -> Self {
        let spec = Arc::new(ChainSpec::from_file(chain_file).unwrap());
        let genesis = GenesisBlock::new(&spec).unwrap();
        let options = ChainOptions { flush, ..ChainOptions::default() };
        match engine {
            Engine::Memory => {
                let chain = Chain::open(spec, &genesis, Stores::memory(), options).unwrap();
                Self { chain, _datadir: None, _directory: None }
            }
            Engine::RocksDb | Engine::FlatDb => {
                let directory = TempDir::new().unwrap();
                let definition = ChainDefinition::of(&chain_file.display().to_string(), &spec).unwrap();
                let opened = Opened::open(OpenOptions {
                    path: directory.path(),
                    spec: &spec,
                    definition: &definition,
                    genesis: genesis.hash(),
                    engine: Some(if engine == Engine::FlatDb { TrieEngine::FlatDb } else { TrieEngine::RocksDb }),
                    create: true,
                    verify: VerifyPolicy::default(),
                    gc,
                })
                .unwrap();
                let chain = Chain::open(Arc::clone(&spec), &genesis, opened.stores, options).unwrap();
                Self { chain, _datadir: Some(opened.datadir), _directory: Some(directory) }
            }
        }
    }

    /// Imports a block file whole, or up to something that is not built.
    pub fn feed(&self, blocks: &Path) -> Result<Fed, String> {
        let mut last = B256::ZERO;
        let source = block_lines(blocks).map(|line| {
            Ok::<_, String>(Incoming {
                encoded: Bytes::from(line.rlp),
                tag: (line.number, line.hash, line.total_difficulty),
            })
        });
        let streamed = self.chain.import_stream(source, 2, |imported| {
            let (number, hash, difficulty) = imported.tag;
            last = hash;
            match (imported.block, imported.outcome) {
                (Ok(block), Some(ImportOutcome::Best(_) | ImportOutcome::NotBest | ImportOutcome::Exists)) => {
                    if (block.number, block.hash) != (number, hash) {
                        return ControlFlow::Break(format!("line {number} {hash}: got {block:?}"));
                    }
                    let record = self.chain.stores().blocks().record(&hash).unwrap().unwrap();
                    let total = rhizome_primitives::hex::encode(&*Chain::total_difficulty(&record).to_signed_bytes());
                    if total != difficulty {
                        return ControlFlow::Break(format!(
                            "block {number}: total difficulty {difficulty}, got {total}"
                        ));
                    }
                    ControlFlow::Continue(())
                }
                (block, outcome) => ControlFlow::Break(format!("line {number} {hash}: {block:?} {outcome:?}")),
            }
        });
        match streamed {
            Ok(()) => Ok(Fed::Whole { last }),
            Err(StreamError::Chain(error, _)) if matches!(*error, ChainError::NotBuilt { .. }) => {
                Ok(Fed::NotBuilt(error.to_string()))
            }
            Err(StreamError::Source(error) | StreamError::Stopped(error)) => Err(error),
            Err(StreamError::Chain(error, at)) => Err(format!("{error} at {at:?}")),
        }
    }

    /// Offers one block; `None` when the bytes are none.
    pub fn offer(&self, encoded: Vec<u8>) -> Option<ImportOutcome> {
        let block = self.chain.decode(&Bytes::from(encoded)).ok()?;
        Some(self.chain.import(block).unwrap())
    }

    pub fn best(&self) -> B256 {
        self.chain.head().record.hash
    }
}
