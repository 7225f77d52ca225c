//! Many blocks in a row: decoding and sender recovery run ahead on all cores while one thread executes.
//!
//! ```text
//! source ─► feeder thread ───────► bounded queue ─► caller's thread ──────► writer thread
//!           decode, recover,                        rules of its place,     nodes, block data,
//!           rules of the block alone                execute, commit,        head
//!           (own thread pool)                       choose
//! ```
//! The recovery pool is not the one that the trie hashes on: a commit that waited behind a thousand signatures would stall the
//! thread that everything waits for. Order is the source's; outcomes are those of offering one block after another.

use std::ops::ControlFlow;

use crossbeam_channel::{Receiver, Sender, bounded};
use rayon::prelude::*;
use rhizome_primitives::{B256, Block, Bytes};

use crate::chain::{Chain, ImportOutcome};
use crate::error::{ChainError, NotABlock, Result};
use crate::recover::{self, PreparedBlock};

/// A batch ends at this many bytes of block encodings: some ten milliseconds of recovery.
const BATCH_BYTES: usize = 128 << 10;
/// Or at this many blocks.
const BATCH_BLOCKS: usize = 64;
/// How many batches may wait for the executing thread; bounds memory to a few megabytes unless single blocks are larger.
const QUEUE: usize = 6;

/// A block on its way in, with whatever the caller wants back with its outcome.
#[derive(Clone, Debug)]
pub struct Incoming<T> {
    /// The block's bytes.
    pub encoded: Bytes,
    /// The caller's own mark, such as file and line.
    pub tag: T,
}

/// What became of one block of a stream.
#[derive(Debug)]
pub struct Imported<T> {
    /// The caller's mark.
    pub tag: T,
    /// What the block is; `Err` when the bytes are none.
    pub block: Result<BlockSummary, NotABlock>,
    /// What became of it; `None` when the bytes are no block.
    pub outcome: Option<ImportOutcome>,
}

/// The few facts of a block that reports need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSummary {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// How many transactions it has, REMASC's included.
    pub transactions: usize,
    /// Gas used as its header states.
    pub gas_used: u64,
}

impl BlockSummary {
    pub(crate) fn of(block: &Block) -> Self {
        Self {
            number: block.number(),
            hash: block.hash(),
            transactions: block.transactions.len(),
            gas_used: block.header.gas_used,
        }
    }
}

/// Why a stream ended before its source did.
#[derive(Debug)]
pub enum StreamError<E, S> {
    /// The source failed; the blocks before it were imported.
    Source(E),
    /// The caller stopped.
    Stopped(S),
    /// This node is in trouble, at the block with this summary where it is about one.
    Chain(Box<ChainError>, Option<BlockSummary>),
}

/// A block as it leaves the feeder.
struct Ready<T> {
    tag: T,
    block: Prepared,
}

enum Prepared {
    New(Box<PreparedBlock>),
    Known(BlockSummary),
    Broken(NotABlock),
}

type Batch<T, E> = Result<Vec<Ready<T>>, E>;

