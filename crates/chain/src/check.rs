//! The whole store verified against itself: what `db check` does.
//!
//! Nothing is executed. Every block is decoded and hashed, its links, sums, receipts and index entries are compared, and the
//! head's state is walked with every node hashed.

use rhizome_chainspec::Rskip;
use rhizome_executor::block::receipts_root;
use rhizome_primitives::{B256, Block, Receipt, U256, keccak256};
use rhizome_storage::{BlockRecord, BlockStore, HeightEntry, StorageError, TransactionPlace};
use rhizome_trie::codec::ValueView;

use crate::chain::Chain;
use crate::error::{ChainError, Result};

/// What a check went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckSummary {
    /// Blocks of the main chain.
    pub blocks: u64,
    /// Other blocks.
    pub side_blocks: u64,
    /// Transactions in all of them.
    pub transactions: u64,
    /// Nodes of the head's state, embedded ones included.
    pub state_nodes: u64,
}

impl Chain {
    /// Verifies everything that is stored, with what is not durable yet.
    ///
    /// # Errors
    /// With the first thing that is not as it should be.
    pub fn check(&self) -> Result<CheckSummary> {
        let mut summary = CheckSummary::default();
        let head = self.head().record;
        let mut below: Option<B256> = None;
        for number in 0..=head.number {
            let entries = self.stores.blocks().at_height(number)?;
            let main = entries.iter().find(|entry| entry.main).map(|entry| entry.record.hash);
            let main = main.ok_or_else(|| damaged(format!("the main chain has no block {number}")))?;
            for HeightEntry { record, main } in entries {
                let block = self.check_block(&record)?;
                summary.transactions += block.transactions.len() as u64;
                if main {
                    summary.blocks += 1;
                    if below.is_some_and(|below| below != block.header.parent_hash) {
                        return Err(damaged(format!(
                            "block {number} of the main chain is no child of block {}",
                            number - 1
                        )));
                    }
                } else {
                    summary.side_blocks += 1;
                }
            }
            below = Some(main);
        }
        if below != Some(head.hash) {
            return Err(damaged(format!("the main chain does not end in the head, block {}", head.number)));
        }
        summary.state_nodes = self.check_state(&head)?;
        Ok(summary)
    }

    fn check_block(&self, record: &BlockRecord) -> Result<Block> {
        let BlockRecord { number, hash, .. } = *record;
        let wrong = |what: &str| damaged(format!("block {number} ({hash}): {what}"));
        let blocks = self.stores.blocks();
        let encoded = blocks.block(&hash)?.ok_or_else(|| wrong("no header or body"))?;
        let block = Block::decode(&encoded, &*self.spec).map_err(|error| wrong(&error.to_string()))?;
        if block.hash() != hash || block.number() != number {
            return Err(wrong("the stored bytes are another block"));
        }
        let parent = if number == 0 { None } else { blocks.record(&block.header.parent_hash)? };
        if number > 0 && parent.is_none() {
            return Err(wrong("no parent"));
        }
        let total = parent.map_or(U256::ZERO, |parent| parent.total_difficulty);
        if total.saturating_add(block.cumulative_difficulty().value()) != record.total_difficulty {
            return Err(wrong("the total difficulty is not the parent's and its own"));
        }
        check_receipts(blocks, &block, !self.spec.is_active(Rskip::R126, number)).map_err(|what| wrong(&what))?;
        if number > 0 && self.spec.is_active(Rskip::R126, number) && record.state_root != block.header.state_root {
            return Err(wrong("the recorded state root is not the header's"));
        }
        // Of the states that were given up nothing is promised.
        if number >= self.stores.complete_from() && !self.stores.has_state(&record.state_root)? {
            return Err(wrong("its state is missing"));
        }
        Ok(block)
    }

    /// Hashes every node and long value of a state.
    fn check_state(&self, record: &BlockRecord) -> Result<u64> {
        let state = self.state(record)?;
        let mut nodes = 0;
        for item in state.iter_nodes() {
            let item = item?;
            nodes += 1;
            if keccak256(item.message()) != item.hash() {
                return Err(damaged(format!("trie node {} has other bytes", item.hash())));
            }
            if let ValueView::Long { hash, .. } = item.view()?.value {
                let value = self.stores.nodes().get(hash).map_err(StorageError::from)?;
                if value.is_none_or(|value| keccak256(&value) != *hash) {
                    return Err(damaged(format!("trie value {hash} is missing or has other bytes")));
                }
            }
        }
        Ok(nodes)
    }
}

fn check_receipts(blocks: &BlockStore, block: &Block, orchid: bool) -> Result<(), String> {
    let hash = block.hash();
    let encoded = blocks.receipts(&hash).map_err(|error| error.to_string())?.ok_or("no receipts")?;
    if encoded.len() != block.transactions.len() {
        return Err(format!("{} receipts for {} transactions", encoded.len(), block.transactions.len()));
    }
    let receipts: Result<Vec<Receipt>, _> = encoded.iter().map(|receipt| Receipt::decode(receipt)).collect();
    let receipts = receipts.map_err(|error| format!("receipt: {error}"))?;
    if receipts_root(&receipts, orchid) != block.header.receipts_root {
        return Err("the receipts are not those of the header".into());
    }
    for (index, transaction) in block.transactions.iter().enumerate() {
        let places = blocks.transaction_places(&transaction.hash()).map_err(|error| error.to_string())?;
        let expected = TransactionPlace { block: hash, index: u32::try_from(index).unwrap_or(u32::MAX) };
        if !places.contains(&expected) {
            return Err(format!("transaction {index} is not in the index"));
        }
    }
    Ok(())
}

fn damaged(what: String) -> ChainError {
    StorageError::Corrupt { what }.into()
}
