//! Which chain.

use clap::Args;

/// The chain.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Chain")]
pub struct ChainArgs {
    /// mainnet, testnet, testnet2, devnet, regtest, or a chain file
    ///
    /// A chain file is JSON: `{"base":"regtest","genesis":"genesis.json","activations":{"orchid":60},"rskips":{"rskip97":60}}`;
    /// a height of -1 is never. Default: the chain of the data directory, else
    /// mainnet. Environment: RHIZOME_CHAIN.
    #[arg(long, value_name = "NETWORK|FILE.json")]
    pub chain: Option<String>,
}
