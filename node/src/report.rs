//! Results: a JSON object or a few lines for people.

use rhizome_chain::{Head, Phase, PhaseTimers};
use rhizome_storage::GcSummary;
use serde::Serialize;

/// Prints one object as the last line of standard output.
pub(crate) fn print_json(value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(text) => print_line(&text),
        // Our own report types always serialise.
        Err(error) => eprintln!("error: the report cannot be written: {error}"),
    }
}

/// Prints a line; a reader that went away is no error.
pub(crate) fn print_line(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// A block in a report.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeadReport {
    pub(crate) number: u64,
    pub(crate) hash: String,
    pub(crate) state_root: String,
}

impl From<&Head> for HeadReport {
    fn from(head: &Head) -> Self {
        Self {
            number: head.record.number,
            hash: head.record.hash.to_string(),
            state_root: head.header.state_root.to_string(),
        }
    }
}

/// Seconds by phase, summed over threads.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct PhasesReport {
    decode: f64,
    recover: f64,
    validate: f64,
    execute: f64,
    /// The Bridge's part of `execute`.
    bridge: f64,
    commit: f64,
    persist: f64,
}

impl From<&PhaseTimers> for PhasesReport {
    fn from(timers: &PhaseTimers) -> Self {
        let seconds = |phase| round(timers.get(phase).as_secs_f64());
        Self {
            decode: seconds(Phase::Decode),
            recover: seconds(Phase::Recover),
            validate: seconds(Phase::Validate),
            execute: seconds(Phase::Execute),
            bridge: round(timers.bridge().as_secs_f64()),
            commit: seconds(Phase::Commit),
            persist: seconds(Phase::Persist),
        }
    }
}

/// To the millionth: enough for a report, short enough to read.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The result of replay and import.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayReport {
    pub(crate) ok: bool,
    pub(crate) blocks: u64,
    pub(crate) known: u64,
    pub(crate) transactions: u64,
    pub(crate) gas: u64,
    pub(crate) head: HeadReport,
    pub(crate) seconds: f64,
    pub(crate) blocks_per_second: f64,
    pub(crate) mgas_per_second: f64,
    pub(crate) phases: PhasesReport,
    pub(crate) engine: &'static str,
    pub(crate) executor: &'static str,
    pub(crate) workers: usize,
    /// Where old states are given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gc: Option<CollectionReport>,
    /// What was odd about the files; also on standard error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// What was done to give up old states.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CollectionReport {
    /// Epochs begun.
    rotations: u64,
    /// Epochs dropped.
    collections: u64,
    /// Why the last one was not dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    declined: Option<String>,
}

impl From<GcSummary> for CollectionReport {
    fn from(summary: GcSummary) -> Self {
        let GcSummary { rotations, collections, declined, .. } = summary;
        Self { rotations, collections, declined }
    }
}

impl ReplayReport {
    /// The summary for people.
    pub(crate) fn lines(&self) -> String {
        let Self {
            blocks, known, transactions, gas, head, seconds, blocks_per_second, mgas_per_second, phases, ..
        } = self;
        let PhasesReport { decode, recover, validate, execute, bridge, commit, persist } = phases;
        let mut text = format!(
            "executed {blocks} blocks ({known} more were known), {transactions} transactions, {gas} gas in {seconds:.2} s\n\
             {blocks_per_second:.1} blocks/s, {mgas_per_second:.2} Mgas/s\n\
             seconds by phase, summed over threads: decode {decode:.2}, recover {recover:.2}, validate {validate:.2}, \
             execute {execute:.2} (the Bridge {bridge:.2}), commit {commit:.2}, persist {persist:.2}\n\
             head: block {}, hash {}, state root {}\n\
             engine {}, executor {}, {} worker",
            head.number, head.hash, head.state_root, self.engine, self.executor, self.workers
        );
        if let Some(CollectionReport { rotations, collections, declined }) = &self.gc {
            text.push_str(&format!("\nold states: {rotations} epochs begun, {collections} dropped"));
            if let Some(reason) = declined {
                text.push_str(&format!("; the last one stays: {reason}"));
            }
        }
        text
    }
}
