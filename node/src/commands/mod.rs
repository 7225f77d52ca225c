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
    if let Some(what_holds) = when_stopped(&cli.command) {
        crate::interrupt::end_with(what_holds, json);
    }
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

/// What holds when the user stops a long command that does not say it by itself.
fn when_stopped(command: &Command) -> Option<&'static str> {
    match command {
        Command::Export(_) | Command::Db(DbCommand::ExportState(_)) => {
            Some("the data directory is as it was, and what was written out is not whole")
        }
        Command::Db(DbCommand::Check(_)) => Some("the data directory is as it was, and was checked in part"),
        Command::Db(DbCommand::Rewind(_)) => Some("the rewind is begun: the same command goes on"),
        Command::Db(DbCommand::Convert(_)) => Some("nothing is lost: the same command starts again"),
        Command::Db(DbCommand::Gc(_)) => Some("nothing is lost: the same command goes on"),
        Command::Db(DbCommand::Segments(SegmentsCommand::Build(_))) => {
            Some("finished segments stay: the same command goes on")
        }
        Command::Db(DbCommand::Segments(SegmentsCommand::Verify(_))) => Some("the segments were checked in part"),
        _ => None,
    }
}
