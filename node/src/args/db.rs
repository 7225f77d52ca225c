//! Arguments of the commands on a data directory.

use std::path::PathBuf;

use clap::Args;

use super::{ChainArgs, DatadirArgs};

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
