//! Writing a header and its three hashes (`BlockHeader.getEncoded`, `getHash`, `getHashForMergedMining`).

use crate::header::{
    BlockHeader, FORK_DETECTION_LENGTH, HeaderExtension, HeaderFields, MERGED_MINING_PREFIX_LENGTH, RSK_TAG,
};
use crate::rlp::{self, ListPayload, Sink};
use crate::{B256, Bytes, keccak256};

/// Why a header has no hash for merged mining: rskj throws there, which makes the block invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergedMiningError {
    /// A UMM root of neither 0 nor 20 bytes.
    #[error("UMM root: expected 0 or {MERGED_MINING_PREFIX_LENGTH} bytes, got {0}")]
    UmmRoot(usize),
    /// The coinbase has no tag with this header's hash.
    #[error("fork detection data: expected in the coinbase behind a tag with this header's hash, got none")]
    NoForkDetectionData,
    /// The coinbase ends within the fork detection data.
    #[error("fork detection data: expected {FORK_DETECTION_LENGTH} bytes, got {0}")]
    ShortForkDetectionData(usize),
}

/// Which elements a header's encoding has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MiningPart {
    /// No mining field.
    None,
    /// The Bitcoin header only.
    BtcHeader,
    /// Bitcoin header, merkle proof and coinbase.
    All,
}

/// What stands for the bloom in the compressed form.
enum ExtensionData<'a> {
    AsReceived(&'a [u8]),
    /// `RLP[version, hash]`.
    Commitment([u8; 35]),
}

impl ExtensionData<'_> {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::AsReceived(bytes) => bytes,
            Self::Commitment(bytes) => bytes,
        }
    }
}

/// A header in one of its forms.
struct Form<'a> {
    fields: &'a HeaderFields,
    /// The element in the place of the bloom; `None` in the full form.
    compressed: Option<ExtensionData<'a>>,
    mining: MiningPart,
}

impl ListPayload for Form<'_> {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        let fields = self.fields;
        let unusual = fields.unusual.as_deref();
        let hash = |out: &mut S, hash: &B256, unusual: Option<&Bytes>| match unusual {
            None => rlp::put_bytes(out, hash.as_slice()),
            Some(bytes) => rlp::put_bytes(out, bytes),
        };
        hash(out, &fields.parent_hash, unusual.and_then(|unusual| unusual.parent_hash.as_ref()));
        hash(out, &fields.uncles_hash, unusual.and_then(|unusual| unusual.uncles_hash.as_ref()));
        rlp::put_address(out, fields.coinbase.as_ref());
        hash(out, &fields.state_root, unusual.and_then(|unusual| unusual.state_root.as_ref()));
        hash(out, &fields.transactions_root, unusual.and_then(|unusual| unusual.transactions_root.as_ref()));
        hash(out, &fields.receipts_root, unusual.and_then(|unusual| unusual.receipts_root.as_ref()));
        let bloom = fields.extension.bloom_bytes().map_or(&[][..], |bloom| bloom);
        rlp::put_bytes(out, self.compressed.as_ref().map_or(bloom, ExtensionData::as_slice));
        match unusual.and_then(|unusual| unusual.difficulty.as_ref()) {
            None => rlp::put_difficulty(out, fields.difficulty),
            Some(bytes) => rlp::put_bytes(out, bytes),
        }
        rlp::put_u64(out, fields.number);
        rlp::put_bytes(out, &fields.gas_limit);
        rlp::put_u64(out, fields.gas_used);
        rlp::put_u64(out, fields.timestamp);
        rlp::put_bytes(out, &fields.extra_data);
        match unusual.and_then(|unusual| unusual.paid_fees.as_ref()) {
            None => rlp::put_coin(out, fields.paid_fees),
            Some(bytes) => rlp::put_bytes(out, bytes),
        }
        match unusual.and_then(|unusual| unusual.minimum_gas_price.as_ref()) {
            None => rlp::put_signed_coin_non_null_zero(out, fields.minimum_gas_price),
            Some(bytes) => rlp::put_bytes(out, bytes),
        }
        rlp::put_u64(out, u64::from(fields.uncle_count));
        if let Some(root) = &fields.umm_root {
            rlp::put_bytes(out, root);
        }
        self.put_extension(out);
        if self.mining != MiningPart::None && !fields.mining.is_empty() {
            rlp::put_bytes(out, &fields.mining.btc_header);
            if self.mining == MiningPart::All {
                rlp::put_bytes(out, &fields.mining.merkle_proof);
                rlp::put_bytes(out, &fields.mining.coinbase);
            }
        }
    }
}

