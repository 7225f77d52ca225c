//! The contracts of Frontier: ecrecover, the two hashes and identity (rskj `PrecompiledContracts`).

use revm_precompile::{Crypto, DefaultCrypto};
use rhizome_primitives::signature::{CURVE_ORDER, recover_address};
use rhizome_primitives::{B256, Bytes, U256};

/// `base + per_word * ceil(len / 32)`, the price form of the hashes and of identity.
pub(super) fn word_price(len: usize, base: u64, per_word: u64) -> u64 {
    (len as u64).div_ceil(32).saturating_mul(per_word).saturating_add(base)
}

/// SHA-256 of the input.
pub(super) fn sha256(input: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&DefaultCrypto.sha256(input))
}

/// RIPEMD-160 of the input, padded to a word on the left.
pub(super) fn ripemd160(input: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&DefaultCrypto.ripemd160(input))
}

/// The signer's address as a word; empty for anything that does not recover.
///
/// Of `v` only the last byte counts. The input must reach into the last word: shorter than 96 bytes is empty, a shorter
/// last word is padded with zeros.
pub(super) fn ec_recover(input: &[u8]) -> Bytes {
    recover(input).unwrap_or_default()
}

fn recover(input: &[u8]) -> Option<Bytes> {
    if input.len() < 96 {
        return None;
    }
    let mut words = [0u8; 128];
    let given = input.len().min(128);
    words[..given].copy_from_slice(&input[..given]);
    let v = words[63];
    let number = |at: usize| U256::from_be_slice(&words[at..at + 32]);
    let (r, s) = (number(64), number(96));
    let in_range = |number: U256| !number.is_zero() && number < CURVE_ORDER;
    if !matches!(v, 27 | 28) || !in_range(r) || !in_range(s) {
        return None;
    }
    // The key may be the point at infinity, which has an address too.
    let address = recover_address(&B256::from_slice(&words[..32]), v, r, s).ok()?;
    Some(Bytes::copy_from_slice(address.into_word().as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhizome_primitives::KECCAK_EMPTY;
    use secp256k1::{SECP256K1, SecretKey};

    /// A signature whose point is the generator itself, so that `s` equal to the hash cancels the key out.
    fn input(hash: U256, s: U256) -> Vec<u8> {
        let one = SecretKey::from_slice(&U256::ONE.to_be_bytes::<32>()).unwrap();
        let generator = one.public_key(SECP256K1).serialize();
        let mut input = hash.to_be_bytes::<32>().to_vec();
        input.extend(U256::from(27 + (generator[0] & 1)).to_be_bytes::<32>());
        input.extend(&generator[1..]);
        input.extend(s.to_be_bytes::<32>());
        input
    }

    #[test]
    fn the_key_at_infinity_has_an_address() {
        let recovered = ec_recover(&input(U256::from(7), U256::from(7)));
        assert_eq!(recovered[..12], [0; 12]);
        assert_eq!(recovered[12..], KECCAK_EMPTY[12..]);
    }

    #[test]
    fn numbers_out_of_range_recover_nothing() {
        assert_eq!(ec_recover(&input(U256::from(7), U256::from(8))).len(), 32);
        assert!(ec_recover(&input(U256::from(7), U256::ZERO)).is_empty());
        assert!(ec_recover(&input(U256::from(7), CURVE_ORDER)).is_empty());
        let mut other_v = input(U256::from(7), U256::from(8));
        other_v[63] = 29;
        assert!(ec_recover(&other_v).is_empty());
    }
}
