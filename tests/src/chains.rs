//! The recorded chains: their folders and the lines of their block files.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use rhizome_primitives::B256;

use crate::{data_folders, open, unhex};

/// One line of a block file.
#[derive(Clone, Debug)]
pub struct BlockLine {
    /// The block's number as the line states it.
    pub number: u64,
    /// The block's hash as the line states it.
    pub hash: B256,
    /// The signed big-endian total difficulty, in hex.
    pub total_difficulty: String,
    /// The block's encoding.
    pub rlp: Vec<u8>,
}

/// Every folder below `chains/` that holds a `chain.json`, sorted by name; empty where no data folder has one.
pub fn chain_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for data in data_folders() {
        collect(&data.join("chains"), &mut folders);
        if !folders.is_empty() {
            break;
        }
    }
    folders.sort();
    if folders.is_empty() {
        println!("chains: absent");
    }
    folders
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        if path.join("chain.json").exists() {
            found.push(path);
        } else {
            collect(&path, found);
        }
    }
}

/// The folder of one chain such as `mixed` or `reorg/a`, or `None` after printing that it is absent.
pub fn chain_folder(name: &str) -> Option<PathBuf> {
    crate::data_file(&format!("chains/{name}/chain.json")).and_then(|path| path.parent().map(Path::to_owned))
}

/// The lines of a block file.
///
/// # Panics
/// When a line does not have its four fields.
pub fn block_lines(path: &Path) -> impl Iterator<Item = BlockLine> + use<> {
    let place = path.display().to_string();
    open(path).lines().enumerate().map(move |(index, line)| {
        let line = line.unwrap_or_else(|error| panic!("{place} line {}: {error}", index + 1));
        let fields: Vec<&str> = line.split(',').collect();
        let [number, hash, total_difficulty, rlp] = fields[..] else {
            panic!("{place} line {}: expected 4 fields, got {}", index + 1, fields.len());
        };
        BlockLine {
            number: number.parse().unwrap_or_else(|error| panic!("{place} line {}: {error}", index + 1)),
            hash: B256::from_slice(&unhex(hash)),
            total_difficulty: total_difficulty.to_owned(),
            rlp: unhex(rlp),
        }
    })
}
