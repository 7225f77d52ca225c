//! From bytes to a block with its senders, its own rules asked: everything that needs neither state nor ancestors and so can
//! run ahead on other threads.

use rayon::prelude::*;
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{B256, Block, Bytes, Sender, Transaction};

use crate::error::{InvalidBlock, NotABlock};
use crate::phases::{Phase, PhaseTimers};

/// A block that is ready to take its place.
#[derive(Debug)]
pub struct PreparedBlock {
    pub(crate) block: Block,
    /// One sender a transaction; an invalid signature is the block's fault.
    pub(crate) senders: Senders,
    /// Whether it keeps the rules that need the block alone. Which one it breaks is asked later, with the others, because
    /// rskj's order of rules decides which one is named.
    pub(crate) sound: bool,
}

pub(crate) type Senders = Result<Vec<Sender>, Box<InvalidBlock>>;

impl PreparedBlock {
    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }
}

/// Decodes a block.
pub(crate) fn decode(encoded: &Bytes, spec: &ChainSpec, phases: &PhaseTimers) -> Result<Block, NotABlock> {
    phases.time(Phase::Decode, || {
        let block = Block::decode_bytes(encoded, spec)?;
        // The hash is asked for all the time; here it is computed off the thread that executes.
        block.hash();
        Ok(block)
    })
}

/// Recovers the senders of several blocks, spread over the current thread pool by transaction and not by block: blocks differ
/// in size.
pub(crate) fn recover_batch(blocks: &[&Block], phases: &PhaseTimers) -> Vec<Senders> {
    /// About half a millisecond of work: enough to pay for a steal, small enough to spread the tail.
    const CHUNK: usize = 12;
    let jobs: Vec<(&Transaction, bool)> = blocks
        .iter()
        .flat_map(|block| block.transactions.iter().enumerate().map(|(index, tx)| (tx, block.is_remasc(index))))
        .collect();
    let recover = |chunk: &[(&Transaction, bool)]| {
        phases.time(Phase::Recover, || chunk.iter().map(|&(tx, remasc)| sender(tx, remasc)).collect::<Vec<_>>())
    };
    let recovered: Vec<Option<Sender>> = jobs.par_chunks(CHUNK).flat_map_iter(recover).collect();
    let mut rest = recovered.as_slice();
    let mut result = Vec::with_capacity(blocks.len());
    for block in blocks {
        let (own, behind) = rest.split_at(block.transactions.len());
        rest = behind;
        let senders = own.iter().zip(&block.transactions).map(|(sender, tx)| sender.ok_or_else(|| unsigned(block, tx)));
        result.push(senders.collect());
    }
    result
}

fn sender(transaction: &Transaction, remasc: bool) -> Option<Sender> {
    if remasc {
        return Some(Sender::Remasc);
    }
    let sender = transaction.recover_sender().ok().map(Sender::Account);
    // Computed here for the same reason as the block's hash.
    transaction.hash();
    sender
}

fn unsigned(block: &Block, transaction: &Transaction) -> Box<InvalidBlock> {
    Box::new(InvalidBlock {
        number: block.number(),
        hash: block.hash(),
        rule: "BlockTxsValidationRule",
        expected: "a signature that gives a sender".into(),
        got: "none".into(),
        tx: Some(transaction.hash()),
    })
}

/// The hashes of a block's transactions, in order.
pub(crate) fn transaction_hashes(block: &Block) -> Vec<B256> {
    block.transactions.iter().map(Transaction::hash).collect()
}
