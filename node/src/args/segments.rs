//! Arguments of the commands on segments, and of replay.

use std::path::PathBuf;

use clap::Args;

use super::{BlockFileArgs, BlockRangeArgs, ChainArgs, DatadirArgs, EngineArgs};
use crate::cli::BlockArgs;

/// Arguments of replay.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// Block files, read one after another as one stream
    ///
    /// One block a line: `number,hash,totalDifficulty,rlp`, the number decimal, the rest in hex without 0x, as `rhizome export`
    /// and rskj's ExportBlocks write it. Plain, gzip or zstd, recognised by content. Branches may follow one another.
    #[arg(value_name = "FILE", required_unless_present = "segments", help_heading = "Blocks")]
    pub files: Vec<PathBuf>,
    /// Execute the stored blocks of the data directory again, on these segments
    ///
    /// In place of block files. Blocks and headers come from the data directory, every trie node from the segments alone; a
    /// node that a segment should have and lacks is named. Default range: all blocks that the segments cover.
    #[arg(long, value_name = "DIR", conflicts_with = "files", help_heading = "Blocks")]
    pub segments: Option<PathBuf>,
    /// Which blocks.
    #[command(flatten)]
    pub range: BlockRangeArgs,
    /// The chain.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// The directory.
    #[command(flatten)]
    pub datadir: DatadirArgs,
    /// Stores and execution.
    #[command(flatten)]
    pub engine: EngineArgs,
}

impl From<ReplayArgs> for BlockArgs {
    fn from(args: ReplayArgs) -> Self {
        let ReplayArgs { files, segments: _, range, chain, datadir, engine } = args;
        Self { files: BlockFileArgs { files }, range, chain, datadir, engine }
    }
}

/// Arguments of segments build.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Segments")]
pub struct BuildSegmentsArgs {
    /// Where the files go
    ///
    /// Made where it is missing. A range that has its file already is passed over, so an interrupted build is continued by
    /// the same command.
    #[arg(long, value_name = "DIR")]
    pub segments: PathBuf,
    /// The first block
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub from: u64,
    /// The last block; default: the head
    #[arg(long, value_name = "N")]
    pub to: Option<u64>,
    /// Blocks for each file
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub blocks: u64,
    /// The chain.
    #[command(flatten)]
    pub chain: ChainArgs,
    /// The directory.
    #[command(flatten)]
    pub datadir: DatadirArgs,
}

/// Arguments of segments list and verify.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Segments")]
pub struct SegmentsArgs {
    /// The directory of the segment files
    #[arg(long, value_name = "DIR")]
    pub segments: PathBuf,
}
