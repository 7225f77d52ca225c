//! What each operation of a store costs, by thread-CPU time: `cargo run --release -p rhizome-flatdb --example throughput -- [RECORDS] [DIR]`.
//!
//! Records are 60 to 99 bytes and hashed with Keccak-256, as trie nodes are. Cold figures are wall time, after the store's
//! files were dropped from the page cache by name. Absolute figures depend on the machine; compare rows of one run.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use alloy_primitives::{B256, keccak256};
use rhizome_flatdb::{ColdReads, Digest, FlatDb, Key, Options, VerifyPolicy};
use rhizome_keccak::keccak256_batch;

#[derive(Debug)]
struct Keccak;

impl Digest for Keccak {
    const ID: [u8; 8] = *b"keccak\0\0";

    fn digest(bytes: &[u8]) -> Key {
        keccak256(bytes).0
    }

    fn digest_many(records: &[&[u8]], keys: &mut [Key]) {
        let mut digests = vec![B256::ZERO; records.len()];
        keccak256_batch(records, &mut digests);
        for (key, digest) in keys.iter_mut().zip(digests) {
            *key = digest.0;
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

fn record(seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x1234_5678_9abc_def1));
    let len = 60 + random.next() as usize % 40;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn process_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The least thread-CPU time of some rounds, per operation.
fn measure(what: &str, rounds: usize, operations: usize, mut run: impl FnMut()) {
    let mut least = Duration::MAX;
    for _ in 0..rounds {
        let start = thread_cpu();
        run();
        least = least.min(thread_cpu() - start);
    }
    println!("{what:<44} {:>8.0} ns", least.as_nanos() as f64 / operations as f64);
}

fn drop_from_cache(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let file = std::fs::File::open(entry.unwrap().path()).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let records: u64 = arguments.next().map_or(2_000_000, |text| text.parse().unwrap());
    let directory = tempfile::tempdir_in(arguments.next().unwrap_or_else(|| ".".to_owned())).unwrap();
    let path = directory.path();

    let options = || Options::default().verify(VerifyPolicy::First);
    let db: FlatDb<Keccak> = options().open(path).unwrap();
    let mut keys: Vec<Key> = Vec::with_capacity(records as usize);
    let (mut cpu, mut wall) = (Duration::ZERO, Duration::ZERO);
    for start in (0..records).step_by(5000) {
        let batch: Vec<Vec<u8>> = (start..records.min(start + 5000)).map(record).collect();
        let bytes: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        let mut digests = vec![Key::default(); batch.len()];
        Keccak::digest_many(&bytes, &mut digests);
        let (before, clock) = (process_cpu(), Instant::now());
        db.put_batch(digests.iter().zip(bytes.iter().copied())).unwrap();
        cpu += process_cpu() - before;
        wall += clock.elapsed();
        keys.extend(digests);
    }
    let (before, clock) = (process_cpu(), Instant::now());
    db.seal().unwrap();
    cpu += process_cpu() - before;
    wall += clock.elapsed();
    println!("{records} records, {} bytes each on disk, {:?}", db.stats().bytes_per_record(), db.stats());
    let per_record = |time: Duration| time.as_nanos() as f64 / records as f64;
    println!("load (5,000 a batch, sealed once), CPU         {:>8.0} ns", per_record(cpu));
    println!("load, wall                                     {:>8.0} ns", per_record(wall));

    // A block's nodes with a durable checkpoint each.
    let mut next = records;
    let (before, clock, blocks) = (process_cpu(), Instant::now(), 200);
    let mut prepared = Duration::ZERO;
    for _ in 0..blocks {
        let preparation = process_cpu();
        let batch: Vec<Vec<u8>> = (next..next + 232).map(record).collect();
        let digests: Vec<Key> = batch.iter().map(|record| keccak256(record).0).collect();
        next += 232;
        prepared += process_cpu() - preparation;
        db.put_batch(digests.iter().zip(batch.iter().map(Vec::as_slice))).unwrap();
        db.flush().unwrap();
    }
    let cpu = process_cpu() - before - prepared;
    println!(
        "block of 232 and durable checkpoint, CPU       {:>8.0} ns a record",
        cpu.as_nanos() as f64 / f64::from(blocks * 232)
    );
    println!(
        "block of 232 and durable checkpoint, wall      {:>8.0} us",
        clock.elapsed().as_micros() as f64 / f64::from(blocks)
    );

    let mut random = Random(7);
    let reads = 200_000.min(keys.len());
    let sample: Vec<Key> = (0..reads).map(|_| keys[(random.next() % records) as usize]).collect();
    let absent: Vec<Key> = (0..reads as u64).map(|seed| keccak256(seed.to_le_bytes()).0).collect();
    let sum = std::cell::Cell::new(0_usize);
    let eat = |found: Option<&[u8]>| sum.set(sum.get() + found.map_or(0, <[u8]>::len));
    measure("first read of each record (hashed)", 1, reads, || {
        sample.iter().for_each(|key| eat(db.get_known(key).unwrap()))
    });
    measure("get, hashed", 7, reads, || sample.iter().for_each(|key| eat(db.get(key).unwrap())));
    measure("get_known, hashed before", 7, reads, || sample.iter().for_each(|key| eat(db.get_known(key).unwrap())));
    measure("get, absent", 7, reads, || absent.iter().for_each(|key| eat(db.get(key).unwrap())));
    for size in [16, 64, 256] {
        measure(&format!("get_many_known of {size}"), 7, reads, || {
            for keys in sample.chunks(size) {
                db.get_many_known(keys).unwrap().into_iter().for_each(eat);
            }
        });
        measure(&format!("get_many of {size}, hashed"), 7, reads, || {
            for keys in sample.chunks(size) {
                db.get_many(keys).unwrap().into_iter().for_each(eat);
            }
        });
    }
    let chase = |known: bool| {
        let mut at = 1_u64;
        for step in 0..reads as u64 {
            let key = &keys[(at % records) as usize];
            let found = if known { db.get_known(key) } else { db.get(key) }.unwrap().unwrap();
            // With the step, or the walk would soon go round in a circle.
            at = u64::from_le_bytes(found[8..16].try_into().unwrap()) ^ step.wrapping_mul(0x9e37_79b9);
            eat(Some(found));
        }
    };
    measure("dependent: the record says the next, known", 7, reads, || chase(true));
    measure("dependent, hashed", 7, reads, || chase(false));
    drop(db);

    for (what, cold) in [("off", ColdReads::Off), ("advise", ColdReads::Advise), ("16 threads", ColdReads::Threads(16))]
    {
        let db: FlatDb<Keccak> = options().cold_reads(cold).open(path).unwrap();
        for size in [1, 16, 256, 4096] {
            drop_from_cache(path);
            let sample: Vec<Key> = (0..4096).map(|_| keys[(random.next() % records) as usize]).collect();
            let start = Instant::now();
            for keys in sample.chunks(size) {
                db.get_many(keys).unwrap().into_iter().for_each(eat);
            }
            let wall = start.elapsed().as_micros() as f64 / sample.len() as f64;
            println!("cold get_many of {size:>4}, {what:<10}              {wall:>8.1} us wall");
        }
    }
    assert!(sum.get() > 0);
}
