//! The key stream: records of random bytes under their hashes, loaded once and read in rounds.

use std::time::{Duration, Instant};

use eyre::{Result, ensure, eyre};
use rhizome_examples::{Numbers, bytes_below, drop_from_cache, process_cpu, thread_cpu};
use rhizome_primitives::{B256, Bytes, keccak256};
use tempfile::TempDir;

use crate::opponents::{Kind, Store};
use crate::{Figure, Options, turns};

/// Records in a written batch: a block's new nodes.
const BATCH: usize = 256;
/// Batches that are made durable together while loading.
const FLUSH: usize = 64;
/// Keys in one batched read.
const MANY: usize = 64;
/// Threads of the parallel cold reads.
const THREADS: usize = 16;

/// Records that are compared one by one before anything is timed, at most; random ones where there are more.
const COMPARED: u64 = 2_000_000;
/// Bytes of a record before the filling: the key of the record before it.
const LINK: usize = 32;

/// The records of a seed: 60 to 99 bytes each, of which the first 32 are the key of the record before, as a node of a tree has
/// its children's hashes. They are written in another order than that of the links, so following these jumps around.
struct Chain {
    seed: u64,
    /// Keys by the order of the links.
    keys: Vec<B256>,
}

impl Chain {
    fn new(seed: u64, records: u64) -> Self {
        let mut chain = Self { seed, keys: Vec::with_capacity(records as usize) };
        for at in 0..records as usize {
            let key = keccak256(chain.record(at));
            chain.keys.push(key);
        }
        chain
    }

    fn record(&self, at: usize) -> Bytes {
        let mut numbers = Numbers::new(self.seed ^ (at as u64).rotate_left(32));
        let len = 60 + numbers.below(40) as usize;
        let mut bytes = Vec::with_capacity(len + 8);
        let before = at.checked_sub(1).map_or(B256::ZERO, |before| self.keys[before]);
        bytes.extend_from_slice(before.as_slice());
        while bytes.len() < len {
            bytes.extend_from_slice(&numbers.any().to_le_bytes());
        }
        bytes.truncate(len);
        Bytes::from(bytes)
    }

    /// All places of the chain, shuffled.
    fn shuffled(&self, numbers: &mut Numbers) -> Vec<u32> {
        let mut places: Vec<u32> = (0..self.keys.len() as u32).collect();
        for at in (1..places.len()).rev() {
            places.swap(at, numbers.below(at as u64 + 1) as usize);
        }
        places
    }
}

