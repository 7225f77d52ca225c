//! One block's way through the door: known? parent? rules, execution, commit, comparison, store, fork choice.

use std::sync::Arc;

use rhizome_consensus::{Candidate, choose};
use rhizome_executor::ExecutionOutcome;
use rhizome_primitives::{AncestorProvider, B256, Block, BlockHeader, Bloom, Receipt, RecoveredBlock};
use rhizome_storage::{BlockRecord, ExecutedBlock, WriteBatch};
use rhizome_trie::{NodeBatch, Trie};

use crate::chain::{Chain, Head, ImportOutcome, Importing, missing_header};
use crate::error::{ChainError, Failure, Result};
use crate::events::{ChainEvent, HeadChange};
use crate::phases::Phase;
use crate::recover::{PreparedBlock, transaction_hashes};

/// From how many cores on a large commit is spread over several. With two, the other one recovers senders and writes: handing
/// it half of a commit costs more than it gives, also because nodes are then freed by another thread than the one that made them.
const SPREAD_COMMIT: usize = 3;

/// What execution and commit made of a valid block.
struct Executed {
    trie: Trie,
    nodes: NodeBatch,
    receipts: Vec<Vec<u8>>,
    logs_bloom: Bloom,
}

impl Chain {
    pub(crate) fn import_locked(&self, importing: &mut Importing, prepared: PreparedBlock) -> Result<ImportOutcome> {
        let PreparedBlock { block, senders, sound } = prepared;
        let hash = block.hash();
        if self.stores.blocks().contains(&hash)? {
            return Ok(ImportOutcome::Exists);
        }
        let parent_hash = block.header.parent_hash;
        let Some(parent) = self.stores.blocks().record(&parent_hash)? else { return Ok(ImportOutcome::NoParent) };
        // The parent's state stays whole until this block's is written, whatever is collected meanwhile.
        let Some(_pin) = self.stores.pin(&parent) else {
            return Ok(ImportOutcome::ParentCollected { complete_from: self.stores.complete_from() });
        };
        let parent_header = self.ancestors.header(&parent_hash)?.ok_or_else(|| missing_header(&parent_hash))?;
        let judged = self.validate(&block, &parent_header, sound).and_then(|()| {
            let block = RecoveredBlock { block, senders: senders.map_err(Failure::Invalid)? };
            Ok((self.execute(importing, &block, &parent)?, block))
        });
        let (executed, recovered) = match judged {
            Ok(executed) => executed,
            Err(Failure::Invalid(invalid)) => return Ok(ImportOutcome::Invalid(invalid)),
            Err(Failure::Fault(fault)) => return Err(fault),
        };
        let outcome = self.phases.time(Phase::Commit, || self.keep(importing, recovered.block, &parent, executed))?;
        importing.unflushed_blocks += 1;
        Ok(outcome)
    }

    /// Asks the rules that are left: all of them where one of the block's own is broken.
    fn validate(&self, block: &Block, parent: &BlockHeader, sound: bool) -> Result<(), Failure> {
        self.phases
            .time(Phase::Validate, || {
                if sound {
                    self.validator.validate_in_chain(block, parent, &*self.ancestors)
                } else {
                    self.validator.validate(block, parent, &*self.ancestors, self.now())
                }
            })
            .map_err(Failure::consensus)
    }

    fn execute(
        &self,
        importing: &mut Importing,
        block: &RecoveredBlock,
        parent: &BlockRecord,
    ) -> Result<Executed, Failure> {
        let state = importing.tries.open(&parent.hash, parent.state_root, self.stores.nodes())?;
        let first = self.execute_on(block, &state);
        let Err(Failure::Invalid(verdict)) = first else { return first };
        // Before a block is called invalid for what execution gave, it is executed again on the parent's state as it is in
        // the store, without anything kept in memory. A different answer is our fault and not the block's.
        let fresh = Trie::open(parent.state_root, self.stores.nodes())?;
        match self.execute_on(block, &fresh) {
            Err(Failure::Invalid(again)) if again == verdict => Err(Failure::Invalid(verdict)),
            Err(Failure::Fault(fault)) => Err(Failure::Fault(fault)),
            other => Err(Failure::Fault(ChainError::Internal {
                number: block.block.number(),
                hash: block.block.hash(),
                what: match other {
                    Err(Failure::Invalid(again)) => format!("two executions differ: {verdict}; then {again}"),
                    _ => format!("two executions differ: {verdict}; then valid"),
                },
            })),
        }
    }

