//! `db gc`: the states of old blocks are given up now, or it is said what that would free.

use rhizome_storage::{EpochInfo, GcControl, GcPlan, GcReport};
use serde::Serialize;

use super::open::open;
use crate::args::GcCommandArgs;
use crate::failure::Failure;
use crate::report::{print_json, print_line, round};
use crate::settings::Settings;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GcCommandReport {
    ok: bool,
    dry_run: bool,
    /// States of blocks from here on are kept.
    keep_from: u64,
    roots: u64,
    live_records: u64,
    live_bytes: u64,
    copied_records: u64,
    copied_bytes: u64,
    disk_before: u64,
    disk_after: u64,
    epochs: Vec<EpochReport>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EpochReport {
    number: u64,
    sealed_at: Option<u64>,
    disk: u64,
    records: Option<u64>,
}

impl From<EpochInfo> for EpochReport {
    fn from(epoch: EpochInfo) -> Self {
        let EpochInfo { number, sealed_at, bytes, records, .. } = epoch;
        Self { number, sealed_at, disk: bytes, records }
    }
}

pub(crate) fn run(args: &GcCommandArgs, json: bool) -> Result<(), Failure> {
    let settings = Settings::with_gc(&args.chain, &args.datadir, args.gc)?;
    let options = settings.gc_options();
    // Opened without a collector: what is done is done here.
    let open =
        open(&Settings { gc: crate::settings::Setting::none(), ..settings.clone() }, &settings.chain(true)?, false)?;
    let stores = open.chain.stores();
    let Some(epochs) = stores.epochs() else { return Err(Failure::usage("this command needs --datadir")) };
    let plan = || GcPlan::new(epochs, &stores.durable_blocks(), stores.blocks(), options.depth).map_err(Failure::from);
    let control = GcControl::new();
    let before = epochs.bytes();
    let report = if args.dry_run {
        plan()?.dry_run(&control)?
    } else {
        // Refused before anything changes.
        drop(plan()?);
        // Everything that is old becomes, one epoch after another, the oldest. The epoch that is written, and the one that
        // receives the copies, are new ones, so that what is kept lies together.
        let old = epochs.count();
        for _ in 0..2 {
            epochs.rotate(highest(stores)?, &control)?;
        }
        let mut last = GcReport::default();
        for _ in 0..old {
            let report = plan()?.collect(&control)?;
            last = GcReport {
                copied_records: last.copied_records + report.copied_records,
                copied_bytes: last.copied_bytes + report.copied_bytes,
                took: last.took + report.took,
                ..report
            };
        }
        last
    };
    let report = GcCommandReport {
        ok: true,
        dry_run: report.dry_run,
        keep_from: report.keep_from,
        roots: report.roots,
        live_records: report.live_records,
        live_bytes: report.live_bytes,
        copied_records: report.copied_records,
        copied_bytes: report.copied_bytes,
        disk_before: before,
        disk_after: report.bytes_after,
        epochs: epochs.epochs().into_iter().map(EpochReport::from).collect(),
        seconds: round(report.took.as_secs_f64()),
    };
    if json {
        print_json(&report);
        return Ok(());
    }
    let mut text = format!(
        "the states from block {} on {} kept: {} records, {} bytes; {} of them, {} bytes, only in the epochs that {}\n\
         disk: {} bytes before, {} after",
        report.keep_from,
        if report.dry_run { "would be" } else { "are" },
        report.live_records,
        report.live_bytes,
        report.copied_records,
        report.copied_bytes,
        if report.dry_run { "would go" } else { "went" },
        report.disk_before,
        report.disk_after
    );
    for EpochReport { number, sealed_at, disk, records } in &report.epochs {
        let until = sealed_at.map_or_else(|| "written".to_owned(), |block| format!("up to block {block}"));
        let records = records.map_or_else(String::new, |records| format!(", {records} records"));
        text.push_str(&format!("\nepoch {number}: {until}, {disk} bytes{records}"));
    }
    print_line(&text);
    Ok(())
}

/// The highest block of any branch.
fn highest(stores: &rhizome_storage::Stores) -> Result<u64, Failure> {
    let head = stores.blocks().head()?.map_or(0, |head| head.number);
    Ok(stores.blocks().highest(head)?.unwrap_or(head))
}
