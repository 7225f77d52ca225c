//! Ranges of recorded chains executed on their segments only.
#![allow(clippy::unwrap_used, missing_docs)]

mod chain_support;

use std::ops::ControlFlow;
use std::sync::Arc;

use chain_support::{Engine, TestChain};
use rhizome_chain::{ImportOutcome, Reexecution};
use rhizome_storage::{RecordingStore, SegmentSet, SegmentStore, write_segment};
use rhizome_tests::chains::{block_lines, chain_folders};
use rhizome_trie::{Trie, TrieStore};
use tempfile::TempDir;

/// Blocks of each chain: enough for every kind of block, few enough for a test.
const BLOCKS: usize = 220;
/// Heights for each segment; no divisor of the number of blocks.
const EACH: u64 = 48;
const GO: ControlFlow<()> = ControlFlow::Continue(());

fn fed(folder: &std::path::Path, blocks: usize) -> TestChain {
    let chain = TestChain::open(&folder.join("chain.json"), Engine::Memory);
    for line in block_lines(&folder.join("blocks.csv.gz")).take(blocks) {
        match chain.offer(line.rlp) {
            Some(ImportOutcome::Best(_) | ImportOutcome::NotBest) => {}
            other => panic!("{} block {}: {other:?}", folder.display(), line.number),
        }
    }
    chain
}

#[test]
fn chains_replay_on_their_segments_only() {
    for folder in chain_folders() {
        let test = fed(&folder, BLOCKS);
        let chain = &test.chain;
        let head = chain.head().record.number;
        let directory = TempDir::new().unwrap();
        let mut nodes = 0;
        for from in (1..=head).step_by(EACH as usize) {
            let to = head.min(from + EACH - 1);
            let info = chain.build_segment(directory.path(), from, to, |_| ()).unwrap();
            let first = std::fs::read(&info.path).unwrap();
            nodes += info.open().unwrap().verify().unwrap().records;
            // The same range gives the same bytes.
            chain.build_segment(directory.path(), from, to, |_| ()).unwrap();
            assert_eq!(std::fs::read(&info.path).unwrap(), first, "{} from {from}", folder.display());
        }
        let set = SegmentSet::open(directory.path()).unwrap();
        let stored: u64 = (1..=head).map(|number| chain.stored_blocks(number).unwrap().len() as u64).sum();
        let whole = chain.replay_on_segments(&set, 1, head, |_| GO).unwrap();
        assert_eq!(whole.blocks, stored);
        assert_eq!(whole.segments, head.div_ceil(EACH));
        // A part that begins and ends inside segments.
        let part = chain.replay_on_segments(&set, EACH / 2, head - 3, |_| GO).unwrap();
        assert!(part.blocks < whole.blocks && part.reads > 0);
        let stopped = chain.replay_on_segments(&set, 1, head, |_| ControlFlow::Break(())).unwrap();
        assert_eq!((stopped.blocks, stopped.segments), (1, 1));
        println!("{}: {} blocks on {nodes} nodes, {} read", folder.display(), whole.blocks, whole.reads);
        assert!(
            chain.replay_on_segments(&set, 1, head + 1, |_| GO).is_err(),
            "no segment covers the block above the head"
        );
    }
}

/// Every node of a segment is needed: without any one of them the block stops and the node is named.
#[test]
fn chains_need_every_node_of_a_segment() {
    for folder in chain_folders().into_iter().take(3) {
        let test = fed(&folder, 60);
        let chain = &test.chain;
        let number = chain.head().record.number;
        let recorder = Arc::new(RecordingStore::new(chain.stores().nodes()));
        let footprints = chain.footprints(number, &recorder).unwrap();
        let (stored, footprint) = footprints.into_iter().find(|(stored, _)| stored.main).unwrap();
        let directory = TempDir::new().unwrap();
        let whole = chain.build_segment(directory.path(), number, number, |_| ()).unwrap();
        let mut named = 0;
        for left_out in (0..footprint.touched.len()).step_by(3) {
            let mut records = footprint.touched.clone();
            let (missing, _) = records.remove(left_out);
            let directory = TempDir::new().unwrap();
            let path = write_segment(directory.path(), whole.header.range, &records).unwrap();
            let store = Arc::new(SegmentStore::new(Arc::new(rhizome_storage::Segment::open(&path).unwrap())));
            let nodes: Arc<dyn TrieStore> = store.clone();
            let ran =
                Trie::open(stored.parent.state_root, nodes).map_err(|error| error.to_string()).and_then(|state| {
                    Reexecution::new(chain).run(&stored.block, &state).map_err(|error| error.to_string())
                });
            assert!(ran.unwrap_err().contains(&missing.to_string()), "{} without {missing}", folder.display());
            assert_eq!(store.misses().first, [missing]);

            let set = SegmentSet::open(directory.path()).unwrap();
            let error = chain.replay_on_segments(&set, number, number, |_| GO).unwrap_err().to_string();
            assert!(error.contains(&missing.to_string()) && error.contains(&path.display().to_string()), "{error}");
            named += 1;
        }
        println!("{}: each of {named} nodes left out was named", folder.display());
        assert!(named > 3);
    }
}
