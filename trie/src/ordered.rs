//! Roots of lists: the transactions and the receipts of a block (rskj: `BlockHashesHelper`).
//!
//! The key of an item is the RLP of its index. Before RSKIP126 the root is that of the old form, without the secure flag.

use alloy_primitives::{B256, keccak256};
use rhizome_keccak::keccak256_batch;
use smallvec::SmallVec;

use crate::bits::Bits;
use crate::codec::{EMPTY_ROOT, MAX_SHORT_VALUE};
use crate::draft::{NewValue, Op, Put};
use crate::orchid::{OrchidValue, encode_into};
use crate::seal::root_of;

/// The key of the item at an index: its RLP.
pub fn index_key(index: usize) -> SmallVec<[u8; 9]> {
    let mut key = SmallVec::new();
    match index {
        0 => key.push(0x80),
        1..=0x7f => key.push(index as u8),
        _ => {
            let bytes = index.to_be_bytes();
            let zeros = (index.leading_zeros() / 8) as usize;
            key.push(0x80 + (bytes.len() - zeros) as u8);
            key.extend_from_slice(&bytes[zeros..]);
        }
    }
    key
}

/// One item with its key and, when it is long, its hash.
struct Item<'a> {
    key: SmallVec<[u8; 9]>,
    value: &'a [u8],
    hash: B256,
}

/// The root of a list of encoded items; `orchid` for the form before RSKIP126. An empty item has no value, as in rskj.
pub fn ordered_root<'a>(items: impl IntoIterator<Item = &'a [u8]>, orchid: bool) -> B256 {
    let mut list: Vec<Item<'a>> = items
        .into_iter()
        .enumerate()
        .map(|(index, value)| Item { key: index_key(index), value, hash: B256::ZERO })
        .filter(|item| !item.value.is_empty())
        .collect();
    list.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let long: Vec<&[u8]> = list.iter().map(|item| item.value).filter(|value| value.len() > MAX_SHORT_VALUE).collect();
    let mut hashes = vec![B256::ZERO; long.len()];
    keccak256_batch(&long, &mut hashes);
    for (item, hash) in list.iter_mut().filter(|item| item.value.len() > MAX_SHORT_VALUE).zip(hashes) {
        item.hash = hash;
    }
    if list.is_empty() {
        return EMPTY_ROOT;
    }
    if orchid { orchid_hash(&list, 0) } else { present_hash(&list) }
}

/// The root in the present form.
fn present_hash(items: &[Item<'_>]) -> B256 {
    let ops: Vec<Op<'_>> = items
        .iter()
        .map(|item| {
            let value = if item.value.len() > MAX_SHORT_VALUE {
                NewValue::Hashed { len: item.value.len() as u32, hash: item.hash }
            } else {
                NewValue::Short(item.value)
            };
            Op { key: &item.key, recursive: false, put: Put::Set(value) }
        })
        .collect();
    root_of(&ops)
}

/// The hash of the subtree of items that share their bits above `depth`; there is at least one.
fn orchid_hash(items: &[Item<'_>], depth: usize) -> B256 {
    let below = |item: &'_ Item<'_>| Bits::of_key(&item.key).from(depth).len();
    let first = Bits::of_key(&items[0].key).from(depth);
    let last = Bits::of_key(&items[items.len() - 1].key).from(depth);
    let common = first.common_prefix(&last);
    let end = depth + common;
    let (own, rest) = if below(&items[0]) == common { (Some(&items[0]), &items[1..]) } else { (None, items) };
    let middle = rest.partition_point(|item| !Bits::of_key(&item.key).get(end));
    let children =
        [&rest[..middle], &rest[middle..]].map(|side| (!side.is_empty()).then(|| orchid_hash(side, end + 1)));
    let value = match own {
        None => OrchidValue::None,
        Some(item) if item.value.len() > MAX_SHORT_VALUE => OrchidValue::Long(&item.hash),
        Some(item) => OrchidValue::Short(item.value),
    };
    let mut message = Vec::with_capacity(128);
    encode_into(&mut message, false, first.to(common), [children[0].as_ref(), children[1].as_ref()], value);
    keccak256(&message)
}
