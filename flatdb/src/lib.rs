//! A keyless, content-addressed store: every record is looked up by the hash of its bytes, and no key is kept on disk.
//!
//! For data that is written once and never changed, such as the nodes of an authenticated tree. A directory holds an
//! append-only heap of records with a double-buffered checkpoint, an open-addressed index of eight-byte slots and a lock;
//! `docs/formats/flatdb.md` has the bytes. There is no delete: whoever needs one drops a whole store.
//!
//! What holds:
//! - A read never returns bytes that are not the record of the key, see [`VerifyPolicy`] for when the hash is recomputed.
//! - Only a checkpoint makes a batch real. After a crash at any moment the store opens at the last whole checkpoint, by itself.
//! - Readers take no lock and execute no locked instruction, which would keep the cache misses of neighbouring reads apart;
//!   only noting that a record was hashed is one, once a record.
//! - Writers claim heap space by one compare-and-swap a batch and publish each slot by another.
//! - After a failed write or flush the handle is poisoned: it reads, and refuses every further write.
//!
//! Bird's eye view: [`FlatDb`] is assembled by `open`, which has recovery; `read` and `write` have its operations; `slots`, `claim`
//! and `gate` the three protocols between threads, which loom checks; `mmap` all unsafe code.
//!
//! Assumed of the disk: what was synced is read back as written, damage is possible anywhere and is to be found, a write may
//! be torn at any byte. Assumed of the workload: records of some tens of bytes, keys that are uniformly distributed, many
//! more reads than writes, recent records read most.
//!
//! Deliberately not here: any knowledge of trees, caching of records (the page cache does that), compression.

mod checkpoint;
mod claim;
mod db;
mod digest;
mod dirty;
mod error;
mod fetch;
mod gate;
mod heap;
mod index;
mod io;
mod iter;
mod mmap;
mod open;
mod options;
mod read;
mod record_set;
mod resize;
mod slots;
mod stats;
mod sync;
mod tables;
mod verify;
mod write;

pub use db::FlatDb;
pub use digest::{Digest, Key};
pub use error::{Error, Result};
pub use fetch::ColdReads;
pub use io::{Disk, DiskFile, OsDisk};
pub use iter::Records;
pub use mmap::FileMap;
pub use options::{Options, VerifyPolicy};
pub use read::Located;
pub use stats::{Recovery, Stats};
pub use verify::Verification;
