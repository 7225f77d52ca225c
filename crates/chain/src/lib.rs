//! The canonical chain: import, fork choice, durable order, events.
//!
//! Bird's eye view. [`Chain`] is the one door for blocks, whether from a file, a peer or a miner: it decodes, recovers senders,
//! asks the rules (`consensus`), executes (`executor`), commits to the trie, compares what came out with the header, stores,
//! and chooses the head. [`Chain::import`] takes one block, [`Chain::import_stream`] many with the parts that need no state
//! running ahead. What an offered block gets is an [`ImportOutcome`]; a [`ChainError`] is trouble of this node and never a
//! verdict. Subscribers hear of changes as [`ChainEvent`]s.
//!
//! Each block is executed once, on the state of its own parent, and its state is kept; a reorganisation only moves the head.

mod ancestors;
mod chain;
mod check;
mod error;
mod events;
mod genesis;
mod import;
mod phases;
mod pipeline;
mod recover;
mod reexecute;
mod segments;
mod tries;

pub use ancestors::Ancestors;
pub use chain::{Chain, ChainOptions, FlushPolicy, Head, ImportOutcome};
pub use check::CheckSummary;
pub use error::{ChainError, InvalidBlock, NotABlock, Result};
pub use events::{ChainEvent, HeadChange};
pub use genesis::GenesisBlock;
pub use phases::{Phase, PhaseTimers};
pub use pipeline::{BlockSummary, Imported, Incoming, StreamError};
pub use recover::PreparedBlock;
pub use reexecute::{Reexecuted, Reexecution, StoredBlock};
pub use segments::SegmentReplay;
