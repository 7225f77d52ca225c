//! The data directory: what a chain's files are, whose they are, and who may use them now.
//!
//! `docs/formats/datadir.md` has the layout. Invariants: a directory is used by one process at a time; FORMAT is written
//! before any data and replaced atomically, so a directory with data always says what the data are; a directory that does not
//! say so, says so in a newer form, or belongs to another chain or engine is left untouched and refused in one line.

mod definition;
mod engine;
mod format;
mod lock;

use std::path::{Path, PathBuf};

use rhizome_chainspec::ChainSpec;
use rhizome_primitives::B256;

pub use definition::ChainDefinition;
pub use engine::TrieEngine;
pub use format::{FORMAT_VERSION, Format, RulesChange};

use lock::Lock;

/// The name of the file that says what a directory holds.
pub const FORMAT_FILE: &str = "FORMAT";
/// The name of the file that the using process holds locked.
pub const LOCK_FILE: &str = "LOCK";

/// The directory of trie nodes.
const TRIE: &str = "trie";

/// Why a directory is not opened. Each is one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatadirError {
    /// Another process uses it.
    #[error("data directory {} is in use{}; stop that process or choose another --datadir", path.display(), holder(*process))]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The other process, where it could be read.
        process: Option<u32>,
    },
    /// There is no such directory, and none was to be made.
    #[error("data directory {} does not exist; choose one that rhizome import has made with --datadir", path.display())]
    Absent {
        /// The directory.
        path: PathBuf,
    },
    /// It holds files and none of them says that they are ours.
    #[error("{} is not a data directory of this program ({found}); it was left untouched, choose an empty --datadir", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// What was found instead.
        found: String,
    },
    /// It was written by a later release.
    #[error("data directory {} has format {got}, this release reads up to {known}; use the newer release", path.display())]
    Newer {
        /// The directory.
        path: PathBuf,
        /// The directory's format version.
        got: u64,
        /// The newest version known.
        known: u64,
    },
    /// It was written under a rule that this release does not know.
    #[error("data directory {} was written under rule {rule} (from block {height}), which this release does not know; use the newer release", path.display())]
    UnknownRule {
        /// The directory.
        path: PathBuf,
        /// The rule's key.
        rule: String,
        /// Where it starts.
        height: u64,
    },
    /// It belongs to another chain.
    #[error("data directory {} belongs to another chain: {what} expected {expected}, got {got}; choose another --datadir or --chain", path.display())]
    OtherChain {
        /// The directory.
        path: PathBuf,
        /// In which respect.
        what: &'static str,
        /// What the chosen chain has.
        expected: String,
        /// What the directory has.
        got: String,
    },
    /// Its trie is in another engine.
    #[error("data directory {} uses trie engine {got}, not {asked}; use --trie-engine {got}", path.display())]
    OtherEngine {
        /// The directory.
        path: PathBuf,
        /// The engine asked for.
        asked: String,
        /// The directory's engine.
        got: String,
    },
    /// The rules below its head are not those of today, and going back is not possible.
    #[error("data directory {}: the rules changed at block {from}, below its head {head}, and the chain cannot go back to block {}: {reason}", path.display(), from.saturating_sub(1))]
    RulesChanged {
        /// The directory.
        path: PathBuf,
        /// The first block under other rules.
        from: u64,
        /// The head.
        head: u64,
        /// Why going back failed.
        reason: String,
    },
    /// It cannot be made.
    #[error("data directory {} cannot be made: {source}; expected a place where directories may be made and written to, choose another --datadir", path.display())]
    NotMade {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The operating system refused.
    #[error("{} cannot be used: {source}; expected to read and write it, look at its owner, permissions and disk, or choose another --datadir", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

fn holder(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| format!(" by process {process}"))
}

/// An open data directory, locked for this process as long as the value lives.
#[derive(Debug)]
pub struct Datadir {
    path: PathBuf,
    format: Format,
    change: RulesChange,
    _lock: Lock,
}

impl Datadir {
    /// Opens a directory for a chain, or makes it when it is absent or empty. `engine` `None` takes the directory's own, or
    /// the default for a new one.
    ///
    /// # Errors
    /// [`DatadirError`]; nothing is changed then.
    pub fn open_or_create(
        path: &Path,
        spec: &ChainSpec,
        genesis: B256,
        definition: &ChainDefinition,
        engine: Option<TrieEngine>,
    ) -> Result<Self, DatadirError> {
        if Self::is_empty(path)? {
            return Self::create(path, spec, genesis, definition, engine.unwrap_or_default());
        }
        Self::open(path, spec, genesis, engine)
    }

