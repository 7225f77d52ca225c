//! How states are kept and blocks are executed.

use clap::{Args, ValueEnum};
use rhizome_storage::TrieEngine;

/// Engines.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Engines")]
pub struct EngineArgs {
    /// Where trie nodes are kept: rocksdb or memory
    ///
    /// A data directory keeps the engine it was made with; memory is for replays that keep nothing. Default: the directory's,
    /// else rocksdb. Environment: RHIZOME_TRIE_ENGINE.
    #[arg(long, value_name = "ENGINE")]
    pub trie_engine: Option<TrieEngine>,
    /// How the transactions of a block are executed
    ///
    /// Every choice gives the same bytes. Environment: RHIZOME_EXECUTOR.
    #[arg(long, value_name = "STRATEGY")]
    pub executor: Option<ExecutorKind>,
}

/// An execution strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExecutorKind {
    /// One transaction after another on one thread.
    #[default]
    Sequential,
}

impl ExecutorKind {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
        }
    }
}
