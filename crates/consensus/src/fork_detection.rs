//! Fork detection data: twelve bytes about recent ancestors that miners put into the Bitcoin coinbase since RSKIP110, so that a
//! hidden branch shows in Bitcoin's blocks.
//!
//! Seven bytes, one for each window of 64 ancestors: the last byte of a Bitcoin hash; one byte: how many uncles the last 32
//! ancestors state; four bytes: the block's number. They need the last 449 ancestors, of which [`ForkDetection`] keeps the little
//! that counts, so that a block after the last one costs no look-up.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rhizome_chainspec::constants::FORK_DETECTION_BLOCKS;
use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::header::FORK_DETECTION_LENGTH;
use rhizome_primitives::{AncestorProvider, B256, BlockHeader, ProviderError, hex};

use crate::bitcoin::BtcHeader;
use crate::error::{ConsensusError, RuleError};

/// Ancestors that the data need.
const NEEDED: usize = FORK_DETECTION_BLOCKS as usize;
/// Ancestors that are kept: enough for the data of any uncle too, whose parent is up to seven blocks older.
const KEPT: usize = NEEDED + 63;
/// Windows with a byte each.
const WINDOWS: usize = 7;
/// Ancestors of a window.
const WINDOW: u64 = 64;
/// Ancestors whose uncles are counted.
const UNCLE_WINDOW: usize = 32;

/// What counts of an ancestor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AncestorFacts {
    /// Height.
    pub number: u64,
    /// Uncles that the header states.
    pub uncle_count: u32,
    /// Last byte, as displayed, of the hash of the header's Bitcoin header; `None` where that cannot be read.
    pub btc_hash_byte: Option<u8>,
}

impl AncestorFacts {
    /// The facts of a header.
    pub fn of(header: &BlockHeader) -> Self {
        // Displayed hashes are reversed, so the last byte is the first.
        let btc_hash_byte = BtcHeader::parse(&header.mining.btc_header).ok().map(|bitcoin| bitcoin.hash[0]);
        Self { number: header.number, uncle_count: header.uncle_count, btc_hash_byte }
    }
}

/// The data of the block behind these ancestors, the parent first (`ForkDetectionDataCalculator`); `Ok(None)` where there are too
/// few of them.
///
/// # Errors
/// The height of an ancestor that is needed and whose Bitcoin header cannot be read.
pub fn fork_detection_data(
    ancestors: impl ExactSizeIterator<Item = AncestorFacts> + Clone,
) -> Result<Option<[u8; FORK_DETECTION_LENGTH]>, u64> {
    if ancestors.len() < NEEDED {
        return Ok(None);
    }
    let Some(parent) = ancestors.clone().next() else {
        return Ok(None);
    };
    let mut data = [0; FORK_DETECTION_LENGTH];
    // The first window starts at the last multiple of 64 at or below the parent; the position is below 64.
    let first = (parent.number % WINDOW) as usize;
    for (byte, ancestor) in data[..WINDOWS].iter_mut().zip(ancestors.clone().skip(first).step_by(WINDOW as usize)) {
        *byte = ancestor.btc_hash_byte.ok_or(ancestor.number)?;
    }
    let uncles = ancestors.take(UNCLE_WINDOW).fold(0i32, |sum, ancestor| sum.wrapping_add(ancestor.uncle_count as i32));
    // Above 255 the count stays there; a sum that wrapped below zero keeps its low byte, as Java's cast does.
    data[WINDOWS] = uncles.min(255) as u8;
    data[WINDOWS + 1..].copy_from_slice(&(parent.number.wrapping_add(1) as u32).to_be_bytes());
    Ok(Some(data))
}

/// An ancestor that is remembered.
#[derive(Clone, Copy, Debug)]
struct Ancestor {
    hash: B256,
    parent: B256,
    facts: AncestorFacts,
}

impl Ancestor {
    fn of(hash: B256, header: &BlockHeader) -> Self {
        Self { hash, parent: header.parent_hash, facts: AncestorFacts::of(header) }
    }
}

