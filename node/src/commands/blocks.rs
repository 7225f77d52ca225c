//! `replay` and `import`: block files through the chain's door.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use rhizome_chain::{Chain, ImportOutcome, Imported, StreamError};

use super::open::{OpenChain, open};
use crate::args::ExecutorKind;
use crate::cli::BlockArgs;
use crate::failure::Failure;
use crate::input::{BlockFiles, Line, Warnings};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::report::{CollectionReport, HeadReport, PhasesReport, ReplayReport, print_json, print_line, round};
use crate::settings::Settings;

/// Executes blocks; keeps them where a data directory is named.
pub(crate) fn replay(args: BlockArgs, json: bool) -> Result<(), Failure> {
    run(args, json, false)
}

/// Executes blocks into a data directory.
pub(crate) fn import(args: BlockArgs, json: bool) -> Result<(), Failure> {
    run(args, json, true)
}

fn run(args: BlockArgs, json: bool, keep: bool) -> Result<(), Failure> {
    let settings = Settings::resolve(&args.chain, &args.datadir, &args.engine)?;
    if let (Some(from), Some(to)) = (args.range.from, args.range.to)
        && from > to
    {
        return Err(Failure::usage(format!("--from {from} is above --to {to}")));
    }
    let open = open(&settings, &settings.chain(keep)?, true)?;
    let executor = settings.executor.value.unwrap_or_default();
    let report = import_files(&open, args, executor)?;
    if json {
        print_json(&report);
    } else {
        print_line(&report.lines());
    }
    Ok(())
}

/// What was executed so far.
#[derive(Default)]
struct Counts {
    blocks: u64,
    known: u64,
    transactions: u64,
    gas: u64,
}

fn import_files(open: &OpenChain, args: BlockArgs, executor: ExecutorKind) -> Result<ReplayReport, Failure> {
    let read = Arc::new(AtomicU64::new(0));
    let mut progress = Progress::new(&args.files.files, Arc::clone(&read));
    let mut counts = Counts::default();
    let start = Instant::now();
    let warnings = Warnings::default();
    let files = BlockFiles::new(args.files.files, args.range, read, warnings.clone());
    let interrupt = Interrupt::listen();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let streamed = open.chain.import_stream(files, cores, |imported| match judge(&open.chain, imported, &mut counts) {
        Ok((number, gas)) => {
            progress.block(number, gas);
            if interrupt.is_asked() { ControlFlow::Break(Stop::Interrupted) } else { ControlFlow::Continue(()) }
        }
        Err(failure) => ControlFlow::Break(Stop::Failed(failure)),
    });
    let seconds = start.elapsed().as_secs_f64();
    progress.finish();
    streamed.map_err(|error| match error {
        StreamError::Source(failure) | StreamError::Stopped(Stop::Failed(failure)) => failure,
        StreamError::Stopped(Stop::Interrupted) => interrupted(open, counts.blocks),
        StreamError::Chain(error, at) => Failure::chain(*error, at),
    })?;
    // Outside the time: what is given up says nothing about the speed of the blocks.
    let gc = open.chain.stores().settle()?.map(CollectionReport::from);
    let per_second = |count: f64| round(count / seconds.max(1e-9));
    Ok(ReplayReport {
        ok: true,
        blocks: counts.blocks,
        known: counts.known,
        transactions: counts.transactions,
        gas: counts.gas,
        head: HeadReport::from(&open.chain.head()),
        seconds: round(seconds),
        blocks_per_second: per_second(counts.blocks as f64),
        mgas_per_second: per_second(counts.gas as f64 / 1e6),
        phases: PhasesReport::from(open.chain.phases()),
        engine: open.engine.name(),
        executor: executor.name(),
        workers: 1,
        gc,
        warnings: warnings.take(),
    })
}

/// Why the stream was left before its end.
enum Stop {
    Failed(Failure),
    Interrupted,
}

/// What holds when the user stops: by now everything that was executed is durable.
fn interrupted(open: &OpenChain, executed: u64) -> Failure {
    let head = open.chain.head().record;
    let (number, hash) = (head.number, head.hash);
    let what = match &open.kept {
        Some(path) => format!("everything up to here is kept in {}, and the same command continues", path.display()),
        None => "nothing was kept, as no --datadir was named: the same command starts again".to_owned(),
    };
    Failure::Interrupted {
        message: format!(
            "stopped by the user after {executed} blocks, all of them right; the head is block {number} ({hash}); {what}"
        ),
        block: Some((number, hash)),
    }
}

/// Counts a block, or says what is wrong with it or with its line. Gives its number and the gas its execution used.
fn judge(chain: &Chain, imported: Imported<Line>, counts: &mut Counts) -> Result<(u64, u64), Failure> {
    let Imported { tag: line, block, outcome } = imported;
    let block = block.map_err(|error| line.failure(error.to_string()))?;
    let gas = match outcome {
        Some(ImportOutcome::Best(_) | ImportOutcome::NotBest) => {
            counts.blocks += 1;
            counts.transactions += block.transactions as u64;
            counts.gas = counts.gas.saturating_add(block.gas_used);
            block.gas_used
        }
        Some(ImportOutcome::Exists) | None => {
            counts.known += 1;
            0
        }
        Some(ImportOutcome::NoParent) => {
            return Err(line.failure(format!(
                "block {} ({}) does not connect: its parent is not known; the head is block {}",
                block.number,
                block.hash,
                chain.head().record.number
            )));
        }
        Some(ImportOutcome::ParentCollected { complete_from }) => {
            return Err(line.failure(format!(
                "block {} ({}) branches off too deep: the state of its parent was collected; the states from block \
                 {complete_from} on are kept",
                block.number, block.hash
            )));
        }
        Some(ImportOutcome::Invalid(invalid)) => {
            return Err(Failure::InvalidBlock { invalid, file: Some(line.file.to_path_buf()), line: Some(line.line) });
        }
    };
    // The block was good by its own bytes; now the line has to agree with it.
    if line.number != block.number {
        return Err(line.failure(format!("number: the line says {}, the block {}", line.number, block.number)));
    }
    if line.hash != block.hash {
        return Err(line.failure(format!("hash: the line says {}, the block has {}", line.hash, block.hash)));
    }
    let record = chain.stores().blocks().record(&block.hash)?;
    let total = record.map(|record| Chain::total_difficulty(&record).to_signed_bytes().to_vec()).unwrap_or_default();
    if line.total_difficulty != total {
        return Err(line.failure(format!(
            "total difficulty: the line says {}, the chain has {}",
            rhizome_primitives::hex::encode(&line.total_difficulty),
            rhizome_primitives::hex::encode(&total)
        )));
    }
    Ok((block.number, gas))
}
