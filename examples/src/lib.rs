//! What the examples share: reading chains, engines by name, measuring, tables and pictures.
//!
//! Examples are measurements that a person runs: their figures depend on the machine and are printed with what they depend on.
//! Every comparison takes both sides in one process, in turns, and compares results before times.

/// The program's allocator: measured is what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod blocks;
mod churn;
mod density;
mod engines;
mod measure;
mod svg;
mod table;

pub use blocks::{ChainSource, LoadedChain, import_blocks};
pub use churn::{Churn, Numbers};
pub use density::{Density, Layout};
pub use engines::{EngineKind, open_engine};
pub use measure::{
    Interval, bytes_below, bytes_read_from_disk, drop_from_cache, median, median_interval, process_cpu, thread_cpu,
};
pub use svg::density_picture;
pub use table::Table;
