//! Bitcoin block headers and their stored form (bitcoinj's `BtcBlock`, `StoredBlock`).

use std::fmt;

use rhizome_primitives::U256;

use super::encode::{DecodeError, Reader};
use super::hash::BtcHash;
use super::params::BtcNetwork;

/// Bytes of a header.
pub const HEADER_SIZE: usize = 80;
/// Bytes of a stored block with the chain work in 12 bytes.
pub const STORED_SIZE_LEGACY: usize = 12 + 4 + HEADER_SIZE;
/// Bytes of a stored block with the chain work in 32 bytes (RSKIP-454).
pub const STORED_SIZE_V2: usize = 32 + 4 + HEADER_SIZE;

/// A header of 80 bytes with its hash.
#[derive(Clone, PartialEq, Eq)]
pub struct BtcHeader {
    raw: [u8; HEADER_SIZE],
    hash: BtcHash,
}

impl fmt::Debug for BtcHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BtcHeader").field("hash", &self.hash).field("prev", &self.prev_hash()).finish_non_exhaustive()
    }
}

impl BtcHeader {
    /// From exactly the 80 bytes.
    pub fn from_bytes(raw: [u8; HEADER_SIZE]) -> Self {
        let hash = BtcHash::of_wire_data(&raw);
        BtcHeader { raw, hash }
    }

    /// Whether the Bridge passes a header of this length on to [`BtcHeader::decode`]: exactly 80 bytes with RSKIP-124,
    /// 80 to 85 before (`BtcTransactionFormatUtils.isBlockHeaderSize`).
    pub fn is_accepted_size(len: usize, rskip124: bool) -> bool {
        if rskip124 { len == HEADER_SIZE } else { (HEADER_SIZE..=HEADER_SIZE + 5).contains(&len) }
    }

    /// Reads a block message that holds no transaction: 80 bytes, then nothing or a count of zero in any form, then
    /// anything. A count above zero needs transactions, which five bytes cannot hold.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut raw = [0; HEADER_SIZE];
        raw.copy_from_slice(reader.bytes(HEADER_SIZE)?);
        if !reader.is_empty() {
            match reader.var_int()? as i32 {
                0 => {}
                ..0 => return Err(DecodeError::NEGATIVE_CAPACITY),
                _ => return Err(DecodeError("expected a header without transactions, got a count above zero")),
            }
        }
        Ok(Self::from_bytes(raw))
    }

    /// The 80 bytes.
    pub fn bytes(&self) -> &[u8; HEADER_SIZE] {
        &self.raw
    }

    /// Hash of the block.
    pub fn hash(&self) -> BtcHash {
        self.hash
    }

    fn hash_at(&self, at: usize) -> BtcHash {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(&self.raw[at..at + 32]);
        BtcHash::from_wire(bytes)
    }

    fn u32_at(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.raw[at..at + 4]);
        u32::from_le_bytes(bytes)
    }

    /// Hash of the block before.
    pub fn prev_hash(&self) -> BtcHash {
        self.hash_at(4)
    }

    /// Root of the tree of transactions.
    pub fn merkle_root(&self) -> BtcHash {
        self.hash_at(36)
    }

    /// Seconds since 1970.
    pub fn time(&self) -> u32 {
        self.u32_at(68)
    }

    /// Target in compact form.
    pub fn bits(&self) -> u32 {
        self.u32_at(72)
    }

    /// The target that the header claims; `None` if it is not positive or easier than the network allows.
    pub fn target(&self, network: BtcNetwork) -> Option<U256> {
        decode_compact(self.bits()).filter(|target| !target.is_zero() && *target <= network.max_target())
    }

    /// Expected hashes for this block: 2^256 / (target + 1).
    pub fn work(&self, network: BtcNetwork) -> Option<U256> {
        self.target(network).map(|target| {
            // 2^256 does not fit; 2^256 / (t + 1) = (2^256 - 1 - t) / (t + 1) + 1.
            (U256::MAX - target) / (target + U256::from(1)) + U256::from(1)
        })
    }

    /// Whether the hash is not above the claimed target, and that is in range.
    pub fn has_valid_work(&self, network: BtcNetwork) -> bool {
        self.target(network).is_some_and(|target| self.hash.to_number() <= target)
    }
}

/// The number of a compact form (`Utils.decodeCompactBits`); `None` for negative ones and those of more than 256 bits.
pub fn decode_compact(bits: u32) -> Option<U256> {
    let size = bits >> 24;
    let mantissa = bits & 0x00ff_ffff;
    if size >= 1 && mantissa & 0x0080_0000 != 0 {
        // Minus zero is zero.
        return (decode_compact(bits & !0x0080_0000)?.is_zero()).then_some(U256::ZERO);
    }
    if size <= 3 {
        return Some(U256::from(mantissa >> (8 * (3 - size))));
    }
    let shift = 8 * (size as usize - 3);
    let mantissa = U256::from(mantissa);
    if mantissa.is_zero() {
        return Some(mantissa);
    }
    (mantissa.bit_len() + shift <= 256).then(|| mantissa << shift)
}

