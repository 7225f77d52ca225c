//! The byte forms of keys and values of block data (`docs/formats/chain-store.md`).

use rhizome_primitives::rlp;
use rhizome_primitives::{B256, U256};

use crate::error::{Result, StorageError};

/// What is known of an executed block without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// The block's number.
    pub number: u64,
    /// The block's hash.
    pub hash: B256,
    /// The unitrie root after the block. Before RSKIP126 it is not the root in the header (`StateRootHandler`).
    pub state_root: B256,
    /// Difficulties of the block, its uncles, and all their ancestors on this branch.
    pub total_difficulty: U256,
}

impl BlockRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(72);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(self.state_root.as_slice());
        out.extend_from_slice(&self.total_difficulty.to_be_bytes::<32>());
        out
    }

    pub(crate) fn decode(hash: B256, bytes: &[u8]) -> Result<Self> {
        let bytes: &[u8; 72] = bytes
            .try_into()
            .map_err(|_| StorageError::corrupt(format!("record of block {hash} has {} bytes", bytes.len())))?;
        let (number, rest) = bytes.split_at(8);
        let (root, difficulty) = rest.split_at(32);
        Ok(Self {
            number: u64_of(number),
            hash,
            state_root: B256::from_slice(root),
            total_difficulty: U256::from_be_slice(difficulty),
        })
    }
}

/// Big-endian, at most the first eight bytes.
pub(crate) fn u64_of(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(crate) fn height_key(number: u64, hash: &B256) -> Vec<u8> {
    let mut key = Vec::with_capacity(40);
    key.extend_from_slice(&number.to_be_bytes());
    key.extend_from_slice(hash.as_slice());
    key
}

pub(crate) fn transaction_key(transaction: &B256, block: &B256) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.extend_from_slice(transaction.as_slice());
    key.extend_from_slice(block.as_slice());
    key
}

/// The smallest key behind every key that starts with these bytes; `None` when there is no such key.
pub(crate) fn end_of_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// Splits a block's encoding into its header and the two lists behind it; both keep their RLP heads.
pub(crate) fn split_block(block: &[u8]) -> Option<(&[u8], &[u8])> {
    let (payload, _) = rlp_span(block)?;
    let content = &block[payload..];
    let (header_payload, header_end) = rlp_span(content)?;
    (header_payload <= header_end && header_end <= content.len()).then(|| content.split_at(header_end))
}

/// A block's encoding from the two parts of [`split_block`].
pub(crate) fn join_block(header: &[u8], body: &[u8]) -> Vec<u8> {
    let length = header.len() + body.len();
    let mut out = Vec::with_capacity(length + 9);
    rlp::put_list_header(&mut out, length);
    out.extend_from_slice(header);
    out.extend_from_slice(body);
    out
}

/// A list's items, in one encoding.
pub(crate) fn join_list<'a>(items: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let length = items.clone().map(<[u8]>::len).sum();
    let mut out = Vec::with_capacity(length + 9);
    rlp::put_list_header(&mut out, length);
    items.for_each(|item| out.extend_from_slice(item));
    out
}

/// The items of a list that this crate wrote, each with its RLP head.
pub(crate) fn split_list(list: &[u8]) -> Option<Vec<&[u8]>> {
    let (payload, end) = rlp_span(list)?;
    let mut rest = list.get(payload..end)?;
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (_, end) = rlp_span(rest)?;
        let (item, behind) = rest.split_at_checked(end)?;
        items.push(item);
        rest = behind;
    }
    Some(items)
}

/// Where the payload of the item at the front starts and where the item ends. Only for bytes that our own encoder wrote.
fn rlp_span(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = *bytes.first()?;
    let (payload, length) = match first {
        ..0x80 => (0, 1),
        0x80..0xb8 => (1, usize::from(first - 0x80)),
        0xc0..0xf8 => (1, usize::from(first - 0xc0)),
        _ => {
            let width = usize::from(if first < 0xc0 { first - 0xb7 } else { first - 0xf7 });
            let length = bytes.get(1..1 + width)?;
            (1 + width, usize::try_from(u64_of(length)).ok()?)
        }
    };
    let end = payload.checked_add(length)?;
    (end <= bytes.len()).then_some((payload, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_their_encoding() {
        let record = BlockRecord {
            number: 7_000_000,
            hash: B256::repeat_byte(1),
            state_root: B256::repeat_byte(2),
            total_difficulty: U256::from(1) << 200,
        };
        assert_eq!(BlockRecord::decode(record.hash, &record.encode()).unwrap(), record);
        assert!(BlockRecord::decode(record.hash, &record.encode()[1..]).is_err());
    }

    #[test]
    fn blocks_and_lists_are_split_and_joined() {
        let header = join_list([[0x01].as_slice(), &[0x82, 5, 6]].into_iter());
        let body = [join_list([[0x07; 1].as_slice(); 60].into_iter()), join_list([].into_iter())].concat();
        let block = join_block(&header, &body);
        assert_eq!(split_block(&block), Some((header.as_slice(), body.as_slice())));
        assert_eq!(split_list(&header), Some(vec![[0x01].as_slice(), &[0x82, 5, 6]]));
        assert_eq!(split_list(&body).unwrap().len(), 60);
        assert_eq!(split_block(&[0xc0]), None);
        assert_eq!(split_list(&[0xf9, 0x01]), None);
    }

    #[test]
    fn the_end_of_a_prefix_is_behind_all_its_keys() {
        assert_eq!(end_of_prefix(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(end_of_prefix(&[1, 0xff]), Some(vec![2]));
        assert_eq!(end_of_prefix(&[0xff]), None);
    }
}
