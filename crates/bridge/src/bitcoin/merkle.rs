//! Proofs that a transaction is in a block (bitcoinj's `PartialMerkleTree`; rskj's `MerkleBranch`, `MerkleTreeUtils`,
//! `PartialMerkleTreeFormatUtils`).

use super::encode::{DecodeError, Reader, var_int_len};
use super::hash::{BtcHash, sha256d};
use super::transaction::MAX_MONEY;

/// Most transactions that a tree may claim.
const MAX_TRANSACTIONS: i32 = 1_000_000 / 60;

/// Why a proof does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MerkleError {
    /// The bytes are no tree.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// bitcoinj's `VerificationException`.
    #[error("merkle tree: {0}")]
    Verification(&'static str),
    /// An illegal argument.
    #[error("merkle branch: {0}")]
    IllegalArgument(&'static str),
}

/// A tree cut down to the branches of some leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialMerkleTree {
    transactions: i32,
    hashes: Vec<BtcHash>,
    bits: Vec<u8>,
}

impl PartialMerkleTree {
    /// Reads a tree; what follows it is ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let transactions = reader.u32()? as i32;
        let count = reader.var_int()? as i32;
        if count < 0 {
            return Err(DecodeError::NEGATIVE_CAPACITY);
        }
        let mut hashes = Vec::new();
        for _ in 0..count {
            hashes.push(BtcHash::from_wire(reader.hash()?));
        }
        let bits = reader.var_bytes()?.to_vec();
        Ok(PartialMerkleTree { transactions, hashes, bits })
    }

    /// Number of transactions that the tree claims.
    pub fn transaction_count(&self) -> i32 {
        self.transactions
    }

    /// The hashes in the tree, in the order of a depth-first walk.
    pub fn hashes(&self) -> &[BtcHash] {
        &self.hashes
    }

    /// `getTxnHashAndMerkleRoot`: the marked leaves and the root.
    pub fn matched_and_root(&self) -> Result<(Vec<BtcHash>, BtcHash), MerkleError> {
        let fail = |what| Err(MerkleError::Verification(what));
        if self.transactions == 0 {
            return fail("no transactions");
        }
        if self.transactions > MAX_TRANSACTIONS {
            return fail("more transactions than possible");
        }
        if self.hashes.len() as i64 > i64::from(self.transactions) {
            return fail("more hashes than transactions");
        }
        if self.bits.len() * 8 < self.hashes.len() {
            return fail("fewer bits than hashes");
        }
        // Not negative here: it is at least the number of hashes, and then not zero.
        let transactions = self.transactions as u32;
        let mut height = 0;
        while width(transactions, height) > 1 {
            height += 1;
        }
        let mut walk = Walk { tree: self, transactions, bits_used: 0, hashes_used: 0, matched: Vec::new() };
        let root = walk.extract(height, 0)?;
        if walk.bits_used.div_ceil(8) != self.bits.len() || walk.hashes_used != self.hashes.len() {
            return fail("more data than needed");
        }
        Ok((walk.matched, root))
    }
}

const fn width(transactions: u32, height: u32) -> u32 {
    (transactions + (1 << height) - 1) >> height
}

struct Walk<'a> {
    tree: &'a PartialMerkleTree,
    transactions: u32,
    bits_used: usize,
    hashes_used: usize,
    matched: Vec<BtcHash>,
}

impl Walk<'_> {
    fn extract(&mut self, height: u32, position: u32) -> Result<BtcHash, MerkleError> {
        let byte = self.tree.bits.get(self.bits_used / 8).ok_or(MerkleError::Verification("bits used up"))?;
        let on_branch = byte >> (self.bits_used % 8) & 1 == 1;
        self.bits_used += 1;
        if height == 0 || !on_branch {
            let hash = *self.tree.hashes.get(self.hashes_used).ok_or(MerkleError::Verification("hashes used up"))?;
            self.hashes_used += 1;
            if on_branch {
                self.matched.push(hash);
            }
            return Ok(hash);
        }
        let left = self.extract(height - 1, position * 2)?;
        let right = if position * 2 + 1 < width(self.transactions, height - 1) {
            let right = self.extract(height - 1, position * 2 + 1)?;
            if right == left {
                return Err(MerkleError::Verification("expected two hashes, got the same one left and right"));
            }
            right
        } else {
            left
        };
        combine_left_right(&left, &right)
    }
}

/// `BridgeUtils.calculateMerkleRoot`: the root of a serialised tree if it marks the transaction.
pub fn merkle_root_with(bytes: &[u8], txid: &BtcHash) -> Result<Option<BtcHash>, MerkleError> {
    let (matched, root) = PartialMerkleTree::decode(bytes)?.matched_and_root()?;
    Ok(matched.contains(txid).then_some(root))
}

/// `PartialMerkleTreeFormatUtils.hasExpectedSize`: the two counts account for every byte.
pub fn has_expected_size(bytes: &[u8]) -> bool {
    let size = || -> Option<usize> {
        let count_at = |at: usize| {
            let mut reader = Reader::new(bytes.get(at..)?);
            let count = i32::try_from(reader.var_int().ok()? as i64).ok()?;
            Some((i64::from(count), reader.position()))
        };
        let (hashes, hashes_len) = count_at(4)?;
        let flags_at = (hashes * 32).checked_add(4 + hashes_len as i64)?;
        if flags_at > i64::from(i32::MAX) {
            return None;
        }
        let (flags, flags_len) = count_at(usize::try_from(flags_at).ok()?)?;
        let size = flags_at + flags_len as i64 + flags;
        usize::try_from(size).ok()
    };
    size() == Some(bytes.len())
}

