//! The key stream: records of random bytes under their hashes, loaded once and read in rounds.

use std::time::{Duration, Instant};

use eyre::{Result, ensure, eyre};
use rhizome_examples::{Numbers, bytes_below, drop_from_cache, process_cpu, thread_cpu};
use rhizome_primitives::{B256, Bytes, keccak256};
use tempfile::TempDir;

use crate::opponents::{Kind, Store};
use crate::{Figure, Options};

/// Records in a written batch: a block's new nodes.
const BATCH: usize = 256;
/// Batches that are made durable together while loading.
const FLUSH: usize = 64;
/// Keys in one batched read.
const MANY: usize = 64;
/// Threads of the parallel cold reads.
const THREADS: usize = 16;

fn record(numbers: &mut Numbers) -> (B256, Bytes) {
    let len = 60 + numbers.below(40) as usize;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&numbers.any().to_le_bytes());
    }
    bytes.truncate(len);
    (keccak256(&bytes), Bytes::from(bytes))
}

pub(crate) fn measure(options: &Options, kinds: &[Kind], directories: &[TempDir]) -> Result<Vec<Figure>> {
    let mut numbers = Numbers::new(options.churn.seed);
    let records: Vec<(B256, Bytes)> = (0..options.records).map(|_| record(&mut numbers)).collect();
    let keys: Vec<B256> = records.iter().map(|(hash, _)| *hash).collect();
    let (mut load, mut size) =
        (Figure::new("load, process CPU a record", "ns"), Figure::new("bytes on disk a record", "B"));
    let (mut loads, mut sizes) = (Vec::new(), Vec::new());
    for (kind, directory) in kinds.iter().zip(directories) {
        let start = process_cpu();
        let store = kind.open(directory.path())?;
        for group in records.chunks(BATCH * FLUSH) {
            group.chunks(BATCH).try_for_each(|batch| store.put(batch))?;
            store.flush()?;
        }
        // Closing waits for what is under way in the background.
        drop(store);
        loads.push((process_cpu() - start).as_nanos() as f64 / records.len() as f64);
        sizes.push(bytes_below(directory.path()) as f64 / records.len() as f64);
    }
    load.round(loads);
    size.round(sizes);

    let stores: Vec<Store> =
        kinds.iter().zip(directories).map(|(kind, directory)| kind.open(directory.path())).collect::<Result<_>>()?;
    // Equal first; this also brings everything into memory.
    for (kind, store) in kinds.iter().zip(&stores) {
        for (hash, record) in &records {
            ensure!(store.get(hash)?.as_ref() == Some(record), "{}: record {hash} is another one", kind.name());
        }
    }
    let mut warm = [
        Figure::new("warm independent read, thread CPU", "ns"),
        Figure::new("warm dependent read, thread CPU", "ns"),
        Figure::new("warm read in batches of 64, thread CPU", "ns"),
        Figure::new("absent, thread CPU", "ns"),
    ];
    for _ in 0..options.rounds {
        let picked: Vec<B256> = (0..options.reads).map(|_| keys[numbers.below(keys.len() as u64) as usize]).collect();
        let absent: Vec<B256> = (0..options.reads).map(|_| keccak256(numbers.any().to_be_bytes())).collect();
        let start = numbers.any();
        let mut values: [Vec<f64>; 4] = Default::default();
        for store in &stores {
            values[0].push(timed(&picked, || picked.iter().try_for_each(|hash| store.get(hash).map(drop)))?);
            values[1].push(timed(&picked, || dependent(store, &keys, picked.len(), start))?);
            values[2].push(timed(&picked, || picked.chunks(MANY).try_for_each(|keys| store.get_many(keys).map(drop)))?);
            values[3].push(timed(&absent, || {
                absent.iter().try_for_each(|hash| match store.find(hash)? {
                    None => Ok(()),
                    Some(_) => Err(eyre!("{hash} should be absent")),
                })
            })?);
        }
        warm.iter_mut().zip(values).for_each(|(figure, values)| figure.round(values));
    }
    drop(stores);
    let mut figures = vec![load, size];
    figures.extend(warm);
    figures.extend(cold(options, kinds, directories, &keys, &mut numbers)?);
    Ok(figures.into_iter().map(Figure::done).collect())
}

fn timed(operations: &[B256], run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = thread_cpu();
    run()?;
    Ok((thread_cpu() - start).as_nanos() as f64 / operations.len() as f64)
}

/// Each key comes out of the record before, as in a descent. The step goes into it too, or the way would soon be a short circle.
fn dependent(store: &Store, keys: &[B256], reads: usize, start: u64) -> Result<()> {
    let mut place = start;
    for step in 0..reads as u64 {
        let key = &keys[(place % keys.len() as u64) as usize];
        let record = store.get(key)?.ok_or_else(|| eyre!("{key} is missing"))?;
        place = record.iter().take(8).fold(step, |number, byte| number.rotate_left(8) ^ u64::from(*byte));
    }
    Ok(())
}

fn cold(
    options: &Options,
    kinds: &[Kind],
    directories: &[TempDir],
    keys: &[B256],
    numbers: &mut Numbers,
) -> Result<[Figure; 2]> {
    let mut serial = Figure::new("cold serial read, wall", "us");
    let mut parallel = Figure::new("cold read, 16 threads, wall", "us");
    for _ in 0..options.rounds {
        let picked: Vec<B256> =
            (0..options.cold_reads.max(THREADS)).map(|_| keys[numbers.below(keys.len() as u64) as usize]).collect();
        let (mut one, mut many) = (Vec::new(), Vec::new());
        for (kind, directory) in kinds.iter().zip(directories) {
            drop_from_cache(directory.path())?;
            let store = kind.open(directory.path())?;
            let start = Instant::now();
            picked.iter().try_for_each(|hash| store.get(hash).map(drop))?;
            one.push(micros(start.elapsed(), picked.len()));
            drop(store);
            drop_from_cache(directory.path())?;
            let store = kind.open(directory.path())?;
            let start = Instant::now();
            std::thread::scope(|scope| {
                let store = &store;
                let part =
                    |keys| scope.spawn(move || <[B256]>::iter(keys).try_for_each(|hash| store.get(hash).map(drop)));
                let threads: Vec<_> = picked.chunks(picked.len().div_ceil(THREADS)).map(part).collect();
                threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| eyre!("a reader panicked"))?)
            })?;
            many.push(micros(start.elapsed(), picked.len()));
        }
        serial.round(one);
        parallel.round(many);
    }
    Ok([serial, parallel])
}

fn micros(elapsed: Duration, operations: usize) -> f64 {
    elapsed.as_secs_f64() * 1e6 / operations as f64
}
