//! Segments made from the stored chain, and the stored chain executed on segments.
//!
//! Building executes each block of a range from its parent's root with nothing in memory, so that the footprint is whole: a
//! replay may begin at any block of the range, and nodes that the range itself makes and reads are in the file too.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use rhizome_primitives::map::B256Set;
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{
    BlockRecord, Footprint, RecordingStore, SegmentInfo, SegmentMisses, SegmentRange, SegmentSet, SegmentStore,
    StorageError, write_segment,
};
use rhizome_trie::{Trie, TrieError, TrieStore};

use crate::chain::Chain;
use crate::error::{ChainError, Result};
use crate::pipeline::BlockSummary;
use crate::reexecute::{Reexecution, StoredBlock};

/// Bytes of loaded nodes that a replay on a segment keeps from block to block.
const TRIE_BUDGET: usize = 64 << 20;

/// What a replay on segments did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentReplay {
    /// Blocks executed, those beside the main chain included.
    pub blocks: u64,
    /// Their transactions.
    pub transactions: u64,
    /// Their gas.
    pub gas: u64,
    /// Segments opened.
    pub segments: u64,
    /// Nodes read from them.
    pub reads: u64,
    /// Bytes of those nodes.
    pub bytes_read: u64,
}

impl Chain {
    /// Executes every stored block of a height again, each from its parent's root over the recorder, and gives for each what
    /// it read and made. The recorder keeps what was made, so the heights above need not be in the store.
    ///
    /// # Errors
    /// When the store fails or a state is not there.
    pub fn footprints(&self, number: u64, recorder: &Arc<RecordingStore>) -> Result<Vec<(StoredBlock, Footprint)>> {
        let nodes: Arc<dyn TrieStore> = Arc::clone(recorder) as Arc<dyn TrieStore>;
        let mut footprints = Vec::new();
        for stored in self.stored_blocks(number)? {
            // A collected state may lack nodes even where its root is there.
            let Some(_pin) = self.stores.pin(&stored.parent) else {
                let what = format!(
                    "the state of block {}, which block {number} starts from, was collected",
                    stored.parent.number
                );
                return Err(StorageError::Refused(what).into());
            };
            recorder.take();
            let state = Trie::open(stored.parent.state_root, Arc::clone(&nodes))?;
            let done = Reexecution::new(self).run(&stored.block, &state)?;
            nodes.put_batch(done.nodes.records()).map_err(StorageError::from)?;
            footprints.push((stored, recorder.take()));
        }
        Ok(footprints)
    }

    /// Builds the segment of a range of heights in a directory. `each` hears of every height that is done.
    ///
    /// # Errors
    /// When the range is not on the main chain, a state of it is not in the store, or the file cannot be written.
    pub fn build_segment(
        &self,
        directory: &Path,
        from: u64,
        to: u64,
        mut each: impl FnMut(u64) + Send,
    ) -> Result<SegmentInfo> {
        if from == 0 || from > to {
            return Err(StorageError::Refused(format!("blocks {from} to {to} are no range of executed blocks")).into());
        }
        let parent = self.main_record(from - 1)?;
        let last = self.main_record(to)?;
        // On one thread the trie reads in the same order every time, and the same range gives the same file.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|error| self.internal(&last, format!("no threads: {error}")))?;
        let (records, blocks) = pool.install(|| self.record_range(from, to, &mut each))?;
        let range = SegmentRange {
            genesis: self.main_record(0)?.hash,
            from,
            to,
            parent: parent.hash,
            parent_root: parent.state_root,
            last: last.hash,
            blocks,
        };
        let path = write_segment(directory, range, &records)?;
        Ok(SegmentInfo::read(&path)?)
    }

    fn record_range(&self, from: u64, to: u64, each: &mut impl FnMut(u64)) -> Result<(Vec<(B256, Bytes)>, u64)> {
        let recorder = Arc::new(RecordingStore::new(self.stores.nodes()));
        let mut seen = B256Set::default();
        let mut records = Vec::new();
        let mut blocks = 0;
        for number in from..=to {
            for (_, footprint) in self.footprints(number, &recorder)? {
                records.extend(footprint.touched.into_iter().filter(|(hash, _)| seen.insert(*hash)));
                blocks += 1;
            }
            each(number);
        }
        Ok((records, blocks))
    }

