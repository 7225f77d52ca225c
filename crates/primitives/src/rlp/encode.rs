//! Writing RLP: rskj's encoder families, which differ in what null and zero become.
//!
//! | function | null | zero | other |
//! |---|---|---|---|
//! | [`put_coin`] | – | 0x80 | unsigned minimal |
//! | [`put_coin_non_null_zero`] | 0x80 | byte 0x00 | unsigned minimal |
//! | [`put_signed_coin_non_null_zero`] | 0x80 | byte 0x00 | two's complement |
//! | [`put_coin_null_zero`] | – | 0x80 | unsigned minimal |
//! | [`put_difficulty`] | 0x80 | byte 0x00 | two's complement |
//! | [`put_u64`], [`put_u256`] | – | 0x80 | unsigned minimal |
//!
//! Everything writes into a [`Sink`], so that the same code fills a buffer, feeds a hash or counts bytes.

use crate::coin::{Coin, Difficulty, MinimalBytes, SignedCoin};
use crate::{Address, B256, Keccak256, U256};

/// Where encoded bytes go.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Sink for Keccak256 {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

/// Counts the bytes of an encoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counter(pub usize);

impl Sink for Counter {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// The content of a list that can be written more than once: first counted, then put behind its header.
pub trait ListPayload {
    /// Writes the elements one after the other.
    fn put_payload<S: Sink>(&self, out: &mut S);

    /// Writes the list.
    fn put_as_list<S: Sink>(&self, out: &mut S) {
        let mut length = Counter::default();
        self.put_payload(&mut length);
        put_list_header(out, length.0);
        self.put_payload(out);
    }

    /// The encoded list.
    fn list_to_vec(&self) -> Vec<u8> {
        let mut length = Counter::default();
        self.put_payload(&mut length);
        let mut out = Vec::with_capacity(length.0 + 9);
        put_list_header(&mut out, length.0);
        self.put_payload(&mut out);
        out
    }

