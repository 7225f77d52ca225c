//! Opening a data directory: lock, engines, invariants, rules.

use std::path::Path;
use std::sync::Arc;

use rhizome_chainspec::ChainSpec;
use rhizome_primitives::B256;

use crate::datadir::{ChainDefinition, Datadir, DatadirError, RulesChange, TrieEngine};
use crate::engine::{EngineOptions, VerifyPolicy};
use crate::epochs::{EpochStore, GcControl, GcOptions};
use crate::error::{Result, StorageError};
use crate::invariants::StartState;
use crate::stores::Stores;

/// What to open and for which chain.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions<'a> {
    /// The directory.
    pub path: &'a Path,
    /// The chain.
    pub spec: &'a ChainSpec,
    /// How the operator named the chain.
    pub definition: &'a ChainDefinition,
    /// Hash of the chain's block 0.
    pub genesis: B256,
    /// The trie engine; `None` is the directory's own.
    pub engine: Option<TrieEngine>,
    /// Whether an absent or empty directory is made.
    pub create: bool,
    /// When FlatDB recomputes hashes.
    pub verify: VerifyPolicy,
    /// Whether and how old states are given up; `None` keeps every state that is there.
    pub gc: Option<&'a GcSettings>,
}

/// How old states are given up.
#[derive(Clone, Debug, Default)]
pub struct GcSettings {
    /// When.
    pub options: GcOptions,
    /// Watched and paced how.
    pub control: GcControl,
}

/// An open directory and what had to be done to it.
#[derive(Debug)]
pub struct Opened {
    /// The stores; their engines close when the last handle goes.
    pub stores: Stores,
    /// The locked directory. To be kept as long as the stores.
    pub datadir: Datadir,
    /// What the check at start found.
    pub state: StartState,
    /// Where the chain went back to because rules below its head changed.
    pub rules_rewind: Option<RulesRewind>,
}

/// A move back to the last block whose rules are still the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RulesRewind {
    /// The head before.
    pub from: u64,
    /// The head now.
    pub to: u64,
}

impl Opened {
    /// Opens a directory: takes its lock, checks whose it is, repairs it, and goes back where the rules changed.
    ///
    /// # Errors
    /// [`StorageError::Datadir`] when it is not a directory for this chain, other errors when its data are damaged.
    pub fn open(options: OpenOptions<'_>) -> Result<Self> {
        let OpenOptions { path, spec, definition, genesis, engine, create, verify, gc } = options;
        let mut datadir = if create {
            Datadir::open_or_create(path, spec, genesis, definition, engine)?
        } else {
            Datadir::open(path, spec, genesis, engine)?
        };
        let stores = open_engines(&datadir, verify, gc)?;
        let state = stores.check_at_start(spec)?;
        let rules_rewind = apply_rules(&mut datadir, &stores, spec, definition)?;
        Ok(Self { stores, datadir, state, rules_rewind })
    }
}

#[cfg(feature = "rocksdb")]
fn open_engines(datadir: &Datadir, verify: VerifyPolicy, gc: Option<&GcSettings>) -> Result<Stores> {
    use crate::rocks::RocksKv;
    let engine: TrieEngine = datadir.format().engine.parse().map_err(StorageError::Refused)?;
    let options = EngineOptions::new(verify);
    let data = Arc::new(RocksKv::open(&datadir.chain_path(), &options.memory)?);
    let nodes = EpochStore::open(&datadir.trie_path(), engine, options)?;
    Stores::over_epochs(nodes, data, gc.map(|gc| (gc.options, gc.control.clone())))
}

#[cfg(not(feature = "rocksdb"))]
fn open_engines(_datadir: &Datadir, _verify: VerifyPolicy, _gc: Option<&GcSettings>) -> Result<Stores> {
    Err(StorageError::Refused("this build has no engine for block data in a directory".into()))
}

fn apply_rules(
    datadir: &mut Datadir,
    stores: &Stores,
    spec: &ChainSpec,
    definition: &ChainDefinition,
) -> Result<Option<RulesRewind>> {
    let RulesChange::From(from) = datadir.rules_change() else {
        // Heights of upgrades, ports and names may differ without any rule being another.
        return Ok(None);
    };
    let head = stores.blocks().head()?.map_or(0, |head| head.number);
    let mut rewound = None;
    if head >= from {
        let to = from.saturating_sub(1);
        // The blocks above were executed under the old rules, and are decoded by what their headers had then: the layout of a
        // header depends on the rules too, so the old ones are needed to take them out.
        let old = datadir.format().rules(spec);
        stores.rewind(to, &old).map_err(|error| match error {
            StorageError::Refused(reason) => {
                DatadirError::RulesChanged { path: datadir.path().to_owned(), from, head, reason }.into()
            }
            other => other,
        })?;
        rewound = Some(RulesRewind { from: head, to });
    }
    // Only now: a stop during the rewind finds the old table again and goes on with it.
    datadir.accept_rules(spec, definition)?;
    Ok(rewound)
}
