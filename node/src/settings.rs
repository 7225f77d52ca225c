//! From what was typed to what the program runs on: command line over environment over file over default, decided once.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use rhizome_chainspec::ChainSpec;
use rhizome_storage::{ChainDefinition, Datadir, FORMAT_FILE, TrieEngine};
use serde::Deserialize;

use crate::args::{ChainArgs, DatadirArgs, EngineArgs, ExecutorKind};
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

/// The configuration file's keys.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ConfigFile {
    chain: Option<String>,
    datadir: Option<PathBuf>,
    trie_engine: Option<String>,
    executor: Option<String>,
}

/// A configuration file with every key.
pub(crate) const DEFAULT_FILE: &str = "\
# Rhizome's configuration. Every key is optional; environment (RHIZOME_CHAIN, …) and command line win over this file.

# mainnet, testnet, regtest, or the path of a chain file. Default: the data directory's chain, else mainnet.
#chain = \"mainnet\"

# Where the chain is kept. Default for a built-in network: rhizome/NETWORK in the user's data directory.
#datadir = \"/var/lib/rhizome\"

# Where trie nodes are kept: rocksdb or memory. A data directory keeps the engine it was made with.
#trie-engine = \"rocksdb\"

# How the transactions of a block are executed: sequential.
#executor = \"sequential\"
";

/// What the program runs on.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) chain: Setting<String>,
    pub(crate) datadir: Setting<PathBuf>,
    pub(crate) trie_engine: Setting<TrieEngine>,
    pub(crate) executor: Setting<ExecutorKind>,
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
            executor: layers.choose(engine.executor, "RHIZOME_EXECUTOR", file.executor, |text| {
                ExecutorKind::from_str(text, false).map_err(|_| {
                    let known: Vec<_> = ExecutorKind::value_variants().iter().map(|kind| kind.name()).collect();
                    format!("unknown executor {text:?}, possible: {}", known.join(", "))
                })
            })?,
        })
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
    let base = base.ok_or_else(|| Failure::usage("neither XDG_DATA_HOME nor HOME is set; name a directory with --datadir"))?;
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
        Ok(Setting { value: None, origin: Origin::Default })
    }
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
        let active: String = DEFAULT_FILE.lines().map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or("")).map(|line| format!("{line}\n")).collect();
        let file: ConfigFile = toml::from_str(&active).unwrap();
        assert!(file.chain.is_some() && file.datadir.is_some() && file.trie_engine.is_some() && file.executor.is_some());
        assert!(toml::from_str::<ConfigFile>("chian = \"mainnet\"").is_err());
    }
}
