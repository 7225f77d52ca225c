//! One file a command.

mod blocks;
mod completions;
mod config;
mod db_check;
mod db_convert;
mod db_export_state;
mod db_gc;
mod db_info;
mod db_rewind;
mod db_segments;
mod export;
mod open;

use crate::cli::{Cli, Command, ConfigCommand, DbCommand, SegmentsCommand};
use crate::failure::Failure;

/// Runs one command.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    let json = cli.json;
    match cli.command {
        Command::Replay(args) => match args.segments.clone() {
            Some(segments) => db_segments::replay(&args, &segments, json),
            None => blocks::replay(args.into(), json),
        },
        Command::Import(args) => blocks::import(args, json),
        Command::Export(args) => export::run(args, json),
        Command::Db(DbCommand::Check(args)) => db_check::run(&args, json),
        Command::Db(DbCommand::Info(args)) => db_info::run(&args, json),
        Command::Db(DbCommand::Rewind(args)) => db_rewind::run(&args, json),
        Command::Db(DbCommand::Convert(args)) => db_convert::run(&args, json),
        Command::Db(DbCommand::Gc(args)) => db_gc::run(&args, json),
        Command::Db(DbCommand::ExportState(args)) => db_export_state::run(args, json),
        Command::Db(DbCommand::Segments(SegmentsCommand::Build(args))) => db_segments::build(&args, json),
        Command::Db(DbCommand::Segments(SegmentsCommand::List(args))) => db_segments::list(&args, json),
        Command::Db(DbCommand::Segments(SegmentsCommand::Verify(args))) => db_segments::verify(&args, json),
        Command::Config(ConfigCommand::Default) => config::default_file(json),
        Command::Config(ConfigCommand::Show(args)) => config::show(&args, json),
        Command::Config(ConfigCommand::Check(args)) => config::check(&args, json),
        Command::Completions(args) => completions::run(args, json),
    }
}