    /// Executes, commits, and compares every field of the header that execution determines.
    fn execute_on(&self, block: &RecoveredBlock, parent_state: &Trie) -> Result<Executed, Failure> {
        let header = &block.block.header;
        let (number, hash) = (header.number, header.hash());
        let outcome = self
            .phases
            .time(Phase::Execute, || self.executor.execute(block, parent_state, &*self.ancestors))
            .map_err(|error| Failure::execution(error, number, hash))?;
        self.phases.time(Phase::Commit, || self.commit(header, outcome, parent_state))
    }

    fn commit(
        &self,
        header: &BlockHeader,
        outcome: ExecutionOutcome,
        parent_state: &Trie,
    ) -> Result<Executed, Failure> {
        let changes = &outcome.changes;
        let trie =
            if self.cores >= SPREAD_COMMIT { parent_state.apply(changes) } else { parent_state.apply_serial(changes) }?;
        let receipts: Vec<Vec<u8>> = outcome.receipts.iter().map(Receipt::encode).collect();
        self.executor
            .validate_encoded(header, &outcome, &receipts, trie.root_hash())
            .map_err(|error| Failure::execution(error, header.number, header.hash()))?;
        let nodes = trie.commit();
        Ok(Executed { trie, nodes, receipts, logs_bloom: outcome.logs_bloom })
    }

    /// Puts a valid block into the store and chooses the head.
    fn keep(
        &self,
        importing: &mut Importing,
        block: Block,
        parent: &BlockRecord,
        executed: Executed,
    ) -> Result<ImportOutcome> {
        let hash = block.hash();
        let record = BlockRecord {
            number: block.number(),
            hash,
            state_root: executed.trie.root_hash(),
            total_difficulty: parent.total_difficulty.saturating_add(block.cumulative_difficulty().value()),
        };
        self.stores.put_nodes(executed.nodes);
        let mut batch = WriteBatch::new();
        let stored = ExecutedBlock {
            record,
            encoding: &block.encode(),
            transactions: &transaction_hashes(&block),
            receipts: &executed.receipts,
            logs_bloom: executed.logs_bloom,
        };
        self.stores.blocks().add(&mut batch, &stored)?;
        let head = self.head();
        let block = Arc::new(block);
        let change = self.head_change(&head, &record, &block)?;
        if let Some(change) = &change {
            self.stores.blocks().set_head(&mut batch, &hash, &change.adopted, &change.retracted);
        }
        self.stores.blocks().write(batch)?;
        self.ancestors.remember(&block);
        importing.tries.put(hash, executed.trie);
        let Some(change) = change else {
            self.events.send(&ChainEvent::Side { number: record.number, hash });
            return Ok(ImportOutcome::NotBest);
        };
        let header = self.ancestors.header(&hash)?.ok_or_else(|| missing_header(&hash))?;
        *self.head.write() = Head { record, header };
        if change.is_reorganisation() {
            tracing::info!(number = record.number, %hash, depth = change.retracted.len(), "reorganisation");
        }
        self.events.send(&ChainEvent::Head(change.clone()));
        Ok(ImportOutcome::Best(change))
    }

    /// The head's move when the block becomes the best one (`SelectionRule`).
    fn head_change(&self, head: &Head, challenger: &BlockRecord, block: &Block) -> Result<Option<HeadChange>> {
        let new = Candidate::new(&block.header, Self::total_difficulty(challenger));
        let best = Candidate::new(&head.header, Self::total_difficulty(&head.record));
        if !choose(&new, &best) {
            return Ok(None);
        }
        let mut adopted = vec![(challenger.number, challenger.hash)];
        let mut retracted = Vec::new();
        let mut new = (challenger.number.saturating_sub(1), block.header.parent_hash);
        let mut old = (head.record.number, head.record.hash);
        while new != old {
            if old.0 >= new.0 {
                retracted.push(old);
                old = self.parent_of(old)?;
            } else {
                adopted.push(new);
                new = self.parent_of(new)?;
            }
        }
        adopted.reverse();
        Ok(Some(HeadChange { retracted, adopted }))
    }

    fn parent_of(&self, (number, hash): (u64, B256)) -> Result<(u64, B256)> {
        let header = self.ancestors.header(&hash)?.ok_or_else(|| missing_header(&hash))?;
        Ok((number.saturating_sub(1), header.parent_hash))
    }
}
