//! `completions`: a script for a shell.

use clap::CommandFactory;
use serde::Serialize;

use crate::args::CompletionsArgs;
use crate::cli::Cli;
use crate::failure::Failure;
use crate::report::{print_json, print_line};

pub(crate) fn run(args: CompletionsArgs, json: bool) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct CompletionsReport {
        ok: bool,
        shell: String,
        script: String,
    }
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rhizome", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    if json {
        print_json(&CompletionsReport { ok: true, shell: args.shell.to_string(), script });
    } else {
        print_line(script.trim_end());
    }
    Ok(())
}
