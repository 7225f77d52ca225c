//! Double SHA-256, straight on the compression function, which uses the CPU's SHA instructions where it has them.

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

/// A double SHA-256 hash in the order of its bytes on the wire.
pub type BtcHash = [u8; 32];

/// SHA-256's first state.
const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The block that ends a message of 64 bytes.
const PADDING_64: [u8; 64] = {
    let mut block = [0; 64];
    block[0] = 0x80;
    block[62] = 0x02;
    block
};

/// SHA-256 twice.
pub fn hash256(bytes: &[u8]) -> BtcHash {
    hash_again(Sha256::digest(bytes).into())
}

/// SHA-256 twice over two hashes in a row.
pub fn hash_pair(left: &BtcHash, right: &BtcHash) -> BtcHash {
    let mut blocks = [[0; 64], PADDING_64];
    blocks[0][..32].copy_from_slice(left);
    blocks[0][32..].copy_from_slice(right);
    let mut state = INITIAL;
    compress256(&mut state, &blocks);
    hash_again(bytes_of(&state))
}

/// SHA-256 over a hash.
fn hash_again(hash: [u8; 32]) -> BtcHash {
    let mut block = [0; 64];
    block[..32].copy_from_slice(&hash);
    block[32] = 0x80;
    block[62] = 0x01;
    let mut state = INITIAL;
    compress256(&mut state, &[block]);
    bytes_of(&state)
}

/// SHA-256 twice over a message of which only the state after `hashed` bytes and the rest are known.
///
/// `hashed` is taken at its word, as BouncyCastle's digest does when it is built from an encoded state: the rest starts a new
/// 64-byte block whatever it says, and the message length wraps at 64 bits.
pub fn resume256(mut state: [u32; 8], hashed: u64, rest: &[u8]) -> BtcHash {
    let (blocks, last) = rest.as_chunks::<64>();
    compress256(&mut state, blocks);
    let bits = hashed.wrapping_add(rest.len() as u64).wrapping_mul(8);
    let mut padded = [[0; 64]; 2];
    padded[0][..last.len()].copy_from_slice(last);
    padded[0][last.len()] = 0x80;
    // The length needs eight bytes behind the mark.
    let end = usize::from(last.len() >= 56);
    padded[end][56..].copy_from_slice(&bits.to_be_bytes());
    compress256(&mut state, &padded[..=end]);
    hash_again(bytes_of(&state))
}

fn bytes_of(state: &[u32; 8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (out, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *out = word.to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> BtcHash {
        Sha256::digest(Sha256::digest(bytes)).into()
    }

    #[test]
    fn resumed_hashes_equal_whole_ones() {
        let message: Vec<u8> = (0..500u32).map(|n| (n * 7) as u8).collect();
        for split in [0, 64, 128, 320] {
            let mut state = INITIAL;
            compress256(&mut state, message[..split].as_chunks::<64>().0);
            for end in split..message.len() {
                assert_eq!(resume256(state, split as u64, &message[split..end]), plain(&message[..end]));
            }
        }
    }

    #[test]
    fn pairs_equal_concatenations() {
        let (left, right) = ([3; 32], [200; 32]);
        assert_eq!(hash_pair(&left, &right), plain(&[left, right].concat()));
        assert_eq!(hash256(b"abc"), plain(b"abc"));
    }
}
