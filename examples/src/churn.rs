//! Big states that change: trie change sets from a seed, for measurements that the recorded chains are too small for.
//!
//! The state has accounts and storage cells of a few contracts, with keys and sizes as the unitrie has them. Each block
//! changes some of them: a share goes to a small hot set, as on a chain, the rest is spread over everything.

use std::sync::Arc;

use clap::Args;
use eyre::Result;
use rhizome_primitives::{Address, B256, Bytes, keccak256};
use rhizome_storage::{Footprint, RecordingStore};
use rhizome_trie::{AccountKeys, ChangeSet, Trie, TrieKey, TrieStore};
use serde::Serialize;

/// Accounts that are added by one change set while the first state is built.
const CHUNK: u64 = 50_000;
/// Storage belongs to so many contracts.
const CONTRACTS: u64 = 64;

/// The size of a state and how it changes.
#[derive(Args, Clone, Copy, Debug, Serialize)]
pub struct Churn {
    /// Accounts and storage cells of the first state
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub entries: u64,
    /// Blocks that change it
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub blocks: u64,
    /// Entries that a block changes
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub updates: u64,
    /// The seed of everything
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// A small generator of numbers (splitmix64): the same on every machine.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub const fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit that is not zero.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.any() % limit
    }
}

impl Churn {
    /// The change sets that make the first state.
    pub fn first_state(&self) -> impl Iterator<Item = ChangeSet> {
        let churn = *self;
        (0..self.entries.div_ceil(CHUNK)).map(move |chunk| {
            let entries = chunk * CHUNK..churn.entries.min((chunk + 1) * CHUNK);
            ChangeSet::from_parts(Vec::new(), entries.map(|entry| churn.put(entry, 0)).collect())
        })
    }

    /// The change set of a block, counted from 1.
    pub fn block(&self, number: u64) -> ChangeSet {
        let mut numbers = Numbers::new(self.seed ^ number.wrapping_mul(0x5851_f42d_4c95_7f2d));
        let hot = (self.entries / 1000).max(1);
        let mut changed: Vec<u64> = (0..self.updates)
            .map(|_| if numbers.below(3) == 0 { numbers.below(hot) } else { numbers.below(self.entries.max(1)) })
            .collect();
        changed.sort_unstable();
        changed.dedup();
        ChangeSet::from_parts(Vec::new(), changed.into_iter().map(|entry| self.put(entry, number)).collect())
    }

    /// Three entries in four are accounts.
    fn put(&self, entry: u64, number: u64) -> (TrieKey, Option<Bytes>) {
        let mut numbers = Numbers::new(self.seed ^ entry.rotate_left(32) ^ number);
        let len = if entry % 4 == 3 { 1 + numbers.below(32) } else { 8 + numbers.below(8) };
        let value: Vec<u8> = (0..len).map(|_| (numbers.any() as u8).max(1)).collect();
        (self.key(entry), Some(Bytes::from(value)))
    }

    /// The key of an entry.
    pub fn key(&self, entry: u64) -> TrieKey {
        if entry % 4 == 3 {
            AccountKeys::new(&address(entry % CONTRACTS)).storage(&B256::from(keccak256(entry.to_be_bytes())))
        } else {
            AccountKeys::new(&address(entry)).account().clone()
        }
    }

    /// Builds the first state and every block's in a store, and hands each block's number, root and new nodes out.
    ///
    /// # Errors
    /// When the store fails.
    pub fn build(
        &self,
        store: &Arc<dyn TrieStore>,
        mut each: impl FnMut(u64, B256, &[(B256, Bytes)]) -> Result<()>,
    ) -> Result<Trie> {
        const BUDGET: usize = 256 << 20;
        let mut state = Trie::empty(Arc::clone(store));
        let changes = self.first_state().map(|changes| (0, changes));
        for (number, changes) in changes.chain((1..=self.blocks).map(|number| (number, self.block(number)))) {
            state = state.apply(&changes)?;
            let batch = state.commit();
            store.put_batch(batch.records())?;
            state = state.prune(BUDGET);
            each(number, state.root_hash(), batch.records())?;
        }
        Ok(state)
    }

    /// Applies a block's changes to the state with this root, over a recorder and with nothing in memory: what it reads and
    /// what it makes.
    ///
    /// # Errors
    /// When the store fails.
    pub fn footprint(&self, number: u64, root: B256, recorder: &Arc<RecordingStore>) -> Result<(B256, Footprint)> {
        recorder.take();
        let nodes: Arc<dyn TrieStore> = Arc::clone(recorder) as Arc<dyn TrieStore>;
        let state = Trie::open(root, Arc::clone(&nodes))?.apply_serial(&self.block(number))?;
        nodes.put_batch(state.commit().records())?;
        Ok((state.root_hash(), recorder.take()))
    }
}

fn address(entry: u64) -> Address {
    Address::from_word(keccak256(entry.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use rhizome_trie::MemoryTrieStore;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_states_and_footprints_are_whole() {
        let churn = Churn { entries: 3_000, blocks: 10, updates: 15, seed: 7 };
        let roots = || {
            let store: Arc<dyn TrieStore> = Arc::new(MemoryTrieStore::new());
            let mut roots = Vec::new();
            churn
                .build(&store, |number, root, _| {
                    roots.push((number, root));
                    Ok(())
                })
                .unwrap();
            (roots, store)
        };
        let (first, store) = roots();
        assert_eq!(first, roots().0);
        assert_eq!(first.len(), 11);
        let recorder = Arc::new(RecordingStore::new(store));
        let (root, footprint) = churn.footprint(6, first[5].1, &recorder).unwrap();
        assert_eq!(root, first[6].1);
        assert!(footprint.touched.len() > 15 && footprint.made.len() > 15);
    }
}
