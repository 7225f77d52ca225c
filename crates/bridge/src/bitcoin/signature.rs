//! ECDSA signatures as bitcoinj reads them (`BtcECKey.ECDSASignature`, `TransactionSignature`).

use rhizome_primitives::{U256, uint};

/// Half of the curve's order, rounded down.
const HALF_ORDER: U256 = uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// `SIGHASH_ALL`, the only type that the Bridge makes.
pub const SIGHASH_ALL: u8 = 1;

/// The bytes are not a DER sequence of two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("signature is not DER: {0}")]
pub struct SignatureError(&'static str);

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

    /// Reads DER with the looseness of Bouncy Castle's `ASN1InputStream`: lengths in any definite form, integers of any
    /// length and padding (their sign is ignored), more elements than two, and any bytes behind the sequence.
    pub fn decode_der(bytes: &[u8]) -> Result<Self, SignatureError> {
        let mut outer = Der { data: bytes };
        let (tag, mut content) = outer.element()?;
        if tag != 0x30 {
            return Err(SignatureError("not a sequence"));
        }
        let r = content.integer()?;
        let s = content.integer()?;
        while !content.data.is_empty() {
            let (tag, inner) = content.element()?;
            inner.check(tag, 0)?;
        }
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

/// The rest of a run of DER elements.
#[derive(Clone, Copy)]
struct Der<'a> {
    data: &'a [u8],
}

impl<'a> Der<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], SignatureError> {
        let (out, rest) = self.data.split_at_checked(len).ok_or(SignatureError("unexpected end"))?;
        self.data = rest;
        Ok(out)
    }

    /// Tag byte (of a multi-byte tag the first) and content.
    fn element(&mut self) -> Result<(u8, Der<'a>), SignatureError> {
        let tag = self.take(1)?[0];
        if tag == 0 {
            return Err(SignatureError("end-of-contents"));
        }
        if tag & 0x1f == 0x1f {
            while self.take(1)?[0] & 0x80 != 0 {}
        }
        let first = self.take(1)?[0];
        let len = match first {
            0x80 => return Err(SignatureError("indefinite length")),
            0..0x80 => usize::from(first),
            _ => {
                let count = usize::from(first & 0x7f);
                if count > 4 {
                    return Err(SignatureError("length of a length"));
                }
                self.take(count)?.iter().fold(0, |len, byte| (len << 8) | usize::from(*byte))
            }
        };
        Ok((tag, Der { data: self.take(len)? }))
    }

    /// An integer without its sign; `Ok(None)` if it is beyond 256 bits.
    fn integer(&mut self) -> Result<Option<U256>, SignatureError> {
        let (tag, content) = self.element()?;
        if tag != 2 {
            return Err(SignatureError("not an integer"));
        }
        let skip = content.data.iter().take_while(|byte| **byte == 0).count();
        Ok(U256::try_from_be_slice(&content.data[skip..]))
    }

    /// Elements inside of a constructed one must be elements, too.
    fn check(mut self, tag: u8, depth: usize) -> Result<(), SignatureError> {
        if tag & 0x20 == 0 {
            return Ok(());
        }
        if depth > 64 {
            return Err(SignatureError("nested too deeply"));
        }
        while !self.data.is_empty() {
            let (tag, inner) = self.element()?;
            inner.check(tag, depth + 1)?;
        }
        Ok(())
    }
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
        // Long form of a length, negative integer, more elements.
        let loose = [0x30, 0x81, 9, 2, 1, 0x80, 2, 2, 0, 3, 5, 0];
        assert_eq!(EcdsaSignature::decode_der(&loose).unwrap(), plain);
        for bad in [
            &[][..],
            &[0x30, 0],
            &[0x30, 3, 2, 1, 1],
            &[0x31, 6, 2, 1, 1, 2, 1, 1],
            &[0x30, 0x80, 2, 1, 1, 2, 1, 1, 0, 0],
        ] {
            assert!(EcdsaSignature::decode_der(bad).is_err());
        }
    }

    #[test]
    fn low_s() {
        assert!(EcdsaSignature::new(U256::from(1), HALF_ORDER).is_low_s());
        assert!(!EcdsaSignature::new(U256::from(1), HALF_ORDER + U256::from(1)).is_low_s());
    }
}
