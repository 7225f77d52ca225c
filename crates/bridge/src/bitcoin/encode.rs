//! Reading and writing of Bitcoin's wire format with bitcoinj's tolerance (`Message`, `VarInt`, `Utils`).

/// Bytes that bitcoinj does not take. It has several exception classes for this; a rule of the Bridge tells only one apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed Bitcoin data: {0}")]
pub struct DecodeError(pub &'static str);

impl DecodeError {
    /// The one kind that a rule tells apart: not a `ProtocolException` but an `IllegalArgumentException` of Java's list.
    pub const NEGATIVE_CAPACITY: DecodeError = DecodeError("expected a count from zero on, got one below");
}

/// bitcoinj's `Message.MAX_SIZE`: longest single byte string.
const MAX_SIZE: usize = 0x0200_0000;

/// A cursor over a message. Nothing is allocated beyond the input's length.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    data: &'a [u8],
    pos: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(data: &'a [u8]) -> Self {
        Reader { data, pos: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.pos >= self.data.len()
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        if len > MAX_SIZE {
            return Err(DecodeError("expected at most 32 MiB in one string, got a greater length"));
        }
        let end = self.pos + len;
        let out = self.data.get(self.pos..end).ok_or(DecodeError("expected more bytes, got the end"))?;
        self.pos = end;
        Ok(out)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// Four bytes, little endian.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes, little endian, two's complement.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// 32 bytes.
    pub fn hash(&mut self) -> Result<[u8; 32], DecodeError> {
        self.array()
    }

    /// A variable-length integer; longer forms than needed are taken.
    pub fn var_int(&mut self) -> Result<u64, DecodeError> {
        Ok(match self.u8()? {
            253 => u64::from(u16::from_le_bytes(self.array()?)),
            254 => u64::from(u32::from_le_bytes(self.array()?)),
            255 => u64::from_le_bytes(self.array()?),
            small => u64::from(small),
        })
    }

    /// A byte string with its length. bitcoinj cuts the length to 32 bits, sign included.
    pub fn var_bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.var_int()? as i32;
        let len = usize::try_from(len).map_err(|_| DecodeError("expected a length from zero on, got one below"))?;
        self.bytes(len)
    }

    /// A count of list elements. bitcoinj sizes its list by the low 32 bits, which must not be negative, and then loops
    /// over the signed 64 bits: a count with the top bit set is an empty list.
    pub fn count(&mut self) -> Result<u64, DecodeError> {
        let count = self.var_int()?;
        if (count as i32) < 0 {
            return Err(DecodeError::NEGATIVE_CAPACITY);
        }
        Ok(if (count as i64) < 0 { 0 } else { count })
    }
}

/// Length of [`put_var_int`]'s output.
pub const fn var_int_len(value: u64) -> usize {
    match value {
        0..=252 => 1,
        253..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// Appends a variable-length integer in its shortest form.
pub fn put_var_int(out: &mut Vec<u8>, value: u64) {
    match var_int_len(value) {
        1 => out.push(value as u8),
        3 => {
            out.push(253);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        5 => {
            out.push(254);
            out.extend_from_slice(&(value as u32).to_le_bytes());
        }
        _ => {
            out.push(255);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a byte string with its length.
pub fn put_var_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_var_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// bitcoinj's `Utils.uint64ToByteStreamLE` of a signed value: the *minimal* two's complement bytes, little endian, filled
/// up with zeros. Equal to the plain form for all non-negative values; a negative one is not sign-extended.
pub fn unsigned_le(value: i64) -> [u8; 8] {
    let mut bytes = value.to_le_bytes();
    if value < 0 {
        let significant = 64 - value.leading_ones() as usize + 1;
        for byte in &mut bytes[significant.div_ceil(8).min(8)..] {
            *byte = 0;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn var_ints_round_trip_and_are_shortest() {
        for value in [0, 1, 252, 253, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            let mut out = Vec::new();
            put_var_int(&mut out, value);
            assert_eq!(out.len(), var_int_len(value));
            assert_eq!(Reader::new(&out).var_int().unwrap(), value);
        }
    }

    #[test]
    fn lengths_are_cut_to_32_bits() {
        let data = [255, 2, 0, 0, 0, 1, 0, 0, 0, 7, 8];
        assert_eq!(Reader::new(&data).var_bytes().unwrap(), &[7, 8]);
        let data = [255, 0, 0, 0, 0, 0, 0, 0, 128];
        assert_eq!(Reader::new(&data).count().unwrap(), 0);
        let data = [254, 0, 0, 0, 128];
        assert!(Reader::new(&data).count().is_err());
    }

    #[test]
    fn negative_values_are_not_sign_extended() {
        assert_eq!(unsigned_le(5), [5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(unsigned_le(-1), [255, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(unsigned_le(-128), [128, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(unsigned_le(-129), [127, 255, 0, 0, 0, 0, 0, 0]);
        assert_eq!(unsigned_le(i64::MIN), [0, 0, 0, 0, 0, 0, 0, 128]);
    }
}
