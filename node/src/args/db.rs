//! Arguments of the commands on a data directory.

use std::path::PathBuf;

use clap::Args;

use rhizome_storage::TrieEngine;

use super::{ChainArgs, DatadirArgs, GcArgs};

/// A data directory and its chain.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// The chain.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// The directory.
    #[command(flatten)]
    pub datadir: DatadirArgs,
}

/// Arguments of rewind.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Blocks")]
pub struct RewindArgs {
    /// The block that becomes the head
    ///
    /// Every block above it is removed, those of other branches included. An interrupted rewind is continued by the same
    /// command; import brings removed blocks back.
    #[arg(long, value_name = "N")]
    pub to: u64,
    /// The chain.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// The directory.
    #[command(flatten)]
    pub datadir: DatadirArgs,
}

/// Arguments of export-state.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Blocks")]
pub struct ExportStateArgs {
    /// The main chain's block whose state is printed
    #[arg(long, value_name = "N")]
    pub block: u64,
    /// Write to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The chain.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// The directory.
    #[command(flatten)]
    pub datadir: DatadirArgs,
}

/// Arguments of convert.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Engines")]
pub struct ConvertArgs {
    /// The engine that the trie nodes go to: rocksdb or flatdb
    #[arg(long, value_name = "ENGINE")]
    pub to: TrieEngine,
    /// The chain.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// The directory.
    #[command(flatten)]
    pub datadir: DatadirArgs,
}

/// Arguments of gc.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Old states")]
pub struct GcCommandArgs {
    /// Say what would be given up, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Old states.
    #[command(flatten)]
    pub gc: GcArgs,
    /// The chain.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// The directory.
    #[command(flatten)]
    pub datadir: DatadirArgs,
}
