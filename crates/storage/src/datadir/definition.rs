//! The chain's own definition, kept in the directory so that later commands need no `--chain`.

use std::path::Path;

use rhizome_chainspec::{ChainSpec, ChainSpecError};
use serde_json::Value;

use super::{DatadirError, replace_file};

const CHAIN_FILE: &str = "chain.json";
const GENESIS_FILE: &str = "genesis.json";

/// How a chain was named by the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainDefinition {
    /// A built-in network: its name in FORMAT is enough.
    Network,
    /// A chain file, with the genesis file beside it where it names one.
    File {
        /// The chain file's text; the name of its genesis file is the one in a data directory.
        chain: String,
        /// The genesis file's text.
        genesis: Option<String>,
    },
}

impl ChainDefinition {
    /// The files that a definition may occupy in a data directory.
    pub(super) const FILES: [&'static str; 2] = [CHAIN_FILE, GENESIS_FILE];

    /// The definition behind a value of `--chain` that was found to be a valid chain.
    ///
    /// # Errors
    /// When a file cannot be read again.
    pub fn of(chain: &str, spec: &ChainSpec) -> Result<Self, DatadirError> {
        if chain == spec.network.name() {
            return Ok(Self::Network);
        }
        let path = Path::new(chain);
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|source| DatadirError::Io { path: path.to_owned(), source })
        };
        let text = read(path)?;
        let Ok(Value::Object(mut members)) = serde_json::from_str::<Value>(&text) else {
            return Ok(Self::File { chain: text, genesis: None });
        };
        let Some(Value::String(name)) = members.get("genesis") else {
            return Ok(Self::File { chain: text, genesis: None });
        };
        let genesis = read(&path.parent().unwrap_or_else(|| Path::new(".")).join(name))?;
        members.insert("genesis".to_owned(), Value::String(GENESIS_FILE.to_owned()));
        Ok(Self::File { chain: Value::Object(members).to_string(), genesis: Some(genesis) })
    }

    /// The chain that a data directory was made for.
    ///
    /// # Errors
    /// When the directory's own definition cannot be read.
    pub fn load(directory: &Path, network: &str) -> Result<(Self, ChainSpec), ChainSpecError> {
        let path = directory.join(CHAIN_FILE);
        if !path.exists() {
            return Ok((Self::Network, ChainSpec::by_name_or_file(network)?));
        }
        let spec = ChainSpec::from_file(&path)?;
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|source| ChainSpecError::Read { path: path.to_owned(), source })
        };
        let genesis = directory.join(GENESIS_FILE);
        let genesis = genesis.exists().then(|| read(&genesis)).transpose()?;
        Ok((Self::File { chain: read(&path)?, genesis }, spec))
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), DatadirError> {
        let Self::File { chain, genesis } = self else { return Ok(()) };
        if let Some(genesis) = genesis {
            replace_file(&directory.join(GENESIS_FILE), genesis.as_bytes())?;
        }
        replace_file(&directory.join(CHAIN_FILE), chain.as_bytes())
    }
}
