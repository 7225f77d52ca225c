//! Groups of options, one file each, shared by the commands that have them.

mod blocks;
mod chain;
mod completions;
mod config;
mod datadir;
mod db;
mod engine;
mod export;
mod segments;

pub use blocks::{BlockFileArgs, BlockRangeArgs};
pub use chain::ChainArgs;
pub use completions::CompletionsArgs;
pub use config::ConfigArgs;
pub use datadir::DatadirArgs;
pub use db::{CheckArgs, ConvertArgs, ExportStateArgs, GcCommandArgs, RewindArgs};
pub use engine::{ByteSize, EngineArgs, ExecutorKind, FlatDbVerify, GcArgs, Switch, gc_depth};
pub use export::ExportArgs;
pub use segments::{BuildSegmentsArgs, ReplayArgs, SegmentsArgs};
