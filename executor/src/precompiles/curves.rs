//! Curve arithmetic and the BLAKE2 round function: alt_bn128 (RSKIP-137), BLAKE2F (RSKIP-153), secp256k1 (RSKIP-516).

use revm_precompile::{Crypto, DefaultCrypto};
use rhizome_primitives::Bytes;
use secp256k1::constants::CURVE_ORDER;
use secp256k1::{PublicKey, SECP256K1, Scalar};

/// Bytes of one pair of points in a pairing.
pub(super) const PAIR: usize = 192;
/// Exact length of a BLAKE2F input.
pub(super) const BLAKE2F_INPUT: usize = 213;

/// The input cut or padded with zeros to `N` bytes.
fn fixed<const N: usize>(input: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    let given = input.len().min(N);
    out[..given].copy_from_slice(&input[..given]);
    out
}

/// Sum of two points of alt_bn128; `None` for coordinates that are no point.
pub(super) fn bn128_add(input: &[u8]) -> Option<Bytes> {
    let words: [u8; 128] = fixed(input);
    DefaultCrypto.bn254_g1_add(&words[..64], &words[64..]).ok().map(|point| Bytes::copy_from_slice(&point))
}

/// Multiple of a point of alt_bn128; `None` for coordinates that are no point.
pub(super) fn bn128_mul(input: &[u8]) -> Option<Bytes> {
    let words: [u8; 96] = fixed(input);
    DefaultCrypto.bn254_g1_mul(&words[..64], &words[64..]).ok().map(|point| Bytes::copy_from_slice(&point))
}

/// Whether the product of pairings is one, as a word; `None` for a broken length or point.
pub(super) fn bn128_pairing(input: &[u8]) -> Option<Bytes> {
    if !input.len().is_multiple_of(PAIR) {
        return None;
    }
    let pairs: Vec<_> = input.chunks_exact(PAIR).map(|pair| pair.split_at(64)).collect();
    let one = DefaultCrypto.bn254_pairing_check(&pairs).ok()?;
    let mut word = [0; 32];
    word[31] = u8::from(one);
    Some(Bytes::copy_from_slice(&word))
}

/// The number of rounds, which is the price; an input of another length costs nothing.
pub(super) fn blake2f_price(input: &[u8]) -> u64 {
    match input.first_chunk::<4>() {
        Some(rounds) if input.len() == BLAKE2F_INPUT => u64::from(u32::from_be_bytes(*rounds)),
        _ => 0,
    }
}

/// The compression function F of BLAKE2b.
pub(super) fn blake2f(input: &[u8]) -> Result<Bytes, &'static str> {
    let input: &[u8; BLAKE2F_INPUT] = input.try_into().map_err(|_| "BLAKE2F takes exactly 213 bytes")?;
    let last = match input[BLAKE2F_INPUT - 1] {
        0 => false,
        1 => true,
        _ => return Err("BLAKE2F final block flag is neither 0 nor 1"),
    };
    let mut rounds = [0; 4];
    rounds.copy_from_slice(&input[..4]);
    let mut words = [0u64; 26];
    for (word, bytes) in words.iter_mut().zip(input[4..].chunks_exact(8)) {
        let mut buffer = [0; 8];
        buffer.copy_from_slice(bytes);
        *word = u64::from_le_bytes(buffer);
    }
    let (mut state, mut message, mut offset) = ([0; 8], [0; 16], [0; 2]);
    state.copy_from_slice(&words[..8]);
    message.copy_from_slice(&words[8..24]);
    offset.copy_from_slice(&words[24..]);
    revm_precompile::blake2::compress(u32::from_be_bytes(rounds), &mut state, &message, &offset, last);
    Ok(state.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>().into())
}

/// A point of secp256k1; two zero coordinates are infinity.
enum Point {
    Infinity,
    Finite(PublicKey),
}

impl Point {
    fn read(coordinates: &[u8]) -> Option<Self> {
        if coordinates.iter().all(|&byte| byte == 0) {
            return Some(Self::Infinity);
        }
        let mut encoded = [4; 65];
        encoded[1..].copy_from_slice(coordinates);
        PublicKey::from_slice(&encoded).ok().map(Self::Finite)
    }

    fn encode(self) -> Bytes {
        match self {
            Self::Infinity => Bytes::copy_from_slice(&[0; 64]),
            Self::Finite(key) => Bytes::copy_from_slice(&key.serialize_uncompressed()[1..]),
        }
    }
}

/// Sum of two points of secp256k1; `None` for coordinates that are no point.
pub(super) fn secp256k1_add(input: &[u8]) -> Option<Bytes> {
    let words: [u8; 128] = fixed(input);
    let sum = match (Point::read(&words[..64])?, Point::read(&words[64..])?) {
        (Point::Infinity, other) | (other, Point::Infinity) => other,
        // The only sum that is no key is that of a point and its negative.
        (Point::Finite(left), Point::Finite(right)) => left.combine(&right).map_or(Point::Infinity, Point::Finite),
    };
    Some(sum.encode())
}

/// Multiple of a point of secp256k1; `None` for coordinates that are no point.
pub(super) fn secp256k1_mul(input: &[u8]) -> Option<Bytes> {
    let words: [u8; 96] = fixed(input);
    let point = Point::read(&words[..64])?;
    let mut factor: [u8; 32] = fixed(&words[64..]);
    reduce(&mut factor);
    let product = match point {
        Point::Finite(key) if factor != [0; 32] => {
            let scalar = Scalar::from_be_bytes(factor).ok()?;
            key.mul_tweak(SECP256K1, &scalar).map_or(Point::Infinity, Point::Finite)
        }
        _ => Point::Infinity,
    };
    Some(product.encode())
}

/// Takes a 256-bit number modulo the group order, which is above 2^255: one subtraction is enough.
fn reduce(number: &mut [u8; 32]) {
    if *number < CURVE_ORDER {
        return;
    }
    let mut borrow = 0i16;
    for (byte, order) in number.iter_mut().zip(CURVE_ORDER).rev() {
        let difference = i16::from(*byte) - i16::from(order) - borrow;
        borrow = i16::from(difference < 0);
        *byte = difference.rem_euclid(256) as u8;
    }
}
