//! `db segments` and `replay --segments`: files with the nodes of a block range, made and used.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use rhizome_primitives::B256;
use rhizome_storage::{SegmentInfo, SegmentSet};
use serde::Serialize;

use super::open::open;
use crate::args::{BuildSegmentsArgs, ReplayArgs, SegmentsArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::report::{print_json, print_line, round};
use crate::settings::Settings;

/// A segment file in a report.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentReport {
    path: String,
    from: u64,
    to: u64,
    blocks: u64,
    nodes: u64,
    node_bytes: u64,
    file_bytes: u64,
    last_hash: String,
}

impl From<&SegmentInfo> for SegmentReport {
    fn from(info: &SegmentInfo) -> Self {
        let SegmentInfo { path, header } = info;
        Self {
            path: path.display().to_string(),
            from: header.range.from,
            to: header.range.to,
            blocks: header.range.blocks,
            nodes: header.records,
            node_bytes: header.record_bytes,
            file_bytes: header.file_bytes(),
            last_hash: header.range.last.to_string(),
        }
    }
}

impl SegmentReport {
    fn line(&self) -> String {
        let Self { path, from, to, blocks, nodes, node_bytes, .. } = self;
        format!("{path}: heights {from} to {to}, {blocks} blocks, {nodes} nodes, {node_bytes} bytes")
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentsReport {
    ok: bool,
    segments: Vec<SegmentReport>,
    /// Of a build: how many of them were there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<u64>,
}

impl SegmentsReport {
    fn print(&self, json: bool) {
        if json {
            print_json(self);
            return;
        }
        self.segments.iter().for_each(|segment| print_line(&segment.line()));
        let kept = self.kept.map_or_else(String::new, |kept| format!(", {kept} of them were there before"));
        print_line(&format!("{} segments{kept}", self.segments.len()));
    }
}

/// Makes the missing segments of a range.
pub(crate) fn build(args: &BuildSegmentsArgs, json: bool) -> Result<(), Failure> {
    let settings = Settings::of_directory(&args.chain, &args.datadir)?;
    let open = open(&settings, &settings.chain(true)?, false)?;
    let head = open.chain.head().record.number;
    let to = args.to.unwrap_or(head);
    if args.from > to || to > head {
        return Err(Failure::usage(format!(
            "no range of executed blocks: {} to {to}, the head is block {head}",
            args.from
        )));
    }
    let present = if args.segments.exists() { SegmentSet::open(&args.segments)? } else { SegmentSet::default() };
    let mut report = SegmentsReport { ok: true, segments: Vec::new(), kept: Some(0) };
    let mut from = args.from;
    while from <= to {
        let end = to.min(from.saturating_add(args.blocks - 1));
        let overlapping =
            present.segments().iter().find(|info| info.header.range.from <= end && from <= info.header.range.to);
        if let Some(info) = overlapping.filter(|info| (info.header.range.from, info.header.range.to) != (from, end)) {
            return Err(Failure::usage(format!(
                "{} is for some of the blocks {from} to {end}; choose the same --from and --blocks as before, or remove it",
                info.path.display()
            )));
        }
        // After a reorganisation the range has other blocks, and its file is made again.
        let last = open.chain.stores().blocks().canonical_hash(end)?;
        let built = match overlapping.filter(|info| Some(info.header.range.last) == last) {
            Some(info) => {
                report.kept = report.kept.map(|kept| kept + 1);
                info.clone()
            }
            None => {
                let built = open.chain.build_segment(&args.segments, from, end, |_| ())?;
                eprintln!("built {}", built.path.display());
                built
            }
        };
        report.segments.push(SegmentReport::from(&built));
        from = end.saturating_add(1);
    }
    report.print(json);
    Ok(())
}

/// Says which segments there are.
pub(crate) fn list(args: &SegmentsArgs, json: bool) -> Result<(), Failure> {
    let set = SegmentSet::open(&args.segments)?;
    SegmentsReport { ok: true, segments: set.segments().iter().map(SegmentReport::from).collect(), kept: None }
        .print(json);
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifyReport {
    ok: bool,
    segments: u64,
    nodes: u64,
    node_bytes: u64,
    file_bytes: u64,
}

/// Reads every byte of every segment.
pub(crate) fn verify(args: &SegmentsArgs, json: bool) -> Result<(), Failure> {
    let mut report = VerifyReport { ok: true, segments: 0, nodes: 0, node_bytes: 0, file_bytes: 0 };
    for info in SegmentSet::open(&args.segments)?.segments() {
        let found = info.open()?.verify()?;
        report.segments += 1;
        report.nodes += found.records;
        report.node_bytes += found.record_bytes;
        report.file_bytes += found.file_bytes;
    }
    if json {
        print_json(&report);
    } else {
        let VerifyReport { segments, nodes, file_bytes, .. } = report;
        print_line(&format!("sound: {segments} segments with {nodes} nodes, {file_bytes} bytes"));
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentReplayReport {
    ok: bool,
    from: u64,
    to: u64,
    blocks: u64,
    transactions: u64,
    gas: u64,
    last_hash: String,
    seconds: f64,
    blocks_per_second: f64,
    mgas_per_second: f64,
    segments: u64,
    reads: u64,
    bytes_read: u64,
    misses: u64,
    engine: &'static str,
}

/// Executes stored blocks on segments alone.
pub(crate) fn replay(args: &ReplayArgs, directory: &Path, json: bool) -> Result<(), Failure> {
    let settings = Settings::resolve(&args.chain, &args.datadir, &args.engine)?;
    let chosen = settings.chain(false)?;
    if chosen.datadir.is_none() {
        return Err(Failure::usage("--segments needs --datadir: the blocks are read from there"));
    }
    let set = SegmentSet::open(directory)?;
    let open = open(&settings, &chosen, false)?;
    let head = open.chain.head().record.number;
    let (Some(first), Some(last)) = (set.segments().first(), set.segments().last()) else {
        return Err(Failure::input(format!("{}: no segments", directory.display())));
    };
    let from = args.range.from.unwrap_or(first.header.range.from).max(1);
    let to = args.range.to.unwrap_or(last.header.range.to).min(head);
    if from > to {
        return Err(Failure::usage(format!("no blocks from {from} to {to}; the head is block {head}")));
    }
    let start = Instant::now();
    let interrupt = Interrupt::listen();
    let (mut last, mut stopped) = ((0, B256::ZERO), false);
    let done = open.chain.replay_on_segments(&set, from, to, |block| {
        last = (block.number, block.hash);
        stopped = interrupt.is_asked();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let (number, hash) = last;
    if stopped {
        let message = format!(
            "stopped by the user after {} blocks, all of them right; the last is block {number} ({hash}); a replay on segments \
             changes nothing, and the same command with --from {} goes on",
            done.blocks, number
        );
        return Err(Failure::Interrupted { message, block: Some(last) });
    }
    let seconds = start.elapsed().as_secs_f64();
    let per_second = |count: f64| round(count / seconds.max(1e-9));
    let report = SegmentReplayReport {
        ok: true,
        from,
        to,
        blocks: done.blocks,
        transactions: done.transactions,
        gas: done.gas,
        last_hash: hash.to_string(),
        seconds: round(seconds),
        blocks_per_second: per_second(done.blocks as f64),
        mgas_per_second: per_second(done.gas as f64 / 1e6),
        segments: done.segments,
        reads: done.reads,
        bytes_read: done.bytes_read,
        // A miss ends the replay with an error that names the node.
        misses: 0,
        engine: "segments",
    };
    if json {
        print_json(&report);
    } else {
        print_line(&format!(
            "executed {} blocks ({from} to {to}), {} transactions, {} gas in {seconds:.2} s\n{:.1} blocks/s, {:.2} Mgas/s\n\
             {} nodes ({} bytes) read from {} segments, none was missing",
            report.blocks,
            report.transactions,
            report.gas,
            report.blocks_per_second,
            report.mgas_per_second,
            report.reads,
            report.bytes_read,
            report.segments
        ));
    }
    Ok(())
}
