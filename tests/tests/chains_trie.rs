//! The state that rskj exported: read back as nodes, exported again, and rebuilt from its values.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhizome_primitives::{Bytes, hex, keccak256};
use rhizome_tests::{Tally, data_file, open};
use rhizome_trie::{ChangeSet, MemoryTrieStore, Trie, TrieError, TrieStore};

/// Every `state-N.txt.gz` below a folder.
fn state_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            state_files(&path, found);
        } else if name.starts_with("state-") && name.contains(".txt") {
            found.push(path);
        }
    }
}

fn check(path: &Path) -> Result<(), String> {
    let lines: Vec<String> = open(path).lines().map(|line| line.unwrap()).collect();
    let records: Vec<Bytes> = lines.iter().map(|line| hex::decode(line).unwrap().into()).collect();
    let store = Arc::new(MemoryTrieStore::new());
    let hashed: Vec<_> = records.iter().map(|record| (keccak256(record), record.clone())).collect();
    store.put_batch(&hashed).unwrap();
    let root = keccak256(records.first().ok_or("no lines")?);
    let trie = Trie::open(root, store).map_err(|fault| fault.to_string())?;

    let mut exported = Vec::new();
    trie.export_lines(|line| {
        exported.push(hex::encode(line));
        Ok::<(), TrieError>(())
    })
    .map_err(|fault| fault.to_string())?;
    if exported.len() != lines.len() {
        return Err(format!("{} lines, expected {}", exported.len(), lines.len()));
    }
    if let Some(at) = (0..lines.len()).find(|at| lines[*at] != exported[*at]) {
        return Err(format!("line {}: expected {}, got {}", at + 1, lines[at], exported[at]));
    }

    let pairs: Result<BTreeMap<_, _>, TrieError> = trie.iter_values().collect();
    let puts = pairs.map_err(|fault| fault.to_string())?.into_iter().map(|(key, value)| (key, Some(value))).collect();
    let again = Trie::empty(Arc::new(MemoryTrieStore::new()));
    let again = again.apply(&ChangeSet::from_parts(Vec::new(), puts)).map_err(|fault| fault.to_string())?;
    if again.root_hash() != root {
        return Err(format!("root from the values: expected {root}, got {}", again.root_hash()));
    }
    Ok(())
}

#[test]
fn chains_exported_states_are_read_written_and_rebuilt() {
    let Some(folder) = data_file("chains") else { return };
    let mut files = Vec::new();
    state_files(&folder, &mut files);
    if files.is_empty() {
        println!("chains/*/state-*.txt.gz: absent");
        return;
    }
    let mut tally = Tally::new("exported states");
    for path in files {
        tally.case(check(&path).map_err(|difference| format!("{}: {difference}", path.display())));
    }
    tally.finish();
}
