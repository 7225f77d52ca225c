//! What the blocks of a window touch, one by one and together.

use rhizome_primitives::map::B256Set;
use rhizome_primitives::{B256, Bytes, RecoveredBlock};
use rhizome_storage::Footprint;
use serde::Serialize;

/// One block's use of the trie.
pub(crate) struct BlockFootprint {
    transactions: u64,
    reads: u64,
    /// The distinct records that it read, in the order of reading.
    pub(crate) touched: Vec<(B256, Bytes)>,
    made: u64,
    made_bytes: u64,
}

impl BlockFootprint {
    pub(crate) fn new(block: &RecoveredBlock, footprint: Footprint) -> Self {
        Self {
            transactions: block.block.transactions.len() as u64,
            reads: footprint.reads,
            touched: footprint.touched,
            made: footprint.made.len() as u64,
            made_bytes: bytes(&footprint.made),
        }
    }
}

fn bytes(records: &[(B256, Bytes)]) -> u64 {
    records.iter().map(|(_, record)| record.len() as u64).sum()
}

/// One quantity over the blocks of the window.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) mean: f64,
    pub(crate) median: u64,
    pub(crate) p99: u64,
    pub(crate) most: u64,
}

impl Figure {
    fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.collect();
        values.sort_unstable();
        let at = |share: usize| values.get((values.len().saturating_sub(1)) * share / 100).copied().unwrap_or(0);
        let mean = values.iter().sum::<u64>() as f64 / (values.len() as f64).max(1.0);
        Self { mean, median: at(50), p99: at(99), most: at(100) }
    }
}

/// The window's blocks, one by one.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    transactions: Figure,
    reads: Figure,
    touched: Figure,
    touched_bytes: Figure,
    made: Figure,
    made_bytes: Figure,
}

impl Summary {
    pub(crate) fn of(window: &[BlockFootprint]) -> Self {
        let over = |of: fn(&BlockFootprint) -> u64| Figure::of(window.iter().map(of));
        Self {
            transactions: over(|block| block.transactions),
            reads: over(|block| block.reads),
            touched: over(|block| block.touched.len() as u64),
            touched_bytes: over(|block| bytes(&block.touched)),
            made: over(|block| block.made),
            made_bytes: over(|block| block.made_bytes),
        }
    }

    pub(crate) fn figures(&self) -> [(&'static str, Figure); 6] {
        [
            ("transactions", self.transactions),
            ("reads of the store", self.reads),
            ("nodes touched", self.touched),
            ("bytes touched", self.touched_bytes),
            ("nodes written", self.made),
            ("bytes written", self.made_bytes),
        ]
    }
}

/// The union of the first blocks of the window.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Growth {
    pub(crate) blocks: u64,
    /// Distinct records read.
    pub(crate) touched: u64,
    pub(crate) touched_bytes: u64,
    /// Records written.
    pub(crate) made: u64,
    pub(crate) made_bytes: u64,
}

/// The unions of 1, 2, 4, … blocks and of the whole window.
pub(crate) fn growth(window: &[BlockFootprint]) -> Vec<Growth> {
    let mut seen = B256Set::default();
    let mut sum = Growth::default();
    let mut steps = Vec::new();
    for block in window {
        for (hash, record) in &block.touched {
            if seen.insert(*hash) {
                sum.touched += 1;
                sum.touched_bytes += record.len() as u64;
            }
        }
        sum.blocks += 1;
        sum.made += block.made;
        sum.made_bytes += block.made_bytes;
        if sum.blocks.is_power_of_two() || sum.blocks == window.len() as u64 {
            steps.push(sum);
        }
    }
    steps
}
