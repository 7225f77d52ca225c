//! Segments: immutable files, each with exactly the trie nodes that the blocks of a range read.
//!
//! A store that holds every state has the few hundred nodes of one old block spread over all of its files. A segment puts the
//! nodes of a range side by side, in the order in which the blocks asked for them, so that executing the range again reads one
//! small file from front to back. `docs/formats/segments.md` has the bytes.
//!
//! What holds:
//! - A segment is complete or it is not there: it is written under another name, synced, and renamed.
//! - A read never returns other bytes than the node's: every answer is hashed. Damage is an error that names the place.
//! - A node that is not in the file is a miss: counted and named, never guessed.
//!
//! Building means executing the range again with a [`RecordingStore`] under the trie; that is the chain's work, not this crate's.

mod format;
mod recorder;
mod segment;
mod set;
mod store;
mod writer;

pub use format::{SegmentHeader, SegmentRange};
pub use recorder::{Footprint, RecordingStore};
pub use segment::{Segment, SegmentSummary};
pub use set::{SegmentInfo, SegmentSet};
pub use store::{SegmentMisses, SegmentStore};
pub use writer::write_segment;
