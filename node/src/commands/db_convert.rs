//! `db convert`: trie nodes move to another engine.

use std::time::{Duration, Instant};

use rhizome_chain::GenesisBlock;
use rhizome_storage::{Datadir, EngineOptions, convert};
use serde::Serialize;

use crate::args::ConvertArgs;
use crate::failure::Failure;
use crate::report::{print_json, print_line, round};
use crate::settings::Settings;

/// Between two lines of progress.
const INTERVAL: Duration = Duration::from_secs(10);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConvertReport {
    ok: bool,
    from: String,
    to: String,
    epochs: u64,
    records: u64,
    bytes: u64,
    long_records: u64,
    longest: u64,
    mean_size: u64,
    disk_before: u64,
    disk_after: u64,
    seconds: f64,
}

pub(crate) fn run(args: &ConvertArgs, json: bool) -> Result<(), Failure> {
    let settings = Settings::of_directory(&args.chain, &args.datadir)?;
    let chosen = settings.chain(true)?;
    let Some(path) = &chosen.datadir else { return Err(Failure::usage("this command needs --datadir")) };
    let genesis = GenesisBlock::new(&chosen.spec)?;
    let mut datadir = Datadir::open(path, &chosen.spec, genesis.hash(), None)?;
    let from = datadir.format().engine.clone();
    let start = Instant::now();
    let mut last = start;
    let done = convert(&mut datadir, args.to, &EngineOptions::new(settings.verify()), |records| {
        if last.elapsed() >= INTERVAL {
            last = Instant::now();
            eprintln!("{records} records, {:.0} records/s", records as f64 / start.elapsed().as_secs_f64().max(1e-9));
        }
    })?;
    let report = ConvertReport {
        ok: true,
        from,
        to: args.to.to_string(),
        epochs: done.epochs,
        records: done.records,
        bytes: done.bytes,
        long_records: done.long_records,
        longest: done.longest,
        mean_size: done.mean_size(),
        disk_before: done.bytes_before,
        disk_after: done.bytes_after,
        seconds: round(start.elapsed().as_secs_f64()),
    };
    if json {
        print_json(&report);
    } else {
        print_line(&format!(
            "{} records in {} epochs moved from {} to {}, each checked against its hash: {} bytes, {} on average, {} records \
             of more than 254 bytes, the longest {}\ndisk: {} bytes before, {} after",
            report.records,
            report.epochs,
            report.from,
            report.to,
            report.bytes,
            report.mean_size,
            report.long_records,
            report.longest,
            report.disk_before,
            report.disk_after
        ));
    }
    Ok(())
}
