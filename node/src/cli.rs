//! The commands.

use clap::{Parser, Subcommand};

use crate::args::{
    BlockFileArgs, BlockRangeArgs, BuildSegmentsArgs, ChainArgs, CheckArgs, CompletionsArgs, ConfigArgs, ConvertArgs,
    DatadirArgs, EngineArgs, ExportArgs, ExportStateArgs, GcCommandArgs, ReplayArgs, RewindArgs, SegmentsArgs,
};

/// Rhizome, a full node for Rootstock.
///
/// Reads blocks, executes and checks every one of them, and keeps them with their states. Results go to standard output;
/// progress, warnings and errors go to standard error. Exit code 0 is success, 1 a failure, 2 wrong usage, 130 a stop by the
/// user.
#[derive(Debug, Parser)]
#[command(name = "rhizome", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print the result as one JSON object
    ///
    /// It is the last line of standard output: `{"ok":true,…}`, or `{"ok":false,"error":{"kind":…,"message":…,…}}` with exit
    /// code 1. Kinds: invalidBlock, notBuilt, store, input, internal, interrupted.
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Execute and check exported blocks
    ///
    /// Reads block files one after another as one stream, and checks every rule and every root. Without `--datadir` nothing
    /// is kept. Stops at the first block that is wrong, and says what was expected and what the block has.
    Replay(ReplayArgs),
    /// Execute and check exported blocks into a data directory
    ///
    /// As replay, and the data directory is kept. Blocks that are already there are skipped quickly, so an import that was
    /// interrupted, at any moment and in any way, is continued by the same command.
    Import(BlockArgs),
    /// Write blocks of the main chain in the format that replay and import read
    Export(ExportArgs),
    /// Look at a data directory, or change it
    #[command(subcommand)]
    Db(DbCommand),
    /// Show and check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    ///
    /// For example: `rhizome completions bash > /etc/bash_completion.d/rhizome`.
    Completions(CompletionsArgs),
}

/// Arguments of import.
#[derive(Debug, clap::Args)]
pub struct BlockArgs {
    /// The files.
    #[command(flatten)]
    pub files: BlockFileArgs,
    /// Which of their blocks.
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

/// Commands on a data directory.
#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Verify everything that is stored: blocks, receipts, indexes, and the whole state of the head
    Check(CheckArgs),
    /// Say what a data directory holds
    Info(CheckArgs),
    /// Go back: make a lower block of the main chain the head and remove all blocks above it
    Rewind(RewindArgs),
    /// Move the trie nodes to another engine
    ///
    /// Every record is checked against its hash. The directory changes when all are moved; until then an interrupted
    /// conversion leaves it as it was.
    Convert(ConvertArgs),
    /// Give up the states of old blocks now
    ///
    /// Keeps the states of the last `--gc.depth` blocks on every branch, blocks and receipts, and says what it freed. Needs
    /// the disk space of the kept states beside the old ones while it runs; an interrupted run loses nothing.
    Gc(GcCommandArgs),
    /// Print every trie node of a block's state in rskj's ExportState form
    ///
    /// One lower-case hex message a line, in pre-order, left first. A long value follows its node.
    ExportState(ExportStateArgs),
    /// Files with exactly the trie nodes that a range of blocks reads
    #[command(subcommand)]
    Segments(SegmentsCommand),
}

/// Commands on segments.
#[derive(Debug, Subcommand)]
pub enum SegmentsCommand {
    /// Execute stored blocks again and keep the nodes that they read, one file for each range
    ///
    /// The states of the range must be in the data directory. `rhizome replay --segments DIR` runs on the files.
    Build(BuildSegmentsArgs),
    /// Say which segments a directory has
    List(SegmentsArgs),
    /// Read every byte of every segment: checksums, hashes, order
    Verify(SegmentsArgs),
}

/// Commands on the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a configuration file with every key, its default, and what it means
    Default,
    /// Print the configuration in force and where each value comes from
    Show(ConfigArgs),
    /// Check a configuration file
    Check(ConfigArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_and_argument_is_explained() {
        let mut command = Cli::command();
        command.build();
        command.clone().debug_assert();
        let mut waiting = vec![command];
        while let Some(command) = waiting.pop() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            waiting.extend(command.get_subcommands().cloned());
        }
    }
}