    /// Opens an existing directory for a chain.
    ///
    /// # Errors
    /// [`DatadirError`]; nothing is changed then.
    pub fn open(
        path: &Path,
        spec: &ChainSpec,
        genesis: B256,
        engine: Option<TrieEngine>,
    ) -> Result<Self, DatadirError> {
        // The check before the lock keeps a foreign directory free of our LOCK file.
        Self::read_format(path)?;
        let lock = Lock::take(path)?;
        let mut format = Self::read_format(path)?;
        format.check_chain(path, spec, genesis)?;
        format.follow_conversion(path)?;
        format.check_engine(path, engine)?;
        let change = format.rules_change(path, spec)?;
        Ok(Self { path: path.to_owned(), format, change, _lock: lock })
    }

    fn create(
        path: &Path,
        spec: &ChainSpec,
        genesis: B256,
        definition: &ChainDefinition,
        engine: TrieEngine,
    ) -> Result<Self, DatadirError> {
        std::fs::create_dir_all(path).map_err(|source| DatadirError::NotMade { path: path.to_owned(), source })?;
        let lock = Lock::take(path)?;
        // Another process may have filled the directory between the look and the lock.
        if !Self::is_empty(path)? {
            drop(lock);
            return Self::open(path, spec, genesis, Some(engine));
        }
        definition.write(path)?;
        let format = Format::new(spec, genesis, engine);
        format.write(path)?;
        Ok(Self { path: path.to_owned(), format, change: RulesChange::None, _lock: lock })
    }

    /// Whether a directory is absent or holds nothing but what a stop during its creation may leave.
    fn is_empty(path: &Path) -> Result<bool, DatadirError> {
        let fault = |source| DatadirError::Io { path: path.to_owned(), source };
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(fault(error)),
        };
        for entry in entries {
            let name = entry.map_err(fault)?.file_name();
            let name = name.to_string_lossy();
            let leftover = name == LOCK_FILE
                || name == "lost+found"
                || name.ends_with(".tmp")
                || ChainDefinition::FILES.contains(&&*name);
            if !leftover {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a directory says about itself, without locking it.
    ///
    /// # Errors
    /// When it is absent, foreign or newer.
    pub fn read_format(path: &Path) -> Result<Format, DatadirError> {
        Format::read(path)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says about itself.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// From where on its data were made under other rules than today's.
    pub fn rules_change(&self) -> RulesChange {
        self.change
    }

    /// Records that the data agree with a chain's rules.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn accept_rules(&mut self, spec: &ChainSpec, definition: &ChainDefinition) -> Result<(), DatadirError> {
        definition.write(&self.path)?;
        self.format.set_rules(spec);
        self.format.write(&self.path)?;
        self.change = RulesChange::None;
        Ok(())
    }

    /// Records that the trie is in another engine now.
    pub(crate) fn set_engine(&mut self, engine: TrieEngine) -> Result<(), DatadirError> {
        self.format.engine = engine.name().to_owned();
        self.format.write(&self.path)
    }

    /// Where the trie engine keeps its files.
    pub fn trie_path(&self) -> PathBuf {
        self.path.join(TRIE)
    }

    /// Where block data are.
    pub fn chain_path(&self) -> PathBuf {
        self.path.join("chain")
    }

    /// Bytes of the files below a path.
    pub fn bytes_below(path: &Path) -> u64 {
        let Ok(entries) = std::fs::read_dir(path) else { return 0 };
        entries
            .flatten()
            .map(|entry| match entry.metadata() {
                Ok(meta) if meta.is_dir() => Self::bytes_below(&entry.path()),
                Ok(meta) => meta.len(),
                // A file that a compaction removed meanwhile takes no room.
                Err(_) => 0,
            })
            .sum()
    }
}

/// Replaces a file so that after a crash it is either the old or the new one.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> Result<(), DatadirError> {
    use std::io::Write;
    let fault = |source| DatadirError::Io { path: path.to_owned(), source };
    let temporary = path.with_extension("tmp");
    let mut file = std::fs::File::create(&temporary).map_err(fault)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(fault)?;
    std::fs::rename(&temporary, path).map_err(fault)?;
    // The rename is durable when the directory is.
    if let Some(parent) = path.parent() {
        std::fs::File::open(parent).and_then(|directory| directory.sync_all()).map_err(fault)?;
    }
    Ok(())
}
