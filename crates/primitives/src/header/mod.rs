//! Block headers of all versions (`BlockHeader`, `BlockHeaderV0` … `BlockHeaderV2`, `GenesisHeader`).
//!
//! - Which elements a header list has follows from its block *number* through a [`HeaderLayout`], never from the bytes.
//! - rskj hashes a re-encoding: gas limit, extra data, UMM root, base event, mining fields and the five hashes are kept as
//!   received, everything else is normalised.
//! - From RSKIP351 the bloom, the sublist edges and the base event leave the hashed form; it carries the hash of an *extension*
//!   instead. A header that arrived compressed knows that hash only.
//! - A [`BlockHeader`] never changes; [`HeaderFields`] is its plain data, and building one from the other is cheap.
//!
//! `decode` reads, `encode` writes and hashes, [`extension`] is the part that travels apart.

mod decode;
mod encode;
pub mod extension;

use std::ops::Deref;
use std::sync::OnceLock;

use crate::coin::{self, Coin, Difficulty, SignedCoin};
use crate::gas::{self, InvalidGas};
use crate::{Address, B256, Bloom, Bytes, EMPTY_LIST_HASH, EMPTY_TRIE_HASH, U256};

pub(crate) use decode::address;
pub use encode::{MergedMiningError, encode_uncles, uncles_hash};
pub use extension::HeaderExtension;

/// From this height on a header carries fork detection data (`REQUIRED_NUMBER_OF_BLOCKS_FOR_FORK_DETECTION_CALCULATION`).
pub const FORK_DETECTION_START: u64 = 449;

/// What stands before the hash for merged mining in the Bitcoin coinbase transaction (`RskMiningConstants.RSK_TAG`).
pub const RSK_TAG: &[u8; 9] = b"RSKBLOCK:";

/// Length of the fork detection data.
pub const FORK_DETECTION_LENGTH: usize = 12;

/// Length of the hash for merged mining without its fork detection data, and of a UMM root.
pub const MERGED_MINING_PREFIX_LENGTH: usize = 20;

/// Length of a Bitcoin block header.
pub const BTC_HEADER_LENGTH: usize = 80;

/// The rules that shape the headers of one height.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct HeaderLayout {
    /// The header has a UMM root (RSKIPUMM).
    pub umm: bool,
    /// The block hash leaves out merkle proof and coinbase (RSKIP92).
    pub rskip92: bool,
    /// A Bitcoin header, where there is one, has 80 bytes (RSKIP98).
    pub rskip98: bool,
    /// The hash for merged mining ends in fork detection data, from [`FORK_DETECTION_START`] on (RSKIP110).
    pub rskip110: bool,
    /// Transactions run in sublists whose edges the header gives; counts only together with `rskip351` (RSKIP144).
    pub rskip144: bool,
    /// The header has a version and an extension (RSKIP351).
    pub rskip351: bool,
    /// The header has a base event; counts only together with `rskip351` (RSKIP535).
    pub rskip535: bool,
    /// A full header may lack its base event, which is then empty: the recovery window of testnet, chain id 31, below block
    /// 7,800,000 (`BlockFactory.isInBaseEventRecoveryWindow`).
    pub short_event_window: bool,
}

impl HeaderLayout {
    /// The header has sublist edges.
    pub const fn has_edges(self) -> bool {
        self.rskip351 && self.rskip144
    }

    /// The header has a base event.
    pub const fn has_base_event(self) -> bool {
        self.rskip351 && self.rskip535
    }

    /// The version that a header built under these rules gets (`ActivationConfig.getHeaderVersion`).
    pub const fn version(self) -> u8 {
        match (self.rskip351, self.rskip535) {
            (true, true) => 2,
            (true, false) => 1,
            (false, _) => 0,
        }
    }
}

/// Gives the header layout of each height of a network.
pub trait HeaderRules {
    /// The rules of the headers at height `number`.
    fn header_layout(&self, number: u64) -> HeaderLayout;
}

/// One layout for all heights.
impl HeaderRules for HeaderLayout {
    fn header_layout(&self, _number: u64) -> HeaderLayout {
        *self
    }
}

