//! ECDSA signatures as bitcoinj reads them (`BtcECKey.ECDSASignature`, `TransactionSignature`).

use rhizome_primitives::{U256, uint};

use super::der;

/// Half of the curve's order, rounded down.
const HALF_ORDER: U256 = uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// `SIGHASH_ALL`, the only type that the Bridge makes.
pub const SIGHASH_ALL: u8 = 1;

/// The bytes are not a DER sequence of two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("signature is not DER: expected {expected} at byte {at}")]
pub struct SignatureError {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

/// A pair (r, s). Numbers beyond 256 bits are taken when reading and never verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcdsaSignature {
    r: U256,
    s: U256,
    oversized: bool,
}

impl EcdsaSignature {
    /// From the two numbers.
    pub const fn new(r: U256, s: U256) -> Self {
        EcdsaSignature { r, s, oversized: false }
    }

    /// Reads DER with the looseness of Spongy Castle's `ASN1InputStream`: tags and lengths in any form, negative integers
    /// (their sign is ignored), more elements than two, and any bytes behind the sequence. Integers in more bytes than needed
    /// are refused.
    pub fn decode_der(bytes: &[u8]) -> Result<Self, SignatureError> {
        let [r, s] = der::read_two_integers(bytes)?.map(|content| {
            let skip = content.iter().take_while(|byte| **byte == 0).count();
            U256::try_from_be_slice(&content[skip..])
        });
        Ok(match (r, s) {
            (Some(r), Some(s)) => EcdsaSignature { r, s, oversized: false },
            _ => EcdsaSignature { r: U256::MAX, s: U256::MAX, oversized: true },
        })
    }

    /// `isCanonical`: s in the lower half.
    pub fn is_low_s(&self) -> bool {
        !self.oversized && self.s <= HALF_ORDER
    }

    /// r and s as 64 bytes; `None` for numbers beyond 256 bits.
    pub(crate) fn compact(&self) -> Option<[u8; 64]> {
        if self.oversized {
            return None;
        }
        let mut out = [0; 64];
        out[..32].copy_from_slice(&self.r.to_be_bytes::<32>());
        out[32..].copy_from_slice(&self.s.to_be_bytes::<32>());
        Some(out)
    }

    /// `encodeToBitcoin`: DER and the byte for `SIGHASH_ALL`.
    pub fn encode_bitcoin(&self) -> Vec<u8> {
        let r = minimal_signed(self.r);
        let s = minimal_signed(self.s);
        let mut out = Vec::with_capacity(r.len() + s.len() + 7);
        out.extend_from_slice(&[0x30, (r.len() + s.len() + 4) as u8, 2, r.len() as u8]);
        out.extend_from_slice(&r);
        out.extend_from_slice(&[2, s.len() as u8]);
        out.extend_from_slice(&s);
        out.push(SIGHASH_ALL);
        out
    }

    /// `TransactionSignature.isEncodingCanonical`: strict form of a signature with its type byte.
    pub fn is_canonical_encoding(signature: &[u8]) -> bool {
        let len = signature.len();
        if !(9..=73).contains(&len) || !(1..=3).contains(&(signature[len - 1] & 0x7f)) {
            return false;
        }
        if signature[0] != 0x30 || usize::from(signature[1]) != len - 3 {
            return false;
        }
        let len_r = usize::from(signature[3]);
        if 5 + len_r >= len || len_r == 0 {
            return false;
        }
        let len_s = usize::from(signature[5 + len_r]);
        if len_r + len_s + 7 != len || len_s == 0 {
            return false;
        }
        let strict = |at: usize, len: usize| {
            signature[at - 2] == 2
                && signature[at] & 0x80 == 0
                && !(len > 1 && signature[at] == 0 && signature[at + 1] & 0x80 == 0)
        };
        strict(4, len_r) && strict(6 + len_r, len_s)
    }
}

