//! Going back: removes every block above a height, siblings included.
//!
//! From the top down in steps, each an atomic batch that also moves the head below what it removes: a stop at any moment
//! leaves a complete, shorter chain, and the same call continues. Nodes stay; nothing refers to them any more.

use rhizome_primitives::HeaderRules;

use crate::blocks::BlockStore;
use crate::error::{Result, StorageError};
use crate::kv::WriteBatch;
use crate::record::BlockRecord;
use crate::stores::Stores;

/// How many heights one atomic step removes.
const STEP: u64 = 64;

impl Stores {
    /// Removes all blocks above `to` and makes the main chain's block there the head. Nothing happens when the head is not
    /// above it. Writes that were pending are made durable first.
    ///
    /// # Errors
    /// When an engine fails, or when there is no main block with its state at `to`.
    pub fn rewind(&self, to: u64, rules: &dyn HeaderRules) -> Result<BlockRecord> {
        self.commit()?;
        let blocks = self.blocks();
        let head = blocks.head()?.ok_or_else(|| StorageError::Refused("the directory holds no chain".into()))?;
        if to >= head.number {
            return Ok(head);
        }
        let target = main_record(blocks, to)?
            .ok_or_else(|| StorageError::Refused(format!("there is no block {to} on the main chain")))?;
        if to < self.complete_from() {
            let from = self.complete_from();
            let what = format!("the state of block {to} was collected; the states from block {from} on are kept");
            return Err(StorageError::Refused(what));
        }
        if !self.has_state(&target.state_root)? {
            return Err(StorageError::Refused(format!(
                "the state of block {to} ({}) is not in the store",
                target.hash
            )));
        }
        let mut top = blocks.highest(to.saturating_add(1))?.unwrap_or(head.number);
        while top > to {
            let low = top.saturating_sub(STEP - 1).max(to + 1);
            let mut batch = WriteBatch::new();
            for number in low..=top {
                blocks.remove_height(&mut batch, number, rules)?;
            }
            if low <= head.number {
                let below = main_record(blocks, low - 1)?
                    .ok_or_else(|| StorageError::corrupt(format!("the main chain has no block {}", low - 1)))?;
                blocks.set_head(&mut batch, &below.hash, &[], &[]);
            }
            blocks.write(batch)?;
            self.commit()?;
            top = low - 1;
        }
        Ok(target)
    }
}

/// The record of the main chain's block at a height.
pub(crate) fn main_record(blocks: &BlockStore, number: u64) -> Result<Option<BlockRecord>> {
    match blocks.canonical_hash(number)? {
        Some(hash) => blocks.record(&hash),
        None => Ok(None),
    }
}