/// Parent of two nodes, unless the two together could be read as a transaction of 64 bytes. The check looks at the bytes
/// in display order.
pub fn combine_left_right(left: &BtcHash, right: &BtcHash) -> Result<BtcHash, MerkleError> {
    let mut pair = [0; 64];
    pair[..32].copy_from_slice(left.display_bytes());
    pair[32..].copy_from_slice(right.display_bytes());
    if looks_like_a_transaction(&pair) {
        return Err(MerkleError::Verification("expected two hashes, got the bytes of a transaction"));
    }
    pair[..32].copy_from_slice(&left.wire_bytes());
    pair[32..].copy_from_slice(&right.wire_bytes());
    Ok(BtcHash::from_wire(sha256d(&pair)))
}

/// `checkNotAValid64ByteTransaction`.
fn looks_like_a_transaction(pair: &[u8; 64]) -> bool {
    let index = u32::from_le_bytes([pair[37], pair[38], pair[39], pair[40]]);
    let script = pair[41];
    if pair[4] != 1 || (index > 1_000_000 && index != u32::MAX) || script > 4 {
        return false;
    }
    let outputs = 42 + usize::from(script) + 4;
    if pair[outputs] != 1 {
        return false;
    }
    let mut value = [0; 8];
    value.copy_from_slice(&pair[outputs + 1..outputs + 9]);
    let output_script = pair[outputs + 9];
    (1..=MAX_MONEY).contains(&i64::from_le_bytes(value)) && output_script <= 4 && script + output_script == 4
}

/// A branch as list of siblings from the leaf upwards, with a bit for each that says on which side the own node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerkleBranch {
    hashes: Vec<BtcHash>,
    path: i32,
}

impl MerkleBranch {
    /// At most 32 hashes, and no bits of the path beyond them (none at all are seen in a negative one).
    pub fn new(hashes: Vec<BtcHash>, path: i32) -> Result<Self, MerkleError> {
        if hashes.len() > 32 {
            return Err(MerkleError::IllegalArgument("expected at most 32 hashes, got more"));
        }
        let bits = if path > 0 { 32 - path.leading_zeros() } else { 0 };
        if bits as usize > hashes.len() {
            return Err(MerkleError::IllegalArgument("expected a bit of the path for each hash, got more bits"));
        }
        Ok(MerkleBranch { hashes, path })
    }

    /// `reduceFrom`: the root over a leaf.
    pub fn reduce_from(&self, leaf: &BtcHash) -> Result<BtcHash, MerkleError> {
        let mut current = *leaf;
        for (level, sibling) in self.hashes.iter().enumerate() {
            current = if self.path >> level & 1 == 1 {
                combine_left_right(sibling, &current)?
            } else {
                combine_left_right(&current, sibling)?
            };
        }
        Ok(current)
    }
}

/// Length of the serialised form of a tree with this many hashes and flag bytes.
pub fn encoded_len(hashes: usize, flag_bytes: usize) -> usize {
    4 + var_int_len(hashes as u64) + 32 * hashes + var_int_len(flag_bytes as u64) + flag_bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tree(transactions: u32, hashes: &[[u8; 32]], bits: &[u8]) -> Vec<u8> {
        let mut out = transactions.to_le_bytes().to_vec();
        out.push(hashes.len() as u8);
        hashes.iter().for_each(|hash| out.extend_from_slice(hash));
        out.push(bits.len() as u8);
        out.extend_from_slice(bits);
        assert_eq!(out.len(), encoded_len(hashes.len(), bits.len()));
        out
    }

    #[test]
    fn one_and_two_leaves() {
        let (a, b) = ([1; 32], [2; 32]);
        let single = tree(1, &[a], &[1]);
        assert!(has_expected_size(&single));
        let leaf = BtcHash::from_wire(a);
        assert_eq!(merkle_root_with(&single, &leaf).unwrap(), Some(leaf));
        let pair = tree(2, &[a, b], &[0b11]);
        let root = combine_left_right(&leaf, &BtcHash::from_wire(b)).unwrap();
        assert_eq!(merkle_root_with(&pair, &leaf).unwrap(), Some(root));
        assert_eq!(merkle_root_with(&pair, &BtcHash::from_wire(b)).unwrap(), None);
        assert!(merkle_root_with(&tree(2, &[a, a], &[0b11]), &leaf).is_err());
        assert!(merkle_root_with(&tree(2, &[a, b], &[0b11, 0]), &leaf).is_err());
        assert!(merkle_root_with(&tree(0, &[a], &[1]), &leaf).is_err());
        assert!(merkle_root_with(&tree(u32::MAX, &[a], &[1]), &leaf).is_err());
        let branch = MerkleBranch::new(vec![BtcHash::from_wire(b)], 0).unwrap();
        assert_eq!(branch.reduce_from(&leaf).unwrap(), root);
        assert!(MerkleBranch::new(vec![], 1).is_err());
        assert!(MerkleBranch::new(vec![], -1).is_ok());
    }

    #[test]
    fn sizes() {
        let mut bytes = tree(2, &[[1; 32], [2; 32]], &[3]);
        assert!(has_expected_size(&bytes));
        bytes.push(0);
        assert!(!has_expected_size(&bytes));
        assert!(!has_expected_size(&[0; 4]));
        assert!(!has_expected_size(&[0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255]));
    }
}