fn minimal_signed(value: U256) -> Vec<u8> {
    let bytes = value.to_be_bytes::<32>();
    let skip = bytes.iter().take_while(|byte| **byte == 0).count().min(31);
    let mut out = Vec::with_capacity(33);
    if bytes[skip] & 0x80 != 0 {
        out.push(0);
    }
    out.extend_from_slice(&bytes[skip..]);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn der_is_read_loosely() {
        let plain = EcdsaSignature::new(U256::from(0x80), U256::from(3));
        let mut encoded = plain.encode_bitcoin();
        assert_eq!(encoded, [0x30, 7, 2, 2, 0, 0x80, 2, 1, 3, 1]);
        assert_eq!(EcdsaSignature::decode_der(&encoded).unwrap(), plain);
        encoded.extend([1, 2, 3]);
        assert_eq!(EcdsaSignature::decode_der(&encoded).unwrap(), plain);
        // Long forms of lengths and of a tag, negative integer, more elements.
        let loose = [0x3f, 0x10, 0x81, 10, 2, 1, 0x80, 2, 0x82, 0, 1, 3, 5, 0];
        assert_eq!(EcdsaSignature::decode_der(&loose).unwrap(), plain);
        for bad in [
            &[][..],
            &[0x30, 0],
            &[0x30, 3, 2, 1, 1],
            &[0x31, 6, 2, 1, 1, 2, 1, 1],
            &[0x10, 6, 2, 1, 1, 2, 1, 1],
            &[0x30, 7, 2, 1, 1, 2, 1, 1],
            &[0x30, 0x80, 2, 1, 1, 2, 1, 1, 0, 0],
        ] {
            assert!(EcdsaSignature::decode_der(bad).is_err());
        }
    }

    #[test]
    fn numbers_in_more_bytes_than_needed_are_refused() {
        for (number, taken) in [
            (&[][..], true),
            (&[0], true),
            (&[0xff], true),
            (&[0, 0x80], true),
            (&[0, 0x7f], false),
            (&[0, 0], false),
            (&[0xff, 0x7f], true),
            (&[0xff, 0x80], false),
        ] {
            let len = number.len() as u8;
            for der in [
                [&[0x30, len + 5, 2, len][..], number, &[2, 1, 1]].concat(),
                [&[0x30, len + 5, 2, 1, 1, 2, len][..], number].concat(),
            ] {
                assert_eq!(EcdsaSignature::decode_der(&der).is_ok(), taken, "{number:?}");
            }
        }
    }

    #[test]
    fn elements_behind_the_numbers() {
        let deep = (0..40u8).fold(vec![], |inner, _| [&[0x30, inner.len() as u8], &inner[..]].concat());
        for (element, taken) in [
            (&[1, 1, 7][..], true),
            (&[1, 2, 7, 7], false),
            (&[2, 2, 0, 1], false),
            (&[3, 1, 0], true),
            (&[3, 1, 1], false),
            (&[3, 2, 8, 1], false),
            (&[3, 0], false),
            (&[5, 9], true),
            (&[5, 9, 4, 0], true),
            (&[5, 1, 4], false),
            (&[7, 0], false),
            (&[10, 0], false),
            (&[0x10, 0], false),
            (&[0x18, 2, 1, 1], true),
            (&[0x1e, 3, 1, 1, 4, 0], true),
            (&[0x1f, 0x1e, 0], true),
            (&[0x1f, 0x80, 4, 0], false),
            (&[0x22, 0], false),
            (&[0x24, 3, 4, 1, 1], true),
            (&[0x24, 3, 2, 1, 1], false),
            (&[0x30, 3, 2, 1, 1], true),
            (&[0x30, 1, 2], false),
            (&[0x61, 1, 2], true),
            (&[0xa1, 1, 2], false),
            (&[0x81, 1, 2], true),
            (&deep, true),
        ] {
            let der = [&[0x30, element.len() as u8 + 6, 2, 1, 1, 2, 1, 1], element].concat();
            assert_eq!(EcdsaSignature::decode_der(&der).is_ok(), taken, "{element:?}");
        }
    }

    #[test]
    fn low_s() {
        assert!(EcdsaSignature::new(U256::from(1), HALF_ORDER).is_low_s());
        assert!(!EcdsaSignature::new(U256::from(1), HALF_ORDER + U256::from(1)).is_low_s());
    }
}
