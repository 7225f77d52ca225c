//! `db rewind`: a lower block becomes the head.

use serde::Serialize;

use super::open::open;
use crate::args::RewindArgs;
use crate::failure::Failure;
use crate::report::{HeadReport, print_json, print_line};
use crate::settings::Settings;

#[derive(Serialize)]
struct RewindReport {
    ok: bool,
    removed: u64,
    head: HeadReport,
}

pub(crate) fn run(args: &RewindArgs, json: bool) -> Result<(), Failure> {
    let settings = Settings::of_directory(&args.chain, &args.datadir)?;
    let open = open(&settings, &settings.chain(true)?, false)?;
    let before = open.chain.head().record.number;
    if args.to > before {
        return Err(Failure::input(format!("block {} is above the head, block {before}", args.to)));
    }
    let head = open.chain.rewind(args.to)?;
    let report = RewindReport { ok: true, removed: before - head.record.number, head: HeadReport::from(&head) };
    if json {
        print_json(&report);
    } else {
        print_line(&format!(
            "the head is block {} ({}), {} below the one before",
            report.head.number, report.head.hash, report.removed
        ));
    }
    Ok(())
}
