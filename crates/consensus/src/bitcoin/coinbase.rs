//! The compressed coinbase transaction: a SHA-256 state with the number of bytes it has taken, and the transaction's tail.
//!
//! Layout: 8 bytes count and 32 bytes state, both big-endian, then the tail with the merged-mining tag.

use rhizome_primitives::B256;
use rhizome_primitives::header::RSK_TAG;

use crate::bitcoin::hash::{BtcHash, resume256};

/// Length of the count and the state.
const MIDSTATE_LENGTH: usize = 40;
/// The tag starts within this many bytes of the tail, so that no earlier block of 64 bytes can hold another tag.
const TAG_LIMIT: usize = 64;
/// Most bytes behind the hash that the tag announces.
const MAX_BYTES_AFTER_HASH: usize = 128;

/// A coinbase that does not commit to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoinbaseError {
    /// Shorter than a midstate.
    #[error("the compressed coinbase has {0} bytes, fewer than {MIDSTATE_LENGTH}")]
    TooShort(usize),
    /// No tag with the block's hash.
    #[error("the coinbase does not commit to the block")]
    NoTag,
    /// The tag is too far behind.
    #[error("the merged-mining tag is at byte {0} of the coinbase's tail, not below {TAG_LIMIT}")]
    TagTooLate(usize),
    /// A tag follows.
    #[error("the merged-mining tag of the block is not the last one")]
    NotLastTag,
    /// Too much follows.
    #[error("{0} bytes follow the merged-mining hash, more than {MAX_BYTES_AFTER_HASH}")]
    LongTail(usize),
    /// A transaction of 64 bytes or less could be a pair of merkle nodes.
    #[error("the coinbase has {0} bytes, not more than 64")]
    Small(i64),
}

/// Checks that a compressed coinbase commits to a block, and gives the transaction's hash.
///
/// # Errors
/// [`CoinbaseError`].
pub fn coinbase_hash(compressed: &[u8], merged_mining_hash: &B256) -> Result<BtcHash, CoinbaseError> {
    let too_short = CoinbaseError::TooShort(compressed.len());
    let (count, rest) = compressed.split_first_chunk::<8>().ok_or(too_short)?;
    let (state, tail) = rest.split_first_chunk::<32>().ok_or(too_short)?;

    let mut commitment = [0; RSK_TAG.len() + 32];
    commitment[..RSK_TAG.len()].copy_from_slice(RSK_TAG);
    commitment[RSK_TAG.len()..].copy_from_slice(merged_mining_hash.as_slice());
    let tag = last_index_of(tail, &commitment).ok_or(CoinbaseError::NoTag)?;
    if tag >= TAG_LIMIT {
        return Err(CoinbaseError::TagTooLate(tag));
    }
    if last_index_of(tail, RSK_TAG) != Some(tag) {
        return Err(CoinbaseError::NotLastTag);
    }
    let after = tail.len() - tag - commitment.len();
    if after > MAX_BYTES_AFTER_HASH {
        return Err(CoinbaseError::LongTail(after));
    }

    let count = u64::from_be_bytes(*count);
    // A sum of signed numbers in rskj, which may wrap.
    let length = count.wrapping_add(tail.len() as u64) as i64;
    if length <= 64 {
        return Err(CoinbaseError::Small(length));
    }
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(state.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    Ok(resume256(words, count, tail))
}

/// The last place where `target` stands in `source` (`ListArrayUtil.lastIndexOfSubList`).
pub fn last_index_of(source: &[u8], target: &[u8]) -> Option<usize> {
    if target.is_empty() {
        return Some(source.len());
    }
    source.windows(target.len()).rposition(|window| window == target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coinbase(count: u64, before: usize, after: usize) -> Vec<u8> {
        let mut bytes = count.to_be_bytes().to_vec();
        bytes.extend([5; 32]);
        bytes.extend(vec![1; before]);
        bytes.extend(RSK_TAG);
        bytes.extend([9; 32]);
        bytes.extend(vec![2; after]);
        bytes
    }

    #[test]
    fn the_tag_has_its_place() {
        let hash = B256::repeat_byte(9);
        assert!(coinbase_hash(&coinbase(64, 0, 0), &hash).is_ok());
        assert!(coinbase_hash(&coinbase(64, 63, 128), &hash).is_ok());
        assert_eq!(coinbase_hash(&coinbase(64, 64, 0), &hash), Err(CoinbaseError::TagTooLate(64)));
        assert_eq!(coinbase_hash(&coinbase(64, 0, 129), &hash), Err(CoinbaseError::LongTail(129)));
        assert_eq!(coinbase_hash(&coinbase(64, 0, 0), &B256::ZERO), Err(CoinbaseError::NoTag));
        assert_eq!(coinbase_hash(&coinbase(0, 10, 10), &hash), Err(CoinbaseError::Small(61)));
        assert!(coinbase_hash(&coinbase(u64::MAX - 10, 40, 100), &hash).is_ok());
        let mut two = coinbase(64, 0, 0);
        two.extend(RSK_TAG);
        assert_eq!(coinbase_hash(&two, &hash), Err(CoinbaseError::NotLastTag));
        for end in 0..40 {
            assert_eq!(coinbase_hash(&two[..end], &hash), Err(CoinbaseError::TooShort(end)));
        }
        assert_eq!(coinbase_hash(&two[..40], &hash), Err(CoinbaseError::NoTag));
    }
}
