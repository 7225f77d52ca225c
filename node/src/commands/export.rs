//! `export`: blocks of the main chain, byte for byte as rskj's ExportBlocks writes them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use rhizome_chain::Chain;
use rhizome_primitives::hex;
use serde::Serialize;

use super::open::open;
use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::report::print_json;
use crate::settings::Settings;

#[derive(Serialize)]
struct ExportReport {
    ok: bool,
    blocks: u64,
    from: u64,
    to: u64,
}

pub(crate) fn run(args: ExportArgs, json: bool) -> Result<(), Failure> {
    let ExportArgs { from, to, output, chain, datadir } = args;
    if from > to {
        return Err(Failure::usage(format!("--from {from} is above --to {to}")));
    }
    let settings = Settings::of_directory(&chain, &datadir)?;
    let open = open(&settings, &settings.chain(true)?, false)?;
    let head = open.chain.head().record.number;
    if to > head {
        return Err(Failure::input(format!("block {to} is above the head, block {head}")));
    }
    let place = output.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
    let fault = |error: std::io::Error| Failure::output(&place, &error);
    let mut out: Box<dyn Write> = match &output {
        Some(path) => Box::new(BufWriter::with_capacity(1 << 18, create(path)?)),
        None => Box::new(BufWriter::with_capacity(1 << 18, std::io::stdout().lock())),
    };
    for number in from..=to {
        let line = line(&open.chain, number)?;
        writeln!(out, "{line}").map_err(fault)?;
    }
    out.flush().map_err(fault)?;
    drop(out);
    if json {
        print_json(&ExportReport { ok: true, blocks: to - from + 1, from, to });
    }
    Ok(())
}

/// The file that `--output` names.
pub(super) fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| Failure::create(path, "--output", &error))
}

fn line(chain: &Chain, number: u64) -> Result<String, Failure> {
    let blocks = chain.stores().blocks();
    let missing = || Failure::input(format!("block {number} is not on the main chain"));
    let hash = blocks.canonical_hash(number)?.ok_or_else(missing)?;
    let record = blocks.record(&hash)?.ok_or_else(missing)?;
    let block = blocks.block(&hash)?.ok_or_else(missing)?;
    let difficulty = Chain::total_difficulty(&record).to_signed_bytes();
    Ok(format!("{number},{},{},{}", hex::encode(hash), hex::encode(&*difficulty), hex::encode(block)))
}
