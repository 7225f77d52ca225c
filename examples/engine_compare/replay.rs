//! The block stream on every store, from empty in each round.

use std::time::Instant;

use eyre::{Result, ensure};
use rhizome_examples::process_cpu;
use tempfile::TempDir;

use crate::opponents::Kind;
use crate::stream::BlockStream;
use crate::{Figure, Options, turns};

pub(crate) fn measure(options: &Options, kinds: &[Kind], stream: &BlockStream) -> Result<Vec<Figure>> {
    let count = stream.blocks.len() as f64;
    let mut figures = [
        Figure::new("a block: reads, writes, made durable; process CPU", "us"),
        Figure::new("a block: reads, writes, made durable; wall", "us"),
        Figure::new("of it writes with their flush, process CPU", "us"),
    ];
    for round in 0..options.rounds {
        eprintln!("blocks, round {}", round + 1);
        let mut values: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; kinds.len()]);
        for at in turns(round, kinds.len()) {
            let measured = run(kinds[at], stream)?;
            values.iter_mut().zip(measured).for_each(|(values, value)| values[at] = value * 1e6 / count);
        }
        figures.iter_mut().zip(values).for_each(|(figure, values)| figure.round(values));
    }
    Ok(figures.into_iter().map(Figure::done).collect())
}

/// Seconds: the process's CPU, wall, and the writes' part of the CPU.
fn run(kind: Kind, stream: &BlockStream) -> Result<[f64; 3]> {
    let directory = TempDir::new()?;
    let mut store = kind.open(directory.path())?;
    stream.first.chunks(1 << 16).try_for_each(|batch| store.put(batch))?;
    store.flush()?;
    let (cpu, wall) = (process_cpu(), Instant::now());
    let mut writing = 0.0;
    for block in &stream.blocks {
        for (hash, record) in &block.touched {
            ensure!(store.get(hash)?.as_ref() == Some(record), "{}: record {hash} is another one", kind.name());
        }
        let before = process_cpu();
        store.put(&block.made)?;
        store.flush()?;
        writing += (process_cpu() - before).as_secs_f64();
    }
    // What a store left to its background threads belongs to the blocks.
    let before = process_cpu();
    drop(store);
    writing += (process_cpu() - before).as_secs_f64();
    Ok([(process_cpu() - cpu).as_secs_f64(), wall.elapsed().as_secs_f64(), writing])
}
