//! What must hold between the stores when a directory is opened, and the repair where it does not.
//!
//! The durable order makes these true after any kill of the process. They can break when a disk loses confirmed writes or a
//! directory is put together from two copies. Then the newest main block that is whole becomes the head again; nothing is
//! deleted before such a block was found.

use rhizome_primitives::HeaderRules;

use crate::error::{Result, StorageError};
use crate::kv::Column;
use crate::record::BlockRecord;
use crate::rewind::main_record;
use crate::stores::Stores;

/// What the check at start found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartState {
    /// No block yet.
    Empty,
    /// All is well; the head.
    Sound(BlockRecord),
    /// The head was not whole. The chain now ends at `head`.
    Rewound {
        /// The new head.
        head: BlockRecord,
        /// The number of the head that was found.
        from: u64,
        /// What was wrong with it.
        reason: String,
    },
}

impl Stores {
    /// Checks the invariants and repairs what it can.
    ///
    /// # Errors
    /// When an engine fails, or when no block is whole.
    pub fn check_at_start(&self, rules: &dyn HeaderRules) -> Result<StartState> {
        let Some(head) = self.blocks().head()? else {
            return match self.blocks().canonical_hash(0)? {
                None => Ok(StartState::Empty),
                Some(_) => Err(StorageError::corrupt("there are blocks and no head pointer")),
            };
        };
        let Some(reason) = self.defect(&head, true)? else { return Ok(StartState::Sound(head)) };
        for number in (0..head.number).rev() {
            let Some(record) = main_record(self.blocks(), number)? else { continue };
            if self.defect(&record, false)?.is_none() {
                let whole = self.rewind(number, rules)?;
                return Ok(StartState::Rewound { head: whole, from: head.number, reason });
            }
        }
        Err(StorageError::corrupt(format!("{reason}; no block below it is whole")))
    }

    /// What a main block lacks, if anything. `top`: it should also be the end of the main chain.
    fn defect(&self, record: &BlockRecord, top: bool) -> Result<Option<String>> {
        let BlockRecord { number, hash, state_root, .. } = record;
        let blocks = self.blocks();
        if blocks.canonical_hash(*number)? != Some(*hash) {
            return Ok(Some(format!("block {number} ({hash}) is the head and not on the main chain")));
        }
        if top && number.checked_add(1).map_or(Ok(None), |above| blocks.canonical_hash(above))?.is_some() {
            return Ok(Some(format!("the main chain goes on above the head, block {number}")));
        }
        for (column, part) in [(Column::Headers, "header"), (Column::Bodies, "body"), (Column::Receipts, "receipts")] {
            if !blocks.has(column, hash)? {
                return Ok(Some(format!("block {number} ({hash}) has no {part}")));
            }
        }
        if *number < self.complete_from() {
            return Ok(Some(format!("the state of block {number} was collected")));
        }
        if !self.has_state(state_root)? {
            return Ok(Some(format!("the state {state_root} of block {number} is missing")));
        }
        Ok(None)
    }
}
