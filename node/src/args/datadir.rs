//! Where the chain is kept.

use std::path::PathBuf;

use clap::Args;

/// The data directory.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Data")]
pub struct DatadirArgs {
    /// The data directory
    ///
    /// One process uses it at a time. Default for a built-in network: `rhizome/NETWORK` in the user's data directory
    /// ($XDG_DATA_HOME, else ~/.local/share); replay without it keeps nothing.
    /// Environment: RHIZOME_DATADIR.
    #[arg(long, value_name = "DIR")]
    pub datadir: Option<PathBuf>,
    /// The configuration file
    ///
    /// TOML; `rhizome config default` prints one with every key. Environment and command line win over it.
    /// Environment: RHIZOME_CONFIG.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}