impl Chain {
    /// Offers the blocks of a source in its order and tells of each what became of it. Everything imported is durable when this
    /// returns, however it returns (unless the store failed).
    ///
    /// # Errors
    /// [`StreamError`]; an invalid block is an outcome, and it is for `each` to stop at one.
    pub fn import_stream<T: Send, E: Send, S>(
        &self,
        source: impl Iterator<Item = Result<Incoming<T>, E>> + Send,
        workers: usize,
        mut each: impl FnMut(Imported<T>) -> ControlFlow<S>,
    ) -> Result<(), StreamError<E, S>> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers.max(1))
            .thread_name(|index| format!("recover-{index}"))
            .build()
            .map_err(|error| self.no_threads(&error.to_string()))
            .map_err(|error| StreamError::Chain(Box::new(error), None))?;
        let streamed = std::thread::scope(|scope| {
            let (batches, ready) = bounded::<Batch<T, E>>(QUEUE);
            let feeder = std::thread::Builder::new()
                .name("feeder".into())
                .spawn_scoped(scope, || self.feed(source, &pool, batches));
            if let Err(error) = feeder {
                return Err(StreamError::Chain(Box::new(self.no_threads(&error.to_string())), None));
            }
            self.consume(ready, &mut each)
        });
        let flushed = self.flush().map_err(|error| StreamError::Chain(Box::new(error), None));
        streamed.and(flushed)
    }

    fn no_threads(&self, error: &str) -> ChainError {
        let head = self.head().record;
        ChainError::Internal { number: head.number, hash: head.hash, what: format!("no threads: {error}") }
    }

    /// The feeder thread's work. It ends with the source, or when nobody takes its batches any more.
    fn feed<T: Send, E>(
        &self,
        mut source: impl Iterator<Item = Result<Incoming<T>, E>>,
        pool: &rayon::ThreadPool,
        batches: Sender<Batch<T, E>>,
    ) {
        loop {
            let mut incoming = Vec::new();
            let mut bytes = 0;
            let mut failed = None;
            let mut ended = true;
            for item in source.by_ref() {
                match item {
                    Ok(block) => {
                        bytes += block.encoded.len();
                        incoming.push(block);
                    }
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
                if bytes >= BATCH_BYTES || incoming.len() >= BATCH_BLOCKS {
                    ended = false;
                    break;
                }
            }
            if !incoming.is_empty() {
                let ready = pool.install(|| self.prepare_batch(incoming));
                if batches.send(Ok(ready)).is_err() {
                    return;
                }
            }
            if let Some(error) = failed {
                // Nobody listens only when the stream was stopped, and then the error no longer matters.
                let _ = batches.send(Err(error));
                return;
            }
            if ended {
                return;
            }
        }
    }

    /// Decodes a batch, and recovers senders and asks the rules for the blocks that are not known.
    fn prepare_batch<T: Send>(&self, incoming: Vec<Incoming<T>>) -> Vec<Ready<T>> {
        let decoded: Vec<(T, Result<Block, NotABlock>)> = incoming
            .into_par_iter()
            .with_max_len(1)
            .map(|Incoming { encoded, tag }| (tag, recover::decode(&encoded, &self.spec, &self.phases)))
            .collect();
        // A store that fails here fails again, and is reported, on the executing thread.
        let is_known = |block: &Block| self.stores.blocks().contains(&block.hash()).unwrap_or(false);
        let known: Vec<bool> = decoded.iter().map(|(_, block)| block.as_ref().is_ok_and(is_known)).collect();
        let new: Vec<&Block> = decoded
            .iter()
            .zip(&known)
            .filter_map(|((_, block), known)| block.as_ref().ok().filter(|_| !known))
            .collect();
        let (senders, sound) = rayon::join(
            || recover::recover_batch(&new, &self.phases),
            || new.par_iter().with_max_len(1).map(|block| self.is_sound(block)).collect::<Vec<bool>>(),
        );
        let mut judged = senders.into_iter().zip(sound);
        decoded
            .into_iter()
            .zip(known)
            .map(|((tag, block), known)| {
                let block = match block {
                    Err(error) => Prepared::Broken(error),
                    Ok(block) if known => Prepared::Known(BlockSummary::of(&block)),
                    Ok(block) => match judged.next() {
                        Some((senders, sound)) => Prepared::New(Box::new(PreparedBlock { block, senders, sound })),
                        None => Prepared::New(Box::new(self.prepare(block))),
                    },
                };
                Ready { tag, block }
            })
            .collect()
    }

    fn consume<T, E, S>(
        &self,
        ready: Receiver<Batch<T, E>>,
        each: &mut impl FnMut(Imported<T>) -> ControlFlow<S>,
    ) -> Result<(), StreamError<E, S>> {
        for batch in ready {
            for Ready { tag, block } in batch.map_err(StreamError::Source)? {
                let imported = match block {
                    Prepared::Broken(error) => Imported { tag, block: Err(error), outcome: None },
                    Prepared::Known(summary) => {
                        Imported { tag, block: Ok(summary), outcome: Some(ImportOutcome::Exists) }
                    }
                    Prepared::New(prepared) => {
                        let summary = BlockSummary::of(prepared.block());
                        let outcome = self
                            .import(*prepared)
                            .map_err(|error| StreamError::Chain(Box::new(error), Some(summary)))?;
                        Imported { tag, block: Ok(summary), outcome: Some(outcome) }
                    }
                };
                if let ControlFlow::Break(stop) = each(imported) {
                    return Err(StreamError::Stopped(stop));
                }
            }
        }
        Ok(())
    }
}
