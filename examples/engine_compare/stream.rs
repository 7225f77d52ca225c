//! The block stream: what the trie asks for and writes, block by block, repeated on every store from empty.

use std::sync::Arc;
use std::time::Instant;

use eyre::{Result, ensure};
use rhizome_examples::process_cpu;
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::RecordingStore;
use rhizome_trie::{MemoryTrieStore, TrieStore};
use tempfile::TempDir;

use crate::opponents::Kind;
use crate::{Figure, Options};

type Records = Vec<(B256, Bytes)>;

pub(crate) fn measure(options: &Options, kinds: &[Kind]) -> Result<Vec<Figure>> {
    let churn = options.churn;
    let memory: Arc<dyn TrieStore> = Arc::new(MemoryTrieStore::new());
    let mut first: Records = Vec::new();
    let mut roots = Vec::new();
    churn.build(&memory, |number, root, made| {
        if number == 0 {
            first.extend_from_slice(made);
        }
        roots.push((number, root));
        Ok(())
    })?;
    let recorder = Arc::new(RecordingStore::new(memory));
    let start = roots.iter().rposition(|(number, _)| *number == 0).unwrap_or(0);
    let mut blocks: Vec<(Records, Records)> = Vec::new();
    for pair in roots[start..].windows(2) {
        let (root, footprint) = churn.footprint(pair[1].0, pair[0].1, &recorder)?;
        ensure!(root == pair[1].1, "block {} gives another root when repeated", pair[1].0);
        blocks.push((footprint.touched, footprint.made));
    }
    let count = blocks.len() as f64;
    let mut figures = [
        Figure::new("a block: reads, writes, made durable; process CPU", "us"),
        Figure::new("a block: reads, writes, made durable; wall", "us"),
        Figure::new("of it writes with their flush, process CPU", "us"),
    ];
    for _ in 0..options.rounds {
        let mut values: [Vec<f64>; 3] = Default::default();
        for kind in kinds {
            let directory = TempDir::new()?;
            let store = kind.open(directory.path())?;
            first.chunks(1 << 16).try_for_each(|batch| store.put(batch))?;
            store.flush()?;
            let (cpu, wall) = (process_cpu(), Instant::now());
            let mut writing = 0.0;
            for (touched, made) in &blocks {
                for (hash, record) in touched {
                    ensure!(store.get(hash)?.as_ref() == Some(record), "{}: record {hash} is another one", kind.name());
                }
                let before = process_cpu();
                store.put(made)?;
                store.flush()?;
                writing += (process_cpu() - before).as_secs_f64();
            }
            // What a store left to its background threads belongs to the blocks.
            let before = process_cpu();
            drop(store);
            writing += (process_cpu() - before).as_secs_f64();
            values[0].push((process_cpu() - cpu).as_secs_f64() * 1e6 / count);
            values[1].push(wall.elapsed().as_secs_f64() * 1e6 / count);
            values[2].push(writing * 1e6 / count);
        }
        figures.iter_mut().zip(values).for_each(|(figure, values)| figure.round(values));
    }
    Ok(figures.into_iter().map(Figure::done).collect())
}
