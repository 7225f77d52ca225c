//! Proofs that a coinbase transaction belongs to a Bitcoin block.
//!
//! Two forms: since RSKIP92 the bare siblings of the leftmost leaf in display order (`Rskip92MerkleProofValidator`), before it
//! Bitcoin's partial merkle tree (`GenesisMerkleProofValidator`). A pair of nodes that reads as a 64-byte Bitcoin transaction
//! proves nothing and is refused in both.

use rhizome_chainspec::constants::MAX_MERKLE_PROOF_LENGTH;

use crate::bitcoin::hash::{BtcHash, hash_pair};

/// Most transactions of a partial merkle tree: a block of 1,000,000 bytes over the 60 of the smallest transaction.
const MAX_TRANSACTIONS: u32 = 1_000_000 / 60;

/// A proof that is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MerkleError {
    /// The siblings' bytes are not a multiple of a hash.
    #[error("the merkle proof has {0} bytes, not a multiple of 32")]
    NotHashes(usize),
    /// RSKIP180's limit.
    #[error("the merkle proof has {0} bytes, more than {MAX_MERKLE_PROOF_LENGTH}")]
    TooLong(usize),
    /// Two nodes in a row are a Bitcoin transaction.
    #[error("two merkle nodes form a Bitcoin transaction")]
    Transaction,
    /// The partial merkle tree's counts do not fit its bytes.
    #[error("the partial merkle tree does not have the size that it states")]
    Size,
    /// The partial merkle tree is not a tree.
    #[error("the partial merkle tree {0}")]
    Malformed(&'static str),
}

/// The parent of two nodes.
///
/// # Errors
/// [`MerkleError::Transaction`] (`MerkleTreeUtils.combineLeftRight`).
pub fn combine(left: &BtcHash, right: &BtcHash) -> Result<BtcHash, MerkleError> {
    if is_transaction(left, right) {
        return Err(MerkleError::Transaction);
    }
    Ok(hash_pair(left, right))
}

/// Whether the nodes, each in display order, read as a Bitcoin transaction of 64 bytes (`checkNotAValid64ByteTransaction`).
fn is_transaction(left: &BtcHash, right: &BtcHash) -> bool {
    // The number of inputs follows four bytes of version; nearly always this is the end of it.
    if left[31 - 4] != 1 {
        return false;
    }
    let mut bytes = [0; 64];
    for (at, byte) in left.iter().rev().chain(right.iter().rev()).enumerate() {
        bytes[at] = *byte;
    }
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let output_index = word(37);
    if output_index > 1_000_000 && output_index != u32::MAX {
        return false;
    }
    let input_script = usize::from(bytes[41]);
    if input_script > 4 {
        return false;
    }
    let outputs = 42 + input_script + 4;
    if bytes[outputs] != 1 {
        return false;
    }
    let value = i64::from(word(outputs + 1)) | i64::from(word(outputs + 5)) << 32;
    if !(1..=21_000_000 * 100_000_000).contains(&value) {
        return false;
    }
    input_script + usize::from(bytes[outputs + 9]) == 4
}

/// The root that siblings in display order lead to from the leftmost leaf (RSKIP92).
///
/// # Errors
/// [`MerkleError`] where rskj's validator throws.
pub fn branch_root(proof: &[u8], rskip180: bool, leaf: &BtcHash) -> Result<BtcHash, MerkleError> {
    if rskip180 && proof.len() > MAX_MERKLE_PROOF_LENGTH {
        return Err(MerkleError::TooLong(proof.len()));
    }
    let (siblings, []) = proof.as_chunks::<32>() else {
        return Err(MerkleError::NotHashes(proof.len()));
    };
    siblings.iter().try_fold(*leaf, |node, sibling| {
        let mut sibling = *sibling;
        sibling.reverse();
        combine(&node, &sibling)
    })
}

/// A tree with the transactions that are asked for and the nodes beside the ways to them (BIP 37).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialMerkleTree<'a> {
    transactions: u32,
    hashes: &'a [BtcHash],
    bits: &'a [u8],
}