/// Checks fork detection data against the ancestors, and remembers these from block to block.
#[derive(Debug, Default)]
pub struct ForkDetection {
    /// The last ancestors asked for, the newest first; each is the parent of the one before it.
    recent: Mutex<VecDeque<Ancestor>>,
}

impl ForkDetection {
    /// rskj's class of the rule.
    pub const RULE: &'static str = "ForkDetectionDataRule";

    /// Asks the rule about a header, which may be an uncle's.
    ///
    /// # Errors
    /// [`RuleError`] where the header breaks it or an ancestor cannot be read.
    pub fn check(
        &self,
        spec: &ChainSpec,
        header: &BlockHeader,
        ancestors: &dyn AncestorProvider,
    ) -> Result<(), RuleError> {
        // The hash for merged mining carries the data from 449 on, yet rskj compares them only above.
        if header.number <= FORK_DETECTION_BLOCKS || !spec.is_active(Rskip::R110, header.number) {
            return Ok(());
        }
        let expected = match self.data_behind(&header.parent_hash, ancestors)? {
            Ok(Some(data)) => data,
            Ok(None) => return Err(RuleError::broken(format_args!("{NEEDED} ancestors"), "fewer")),
            Err(height) => {
                return Err(RuleError::broken(
                    "ancestors with Bitcoin headers",
                    format_args!("none in block {height}"),
                ));
            }
        };
        match header.mining_fork_detection_data() {
            Ok(Some(data)) if data == expected => Ok(()),
            Ok(data) => Err(RuleError::broken(hex::encode(expected), data.map(hex::encode).unwrap_or_default())),
            Err(error) => Err(RuleError::broken(hex::encode(expected), error)),
        }
    }

    /// Asks the rule and names it in the error.
    ///
    /// # Errors
    /// [`ConsensusError`] where the header breaks the rule or an ancestor cannot be read.
    pub fn enforce(
        &self,
        spec: &ChainSpec,
        header: &BlockHeader,
        ancestors: &dyn AncestorProvider,
    ) -> Result<(), ConsensusError> {
        self.check(spec, header, ancestors).map_err(|error| ConsensusError::at(error, Self::RULE, header))
    }

    /// The data of a block with this parent, as [`fork_detection_data`] gives them.
    ///
    /// # Errors
    /// [`ProviderError`] where an ancestor cannot be read.
    pub fn data_behind(
        &self,
        parent: &B256,
        ancestors: &dyn AncestorProvider,
    ) -> Result<Result<Option<[u8; FORK_DETECTION_LENGTH]>, u64>, ProviderError> {
        // Whatever panicked while it held the lock left a chain of ancestors behind.
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let start = match position_with_enough(&recent, parent) {
            Some(start) => start,
            None => {
                read_ancestors(&mut recent, parent, ancestors)?;
                0
            }
        };
        Ok(fork_detection_data(recent.range(start..).take(NEEDED).map(|ancestor| ancestor.facts)))
    }
}

/// Where the ancestors that start with `parent` stand in `recent`, if there are enough of them.
fn position_with_enough(recent: &VecDeque<Ancestor>, parent: &B256) -> Option<usize> {
    let last_start = recent.len().checked_sub(NEEDED)?;
    recent.iter().take(last_start + 1).position(|ancestor| ancestor.hash == *parent)
}

