//! Arguments of the commands on the configuration.

use clap::Args;

use super::{ChainArgs, DatadirArgs, EngineArgs};

/// Everything that has a place in the configuration.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
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
