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

    /// Reads DER with the looseness of Spongy Castle's `ASN1InputStream`: tags and lengths in any definite form, negative
    /// integers (their sign is ignored), more elements than two, and any bytes behind the sequence. Integers in more bytes
    /// than needed are refused.
    pub fn decode_der(bytes: &[u8]) -> Result<Self, SignatureError> {
        let outer = Der { data: bytes }.header()?;
        if !outer.is_universal(true, tag::SEQUENCE) {
            return Err(SignatureError("not a sequence"));
        }
        let mut content = Der { data: outer.content()? };
        let r = content.integer()?;
        let s = content.integer()?;
        content.check_elements()?;
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

/// Universal tag numbers.
mod tag {
    pub(super) const BOOLEAN: u32 = 1;
    pub(super) const INTEGER: u32 = 2;
    pub(super) const BIT_STRING: u32 = 3;
    pub(super) const OCTET_STRING: u32 = 4;
    pub(super) const NULL: u32 = 5;
    pub(super) const OBJECT_IDENTIFIER: u32 = 6;
    pub(super) const ENUMERATED: u32 = 10;
    pub(super) const UTF8_STRING: u32 = 12;
    pub(super) const SEQUENCE: u32 = 16;
    pub(super) const SET: u32 = 17;
    pub(super) const NUMERIC_STRING: u32 = 18;
    pub(super) const UNIVERSAL_STRING: u32 = 28;
    pub(super) const BMP_STRING: u32 = 30;
}

/// The rest of a run of DER elements.
#[derive(Clone, Copy)]
struct Der<'a> {
    data: &'a [u8],
}

/// The start of an element.
struct Header<'a> {
    /// First byte: class and whether it is constructed.
    first: u8,
    number: u32,
    len: usize,
    /// Everything behind.
    rest: &'a [u8],
}

impl<'a> Header<'a> {
    /// Whether it has a universal tag of this number.
    fn is_universal(&self, constructed: bool, number: u32) -> bool {
        self.first & 0xe0 == if constructed { 0x20 } else { 0 } && self.number == number
    }

    fn content(&self) -> Result<&'a [u8], SignatureError> {
        self.rest.get(..self.len).ok_or(SignatureError("unexpected end"))
    }
}

impl<'a> Der<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], SignatureError> {
        let (out, rest) = self.data.split_at_checked(len).ok_or(SignatureError("unexpected end"))?;
        self.data = rest;
        Ok(out)
    }

    /// Reads tag and length. Indefinite lengths, which Spongy Castle takes behind the two numbers, are refused: nobody's
    /// signature has anything there.
    fn header(mut self) -> Result<Header<'a>, SignatureError> {
        let first = self.take(1)?[0];
        if first == 0 {
            return Err(SignatureError("end-of-contents"));
        }
        let mut number = u32::from(first & 0x1f);
        if number == 0x1f {
            let mut byte = self.take(1)?[0];
            if byte & 0x7f == 0 {
                return Err(SignatureError("high tag number"));
            }
            number = 0;
            while byte & 0x80 != 0 {
                number = (number | u32::from(byte & 0x7f)) << 7;
                byte = self.take(1)?[0];
            }
            number |= u32::from(byte & 0x7f);
        }
        let len = match self.take(1)?[0] {
            0x80 => return Err(SignatureError("indefinite length")),
            short @ 0..0x80 => usize::from(short),
            long => {
                let count = usize::from(long & 0x7f);
                if count > 4 {
                    return Err(SignatureError("length of a length"));
                }
                self.take(count)?.iter().fold(0, |len, byte| (len << 8) | usize::from(*byte))
            }
        };
        Ok(Header { first, number, len, rest: self.data })
    }

    /// An integer without its sign; `Ok(None)` if it is beyond 256 bits.
    fn integer(&mut self) -> Result<Option<U256>, SignatureError> {
        let header = self.header()?;
        if !header.is_universal(false, tag::INTEGER) {
            return Err(SignatureError("not an integer"));
        }
        let content = header.content()?;
        check_number(content)?;
        self.data = &header.rest[header.len..];
        let skip = content.iter().take_while(|byte| **byte == 0).count();
        Ok(U256::try_from_be_slice(&content[skip..]))
    }

    /// What Spongy Castle asks of elements, and of those inside of constructed ones.
    fn check_elements(self) -> Result<(), SignatureError> {
        const CONSTRUCTED: u8 = 0x20;
        const CONTEXT: u8 = 0x80;
        const APPLICATION: u8 = 0x40;
        let mut open = vec![(self, false)];
        while let Some((mut run, octets_only)) = open.pop() {
            while !run.data.is_empty() {
                let header = run.header()?;
                run.data = header.rest;
                if octets_only && !header.is_universal(false, tag::OCTET_STRING) {
                    return Err(SignatureError("not an octet string"));
                }
                let constructed = header.first & CONSTRUCTED != 0;
                let is_application = header.first & APPLICATION != 0;
                if !is_application && header.first & CONTEXT == 0 && !constructed {
                    run.primitive(&header)?;
                    continue;
                }
                let inner = Der { data: run.take(header.len)? };
                if is_application || !constructed {
                    continue;
                }
                match header.number {
                    _ if header.first & CONTEXT != 0 => open.push((inner, false)),
                    tag::SEQUENCE | tag::SET => open.push((inner, false)),
                    tag::OCTET_STRING => open.push((inner, true)),
                    _ => return Err(SignatureError("unknown tag")),
                }
            }
        }
        Ok(())
    }

    /// Reads the content of a primitive universal element. Not all of it is read of each kind: what is left is taken for
    /// the next elements.
    fn primitive(&mut self, header: &Header<'_>) -> Result<(), SignatureError> {
        let read = match header.number {
            tag::NULL => 0,
            tag::BMP_STRING => header.len & !1,
            _ => header.len,
        };
        let content = self.take(read)?;
        let fits = match header.number {
            tag::NULL | tag::BMP_STRING | tag::OCTET_STRING | tag::OBJECT_IDENTIFIER | tag::UTF8_STRING => true,
            tag::NUMERIC_STRING..=tag::UNIVERSAL_STRING => true,
            tag::BOOLEAN => content.len() == 1,
            tag::INTEGER => check_number(content).is_ok(),
            tag::ENUMERATED => !content.is_empty() && check_number(content).is_ok(),
            tag::BIT_STRING => matches!(content, [0] | [0..=7, _, ..]),
            _ => false,
        };
        if fits { Ok(()) } else { Err(SignatureError("not a primitive element")) }
    }
}

/// Refuses a number with a first byte that only repeats the sign.
fn check_number(content: &[u8]) -> Result<(), SignatureError> {
    match content {
        [0, 0..0x80, ..] | [0xff, 0x80..=0xff, ..] => Err(SignatureError("malformed integer")),
        _ => Ok(()),
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