    /// Keccak-256 of the encoded list, which is nowhere put together.
    fn hash_as_list(&self) -> B256 {
        let mut hasher = Keccak256::new();
        self.put_as_list(&mut hasher);
        hasher.finalize()
    }
}

/// Writes a header with its length in as few bytes as possible.
fn put_header<S: Sink>(out: &mut S, length: usize, short: u8) {
    if length < 56 {
        out.put(&[short + length as u8]);
    } else {
        let bytes = length.to_be_bytes();
        let width = bytes.len() - length.leading_zeros() as usize / 8;
        out.put(&[short + 55 + width as u8]);
        out.put(&bytes[bytes.len() - width..]);
    }
}

/// Writes the header of a list whose elements take `length` bytes.
pub fn put_list_header<S: Sink>(out: &mut S, length: usize) {
    put_header(out, length, 0xc0);
}

/// Writes a list whose elements the closure appends.
pub fn put_list(out: &mut Vec<u8>, elements: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    elements(out);
    let length = out.len() - start;
    put_list_header(out, length);
    let header = out.len() - start - length;
    out[start..].rotate_right(header);
}

/// Writes a byte string (`encodeElement`): null and empty are 0x80, one byte below 0x80, zero included, is itself.
pub fn put_bytes<S: Sink>(out: &mut S, bytes: &[u8]) {
    if !matches!(bytes, [0..0x80]) {
        put_header(out, bytes.len(), 0x80);
    }
    out.put(bytes);
}

/// Writes an unsigned number (`encodeBigInteger`).
pub fn put_u64<S: Sink>(out: &mut S, value: u64) {
    let bytes = value.to_be_bytes();
    put_bytes(out, &bytes[value.leading_zeros() as usize / 8..]);
}

/// Writes an unsigned number (`encodeBigInteger`).
pub fn put_u256<S: Sink>(out: &mut S, value: U256) {
    put_bytes(out, &MinimalBytes::unsigned(value));
}

/// Writes a byte (`encodeByte`): zero is 0x80.
pub fn put_byte<S: Sink>(out: &mut S, value: u8) {
    put_u64(out, u64::from(value));
}

/// Writes a 16-bit number (`encodeShort`): a negative one takes two bytes.
pub fn put_short<S: Sink>(out: &mut S, value: i16) {
    put_u64(out, u64::from(value as u16));
}

/// Writes a 32-bit number (`encodeInt`): a negative one takes four bytes.
pub fn put_int<S: Sink>(out: &mut S, value: i32) {
    put_u64(out, u64::from(value as u32));
}

/// Writes an amount (`encodeCoin`).
pub fn put_coin<S: Sink>(out: &mut S, value: Coin) {
    put_u256(out, value);
}

/// Writes an amount (`encodeCoinNonNullZero`): zero is the byte 0x00, null is 0x80.
pub fn put_coin_non_null_zero<S: Sink>(out: &mut S, value: Option<Coin>) {
    match value {
        None => out.put(&[0x80]),
        Some(Coin::ZERO) => out.put(&[0]),
        Some(value) => put_u256(out, value),
    }
}

/// Writes an amount (`encodeCoinNullZero`): zero is 0x80.
pub fn put_coin_null_zero<S: Sink>(out: &mut S, value: Coin) {
    put_u256(out, value);
}

/// Writes a signed amount (`encodeSignedCoinNonNullZero`): zero is the byte 0x00, null is 0x80.
pub fn put_signed_coin_non_null_zero<S: Sink>(out: &mut S, value: Option<SignedCoin>) {
    match value {
        None => out.put(&[0x80]),
        Some(value) => put_bytes(out, &MinimalBytes::signed(value)),
    }
}

/// Writes a difficulty (`encodeBlockDifficulty`): zero is the byte 0x00, null is 0x80.
pub fn put_difficulty<S: Sink>(out: &mut S, value: Option<Difficulty>) {
    match value {
        None => out.put(&[0x80]),
        Some(value) => put_bytes(out, &value.to_signed_bytes()),
    }
}

/// Writes an address (`encodeRskAddress`): none, as the receiver of a contract creation, is 0x80.
pub fn put_address<S: Sink>(out: &mut S, address: Option<&Address>) {
    put_bytes(out, address.map_or(&[][..], |address| address.as_slice()));
}

/// Writes 16-bit words as one byte string in little-endian order (`ByteUtil.shortsToRLP`).
pub fn put_shorts<S: Sink>(out: &mut S, words: &[i16]) {
    put_header(out, 2 * words.len(), 0x80);
    for word in words {
        out.put(&word.to_le_bytes());
    }
}

/// Reads 16-bit words from the content of a byte string; an odd last byte is dropped (`ByteUtil.rlpToShorts`).
pub fn shorts_from_bytes(bytes: &[u8]) -> Vec<i16> {
    bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_lists() {
        for (length, header) in [(0, vec![0xc0]), (55, vec![0xf7]), (56, vec![0xf8, 56]), (256, vec![0xf9, 1, 0])] {
            let mut out = Vec::new();
            put_list(&mut out, |out| out.resize(length, 1));
            assert_eq!(out[..header.len()], header);
            assert_eq!(out.len(), header.len() + length);
        }
    }

    #[test]
    fn single_bytes_and_words() {
        let mut out = Vec::new();
        put_bytes(&mut out, &[0]);
        put_bytes(&mut out, &[]);
        put_bytes(&mut out, &[0x80]);
        put_shorts(&mut out, &[1]);
        put_shorts(&mut out, &[-32768, 300]);
        assert_eq!(out, [0x00, 0x80, 0x81, 0x80, 0x82, 1, 0, 0x84, 0, 0x80, 0x2c, 1]);
        assert_eq!(shorts_from_bytes(&[1, 0, 9]), [1]);
    }
}
