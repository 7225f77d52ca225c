//! Arguments of completions.

use clap::Args;
use clap_complete::Shell;

/// A shell.
#[derive(Args, Clone, Copy, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}