/// The proof of work against Bitcoin; all empty in a header that is not yet mined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MiningFields {
    /// Bitcoin block header, 80 bytes; a signature in the first blocks of a network (before RSKIP98).
    pub btc_header: Bytes,
    /// Merkle proof of the coinbase transaction.
    pub merkle_proof: Bytes,
    /// Bitcoin coinbase transaction with its front replaced by a hash state.
    pub coinbase: Bytes,
}

impl MiningFields {
    /// True when the header is encoded without mining fields (`!hasMiningFields`).
    pub fn is_empty(&self) -> bool {
        self.btc_header.is_empty() && self.merkle_proof.is_empty() && self.coinbase.is_empty()
    }
}

/// The bytes of fields whose value does not have the usual form. Only hostile headers have any; they are kept so that
/// re-encoding and hash are those of rskj.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnusualFields {
    pub(crate) parent_hash: Option<Bytes>,
    pub(crate) uncles_hash: Option<Bytes>,
    pub(crate) state_root: Option<Bytes>,
    pub(crate) transactions_root: Option<Bytes>,
    pub(crate) receipts_root: Option<Bytes>,
    pub(crate) difficulty: Option<Bytes>,
    pub(crate) paid_fees: Option<Bytes>,
    pub(crate) minimum_gas_price: Option<Bytes>,
}

/// The plain fields of a header.
///
/// A hash that came with a length other than 32 bytes reads as zero and is written as received; a number of more than 256 bits
/// reads as the nearest one that fits and is written as received. No valid block has either, but an uncle may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderFields {
    /// Hash of the parent.
    pub parent_hash: B256,
    /// Hash over the list of uncle headers.
    pub uncles_hash: B256,
    /// Who receives the fees; `None` for the empty string.
    pub coinbase: Option<Address>,
    /// Root of the state after the block.
    pub state_root: B256,
    /// Root over the transactions.
    pub transactions_root: B256,
    /// Root over the receipts.
    pub receipts_root: B256,
    /// Bloom, edges and base event, or the hash that stands for them.
    pub extension: HeaderExtension,
    /// Difficulty; `None` for the empty string, which counts as zero.
    pub difficulty: Option<Difficulty>,
    /// Height.
    pub number: u64,
    /// Gas limit as received, leading zeros included.
    pub gas_limit: Bytes,
    /// Gas used by all transactions.
    pub gas_used: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// Free bytes of the miner.
    pub extra_data: Bytes,
    /// Fees paid by all transactions, in wei.
    pub paid_fees: Coin,
    /// The least gas price of a transaction in this block, in wei; `None` for the empty string, on which rskj's rules fail.
    pub minimum_gas_price: Option<SignedCoin>,
    /// How many uncles the block has.
    pub uncle_count: u32,
    /// UMM root, empty or 20 bytes in a sound header; `None` where the layout has none.
    pub umm_root: Option<Bytes>,
    /// Proof of work.
    pub mining: MiningFields,
    /// Fork detection data of a header under construction; never read from an encoding, where it stands in the coinbase.
    pub fork_detection_data: Option<[u8; FORK_DETECTION_LENGTH]>,
    /// The rules of this height.
    pub layout: HeaderLayout,
    pub(crate) unusual: Option<Box<UnusualFields>>,
}

impl HeaderFields {
    /// An empty header of this height: no bloom bits, no uncles, no transactions, zero numbers.
    pub fn new(number: u64, layout: HeaderLayout) -> Self {
        Self {
            parent_hash: B256::ZERO,
            uncles_hash: EMPTY_LIST_HASH,
            coinbase: Some(Address::ZERO),
            state_root: EMPTY_TRIE_HASH,
            transactions_root: EMPTY_TRIE_HASH,
            receipts_root: EMPTY_TRIE_HASH,
            extension: HeaderExtension::for_layout(layout),
            difficulty: Some(Difficulty::ZERO),
            number,
            gas_limit: Bytes::new(),
            gas_used: 0,
            timestamp: 0,
            extra_data: Bytes::new(),
            paid_fees: Coin::ZERO,
            minimum_gas_price: Some(SignedCoin::ZERO),
            uncle_count: 0,
            umm_root: layout.umm.then(Bytes::new),
            mining: MiningFields::default(),
            fork_detection_data: None,
            layout,
            unusual: None,
        }
    }