/// Makes `recent` start with `parent`, and as long as it should be, with as few look-ups as that takes.
fn read_ancestors(
    recent: &mut VecDeque<Ancestor>,
    parent: &B256,
    ancestors: &dyn AncestorProvider,
) -> Result<(), ProviderError> {
    let mut fresh = Vec::new();
    let mut hash = *parent;
    let joint = loop {
        // A fork that is older than this is read anew.
        let known = recent.iter().take(KEPT - NEEDED).position(|ancestor| ancestor.hash == hash);
        if known.is_some() || fresh.len() == KEPT {
            break known;
        }
        let Some(header) = ancestors.header(&hash)? else { break None };
        fresh.push(Ancestor::of(hash, &header));
        if header.number == 0 {
            break None;
        }
        hash = header.parent_hash;
    };
    match joint {
        Some(joint) => drop(recent.drain(..joint)),
        None => recent.clear(),
    }
    fresh.into_iter().rev().for_each(|ancestor| recent.push_front(ancestor));
    recent.truncate(KEPT);
    while let Some(last) = recent.back()
        && recent.len() < KEPT
        && last.facts.number > 0
    {
        let hash = last.parent;
        let Some(header) = ancestors.header(&hash)? else { break };
        recent.push_back(Ancestor::of(hash, &header));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rhizome_primitives::{Block, Difficulty, HeaderFields, HeaderLayout, MiningFields};

    use super::*;

    #[derive(Default)]
    struct Headers {
        by_hash: HashMap<B256, Arc<BlockHeader>>,
        reads: AtomicUsize,
    }

    impl Headers {
        /// A block on `parent`; `salt` tells branches apart.
        fn add(&mut self, parent: Option<B256>, number: u64, salt: u8) -> B256 {
            let mut fields = HeaderFields::new(number, HeaderLayout::default());
            fields.parent_hash = parent.unwrap_or_default();
            fields.uncle_count = number as u32 % 3;
            fields.mining = MiningFields { btc_header: vec![salt ^ number as u8; 80].into(), ..Default::default() };
            let header = BlockHeader::new(fields);
            let hash = header.hash();
            self.by_hash.insert(hash, Arc::new(header));
            hash
        }

        /// What a walk without any memory gives.
        fn plain(&self, parent: &B256) -> Result<Option<[u8; 12]>, u64> {
            let mut facts = Vec::new();
            let mut hash = *parent;
            while let Some(header) = self.by_hash.get(&hash) {
                facts.push(AncestorFacts::of(header));
                hash = header.parent_hash;
            }
            fork_detection_data(facts.into_iter())
        }
    }

    impl AncestorProvider for Headers {
        fn header(&self, hash: &B256) -> Result<Option<Arc<BlockHeader>>, ProviderError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            Ok(self.by_hash.get(hash).cloned())
        }

        fn block(&self, _: &B256) -> Result<Option<Arc<Block>>, ProviderError> {
            Ok(None)
        }

        fn total_difficulty(&self, _: &B256) -> Result<Option<Difficulty>, ProviderError> {
            Ok(None)
        }
    }

    #[test]
    fn memory_and_walk_agree_on_every_branch() {
        let mut headers = Headers::default();
        let mut chain = vec![headers.add(None, 0, 0)];
        for number in 1..700 {
            let parent = chain.last().copied();
            chain.push(headers.add(parent, number, 0));
        }
        let mut branch = chain[..640].to_vec();
        for number in 640..660 {
            let parent = branch.last().copied();
            branch.push(headers.add(parent, number, 99));
        }
        let detection = ForkDetection::default();
        let ask = |hash: &B256| {
            let got = detection.data_behind(hash, &headers).unwrap();
            assert_eq!(got, headers.plain(hash));
            got.unwrap().is_some()
        };
        // Too few ancestors, then one after the other: a look-up each.
        assert!(!ask(&chain[447]));
        assert!(ask(&chain[449]));
        for hash in &chain[450..650] {
            let before = headers.reads.load(Ordering::Relaxed);
            ask(hash);
            assert_eq!(headers.reads.load(Ordering::Relaxed), before + 1);
        }
        // An uncle's parent costs nothing.
        let before = headers.reads.load(Ordering::Relaxed);
        ask(&chain[643]);
        assert_eq!(headers.reads.load(Ordering::Relaxed), before);
        // To a branch and back, near and far.
        ask(&branch[655]);
        ask(&chain[649]);
        ask(&chain[699]);
        ask(&chain[500]);
        ask(&branch[659]);
    }

    #[test]
    fn an_ancestor_without_bitcoin_header_is_named() {
        let facts = |number| AncestorFacts { number, uncle_count: 255, btc_hash_byte: (number != 384).then_some(1) };
        let ancestors: Vec<_> = (1..=449).rev().map(facts).collect();
        assert_eq!(fork_detection_data(ancestors.into_iter()), Err(384));
    }
}
