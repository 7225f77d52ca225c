//! `db export-state`: a block's whole state in rskj's ExportState form.

use std::io::{BufWriter, Write};

use rhizome_chain::ChainError;
use rhizome_primitives::hex;
use rhizome_trie::TrieError;
use serde::Serialize;

use super::export::create;
use super::open::open;
use crate::args::ExportStateArgs;
use crate::failure::Failure;
use crate::report::print_json;
use crate::settings::Settings;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportStateReport {
    ok: bool,
    block: u64,
    hash: String,
    state_root: String,
    lines: u64,
}

impl From<TrieError> for Failure {
    fn from(error: TrieError) -> Self {
        ChainError::from(error).into()
    }
}

pub(crate) fn run(args: ExportStateArgs, json: bool) -> Result<(), Failure> {
    let settings = Settings::of_directory(&args.chain, &args.datadir)?;
    let open = open(&settings, &settings.chain(true)?, false)?;
    let blocks = open.chain.stores().blocks();
    let number = args.block;
    let missing = || {
        Failure::input(format!(
            "there is no block {number} on the main chain, the head is block {}",
            open.chain.head().record.number
        ))
    };
    let hash = blocks.canonical_hash(number)?.ok_or_else(missing)?;
    let record = blocks.record(&hash)?.ok_or_else(missing)?;
    let state = open.chain.state(&record)?;

    let place = args.output.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
    let fault = |error: std::io::Error| Failure::output(&place, &error);
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(BufWriter::with_capacity(1 << 18, create(path)?)),
        None => Box::new(BufWriter::with_capacity(1 << 18, std::io::stdout().lock())),
    };
    let mut lines = 0;
    state.export_lines(|line| {
        lines += 1;
        writeln!(out, "{}", hex::encode(line)).map_err(fault)
    })?;
    out.flush().map_err(fault)?;
    drop(out);
    if json {
        let state_root = record.state_root.to_string();
        print_json(&ExportStateReport { ok: true, block: number, hash: hash.to_string(), state_root, lines });
    }
    Ok(())
}