/// The compact form of a number (`Utils.encodeCompactBits`).
pub fn encode_compact(value: U256) -> u32 {
    // Java counts the bytes of the two's complement, zero has one.
    let mut size = value.bit_len() / 8 + 1;
    let mut mantissa: u64 =
        if size <= 3 { value.to::<u64>() << (8 * (3 - size)) } else { (value >> (8 * (size - 3))).to::<u64>() };
    if mantissa & 0x0080_0000 != 0 {
        mantissa >>= 8;
        size += 1;
    }
    (mantissa as u32) | ((size as u32) << 24)
}

/// A header in the chain, with the work of the chain up to and including it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlock {
    /// The header.
    pub header: BtcHeader,
    /// Sum of the work up to this block.
    pub chain_work: U256,
    /// Height, 0 for the first block. A signed number in the stored form.
    pub height: i32,
}

impl StoredBlock {
    /// Block 0 of a network.
    pub fn genesis(network: BtcNetwork) -> Self {
        let header = network.genesis().clone();
        let chain_work = header.work(network).expect("the first block's target is in range");
        StoredBlock { header, chain_work, height: 0 }
    }

    /// 12 bytes of work, height big endian, header. `None` if the work does not fit, where bitcoinj throws.
    pub fn encode_legacy(&self) -> Option<Vec<u8>> {
        if self.chain_work.bit_len() > 96 {
            return None;
        }
        Some(self.encode_with(&self.chain_work.to_be_bytes::<32>()[20..]))
    }

    /// 32 bytes of work, height big endian, header.
    pub fn encode_v2(&self) -> Vec<u8> {
        self.encode_with(&self.chain_work.to_be_bytes::<32>())
    }

    fn encode_with(&self, work: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(STORED_SIZE_V2);
        out.extend_from_slice(work);
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(self.header.bytes());
        out
    }

    /// Reads either form, told apart by length: 96 bytes is the old one, everything else is taken for the new one, where
    /// bytes after the 116th are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let work_len = if bytes.len() == STORED_SIZE_LEGACY { 12 } else { 32 };
        let mut reader = Reader::new(bytes);
        let chain_work = U256::from_be_slice(reader.bytes(work_len)?);
        let mut height = [0; 4];
        height.copy_from_slice(reader.bytes(4)?);
        let mut raw = [0; HEADER_SIZE];
        raw.copy_from_slice(reader.bytes(HEADER_SIZE)?);
        Ok(StoredBlock { header: BtcHeader::from_bytes(raw), chain_work, height: i32::from_be_bytes(height) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn compact_forms() {
        assert_eq!(decode_compact(0x1d00_ffff), Some(BtcNetwork::Mainnet.max_target()));
        assert_eq!(decode_compact(0x0080_ffff), Some(U256::ZERO));
        assert_eq!(decode_compact(0x0180_ffff), Some(U256::ZERO));
        assert_eq!(decode_compact(0x01ff_ffff), None);
        assert_eq!(decode_compact(0x0112_3456), Some(U256::from(0x12)));
        assert_eq!(decode_compact(0xff00_0001), None);
        assert_eq!(decode_compact(0xff00_0000), Some(U256::ZERO));
        assert_eq!(encode_compact(U256::ZERO), 0x0100_0000);
        assert_eq!(encode_compact(BtcNetwork::Mainnet.max_target()), 0x1d00_ffff);
        assert_eq!(encode_compact(U256::from(0x80)), 0x0200_8000);
        assert_eq!(encode_compact(U256::from(0x1234_5678)), 0x0412_3456);
    }

    #[test]
    fn header_tails() {
        let mut bytes = BtcNetwork::Mainnet.genesis().bytes().to_vec();
        for (tail, ok) in [
            (vec![], true),
            (vec![0], true),
            (vec![0, 9, 9], true),
            (vec![0xfd, 0, 0], true),
            (vec![0xfe, 0, 0, 0, 0], true),
            (vec![1], false),
            (vec![0xfd, 0], false),
        ] {
            bytes.truncate(HEADER_SIZE);
            bytes.extend(tail);
            assert_eq!(BtcHeader::decode(&bytes).is_ok(), ok);
        }
        assert!(BtcHeader::decode(&bytes[..79]).is_err());
        bytes.truncate(HEADER_SIZE);
        bytes.extend([0xfe, 0, 0, 0, 0x80]);
        assert_eq!(BtcHeader::decode(&bytes), Err(DecodeError::NEGATIVE_CAPACITY));
    }

    #[test]
    fn stored_forms_round_trip() {
        let mut block = StoredBlock::genesis(BtcNetwork::Testnet);
        assert_eq!(block.chain_work, U256::from(0x1_0001_0001u64));
        assert_eq!(StoredBlock::decode(&block.encode_legacy().unwrap()).unwrap(), block);
        block.chain_work = U256::MAX;
        assert!(block.encode_legacy().is_none());
        assert_eq!(StoredBlock::decode(&block.encode_v2()).unwrap(), block);
    }
}
