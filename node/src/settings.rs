//! From what was typed to what the program runs on: command line over environment over file over default, decided once.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use rhizome_chainspec::ChainSpec;
use rhizome_storage::{
    ChainDefinition, Datadir, FORMAT_FILE, GcControl, GcOptions, GcSettings, TrieEngine, VerifyPolicy,
};
use serde::Deserialize;

use crate::args::{ByteSize, ChainArgs, DatadirArgs, EngineArgs, ExecutorKind, FlatDbVerify, GcArgs, Switch, gc_depth};
use crate::failure::Failure;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    CommandLine,
    Environment(&'static str),
    File(PathBuf),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("command line"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and where it comes from; no value where the default is for the command to choose.
#[derive(Clone, Debug)]
pub(crate) struct Setting<T> {
    pub(crate) value: Option<T>,
    pub(crate) origin: Origin,
}

impl<T> Setting<T> {
    /// The default.
    pub(crate) fn none() -> Self {
        Self { value: None, origin: Origin::Default }
    }
}

/// The configuration file's keys.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ConfigFile {
    chain: Option<String>,
    datadir: Option<PathBuf>,
    trie_engine: Option<String>,
    executor: Option<String>,
    flatdb_verify: Option<String>,
    gc: Option<String>,
    gc_epochs: Option<u64>,
    gc_epoch_size: Option<String>,
    gc_depth: Option<u64>,
}

/// A configuration file with every key.
pub(crate) const DEFAULT_FILE: &str = "\
# Rhizome's configuration. Every key is optional; environment (RHIZOME_CHAIN, …) and command line win over this file.

# mainnet, testnet, testnet2, devnet, regtest, or the path of a chain file. Default: the data directory's chain, else mainnet.
#chain = \"mainnet\"

# Where the chain is kept. Default for a built-in network: rhizome/NETWORK in the user's data directory.
#datadir = \"/var/lib/rhizome\"

# Where trie nodes are kept: rocksdb, flatdb or memory. A data directory keeps the engine it was made with.
#trie-engine = \"rocksdb\"

# How the transactions of a block are executed: sequential.
#executor = \"sequential\"

# When FlatDB recomputes the hash of a node that it reads: always, first (after opening) or never.
#flatdb-verify = \"first\"

# Whether the states of old blocks are given up.
#gc = \"off\"

# How many epochs of nodes are kept, at least 3.
#gc-epochs = 3

# Bytes of nodes after which a new epoch is begun.
#gc-epoch-size = \"1GiB\"

# How many blocks below the head keep their states, at least 7.
#gc-depth = 10000
";

/// What the program runs on.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) chain: Setting<String>,
    pub(crate) datadir: Setting<PathBuf>,
    pub(crate) trie_engine: Setting<TrieEngine>,
    pub(crate) executor: Setting<ExecutorKind>,
    pub(crate) flatdb_verify: Setting<FlatDbVerify>,
    pub(crate) gc: Setting<Switch>,
    pub(crate) gc_epochs: Setting<usize>,
    pub(crate) gc_epoch_size: Setting<ByteSize>,
    pub(crate) gc_depth: Setting<u64>,
}

impl Settings {
    pub(crate) fn resolve(chain: &ChainArgs, datadir: &DatadirArgs, engine: &EngineArgs) -> Result<Self, Failure> {
        let path = datadir.config.clone().or_else(|| std::env::var_os("RHIZOME_CONFIG").map(PathBuf::from));
        let file = path.as_deref().map_or_else(|| Ok(ConfigFile::default()), read)?;
        let layers = Layers { file: path };
        Ok(Self {
            chain: layers.choose(chain.chain.clone(), "RHIZOME_CHAIN", file.chain, |text| Ok(text.to_owned()))?,
            datadir: layers.choose(
                datadir.datadir.clone(),
                "RHIZOME_DATADIR",
                file.datadir.map(|path| path.display().to_string()),
                |text| Ok(PathBuf::from(text)),
            )?,
            trie_engine: layers.choose(engine.trie_engine, "RHIZOME_TRIE_ENGINE", file.trie_engine, str::parse)?,
            executor: layers.choose(engine.executor, "RHIZOME_EXECUTOR", file.executor, one_of(ExecutorKind::name))?,
            flatdb_verify: layers.choose(
                engine.flatdb_verify,
                "RHIZOME_FLATDB_VERIFY",
                file.flatdb_verify,
                one_of(FlatDbVerify::name),
            )?,
            gc: layers.choose(engine.gc.gc, "RHIZOME_GC", file.gc, one_of(Switch::name))?,
            gc_epochs: layers.choose(
                engine.gc.gc_epochs,
                "RHIZOME_GC_EPOCHS",
                file.gc_epochs.map(|epochs| epochs.to_string()),
                number,
            )?,
            gc_epoch_size: layers.choose(
                engine.gc.gc_epoch_size,
                "RHIZOME_GC_EPOCH_SIZE",
                file.gc_epoch_size,
                str::parse,
            )?,
            gc_depth: layers.choose(
                engine.gc.gc_depth,
                "RHIZOME_GC_DEPTH",
                file.gc_depth.map(|depth| depth.to_string()),
                gc_depth,
            )?,
        })
    }

    /// For commands that have no engine options but those of old states.
    pub(crate) fn with_gc(chain: &ChainArgs, datadir: &DatadirArgs, gc: GcArgs) -> Result<Self, Failure> {
        Self::resolve(chain, datadir, &EngineArgs { gc, ..EngineArgs::default() })
    }

