//! Lives of a store one after another, each ended by a kill or a refused operation, with power failures in between: of what was not
//! synced any part may have reached the disk, in any order, and a failed sync may leave pages that the kernel takes for
//! clean. The store opens by itself at a flushed state that has everything confirmed, whole.
//!
//! `FLATDB_CHAINS` sets how many chains of 25 lives each test tries (default 20).
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::sync::Arc;

use common::model::{Draw, End, ModelDisk};
use common::{Sha, put, record};
use rhizome_flatdb::{Digest, FlatDb, Key, Options};

const LIVES: u32 = 25;
/// Operations that an opening asks of the disk at most.
const OPENING: u64 = 8;

/// Place, content and number of records.
type Batch = (u64, u64, u64);

fn batch((number, variant, size): Batch) -> Vec<(Key, Vec<u8>)> {
    (0..size).map(|at| record(number * 100_000 + variant * 1_000 + at)).map(|r| (Sha::digest(&r), r)).collect()
}

/// The records of batches, one after another.
fn bytes(batches: &[Batch]) -> Vec<Vec<u8>> {
    batches.iter().flat_map(|one| batch(*one)).map(|(_, record)| record).collect()
}

/// One store over many lives.
struct Chain {
    seed: u64,
    life: u32,
    directory: tempfile::TempDir,
    options: Options,
    disk: ModelDisk,
    draw: Draw,
    /// What a flush said is durable, or an opening stood at.
    confirmed: Vec<Batch>,
    /// Every state of which a flush was tried.
    tried: Vec<Vec<Batch>>,
    /// Every batch that was written. A batch of the same place is often the same again.
    written: Vec<Batch>,
    failures: u64,
    retreats: u64,
}

impl Chain {
    fn new(seed: u64, drops_failed: bool) -> Self {
        let mut draw = Draw(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let mapped = draw.below(2) == 0;
        let options = Options::default().expected_records(100).index_lag(25_000).resident_index(if mapped {
            0
        } else {
            u64::MAX
        });
        let directory = tempfile::tempdir().unwrap();
        drop(options.clone().open::<Sha>(directory.path()).unwrap());
        let disk = ModelDisk::over(directory.path(), seed ^ 77);
        (disk.state().mapped, disk.state().drops_failed) = (mapped, drops_failed);
        let options = options.disk(Arc::new(disk.clone()));
        let (confirmed, tried, written) = (vec![], vec![vec![]], vec![]);
        Self { seed, life: 0, directory, options, disk, draw, confirmed, tried, written, failures: 0, retreats: 0 }
    }

    /// What the disk was asked last, without the zeros that are written ahead, for the text of a failed test.
    fn told(&self) -> String {
        let log: Vec<String> = self.disk.state().log.iter().filter(|line| !line.ends_with("+65536")).cloned().collect();
        format!("seed {}, life {}\n{:#?}", self.seed, self.life, &log[log.len().saturating_sub(70)..])
    }

    /// One opening with what is done until it ends, and perhaps a power failure.
    fn live(&mut self, refuses_at_opening: bool) {
        self.life += 1;
        self.choose_end(refuses_at_opening);
        match self.options.clone().open::<Sha>(self.directory.path()) {
            Ok(db) => {
                self.check(&db);
                // Whatever refused is what this life ends with.
                self.work(&db).ok();
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("killed") || text.contains("os error"), "{text}, {}", self.told());
            }
        }
        if self.draw.below(2) == 0 {
            self.failures += 1;
            self.disk.state().power_failure(self.directory.path());
        }
    }

    fn choose_end(&mut self, refuses_at_opening: bool) {
        let mut state = self.disk.state();
        state.dead = false;
        state.end = if self.draw.below(2) == 0 { End::Kill } else { End::Refusal };
        state.left = self.draw.below(60);
        state.at_sync = self.draw.below(4) > 0;
        if state.end == End::Refusal && state.left < OPENING && !refuses_at_opening {
            state.left += OPENING;
        }
    }

    /// The store has exactly the records of a state that was flushed, with everything confirmed.
    fn check(&mut self, db: &FlatDb<Sha>) {
        self.retreats += u64::from(db.recovery().damage.is_some());
        let records: Result<Vec<Vec<u8>>, _> = db.iter().map(|one| one.map(|(_, record)| record.to_vec())).collect();
        let records = records.unwrap_or_else(|error| panic!("{error}, {}", self.told()));
        let state = self.tried.iter().rev().find(|state| bytes(state) == records).cloned();
        let state = state.unwrap_or_else(|| panic!("{} records were never flushed, {}", records.len(), self.told()));
        assert!(state.starts_with(&self.confirmed), "{state:?} lacks some of {:?}, {}", self.confirmed, self.told());
        for record in &records {
            assert_eq!(db.get_known(&Sha::digest(record)).unwrap(), Some(record.as_slice()));
        }
        assert_eq!(db.verify(|_, _| ()).unwrap().records, records.len() as u64);
        assert_eq!(db.stats().records, records.len() as u64);
        self.confirmed = state;
    }

    fn work(&mut self, db: &FlatDb<Sha>) -> rhizome_flatdb::Result<()> {
        let mut current = self.confirmed.clone();
        for _ in 0..self.draw.below(10) {
            let place = current.len() as u64;
            let one = match self.written.iter().rev().find(|one| one.0 == place) {
                Some(again) if self.draw.below(3) > 0 => *again,
                _ => (place, self.draw.below(4), 1 + self.draw.below(99)),
            };
            self.written.push(one);
            put(db, &batch(one))?;
            current.push(one);
            let what = self.draw.below(8);
            if what > 2 {
                self.tried.push(current.clone());
                match what {
                    6 => db.seal()?,
                    7 => db.compact()?,
                    _ => db.flush()?,
                }
                self.confirmed = current.clone();
            }
        }
        Ok(())
    }
}

fn chains(drops_failed: bool, refuses_at_opening: bool) {
    let count: u64 = std::env::var("FLATDB_CHAINS").map_or(20, |count| count.parse().unwrap());
    let (mut failures, mut retreats) = (0, 0);
    for seed in 0..count {
        let mut chain = Chain::new(seed, drops_failed);
        (0..LIVES).for_each(|_| chain.live(refuses_at_opening));
        failures += chain.failures;
        retreats += chain.retreats;
    }
    println!("{count} chains, {failures} power failures, {retreats} times back to the flush before");
    assert!(failures >= count, "{failures} power failures");
}

#[test]
fn kills_refusals_and_power_failures_lose_nothing_confirmed() {
    chains(false, true);
}

#[test]
fn nor_do_failed_syncs_whose_pages_count_as_clean() {
    chains(true, false);
}

#[test]
fn nor_those_of_an_opening() {
    chains(true, true);
}
