//! Opening a chain for a command.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rhizome_chain::{Chain, ChainOptions, GenesisBlock};
use rhizome_storage::{Datadir, OpenOptions, Opened, StartState, Stores, TrieEngine};
use tempfile::TempDir;

use crate::failure::Failure;
use crate::settings::{ChosenChain, Settings};

/// An open chain with what must live as long.
pub(crate) struct OpenChain {
    // Fields close in this order: the chain with its databases, then the lock, then a directory that is not kept.
    pub(crate) chain: Chain,
    pub(crate) datadir: Option<Datadir>,
    pub(crate) engine: TrieEngine,
    /// The directory, where it stays.
    pub(crate) kept: Option<PathBuf>,
    _temporary: Option<TempDir>,
}

/// Opens the chain's data directory, or a place that is not kept where none was named.
pub(crate) fn open(settings: &Settings, chosen: &ChosenChain, create: bool) -> Result<OpenChain, Failure> {
    let genesis = GenesisBlock::new(&chosen.spec)?;
    let gc = settings.gc();
    let mut engine = settings.trie_engine.value;
    if engine == Some(TrieEngine::Memory) {
        if chosen.datadir.is_some() {
            return Err(Failure::usage("--trie-engine memory keeps nothing and cannot be used with a data directory"));
        }
        if gc.is_some() {
            return Err(Failure::usage(
                "--gc on needs an engine that keeps its nodes on disk, not --trie-engine memory",
            ));
        }
        let options = ChainOptions { clock: Some(now), ..ChainOptions::default() };
        let chain = Chain::open(chosen.spec.clone(), &genesis, Stores::memory(), options)?;
        return Ok(OpenChain { chain, datadir: None, engine: TrieEngine::Memory, kept: None, _temporary: None });
    }
    let temporary = match &chosen.datadir {
        Some(_) => None,
        None => {
            engine = engine.or_else(|| Some(TrieEngine::default()));
            let made = tempfile::Builder::new().prefix("rhizome-replay-").tempdir();
            Some(made.map_err(|error| Failure::output(std::env::temp_dir().display(), &error))?)
        }
    };
    let path = match (&chosen.datadir, &temporary) {
        (Some(path), _) => path.as_path(),
        (None, Some(temporary)) => temporary.path(),
        (None, None) => return Err(Failure::usage("this command needs --datadir")),
    };
    let opened = Opened::open(OpenOptions {
        path,
        spec: &chosen.spec,
        definition: &chosen.definition,
        genesis: genesis.hash(),
        engine,
        create,
        verify: settings.verify(),
        gc: gc.as_ref(),
    })?;
    if let StartState::Rewound { head, from, reason } = &opened.state {
        eprintln!("warning: {reason}; went back from block {from} to block {}", head.number);
    }
    if let Some(rewind) = opened.rules_rewind {
        eprintln!(
            "warning: the rules changed below the head; went back from block {} to block {}, the last with equal rules",
            rewind.from, rewind.to
        );
    }
    let engine = opened.datadir.format().engine.parse().map_err(Failure::input)?;
    let mut options = ChainOptions { clock: Some(now), ..ChainOptions::default() };
    if let Some(gc) = &gc {
        // An epoch can only end where something was made durable.
        options.flush.bytes = options.flush.bytes.min(gc.options.epoch_size);
    }
    let chain = Chain::open(chosen.spec.clone(), &genesis, opened.stores, options)?;
    let kept = chosen.datadir.clone();
    Ok(OpenChain { chain, datadir: Some(opened.datadir), engine, kept, _temporary: temporary })
}

fn now() -> u64 {
    // A clock before 1970 accepts no block from the future, which is the safe side.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