    /// When FlatDB recomputes hashes.
    pub(crate) fn verify(&self) -> VerifyPolicy {
        self.flatdb_verify.value.map(FlatDbVerify::policy).unwrap_or_default()
    }

    /// How old states are given up, whether or not they are.
    pub(crate) fn gc_options(&self) -> GcOptions {
        let default = GcOptions::default();
        GcOptions {
            epochs: self.gc_epochs.value.unwrap_or(default.epochs),
            epoch_size: self.gc_epoch_size.value.map_or(default.epoch_size, |size| size.0),
            depth: self.gc_depth.value.unwrap_or(default.depth),
            ..default
        }
    }

    /// Whether and how old states are given up.
    pub(crate) fn gc(&self) -> Option<GcSettings> {
        let on = self.gc.value == Some(Switch::On);
        on.then(|| GcSettings { options: self.gc_options(), control: GcControl::new() })
    }

    /// For commands that have no engine options.
    pub(crate) fn of_directory(chain: &ChainArgs, datadir: &DatadirArgs) -> Result<Self, Failure> {
        Self::resolve(chain, datadir, &EngineArgs::default())
    }

    /// The chain, and the directory where there is one. `keep`: a built-in network has a directory even when none was named.
    pub(crate) fn chain(&self, keep: bool) -> Result<ChosenChain, Failure> {
        let named = self.datadir.value.as_deref();
        let existing = named.filter(|path| path.join(FORMAT_FILE).exists());
        let (spec, definition) = match (&self.chain.value, existing) {
            (Some(chain), _) => {
                let spec = ChainSpec::by_name_or_file(chain).map_err(|error| Failure::input(error.to_string()))?;
                let definition = ChainDefinition::of(chain, &spec)?;
                (spec, definition)
            }
            (None, Some(path)) => {
                let format = Datadir::read_format(path)?;
                let (definition, spec) =
                    ChainDefinition::load(path, &format.network).map_err(|error| Failure::input(error.to_string()))?;
                (spec, definition)
            }
            (None, None) => (ChainSpec::mainnet(), ChainDefinition::Network),
        };
        let datadir = match (named, keep) {
            (Some(path), _) => Some(path.to_owned()),
            (None, false) => None,
            (None, true) => Some(default_datadir(&spec, &definition)?),
        };
        Ok(ChosenChain { spec: Arc::new(spec), definition, datadir })
    }
}

/// The chain a command works on.
#[derive(Clone, Debug)]
pub(crate) struct ChosenChain {
    pub(crate) spec: Arc<ChainSpec>,
    pub(crate) definition: ChainDefinition,
    pub(crate) datadir: Option<PathBuf>,
}

fn default_datadir(spec: &ChainSpec, definition: &ChainDefinition) -> Result<PathBuf, Failure> {
    if *definition != ChainDefinition::Network {
        return Err(Failure::usage("a chain file has no default data directory; name one with --datadir"));
    }
    let base = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")));
    let base =
        base.ok_or_else(|| Failure::usage("neither XDG_DATA_HOME nor HOME is set; name a directory with --datadir"))?;
    Ok(base.join("rhizome").join(spec.network.name()))
}

struct Layers {
    file: Option<PathBuf>,
}

impl Layers {
    fn choose<T>(
        &self,
        flag: Option<T>,
        variable: &'static str,
        file: Option<String>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Setting<T>, Failure> {
        if let Some(value) = flag {
            return Ok(Setting { value: Some(value), origin: Origin::CommandLine });
        }
        if let Some(text) = std::env::var_os(variable) {
            let text = text.to_str().ok_or_else(|| Failure::usage(format!("environment {variable} is not UTF-8")))?;
            let value = parse(text).map_err(|error| Failure::usage(format!("environment {variable}: {error}")))?;
            return Ok(Setting { value: Some(value), origin: Origin::Environment(variable) });
        }
        if let (Some(text), Some(path)) = (file, &self.file) {
            let value = parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
            return Ok(Setting { value: Some(value), origin: Origin::File(path.clone()) });
        }
        Ok(Setting::none())
    }
}

/// A parser of the values that have these names.
fn one_of<T: ValueEnum>(name: impl Fn(T) -> &'static str) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        T::from_str(text, false).map_err(|_| {
            let known: Vec<_> = T::value_variants().iter().map(|value| name(value.clone())).collect();
            format!("{text:?} is not possible; one of {}", known.join(", "))
        })
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn read(path: &Path) -> Result<ConfigFile, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        Failure::Input {
            message: error.message().replace('\n', " "),
            file: Some(path.to_owned()),
            line: u64::try_from(line).ok(),
            block: None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_has_every_key_and_nothing_else() {
        let active: String = DEFAULT_FILE
            .lines()
            .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(""))
            .map(|line| format!("{line}\n"))
            .collect();
        let file: ConfigFile = toml::from_str(&active).unwrap();
        assert!(
            file.chain.is_some() && file.datadir.is_some() && file.trie_engine.is_some() && file.executor.is_some()
        );
        assert!(file.flatdb_verify.is_some() && file.gc.is_some() && file.gc_epochs.is_some());
        assert!(file.gc_epoch_size.is_some() && file.gc_depth.is_some());
        assert!(toml::from_str::<ConfigFile>("chian = \"mainnet\"").is_err());
    }
}
