//! What to write out.

use std::path::PathBuf;

use clap::Args;

use super::{ChainArgs, DatadirArgs};

/// Arguments of export.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Blocks")]
pub struct ExportArgs {
    /// The first block
    #[arg(long, value_name = "N")]
    pub from: u64,
    /// The last block
    #[arg(long, value_name = "N")]
    pub to: u64,
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
