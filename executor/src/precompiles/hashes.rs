//! The contracts of Frontier: ecrecover, the two hashes and identity (rskj `PrecompiledContracts`).

use revm_precompile::{Crypto, DefaultCrypto};
use rhizome_primitives::{Bytes, keccak256};
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, SECP256K1};

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
    let recovery = match words[63] {
        v @ 27..=28 => RecoveryId::from_i32(i32::from(v - 27)).ok()?,
        _ => return None,
    };
    // Parsing refuses r and s at or above the group order, recovery refuses zero: the range rskj checks beforehand.
    let signature = RecoverableSignature::from_compact(&words[64..], recovery).ok()?;
    let hash: [u8; 32] = words[..32].try_into().ok()?;
    let key = SECP256K1.recover_ecdsa(&Message::from_digest(hash), &signature).ok()?;
    let mut word = keccak256(&key.serialize_uncompressed()[1..]);
    word[..12].fill(0);
    Some(Bytes::copy_from_slice(word.as_slice()))
}