    /// The difficulty, zero where the field is empty.
    pub fn difficulty(&self) -> Difficulty {
        self.difficulty.unwrap_or(Difficulty::ZERO)
    }

    /// Keeps other bytes for the encoding of the difficulty than its minimal form: mainnet's genesis block has a leading zero.
    pub fn set_difficulty_bytes(&mut self, bytes: Bytes) {
        let minimal = self.difficulty.is_some_and(|difficulty| *difficulty.to_signed_bytes() == *bytes);
        if !minimal {
            self.unusual.get_or_insert_default().difficulty = Some(bytes);
        }
    }

    /// Gas limit by rskj's law for gas amounts, as the block executor reads it.
    ///
    /// # Errors
    /// When its eight bytes make a negative number.
    pub fn gas_limit_value(&self) -> Result<u64, InvalidGas> {
        gas::to_gas(&self.gas_limit)
    }

    /// Gas limit as an unsigned number, as the header rules read it; the greatest one above 256 bits.
    pub fn gas_limit_number(&self) -> U256 {
        coin::unsigned(&self.gas_limit).unwrap_or(U256::MAX)
    }

    /// The bloom, or `None` in a compressed header and where its length is wrong.
    pub fn logs_bloom(&self) -> Option<&Bloom> {
        <&[u8; 256]>::try_from(&self.extension.bloom_bytes()?[..]).ok().map(Into::into)
    }

    /// Where the sublists of transactions end, for a header that has edges.
    pub fn edges(&self) -> Option<&[i16]> {
        self.extension.edges()
    }

    /// The base event, for a header that has one.
    pub fn base_event(&self) -> Option<&Bytes> {
        self.extension.base_event()
    }

    /// The version class of the header: 0, 1 or 2.
    pub const fn version(&self) -> u8 {
        self.extension.version()
    }

    /// True for a block that is merge-mined together with other data (`isUMMBlock`).
    pub fn is_umm(&self) -> bool {
        self.umm_root.as_ref().is_some_and(|root| !root.is_empty())
    }

    /// True when the hash for merged mining ends in fork detection data. A header under construction that was given some has
    /// it at any height.
    pub const fn has_fork_detection_data(&self) -> bool {
        self.layout.rskip110 && (self.fork_detection_data.is_some() || self.number >= FORK_DETECTION_START)
    }

    /// True when the five hashes and all numbers have a form that a valid block can have.
    pub const fn is_usual(&self) -> bool {
        self.unusual.is_none()
    }
}

/// A header that no longer changes, with its hash computed at most once.
#[derive(Debug, Clone)]
pub struct BlockHeader {
    fields: HeaderFields,
    hash: OnceLock<B256>,
}

impl BlockHeader {
    /// Seals the fields.
    pub const fn new(fields: HeaderFields) -> Self {
        Self { fields, hash: OnceLock::new() }
    }

    /// The fields, to make another header from.
    pub fn into_fields(self) -> HeaderFields {
        self.fields
    }

    /// The plain fields.
    pub const fn fields(&self) -> &HeaderFields {
        &self.fields
    }

    /// The block hash.
    pub fn hash(&self) -> B256 {
        *self.hash.get_or_init(|| self.fields.block_hash())
    }

    /// This compressed header together with the extension that came in the body (`BlockHeader.setExtension`).
    ///
    /// The hash stays: it is for the caller to compare [`HeaderExtension::hash`] of both.
    #[must_use]
    pub fn with_extension(mut self, extension: HeaderExtension) -> Self {
        self.fields.extension = extension;
        self.hash = OnceLock::new();
        self
    }
}

impl Deref for BlockHeader {
    type Target = HeaderFields;

    fn deref(&self) -> &HeaderFields {
        &self.fields
    }
}

impl From<HeaderFields> for BlockHeader {
    fn from(fields: HeaderFields) -> Self {
        Self::new(fields)
    }
}

/// Headers are equal when all their fields are.
impl PartialEq for BlockHeader {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}

impl Eq for BlockHeader {}