impl<'a> PartialMerkleTree<'a> {
    /// Reads a tree, which must end where its bytes end (`PartialMerkleTreeFormatUtils.hasExpectedSize`).
    ///
    /// # Errors
    /// [`MerkleError::Size`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MerkleError> {
        let (transactions, rest) = bytes.split_first_chunk().ok_or(MerkleError::Size)?;
        let (count, rest) = count(rest)?;
        let length = count.checked_mul(32).ok_or(MerkleError::Size)?;
        let (hashes, rest) = rest.split_at_checked(length).ok_or(MerkleError::Size)?;
        let (count, bits) = self::count(rest)?;
        if count != bits.len() {
            return Err(MerkleError::Size);
        }
        Ok(Self { transactions: u32::from_le_bytes(*transactions), hashes: hashes.as_chunks().0, bits })
    }

    /// The root of the tree and the transactions in it that were asked for.
    ///
    /// # Errors
    /// [`MerkleError`] where `PartialMerkleTree.getTxnHashAndMerkleRoot` throws.
    pub fn root_and_matches(&self) -> Result<(BtcHash, Vec<BtcHash>), MerkleError> {
        if self.transactions == 0 {
            return Err(MerkleError::Malformed("is empty"));
        }
        if self.transactions > MAX_TRANSACTIONS {
            return Err(MerkleError::Malformed("has more transactions than a block can have"));
        }
        if self.hashes.len() > self.transactions as usize {
            return Err(MerkleError::Malformed("has more hashes than transactions"));
        }
        if self.bits.len() * 8 < self.hashes.len() {
            return Err(MerkleError::Malformed("has fewer bits than hashes"));
        }
        let mut height = 0;
        while self.width(height) > 1 {
            height += 1;
        }
        let mut walk = Walk { tree: self, bits: 0, hashes: 0, matches: Vec::new() };
        let root = walk.node(height, 0)?;
        if walk.bits.div_ceil(8) != self.bits.len() || walk.hashes != self.hashes.len() {
            return Err(MerkleError::Malformed("does not need all its data"));
        }
        Ok((root, walk.matches))
    }

    /// Nodes of a level; leaves are level 0.
    const fn width(&self, height: u32) -> u32 {
        self.transactions.div_ceil(1 << height)
    }
}

struct Walk<'a> {
    tree: &'a PartialMerkleTree<'a>,
    bits: usize,
    hashes: usize,
    matches: Vec<BtcHash>,
}

impl Walk<'_> {
    /// The hash of a node. The depth is at most the height of a tree of [`MAX_TRANSACTIONS`].
    fn node(&mut self, height: u32, position: u32) -> Result<BtcHash, MerkleError> {
        let byte = self.tree.bits.get(self.bits / 8).ok_or(MerkleError::Malformed("has too few bits"))?;
        let matched = byte >> (self.bits % 8) & 1 != 0;
        self.bits += 1;
        if height == 0 || !matched {
            let hash = *self.tree.hashes.get(self.hashes).ok_or(MerkleError::Malformed("has too few hashes"))?;
            self.hashes += 1;
            if matched {
                self.matches.push(hash);
            }
            return Ok(hash);
        }
        let left = self.node(height - 1, position * 2)?;
        let right = if position * 2 + 1 < self.tree.width(height - 1) {
            let right = self.node(height - 1, position * 2 + 1)?;
            if right == left {
                return Err(MerkleError::Malformed("has two equal branches"));
            }
            right
        } else {
            left
        };
        combine(&left, &right)
    }
}

/// A count of variable length that fits Java's `int`; the rest follows.
fn count(bytes: &[u8]) -> Result<(usize, &[u8]), MerkleError> {
    fn number<const N: usize>(bytes: &[u8]) -> Result<(u64, &[u8]), MerkleError> {
        let (number, rest) = bytes.split_first_chunk::<N>().ok_or(MerkleError::Size)?;
        let mut word = [0; 8];
        word[..N].copy_from_slice(number);
        Ok((u64::from_le_bytes(word), rest))
    }
    let (first, rest) = bytes.split_first().ok_or(MerkleError::Size)?;
    let (count, rest) = match first {
        253 => number::<2>(rest)?,
        254 => number::<4>(rest)?,
        255 => number::<8>(rest)?,
        byte => (u64::from(*byte), rest),
    };
    let count = i32::try_from(count).map_err(|_| MerkleError::Size)?;
    Ok((usize::try_from(count).map_err(|_| MerkleError::Size)?, rest))
}

