//! Which blocks to read.

use std::path::PathBuf;

use clap::Args;

/// Block files.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Blocks")]
pub struct BlockFileArgs {
    /// Block files, read one after another as one stream
    ///
    /// One block a line: `number,hash,totalDifficulty,rlp`, the number decimal, the rest in hex without 0x, as `rhizome export`
    /// and rskj's ExportBlocks write it. Plain, gzip or zstd, recognised by content. Branches may follow one another.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// A part of the blocks in the files.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Blocks")]
pub struct BlockRangeArgs {
    /// Pass over lines with a lower block number
    ///
    /// The block below must be in the data directory.
    #[arg(long, value_name = "N")]
    pub from: Option<u64>,
    /// Pass over lines with a higher block number
    #[arg(long, value_name = "N")]
    pub to: Option<u64>,
}

impl BlockRangeArgs {
    /// Whether a block of this number is asked for.
    pub fn contains(&self, number: u64) -> bool {
        self.from.is_none_or(|from| from <= number) && self.to.is_none_or(|to| number <= to)
    }
}
