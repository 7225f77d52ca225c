//! The EPOCHS file: which epochs a trie directory has, in which engine, and from which block on its states are whole.
//!
//! It is replaced atomically, and every change of the set of epochs is one replacement: what a stop leaves besides it is
//! either not listed yet, or listed no more.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::datadir::{TrieEngine, replace_file};
use crate::error::{Result, StorageError};

/// The file's name in the trie directory.
pub(crate) const FILE: &str = "EPOCHS";
/// The version that this release writes and reads.
pub(crate) const VERSION: u64 = 1;

/// The content of EPOCHS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Version of the file.
    pub(crate) version: u64,
    /// The engine's name.
    pub(crate) engine: String,
    /// The number of the next epoch.
    pub(crate) next: u64,
    /// States of blocks from this height on are whole; of older ones nodes may be gone.
    pub(crate) complete_from: u64,
    /// Newest first.
    pub(crate) epochs: Vec<Entry>,
}

/// One epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Entry {
    /// Its number.
    pub(crate) number: u64,
    /// The highest block of any branch whose nodes it can have; none for the epoch that is written.
    pub(crate) sealed_at: Option<u64>,
}

impl Manifest {
    /// One epoch without anything.
    pub(crate) fn first(engine: TrieEngine) -> Self {
        let epochs = vec![Entry { number: 0, sealed_at: None }];
        Self { version: VERSION, engine: engine.name().to_owned(), next: 1, complete_from: 0, epochs }
    }

    /// Reads the file of a trie directory; none when there is none.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StorageError::Datadir(crate::DatadirError::Io { path, source })),
        };
        let damaged = |problem: String| StorageError::corrupt(format!("{}: {problem}", path.display()));
        // The version first: a newer form may have other members.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version > VERSION => {
                let path = directory.to_owned();
                return Err(crate::DatadirError::Newer { path, got: version, known: VERSION }.into());
            }
            Some(_) => {}
            None => return Err(damaged("it has no version".to_owned())),
        }
        let manifest: Self = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        manifest.check().map_err(|problem| damaged(problem.to_owned()))?;
        Ok(Some(manifest))
    }

    fn check(&self) -> Result<(), &'static str> {
        let Some((first, rest)) = self.epochs.split_first() else { return Err("it lists no epoch") };
        if first.sealed_at.is_some() || rest.iter().any(|epoch| epoch.sealed_at.is_none()) {
            return Err("not exactly the newest epoch is written");
        }
        if first.number >= self.next || self.epochs.windows(2).any(|pair| pair[0].number <= pair[1].number) {
            return Err("its epochs are out of order");
        }
        Ok(())
    }

    /// Replaces the file.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        let path = directory.join(FILE);
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| StorageError::corrupt(format!("{}: {error}", path.display())))?;
        text.push('\n');
        Ok(replace_file(&path, text.as_bytes())?)
    }

    /// The engine.
    pub(crate) fn engine(&self) -> Result<TrieEngine> {
        self.engine.parse().map_err(StorageError::Refused)
    }

    /// The directory of an epoch.
    pub(crate) fn path_of(&self, directory: &Path, number: u64) -> PathBuf {
        directory.join(format!("{}.{number}", self.engine))
    }
}

/// The engine's name and the number that the name of an epoch's directory says.
fn parse_name(name: &str) -> Option<(&str, u64)> {
    let (engine, number) = name.rsplit_once('.')?;
    TrieEngine::ALL.iter().any(|known| known.name() == engine).then_some(())?;
    Some((engine, number.parse().ok()?))
}

/// Removes the epochs' directories that the manifest does not list: dropped ones, and what a conversion left.
///
/// # Errors
/// When there is one that is newer than the manifest: then the manifest is an old copy and nothing is touched.
pub(crate) fn remove_unlisted(directory: &Path, manifest: &Manifest) -> Result<()> {
    let fault = |source| crate::DatadirError::Io { path: directory.to_owned(), source };
    let mut unlisted = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(fault)? {
        let name = entry.map_err(fault)?.file_name();
        let Some((engine, number)) = name.to_str().and_then(parse_name) else { continue };
        if number >= manifest.next {
            let what =
                format!("{}: epoch {number} is newer than the file {FILE}, which is not its own", directory.display());
            return Err(StorageError::corrupt(what));
        }
        if engine != manifest.engine || !manifest.epochs.iter().any(|epoch| epoch.number == number) {
            unlisted.push(directory.join(name));
        }
    }
    for path in unlisted {
        std::fs::remove_dir_all(&path).map_err(|source| crate::DatadirError::Io { path, source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_reads_back_and_nonsense_is_refused() {
        let directory = std::env::temp_dir().join(format!("rhizome-manifest-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        assert_eq!(Manifest::read(&directory).unwrap(), None);
        let mut manifest = Manifest::first(TrieEngine::FlatDb);
        manifest.next = 7;
        manifest.epochs = vec![Entry { number: 6, sealed_at: None }, Entry { number: 2, sealed_at: Some(40) }];
        manifest.write(&directory).unwrap();
        assert_eq!(Manifest::read(&directory).unwrap(), Some(manifest.clone()));
        for broken in [
            Manifest { epochs: Vec::new(), ..manifest.clone() },
            Manifest { next: 6, ..manifest.clone() },
            Manifest { epochs: manifest.epochs.iter().rev().copied().collect(), ..manifest.clone() },
            Manifest { epochs: vec![manifest.epochs[1]], ..manifest.clone() },
            Manifest { version: 2, ..manifest.clone() },
        ] {
            broken.write(&directory).unwrap();
            assert!(Manifest::read(&directory).is_err(), "{broken:?}");
        }
        // What is unlisted goes; what is newer than the file stays, and so does everything else.
        for name in ["flatdb.6", "flatdb.2", "flatdb.1", "rocksdb.2", "notes"] {
            std::fs::create_dir_all(directory.join(name)).unwrap();
        }
        remove_unlisted(&directory, &manifest).unwrap();
        let left = |name: &str| directory.join(name).exists();
        assert!(left("flatdb.6") && left("flatdb.2") && left("notes") && !left("flatdb.1") && !left("rocksdb.2"));
        std::fs::create_dir_all(directory.join("flatdb.7")).unwrap();
        std::fs::create_dir_all(directory.join("flatdb.1")).unwrap();
        assert!(remove_unlisted(&directory, &manifest).is_err());
        assert!(left("flatdb.1"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