/// The siblings on the way from the first of a block's transactions to the root, lowest first, and the root.
///
/// # Panics
/// Never; without any transaction the root is zero.
fn first_branch(transactions: &[BtcHash]) -> (Vec<BtcHash>, BtcHash) {
    let mut level = transactions.to_vec();
    let mut siblings = Vec::new();
    while level.len() > 1 {
        siblings.push(level[1]);
        // An odd level's last node is its own sibling.
        level = level.chunks(2).map(|pair| hash_pair(&pair[0], pair.last().unwrap_or(&pair[0]))).collect();
    }
    (siblings, level.first().copied().unwrap_or_default())
}

/// The root over a block's transactions; zero for none.
pub fn root(transactions: &[BtcHash]) -> BtcHash {
    first_branch(transactions).1
}

/// The proof of a block's coinbase since RSKIP92 (`Rskip92MerkleProofBuilder`).
pub fn build_branch(transactions: &[BtcHash]) -> Vec<u8> {
    first_branch(transactions).0.iter().flat_map(|hash| hash.iter().rev().copied()).collect()
}

/// The proof of a block's coinbase before RSKIP92 (`GenesisMerkleProofBuilder`). `transactions` is a block's list: not empty, and
/// of far fewer than 2^32.
pub fn build_partial_tree(transactions: &[BtcHash]) -> Vec<u8> {
    let (siblings, _) = first_branch(transactions);
    let height = siblings.len();
    let mut out = (transactions.len() as u32).to_le_bytes().to_vec();
    // At most 32 siblings: both counts are single bytes.
    out.push(height as u8 + 1);
    out.extend(transactions.first().into_iter().chain(&siblings).flatten());
    // One bit for each node of the way down, then a zero for each sibling.
    let bits = 2 * height + 1;
    let mut flags = vec![0u8; bits.div_ceil(8)];
    for bit in 0..=height {
        flags[bit / 8] |= 1 << (bit % 8);
    }
    out.push(flags.len() as u8);
    out.extend(flags);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transactions(count: u32) -> Vec<BtcHash> {
        (0..count).map(|n| crate::bitcoin::hash::hash256(&n.to_le_bytes())).collect()
    }

    #[test]
    fn built_proofs_prove() {
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 100] {
            let leaves = transactions(count);
            let expected = root(&leaves);
            assert_eq!(branch_root(&build_branch(&leaves), true, &leaves[0]), Ok(expected));
            let tree = build_partial_tree(&leaves);
            let tree = PartialMerkleTree::parse(&tree).unwrap();
            assert_eq!(tree.root_and_matches(), Ok((expected, vec![leaves[0]])), "{count}");
        }
    }

    #[test]
    fn a_pair_that_is_a_transaction_is_refused() {
        let mut bytes = [0u8; 64];
        bytes[4] = 1; // inputs
        bytes[41] = 2; // script
        bytes[48] = 1; // outputs
        bytes[49] = 5; // value
        bytes[57] = 2; // script
        let node = |half: &[u8]| -> BtcHash {
            let mut node: BtcHash = half.try_into().unwrap();
            node.reverse();
            node
        };
        let (left, right) = (node(&bytes[..32]), node(&bytes[32..]));
        assert_eq!(combine(&left, &right), Err(MerkleError::Transaction));
        bytes[57] = 3;
        assert!(combine(&left, &node(&bytes[32..])).is_ok());
    }

    #[test]
    fn damaged_trees_are_errors() {
        let tree = build_partial_tree(&transactions(9));
        for end in 0..tree.len() {
            assert_eq!(PartialMerkleTree::parse(&tree[..end]), Err(MerkleError::Size));
        }
        let mut wide = tree.clone();
        wide[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(PartialMerkleTree::parse(&wide).unwrap().root_and_matches().is_err());
        let mut huge = tree;
        huge.splice(4..5, [255, 255, 255, 255, 255, 255, 255, 255, 127]);
        assert_eq!(PartialMerkleTree::parse(&huge), Err(MerkleError::Size));
    }
}
