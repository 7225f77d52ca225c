//! Modular exponentiation at the price of EIP-198 (rskj `BigIntegerModexp`).
//!
//! Lengths are Java integers: what does not fit into 31 bits counts as the largest of them, which prices such an input out
//! of every block instead of refusing it.

use revm_precompile::{Crypto, DefaultCrypto};
use rhizome_primitives::Bytes;

const MAX_LENGTH: u64 = i32::MAX as u64;
const HEAD: u64 = 96;
const DIVISOR: u128 = 20;

struct Lengths {
    base: u64,
    exponent: u64,
    modulus: u64,
}

impl Lengths {
    fn read(input: &[u8]) -> Self {
        Self { base: length(input, 0), exponent: length(input, 1), modulus: length(input, 2) }
    }

    /// Offset of the exponent, `None` where Java's integer overflows.
    fn exponent_at(&self) -> Option<u64> {
        Some(HEAD + self.base).filter(|&at| at <= MAX_LENGTH)
    }

    /// Offset of the modulus, `None` where Java's integer overflows.
    fn modulus_at(&self) -> Option<u64> {
        Some(self.exponent_at()? + self.exponent).filter(|&at| at <= MAX_LENGTH)
    }
}

fn length(input: &[u8], index: usize) -> u64 {
    let mut word = [0u8; 32];
    let given = input.get(index * 32..).unwrap_or_default();
    let count = given.len().min(32);
    word[..count].copy_from_slice(&given[..count]);
    let (high, low) = word.split_at(28);
    if high.iter().any(|&byte| byte != 0) || low[0] >= 0x80 {
        return MAX_LENGTH;
    }
    low.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The part of `input[at..at + len]` that is there; what lies behind the end counts as zeros.
fn present(input: &[u8], at: u64, len: u64) -> &[u8] {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let rest = usize::try_from(at).ok().and_then(|at| input.get(at..)).unwrap_or_default();
    &rest[..rest.len().min(len)]
}

/// The price of an input.
pub(super) fn price(input: &[u8]) -> u64 {
    let lengths = Lengths::read(input);
    let head = lengths.exponent_at().map(|at| present(input, at, lengths.exponent.min(32))).unwrap_or_default();
    // An exponent that lies behind the end has no bytes at all, so its high bit is taken as zero; one that begins inside is
    // padded to its length.
    let head_len = if head.is_empty() { 0 } else { lengths.exponent.min(32) };
    let highest_bit = match head.iter().position(|&byte| byte != 0) {
        None => 0,
        Some(at) => (8 * (head_len - at as u64) - u64::from(head[at].leading_zeros())).saturating_sub(1),
    };
    let iterations = 8 * lengths.exponent.saturating_sub(32) + highest_bit;
    let gas = u128::from(complexity(lengths.base.max(lengths.modulus))) * u128::from(iterations.max(1)) / DIVISOR;
    // GasCost caps at the largest Java long.
    u64::try_from(gas).unwrap_or(u64::MAX).min(i64::MAX as u64)
}

fn complexity(len: u64) -> u64 {
    let square = len * len;
    match len {
        0..=64 => square,
        65..=1024 => square / 4 + 96 * len - 3072,
        _ => square / 16 + 480 * len - 199_680,
    }
}

/// The result, as long as the modulus. Its size and cost are bounded by the price, which is asked for first.
pub(super) fn run(input: &[u8]) -> Bytes {
    let lengths = Lengths::read(input);
    let (Some(exponent_at), Some(modulus_at)) = (lengths.exponent_at(), lengths.modulus_at()) else {
        return Bytes::new();
    };
    let Ok(size) = usize::try_from(lengths.modulus) else { return Bytes::new() };
    let modulus = padded(input, modulus_at, lengths.modulus);
    let mut output = vec![0u8; size];
    // Zero has no remainders and one only the remainder zero; both answer zeros.
    let trimmed = trim(&modulus);
    if !trimmed.is_empty() && trimmed != [1] {
        let base = padded(input, HEAD, lengths.base);
        let exponent = padded(input, exponent_at, lengths.exponent);
        let value = power(trim(&base), trim(&exponent), trimmed);
        let value = trim(&value);
        output[size - value.len()..].copy_from_slice(value);
    }
    output.into()
}

/// `base ^ exponent mod modulus` without leading zeros in any of them; the modulus is above one.
fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    match (base, exponent) {
        (_, []) => vec![1],
        ([], _) => Vec::new(),
        _ => DefaultCrypto.modexp(base, exponent, modulus).unwrap_or_default(),
    }
}

fn trim(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    &bytes[zeros..]
}

fn padded(input: &[u8], at: u64, len: u64) -> Vec<u8> {
    let mut bytes = present(input, at, len).to_vec();
    if !bytes.is_empty() {
        bytes.resize(usize::try_from(len).unwrap_or(bytes.len()), 0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    fn input(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in [base, exponent, modulus] {
            out.extend_from_slice(&[0; 28]);
            out.extend_from_slice(&u32::try_from(part.len()).unwrap().to_be_bytes());
        }
        out.extend([base, exponent, modulus].concat());
        out
    }

    #[test]
    fn equals_plain_big_integers() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for round in 0..400 {
            let mut part = |max: u64| -> Vec<u8> {
                let len = next() % max;
                (0..len).map(|_| if next() % 5 == 0 { 0 } else { (next() & 0xff) as u8 }).collect()
            };
            let (base, exponent, mut modulus) = (part(70), part(12), part(70));
            match round % 4 {
                0 => modulus.push(0),
                1 => modulus.push(1),
                _ => {}
            }
            let expected = {
                let m = BigUint::from_bytes_be(&modulus);
                let zero = BigUint::from(0u8);
                let value = if m == zero {
                    zero
                } else {
                    BigUint::from_bytes_be(&base).modpow(&BigUint::from_bytes_be(&exponent), &m)
                };
                let bytes = if value == BigUint::from(0u8) { Vec::new() } else { value.to_bytes_be() };
                [vec![0; modulus.len() - bytes.len()], bytes].concat()
            };
            assert_eq!(run(&input(&base, &exponent, &modulus)), expected, "{base:?} {exponent:?} {modulus:?}");
        }
    }

    #[test]
    fn huge_lengths_are_priced_not_refused() {
        assert_eq!(price(&[0xff; 96]), price(&[0xff; 32]).max(price(&[0xff; 96])));
        assert_eq!(run(&[0xff; 96]), Bytes::new());
    }
}