pub(crate) fn measure(options: &Options, kinds: &[Kind], directories: &[TempDir]) -> Result<Vec<Figure>> {
    let mut numbers = Numbers::new(options.churn.seed);
    eprintln!("hashing {} records", options.records);
    let chain = Chain::new(options.churn.seed, options.records);
    let order = chain.shuffled(&mut numbers);
    let keys = &chain.keys;
    let mut load = Figure::new("load, process CPU a record", "ns");
    let mut sizes =
        [Figure::new("bytes on disk a record, as loaded", "B"), Figure::new("bytes on disk a record, compacted", "B")];
    let (mut loads, mut loaded, mut compacted) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, directory) in kinds.iter().zip(directories) {
        eprintln!("{}: loading", kind.name());
        let mut store = kind.open(directory.path())?;
        let mut spent = Duration::ZERO;
        for group in order.chunks(BATCH * FLUSH) {
            let records: Vec<(B256, Bytes)> =
                group.iter().map(|at| (keys[*at as usize], chain.record(*at as usize))).collect();
            let start = process_cpu();
            records.chunks(BATCH).try_for_each(|batch| store.put(batch))?;
            store.flush()?;
            spent += process_cpu() - start;
        }
        let start = process_cpu();
        // Closing waits for what is under way in the background.
        drop(store);
        spent += process_cpu() - start;
        let per_record = |value: f64| value / keys.len() as f64;
        loads.push(per_record(spent.as_nanos() as f64));
        loaded.push(per_record(bytes_below(directory.path()) as f64));
        let mut store = kind.open(directory.path())?;
        store.compact()?;
        drop(store);
        compacted.push(per_record(bytes_below(directory.path()) as f64));
    }
    load.round(loads);
    sizes.iter_mut().zip([loaded, compacted]).for_each(|(figure, values)| figure.round(values));

    let stores: Vec<Store> =
        kinds.iter().zip(directories).map(|(kind, directory)| kind.open(directory.path())).collect::<Result<_>>()?;
    // Equal first; where that is every record, it also brings everything into memory.
    let all = options.records <= COMPARED;
    let compared: Vec<u32> = order.iter().copied().take(options.records.min(COMPARED) as usize).collect();
    for (kind, store) in kinds.iter().zip(&stores) {
        eprintln!("{}: comparing {}{} records", kind.name(), compared.len(), if all { "" } else { " random" });
        for at in &compared {
            let (hash, record) = (&keys[*at as usize], chain.record(*at as usize));
            ensure!(store.get(hash)?.as_ref() == Some(&record), "{}: record {hash} is another one", kind.name());
        }
    }
    let mut warm = [
        Figure::new("warm independent read, as the store gives it", "ns"),
        Figure::new("warm dependent read, as the store gives it", "ns"),
        Figure::new("warm independent read, copied out", "ns"),
        Figure::new("warm dependent read, copied out", "ns"),
        Figure::new("warm read in batches of 64, copied out", "ns"),
        Figure::new("absent", "ns"),
    ];
    // Warm means read before: from the compared records where the others are too many for the memory.
    let numbers_of = |numbers: &mut Numbers| keys[compared[numbers.below(compared.len() as u64) as usize] as usize];
    for round in 0..options.rounds {
        eprintln!("warm reads, round {}", round + 1);
        let picked: Vec<B256> = (0..options.reads).map(|_| numbers_of(&mut numbers)).collect();
        let absent: Vec<B256> = (0..options.reads).map(|_| keccak256(numbers.any().to_be_bytes())).collect();
        let steps = options.reads.min(keys.len() - 1);
        let first = keys[steps + numbers.below((keys.len() - steps) as u64) as usize];
        let mut values: [Vec<f64>; 6] = std::array::from_fn(|_| vec![0.0; stores.len()]);
        for at in turns(round, stores.len()) {
            let store = &stores[at];
            let sum = |hash: &B256| store.with(hash, |record| u64::from(record[0])).map(drop);
            values[0][at] = timed(picked.len(), || picked.iter().try_for_each(sum))?;
            values[2][at] = timed(picked.len(), || picked.iter().try_for_each(|hash| store.get(hash).map(drop)))?;
            values[4][at] =
                timed(picked.len(), || picked.chunks(MANY).try_for_each(|keys| store.get_many(keys).map(drop)))?;
            values[5][at] = timed(absent.len(), || {
                absent.iter().try_for_each(|hash| match store.find(hash)? {
                    None => Ok(()),
                    Some(_) => Err(eyre!("{hash} should be absent")),
                })
            })?;
            // The way has to be in memory first.
            dependent(store, first, steps, false)?;
            values[1][at] = timed(steps, || dependent(store, first, steps, false))?;
            values[3][at] = timed(steps, || dependent(store, first, steps, true))?;
        }
        warm.iter_mut().zip(values).for_each(|(figure, values)| figure.round(values));
    }
    drop(stores);
    let mut figures = vec![load];
    figures.extend(sizes);
    figures.extend(warm);
    eprintln!("cold reads");
    figures.extend(cold(options, kinds, directories, keys, &mut numbers)?);
    Ok(figures.into_iter().map(Figure::done).collect())
}

/// Thread CPU of an operation, in nanoseconds.
fn timed(operations: usize, run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = thread_cpu();
    run()?;
    Ok((thread_cpu() - start).as_nanos() as f64 / operations as f64)
}

/// Each key comes out of the record before, as in a descent.
fn dependent(store: &Store, first: B256, reads: usize, copied: bool) -> Result<()> {
    let mut key = first;
    for _ in 0..reads {
        key = if copied {
            let record = store.get(&key)?.ok_or_else(|| eyre!("{key} is missing"))?;
            B256::from_slice(&record[..LINK])
        } else {
            store.with(&key, |record| B256::from_slice(&record[..LINK]))?
        };
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
    for round in 0..options.rounds {
        let picked: Vec<B256> =
            (0..options.cold_reads.max(THREADS)).map(|_| keys[numbers.below(keys.len() as u64) as usize]).collect();
        let (mut one, mut many) = (vec![0.0; kinds.len()], vec![0.0; kinds.len()]);
        for at in turns(round, kinds.len()) {
            let (kind, directory) = (kinds[at], &directories[at]);
            drop_from_cache(directory.path())?;
            let store = kind.open(directory.path())?;
            let start = Instant::now();
            picked.iter().try_for_each(|hash| store.get(hash).map(drop))?;
            one[at] = micros(start.elapsed(), picked.len());
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
            many[at] = micros(start.elapsed(), picked.len());
        }
        serial.round(one);
        parallel.round(many);
    }
    Ok([serial, parallel])
}

fn micros(elapsed: Duration, operations: usize) -> f64 {
    elapsed.as_secs_f64() * 1e6 / operations as f64
}
