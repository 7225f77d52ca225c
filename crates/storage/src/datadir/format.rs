//! The FORMAT file: format version, chain, engine, and the rules that the data were made under.

use std::collections::BTreeMap;
use std::path::Path;

use rhizome_chainspec::{ActivationHeights, ChainSpec, Rskip};
use rhizome_primitives::B256;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DatadirError, FORMAT_FILE, TrieEngine, replace_file};

/// The version that this release writes, and the newest that it reads.
pub const FORMAT_VERSION: u64 = 1;

/// The content of FORMAT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Version of the directory's layout.
    pub rhizome: u64,
    /// The built-in network, or the one that the chain file is laid over.
    pub network: String,
    /// The number in signatures.
    #[serde(rename = "chainId")]
    pub chain_id: u8,
    /// The trie engine's name.
    pub engine: String,
    /// Hash of block 0.
    #[serde(with = "hash_text")]
    pub genesis: B256,
    /// [`ChainSpec::fingerprint`] of the rules that every stored block was executed under.
    #[serde(with = "hash_text")]
    pub fingerprint: B256,
    /// The heights of those rules; a rule that never comes is left out.
    pub activations: BTreeMap<String, u64>,
}

/// How the rules of stored blocks differ from today's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesChange {
    /// Not at all.
    None,
    /// Blocks from this height on were, or would be, executed under other rules.
    From(u64),
}

impl Format {
    pub(super) fn new(spec: &ChainSpec, genesis: B256, engine: TrieEngine) -> Self {
        let mut format = Self {
            rhizome: FORMAT_VERSION,
            network: spec.network.name().to_owned(),
            chain_id: spec.chain_id(),
            engine: engine.name().to_owned(),
            genesis,
            fingerprint: B256::ZERO,
            activations: BTreeMap::new(),
        };
        format.set_rules(spec);
        format
    }

    pub(super) fn set_rules(&mut self, spec: &ChainSpec) {
        self.fingerprint = spec.fingerprint();
        self.activations = heights_of(spec);
    }

    pub(super) fn read(directory: &Path) -> Result<Self, DatadirError> {
        let path = directory.join(FORMAT_FILE);
        let foreign = |found: &str| DatadirError::Foreign { path: directory.to_owned(), found: found.to_owned() };
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(if directory.exists() {
                    foreign("no FORMAT file")
                } else {
                    DatadirError::Absent { path: directory.to_owned() }
                });
            }
            Err(source) => return Err(DatadirError::Io { path, source }),
        };
        // The version first: a newer form may have other members.
        let value: Value = serde_json::from_slice(&text).map_err(|_| foreign("its FORMAT file is not ours"))?;
        let version =
            value.get("rhizome").and_then(Value::as_u64).ok_or_else(|| foreign("its FORMAT file is not ours"))?;
        if version > FORMAT_VERSION {
            return Err(DatadirError::Newer { path: directory.to_owned(), got: version, known: FORMAT_VERSION });
        }
        serde_json::from_value(value).map_err(|error| foreign(&format!("its FORMAT file is damaged: {error}")))
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), DatadirError> {
        let path = directory.join(FORMAT_FILE);
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| DatadirError::Io { path: path.clone(), source: std::io::Error::other(error) })?;
        text.push('\n');
        replace_file(&path, text.as_bytes())
    }

    pub(super) fn check_chain(&self, directory: &Path, spec: &ChainSpec, genesis: B256) -> Result<(), DatadirError> {
        let other = |what, expected: String, got: String| DatadirError::OtherChain {
            path: directory.to_owned(),
            what,
            expected,
            got,
        };
        if self.network != spec.network.name() {
            return Err(other("network", spec.network.name().to_owned(), self.network.clone()));
        }
        if self.genesis != genesis {
            return Err(other("genesis block", genesis.to_string(), self.genesis.to_string()));
        }
        Ok(())
    }

    /// Takes over the engine that the trie's own list names: a conversion changes the list first, and may have been stopped
    /// before it changed this file.
    pub(super) fn follow_conversion(&mut self, directory: &Path) -> Result<(), DatadirError> {
        let trie = directory.join(super::TRIE);
        // A damaged list is told when the trie is opened.
        let Ok(Some(engine)) = crate::epochs::EpochStore::engine_of(&trie) else { return Ok(()) };
        if engine.name() != self.engine {
            self.engine = engine.name().to_owned();
            self.write(directory)?;
        }
        Ok(())
    }

    pub(super) fn check_engine(&self, directory: &Path, asked: Option<TrieEngine>) -> Result<(), DatadirError> {
        match asked {
            Some(asked) if asked.name() != self.engine => Err(DatadirError::OtherEngine {
                path: directory.to_owned(),
                asked: asked.name().to_owned(),
                got: self.engine.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// A chain's spec with the heights that the data were made under; rules this release does not know are left out.
    pub fn rules(&self, spec: &ChainSpec) -> ChainSpec {
        let stored = self.activations.iter().filter_map(|(key, &height)| Some((Rskip::from_key(key)?, Some(height))));
        ChainSpec { heights: ActivationHeights::new(&[], &stored.collect::<Vec<_>>()), ..spec.clone() }
    }

    pub(super) fn rules_change(&self, directory: &Path, spec: &ChainSpec) -> Result<RulesChange, DatadirError> {
        if self.fingerprint == spec.fingerprint() {
            return Ok(RulesChange::None);
        }
        if let Some((rule, &height)) = self.activations.iter().find(|(key, _)| Rskip::from_key(key).is_none()) {
            return Err(DatadirError::UnknownRule { path: directory.to_owned(), rule: rule.clone(), height });
        }
        // With the stored heights put in, what remains different is no matter of heights.
        let as_stored = self.rules(spec);
        if as_stored.fingerprint() != self.fingerprint {
            return Err(DatadirError::OtherChain {
                path: directory.to_owned(),
                what: "rules fingerprint",
                expected: spec.fingerprint().to_string(),
                got: self.fingerprint.to_string(),
            });
        }
        let moved = Rskip::ALL.iter().filter_map(|&rule| {
            let (old, new) = (as_stored.activation_height(rule), spec.activation_height(rule));
            (old != new).then(|| old.unwrap_or(u64::MAX).min(new.unwrap_or(u64::MAX)))
        });
        Ok(moved.min().map_or(RulesChange::None, RulesChange::From))
    }
}

fn heights_of(spec: &ChainSpec) -> BTreeMap<String, u64> {
    Rskip::ALL.iter().filter_map(|&rule| Some((rule.key().to_owned(), spec.activation_height(rule)?))).collect()
}

/// A hash as text with `0x`.
mod hash_text {
    use rhizome_primitives::B256;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(hash: &B256, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(hash)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<B256, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
