//! What a commit costs: nanoseconds for each dirty node, for sets of 50 to 5,000 updates on a tree of two million leaves.
//!
//! ```text
//! cargo run --release -p rhizome-trie --example commit_cost -- [LEAVES] [ROUNDS] [accounts|words]
//! ```
//! `words` (default): values of 32 bytes, so that every leaf is a record of its own. `accounts`: account-sized values, most
//! leaves inside their parents. Sizes are interleaved, each round with fresh random keys. The figures are medians and, in
//! brackets, the least of all rounds, which other work on the machine disturbs least. CPU time is that of one thread, wall
//! time with the default threads also; all include taking the batch. Every round compares the two roots.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, Bytes, keccak256};
use rhizome_trie::{ChangeSet, MemoryTrieStore, Trie, TrieError, TrieKey, key};
use rustix::time::{ClockId, clock_gettime};

/// The node's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 7] = [50, 100, 250, 500, 1_000, 2_500, 5_000];
const BUILD_STEP: usize = 100_000;

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// A small generator, so that runs are alike.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

#[derive(Clone, Copy)]
enum Shape {
    Words,
    Accounts,
}

impl Shape {
    fn key(self, index: usize) -> TrieKey {
        let hash = keccak256((index as u64).to_be_bytes());
        match self {
            Self::Words => TrieKey::new(hash.as_slice()),
            Self::Accounts => key::account_key(&Address::from_slice(&hash[12..])),
        }
    }

    fn value(self, random: &mut Random) -> Bytes {
        let mut bytes = [0u8; 32];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&(random.next() | 1).to_be_bytes());
        }
        match self {
            Self::Words => Bytes::copy_from_slice(&bytes),
            Self::Accounts => Bytes::copy_from_slice(&bytes[..11]),
        }
    }

    fn changes(self, indexes: impl IntoIterator<Item = usize>, random: &mut Random) -> ChangeSet {
        let puts = indexes.into_iter().map(|index| (self.key(index), Some(self.value(random)))).collect();
        ChangeSet::from_parts(Vec::new(), puts)
    }
}

/// What one size has measured.
#[derive(Default)]
struct Row {
    dirty: Vec<f64>,
    cpu: Vec<f64>,
    serial_wall: Vec<f64>,
    wall: Vec<f64>,
    dropping: Vec<f64>,
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Reads of short values that are in memory: keys anywhere, and the same few keys again and again.
fn reads(trie: &Trie, shape: Shape, leaves: usize, rounds: usize, random: &mut Random) -> Result<(), TrieError> {
    const READS: usize = 2_000;
    let (mut anywhere, mut again) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let keys: Vec<TrieKey> = (0..READS).map(|_| shape.key(random.below(leaves))).collect();
        for (times, keys) in [(&mut anywhere, &keys[..]), (&mut again, &keys[..READS / 20])] {
            let mut found = 0usize;
            let cpu = thread_cpu();
            for key in keys.iter().cycle().take(READS) {
                found += usize::from(trie.find(key)?.is_some_and(|entry| entry.short_value().is_some()));
            }
            times.push((thread_cpu() - cpu).as_nanos() as f64 / READS as f64);
            assert_eq!(found, READS);
        }
    }
    println!("read of a value in memory: {:.0} ns anywhere, {:.0} ns again", median(&mut anywhere), median(&mut again));
    Ok(())
}

fn main() -> Result<(), TrieError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (leaves, rounds) = (number(0, 2_000_000), number(1, 15));
    let shape = if arguments.get(2).is_some_and(|text| text == "accounts") { Shape::Accounts } else { Shape::Words };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);

    let started = Instant::now();
    let mut trie = Trie::empty(Arc::new(MemoryTrieStore::new()));
    for from in (0..leaves).step_by(BUILD_STEP) {
        trie = trie.apply(&shape.changes(from..leaves.min(from + BUILD_STEP), &mut random))?;
        drop(trie.commit());
    }
    println!(
        "{leaves} leaves, {} MB of nodes, built in {:.1} s; {} threads; AVX-512 {}",
        trie.loaded_bytes() >> 20,
        started.elapsed().as_secs_f64(),
        rayon::current_num_threads(),
        rhizome_keccak::has_multi_buffer(),
    );

    reads(&trie, shape, leaves, rounds, &mut random)?;

    let mut rows: Vec<Row> = SIZES.iter().map(|_| Row::default()).collect();
    for _ in 0..rounds {
        for (size, row) in SIZES.iter().zip(&mut rows) {
            // Each way gets keys of its own, or the second one would find them in the processor's caches.
            let changes = shape.changes((0..*size).map(|_| random.below(leaves)).collect::<Vec<_>>(), &mut random);
            let (cpu, wall) = (thread_cpu(), Instant::now());
            let serial = trie.apply_serial(&changes)?;
            let batch = serial.commit();
            row.serial_wall.push(wall.elapsed().as_nanos() as f64);
            row.cpu.push((thread_cpu() - cpu).as_nanos() as f64);
            row.dirty.push(batch.len() as f64);
            drop(batch);
            let dropping = Instant::now();
            drop(serial);
            row.dropping.push(dropping.elapsed().as_nanos() as f64);

            let changes = shape.changes((0..*size).map(|_| random.below(leaves)).collect::<Vec<_>>(), &mut random);
            let wall = Instant::now();
            let parallel = trie.apply(&changes)?;
            let batch = parallel.commit();
            row.wall.push(wall.elapsed().as_nanos() as f64);
            drop(batch);
            assert_eq!(parallel.root_hash(), trie.apply_serial(&changes)?.root_hash(), "one root for any threads");
        }
    }

    println!("                              ns per dirty node, median (least)");
    println!("updates   dirty  per update    1 thread CPU   1 thread wall    threads wall           drop");
    for (size, row) in SIZES.iter().zip(&mut rows) {
        let dirty = median(&mut row.dirty);
        let shown = |values: &mut Vec<f64>| {
            let middle = median(values) / dirty;
            format!("{middle:.0} ({:.0})", values.first().copied().unwrap_or_default() / dirty)
        };
        println!(
            "{size:>7} {dirty:>7.0} {:>11.1} {:>15} {:>15} {:>15} {:>14}",
            dirty / *size as f64,
            shown(&mut row.cpu),
            shown(&mut row.serial_wall),
            shown(&mut row.wall),
            shown(&mut row.dropping),
        );
    }
    Ok(())
}