impl Form<'_> {
    /// Version, edges and base event. Version 0 writes them in every form, the others in the full one only.
    fn put_extension<S: Sink>(&self, out: &mut S) {
        let extension = &self.fields.extension;
        if extension.version() != 0 {
            if self.compressed.is_some() {
                return;
            }
            rlp::put_byte(out, extension.version());
        }
        if let Some(edges) = extension.edges() {
            rlp::put_shorts(out, edges);
        }
        if let Some(event) = extension.base_event() {
            rlp::put_bytes(out, event);
        }
    }
}

impl HeaderFields {
    fn form(&self, compressed: bool, mining: MiningPart) -> Form<'_> {
        Form { fields: self, compressed: compressed.then(|| self.compressed_element()), mining }
    }

    fn compressed_element(&self) -> ExtensionData<'_> {
        match &self.extension {
            HeaderExtension::V0 { bloom: data, .. } | HeaderExtension::Compressed { data, .. } => {
                ExtensionData::AsReceived(data)
            }
            extension @ (HeaderExtension::V1 { .. } | HeaderExtension::V2 { .. }) => {
                let hash = extension.hash().expect("versions 1 and 2 have an extension hash");
                let mut data = [0; 35];
                data[..3].copy_from_slice(&[0xe2, extension.version(), 0xa0]);
                data[3..].copy_from_slice(hash.as_slice());
                ExtensionData::Commitment(data)
            }
        }
    }

    /// The element in the place of the bloom in the compressed form: the bloom itself in version 0, else `RLP[version, hash]`
    /// (`getExtensionData`).
    pub fn extension_data(&self) -> Bytes {
        Bytes::copy_from_slice(self.compressed_element().as_slice())
    }

    /// The full encoding, as in blocks, stores and uncle lists (`getFullEncoded`).
    pub fn encode_full(&self) -> Vec<u8> {
        self.form(false, MiningPart::All).list_to_vec()
    }

    /// Writes the full encoding.
    pub fn put_full<S: Sink>(&self, out: &mut S) {
        self.form(false, MiningPart::All).put_as_list(out);
    }

    /// The encoding of header messages (`getEncodedCompressed`).
    pub fn encode_compressed(&self) -> Vec<u8> {
        self.form(true, MiningPart::All).list_to_vec()
    }

    /// The full form with the mining fields that the block hash covers (`getEncoded`).
    pub fn encode(&self) -> Vec<u8> {
        self.form(false, self.hashed_mining_part()).list_to_vec()
    }

    /// What the block hash is taken over (`getEncodedForHash`).
    pub fn encode_for_hash(&self) -> Vec<u8> {
        self.form(true, self.hashed_mining_part()).list_to_vec()
    }

    /// The encoding without mining fields, in the compressed or the full form.
    pub fn encode_without_mining(&self, compressed: bool) -> Vec<u8> {
        self.form(compressed, MiningPart::None).list_to_vec()
    }

    const fn hashed_mining_part(&self) -> MiningPart {
        if self.layout.rskip92 { MiningPart::BtcHeader } else { MiningPart::All }
    }

    /// The block hash, computed anew.
    pub(super) fn block_hash(&self) -> B256 {
        keccak256(self.form(true, self.hashed_mining_part()).list_to_vec())
    }

    /// The hash for merged mining before fork detection data: keccak of the compressed form without mining fields, joined with
    /// the UMM root where there is one (`getBaseHashForMergedMining`).
    ///
    /// # Errors
    /// For a UMM root of a wrong length.
    pub fn base_hash_for_merged_mining(&self) -> Result<B256, MergedMiningError> {
        let hash = keccak256(self.form(true, MiningPart::None).list_to_vec());
        match self.umm_root.as_ref().filter(|root| !root.is_empty()) {
            None => Ok(hash),
            Some(root) if root.len() == MERGED_MINING_PREFIX_LENGTH => {
                let mut both = [0; 2 * MERGED_MINING_PREFIX_LENGTH];
                both[..MERGED_MINING_PREFIX_LENGTH].copy_from_slice(&hash[..MERGED_MINING_PREFIX_LENGTH]);
                both[MERGED_MINING_PREFIX_LENGTH..].copy_from_slice(root);
                Ok(keccak256(both))
            }
            Some(root) => Err(MergedMiningError::UmmRoot(root.len())),
        }
    }

    /// The twelve bytes about recent blocks that the miner put into the coinbase, behind the last tag that is followed by this
    /// header's hash; `None` where the height has none (`getMiningForkDetectionData`).
    ///
    /// # Errors
    /// When the coinbase does not hold them, or the header has neither mining fields nor data of its own.
    pub fn mining_fork_detection_data(&self) -> Result<Option<[u8; FORK_DETECTION_LENGTH]>, MergedMiningError> {
        if !self.has_fork_detection_data() {
            return Ok(None);
        }
        match self.fork_detection_data {
            Some(data) => Ok(Some(data)),
            None => self.fork_detection_data_behind(&self.base_hash_for_merged_mining()?).map(Some),
        }
    }

    fn fork_detection_data_behind(&self, hash: &B256) -> Result<[u8; FORK_DETECTION_LENGTH], MergedMiningError> {
        let mut tag = [0; RSK_TAG.len() + MERGED_MINING_PREFIX_LENGTH];
        tag[..RSK_TAG.len()].copy_from_slice(RSK_TAG);
        tag[RSK_TAG.len()..].copy_from_slice(&hash[..MERGED_MINING_PREFIX_LENGTH]);
        let coinbase = &self.mining.coinbase;
        let position = coinbase
            .windows(tag.len())
            .rposition(|window| window == tag)
            .ok_or(MergedMiningError::NoForkDetectionData)?;
        let data = &coinbase[position + tag.len()..];
        data.first_chunk().copied().ok_or(MergedMiningError::ShortForkDetectionData(data.len()))
    }

    /// The hash that the Bitcoin coinbase commits to (`getHashForMergedMining`).
    ///
    /// # Errors
    /// For a UMM root of a wrong length, and where fork detection data is due but not found.
    pub fn hash_for_merged_mining(&self) -> Result<B256, MergedMiningError> {
        let mut hash = self.base_hash_for_merged_mining()?;
        if self.has_fork_detection_data() {
            let data = match self.fork_detection_data {
                Some(data) => data,
                None => self.fork_detection_data_behind(&hash)?,
            };
            hash[MERGED_MINING_PREFIX_LENGTH..].copy_from_slice(&data);
        }
        Ok(hash)
    }
}

/// The list of full uncle headers (`getUnclesEncoded`).
pub fn encode_uncles(uncles: &[BlockHeader]) -> Vec<u8> {
    let mut out = Vec::new();
    rlp::put_list(&mut out, |out| uncles.iter().for_each(|uncle| uncle.put_full(out)));
    out
}

/// Keccak-256 over the list of full uncle headers.
pub fn uncles_hash(uncles: &[BlockHeader]) -> B256 {
    if uncles.is_empty() { crate::EMPTY_LIST_HASH } else { keccak256(encode_uncles(uncles)) }
}
