//! How states are kept and blocks are executed.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use rhizome_storage::{TrieEngine, VerifyPolicy};

/// Engines.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Engines")]
pub struct EngineArgs {
    /// Where trie nodes are kept: rocksdb, flatdb or memory
    ///
    /// A data directory keeps the engine it was made with; memory is for replays that keep nothing. Default: the directory's,
    /// else rocksdb. Environment: RHIZOME_TRIE_ENGINE.
    #[arg(long, value_name = "ENGINE")]
    pub trie_engine: Option<TrieEngine>,
    /// How the transactions of a block are executed
    ///
    /// Every choice gives the same bytes. Environment: RHIZOME_EXECUTOR.
    #[arg(long, value_name = "STRATEGY")]
    pub executor: Option<ExecutorKind>,
    /// When FlatDB recomputes the hash of a node that it reads
    ///
    /// Damage on disk is then noticed; what a read returns is right under every choice on a sound disk. Default: first.
    /// Environment: RHIZOME_FLATDB_VERIFY.
    #[arg(long, value_name = "WHEN")]
    pub flatdb_verify: Option<FlatDbVerify>,
    /// Old states.
    #[command(flatten)]
    pub gc: GcArgs,
}

/// How old states are given up.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Old states")]
pub struct GcArgs {
    /// Give up the states of old blocks, so that the directory stays small
    ///
    /// Nodes are kept in epochs, of which the oldest is dropped whole after what living states need of it was copied. Blocks
    /// and receipts stay. Default: off. Environment: RHIZOME_GC.
    #[arg(long, value_name = "SWITCH")]
    pub gc: Option<Switch>,
    /// How many epochs are kept, at least 3
    ///
    /// Default: 3. Environment: RHIZOME_GC_EPOCHS.
    #[arg(long = "gc.epochs", value_name = "N")]
    pub gc_epochs: Option<usize>,
    /// Bytes of nodes after which a new epoch is begun, as 500MB or 1GiB
    ///
    /// Default: 1GiB. Environment: RHIZOME_GC_EPOCH_SIZE.
    #[arg(long = "gc.epoch-size", value_name = "SIZE")]
    pub gc_epoch_size: Option<ByteSize>,
    /// How many blocks below the head keep their states, at least 7
    ///
    /// No reorganisation goes deeper, and older states cannot be asked for. Default: 10000. Environment: RHIZOME_GC_DEPTH.
    #[arg(long = "gc.depth", value_name = "BLOCKS", value_parser = gc_depth)]
    pub gc_depth: Option<u64>,
}

/// The least number of blocks that keep their states: as many as a branch may stay behind and still be named as uncles, so that
/// everyday branches connect.
const MIN_GC_DEPTH: u64 = rhizome_chainspec::constants::UNCLE_GENERATION_LIMIT;

/// Reads a depth.
///
/// # Errors
/// What is no number, and what is below the least depth, in words.
pub fn gc_depth(text: &str) -> Result<u64, String> {
    let depth: u64 = text.parse().map_err(|_| format!("expected a number of blocks, got {text:?}"))?;
    if depth < MIN_GC_DEPTH {
        return Err(format!(
            "expected at least {MIN_GC_DEPTH} blocks, got {depth}: branches go so deep every day, and one that needs a state \
             which was given up cannot be followed"
        ));
    }
    Ok(depth)
}

/// When FlatDB recomputes hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlatDbVerify {
    /// On every read.
    Always,
    /// On the first read of each node after opening.
    First,
    /// Only where the index does not tell two nodes apart. For disks that check their data themselves.
    Never,
}

impl FlatDbVerify {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::First => "first",
            Self::Never => "never",
        }
    }

    /// The engine's policy.
    pub const fn policy(self) -> VerifyPolicy {
        match self {
            Self::Always => VerifyPolicy::Always,
            Self::First => VerifyPolicy::First,
            Self::Never => VerifyPolicy::Never,
        }
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

impl Switch {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// A number of bytes, with a unit where it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no size; write a number with KB, MB, GB, KiB, MiB or GiB, as 500MB or 1GiB");
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = text[digits.len()..].trim();
        let (_, factor) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(wrong)?;
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        number.checked_mul(*factor).map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The largest unit that leaves a whole number, so that it reads back as it is.
        let whole = UNITS.iter().filter(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor));
        let (unit, factor) = whole.max_by_key(|(_, factor)| *factor).unwrap_or(&("B", 1));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

/// An execution strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExecutorKind {
    /// One transaction after another on one thread.
    #[default]
    Sequential,
}

impl ExecutorKind {
    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_below_everyday_branches_is_refused() {
        assert_eq!(gc_depth("7"), Ok(7));
        for wrong in ["0", "6", "-1", "", "seven"] {
            assert!(gc_depth(wrong).unwrap_err().starts_with("expected "), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_and_written() {
        let size = |text: &str| text.parse::<ByteSize>().map(|size| size.0);
        assert_eq!(size("1MB"), Ok(1_000_000));
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("12 kib"), Ok(12 << 10));
        assert_eq!(size("7B"), Ok(7));
        for wrong in ["", "7", "MB", "1.5GB", "-1MB", "1 XB", "99999999999TB", "1MB1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        for text in ["1GiB", "500MB", "3B", "0B"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
    }
}
