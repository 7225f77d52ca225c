//! The block stream: what the trie asks for and writes, block by block, of a generated churn or of a recorded chain.

use std::path::PathBuf;
use std::sync::Arc;

use eyre::{Result, WrapErr, ensure, eyre};
use rhizome_examples::{ChainSource, Churn};
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::RecordingStore;
use rhizome_trie::codec::ValueView;
use rhizome_trie::{MemoryTrieStore, Trie, TrieStore};
use serde::Serialize;

type Records = Vec<(B256, Bytes)>;

/// A block as a store sees it.
pub(crate) struct BlockRecords {
    /// What it reads, each record once, in order.
    pub(crate) touched: Records,
    /// What it writes.
    pub(crate) made: Records,
}

/// Blocks, and the state that the first of them starts from.
pub(crate) struct BlockStream {
    pub(crate) origin: Origin,
    pub(crate) first: Records,
    pub(crate) blocks: Vec<BlockRecords>,
}

/// Where the blocks come from.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Origin {
    Churn(Churn),
    Chain(String),
}

/// How much a stream is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StreamSize {
    pub(crate) blocks: usize,
    pub(crate) first_records: usize,
    pub(crate) reads_a_block: f64,
    pub(crate) writes_a_block: f64,
    pub(crate) written_bytes_a_block: f64,
}

impl BlockStream {
    /// Trie change sets from a seed.
    pub(crate) fn generated(churn: Churn) -> Result<Self> {
        ensure!(
            churn.entries > 0 && churn.blocks > 0,
            "a churn without entries or without blocks gives no block stream"
        );
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
        let mut blocks = Vec::new();
        for pair in roots[start..].windows(2) {
            let (root, footprint) = churn.footprint(pair[1].0, pair[0].1, &recorder)?;
            ensure!(root == pair[1].1, "block {} gives another root when repeated", pair[1].0);
            blocks.push(BlockRecords { touched: footprint.touched, made: footprint.made });
        }
        Ok(Self { origin: Origin::Churn(churn), first, blocks })
    }

    /// Every block of a recorded chain, those beside the main chain too, executed from its parent's root with nothing in
    /// memory: it reads every node that it needs, as a node does that was just started.
    pub(crate) fn recorded(chain: &str, files: &[PathBuf]) -> Result<Self> {
        let source = ChainSource { chain: Some(chain.to_owned()), datadir: None, blocks: files.to_vec() };
        let loaded = source.load().wrap_err_with(|| format!("chain {chain}"))?;
        let chain = &loaded.chain;
        let nodes = chain.stores().nodes();
        let blocks_stored = chain.stores().blocks();
        let genesis = blocks_stored.canonical_hash(0)?.map(|hash| blocks_stored.record(&hash)).transpose()?.flatten();
        let genesis = genesis.ok_or_else(|| eyre!("{}: no block 0", loaded.name))?;
        let mut first = Vec::new();
        for item in Trie::open(genesis.state_root, Arc::clone(&nodes))?.iter_nodes() {
            let item = item?;
            if let ValueView::Long { hash, .. } = item.view()?.value {
                first.extend(nodes.get(hash)?.map(|value| (*hash, value)));
            }
            if !item.is_embedded() {
                first.push((item.hash(), item.message().clone()));
            }
        }
        let recorder = Arc::new(RecordingStore::new(nodes));
        let mut blocks = Vec::new();
        for number in 1..=chain.head().record.number {
            let footprints = chain.footprints(number, &recorder)?;
            blocks.extend(
                footprints
                    .into_iter()
                    .map(|(_, footprint)| BlockRecords { touched: footprint.touched, made: footprint.made }),
            );
        }
        ensure!(!blocks.is_empty(), "{}: no block behind block 0", loaded.name);
        Ok(Self { origin: Origin::Chain(loaded.name), first, blocks })
    }

    /// Records in all.
    pub(crate) fn records(&self) -> usize {
        self.first.len() + self.blocks.iter().map(|block| block.made.len()).sum::<usize>()
    }

    pub(crate) fn size(&self) -> StreamSize {
        let count = self.blocks.len() as f64;
        let mean = |of: fn(&BlockRecords) -> usize| self.blocks.iter().map(of).sum::<usize>() as f64 / count;
        StreamSize {
            blocks: self.blocks.len(),
            first_records: self.first.len(),
            reads_a_block: mean(|block| block.touched.len()),
            writes_a_block: mean(|block| block.made.len()),
            written_bytes_a_block: mean(|block| block.made.iter().map(|(_, record)| record.len()).sum()),
        }
    }
}
