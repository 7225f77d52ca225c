//! The command line of the node: what the user typed, what the program runs on, and what it reports.
//!
//! [`run`] parses, runs one command and chooses the exit code: 0, 1 for a failure, 2 for wrong usage, 130 where
//! the user stopped it. Everything that goes wrong
//! arrives here as a [`Failure`] and leaves as one line on standard error, and with `--json` as one object on standard output.

pub mod args;
mod cli;
mod commands;
mod failure;
mod input;
mod interrupt;
mod progress;
mod report;
mod settings;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;

pub use cli::Cli;
pub use failure::{Failure, NotBuiltCall};

/// Runs the program with the process's arguments.
pub fn run() -> ExitCode {
    run_with(std::env::args_os())
}

fn run_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version count as errors there; they go to standard output and are none.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    start_logging();
    let json = cli.json;
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

/// Warnings of the crates below go to standard error; `RUST_LOG` asks for more.
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    // A second start in one process (tests) keeps the first.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}