    /// Executes the stored blocks of a range of heights on the segments that cover it, and on nothing else. `each` sees every
    /// block when it is done, and may end the replay there.
    ///
    /// # Errors
    /// When no segment covers a block, a segment is damaged or of another chain, or a node is missing from it; the message
    /// names the node, the block and the file.
    pub fn replay_on_segments(
        &self,
        segments: &SegmentSet,
        from: u64,
        to: u64,
        mut each: impl FnMut(BlockSummary) -> ControlFlow<()>,
    ) -> Result<SegmentReplay> {
        let mut done = SegmentReplay::default();
        let genesis = self.main_record(0)?.hash;
        let mut number = from.max(1);
        while number <= to {
            let info = segments
                .for_block(number)
                .ok_or_else(|| StorageError::Refused(format!("no segment covers block {number}")))?;
            if info.header.range.genesis != genesis {
                let path = info.path.display();
                return Err(StorageError::Refused(format!(
                    "{path} is for another chain, with block 0 {}",
                    info.header.range.genesis
                ))
                .into());
            }
            let segment = Arc::new(info.open()?);
            segment.preload();
            let store = Arc::new(SegmentStore::new(segment));
            let end = to.min(info.header.range.to);
            let flow = self.replay_heights(&store, number, end, &mut done, &mut each)?;
            let stats = store.stats();
            done.segments += 1;
            done.reads += stats.reads;
            done.bytes_read += stats.bytes_read;
            if flow.is_break() {
                break;
            }
            number = end + 1;
        }
        Ok(done)
    }

    fn replay_heights(
        &self,
        store: &Arc<SegmentStore>,
        from: u64,
        to: u64,
        done: &mut SegmentReplay,
        each: &mut impl FnMut(BlockSummary) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let nodes: Arc<dyn TrieStore> = Arc::clone(store) as Arc<dyn TrieStore>;
        let reexecution = Reexecution::new(self);
        let mut below: Option<(B256, Trie)> = None;
        for number in from..=to {
            let mut main = None;
            for stored in self.stored_blocks(number)? {
                let summary = BlockSummary::of(&stored.block.block);
                let parent = stored.parent.hash;
                let state = match &below {
                    Some((hash, trie)) if *hash == parent => trie.clone(),
                    _ => Trie::open(stored.parent.state_root, Arc::clone(&nodes))
                        .map_err(|error| missing(error, store, &summary))?,
                };
                let ran = reexecution.run(&stored.block, &state).map_err(|error| match error {
                    ChainError::Trie(error) => missing(error, store, &summary),
                    other => other,
                })?;
                done.blocks += 1;
                done.transactions += summary.transactions as u64;
                done.gas = done.gas.saturating_add(ran.gas_used);
                // New nodes that a later block of the range reads are in the segment, so loaded ones may be dropped.
                if stored.main {
                    main = Some((summary.hash, ran.state.prune(TRIE_BUDGET)));
                }
                if each(summary).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            below = main;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn main_record(&self, number: u64) -> Result<BlockRecord> {
        let blocks = self.stores.blocks();
        let hash = blocks.canonical_hash(number)?;
        let record = hash.map(|hash| blocks.record(&hash)).transpose()?.flatten();
        record.ok_or_else(|| StorageError::Refused(format!("there is no block {number} on the main chain")).into())
    }

    fn internal(&self, at: &BlockRecord, what: String) -> ChainError {
        ChainError::Internal { number: at.number, hash: at.hash, what }
    }
}

/// A missing node, told with the segment that should have it.
fn missing(error: TrieError, store: &SegmentStore, block: &BlockSummary) -> ChainError {
    let SegmentMisses { count, first } = store.misses();
    let Some(hash) = first.first() else { return error.into() };
    let path = store.segment().path().display();
    let what = format!(
        "segment {path}: block {} ({}) needs node {hash}, which is not in it ({count} missing)",
        block.number, block.hash
    );
    StorageError::Corrupt { what }.into()
}
