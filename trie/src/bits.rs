//! Strings of bits inside byte strings: paths and keys. The first bit is the most significant one of the first byte.

use smallvec::SmallVec;

/// A view of some bits.
#[derive(Clone, Copy, Debug)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    /// Index of the first bit in `bytes`.
    start: usize,
    /// Number of bits; all of them lie in `bytes`.
    len: usize,
}

impl<'a> Bits<'a> {
    /// No bits.
    pub const EMPTY: Bits<'static> = Bits { bytes: &[], start: 0, len: 0 };

    /// All bits of a key.
    pub fn of_key(key: &'a [u8]) -> Self {
        Self { bytes: key, start: 0, len: key.len().saturating_mul(8) }
    }

    /// The first `len` bits of packed bytes, or as many as there are.
    pub fn packed(bytes: &'a [u8], len: usize) -> Self {
        Self { bytes, start: 0, len: len.min(bytes.len().saturating_mul(8)) }
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One bit; false behind the end.
    pub fn get(&self, index: usize) -> bool {
        index < self.len && {
            let at = self.start + index;
            self.bytes[at / 8] & (0x80 >> (at % 8)) != 0
        }
    }

    /// The bits from `from` on; none when it lies behind the end.
    pub fn from(&self, from: usize) -> Self {
        let from = from.min(self.len);
        Self { bytes: self.bytes, start: self.start + from, len: self.len - from }
    }

    /// The first `to` bits.
    pub fn to(&self, to: usize) -> Self {
        Self { len: to.min(self.len), ..*self }
    }

    /// Eight bits from `index` on; what lies behind the end is anything.
    #[inline]
    fn window(&self, index: usize) -> u8 {
        let at = self.start + index;
        let (byte, shift) = (at / 8, at % 8);
        let high = self.bytes.get(byte).copied().unwrap_or(0);
        if shift == 0 {
            return high;
        }
        let low = self.bytes.get(byte + 1).copied().unwrap_or(0);
        (high << shift) | (low >> (8 - shift))
    }

    /// 64 bits from `index` on where nine bytes are left, else `None`.
    #[inline]
    fn wide_window(&self, index: usize) -> Option<u64> {
        let at = self.start + index;
        let (byte, shift) = (at / 8, at % 8);
        let nine: &[u8; 9] = self.bytes.get(byte..byte + 9)?.first_chunk()?;
        let word = u64::from_be_bytes([nine[0], nine[1], nine[2], nine[3], nine[4], nine[5], nine[6], nine[7]]);
        Some(if shift == 0 { word } else { (word << shift) | u64::from(nine[8] >> (8 - shift)) })
    }

    /// How many leading bits are equal.
    #[inline]
    pub fn common_prefix(&self, other: &Bits<'_>) -> usize {
        let most = self.len.min(other.len);
        let mut index = 0;
        while index + 64 <= most {
            let (Some(a), Some(b)) = (self.wide_window(index), other.wide_window(index)) else { break };
            let difference = a ^ b;
            if difference != 0 {
                return index + difference.leading_zeros() as usize;
            }
            index += 64;
        }
        while index < most {
            let difference = self.window(index) ^ other.window(index);
            if difference != 0 {
                return most.min(index + difference.leading_zeros() as usize);
            }
            index += 8;
        }
        most
    }

    /// Appends the bits, packed, the last byte filled with zeros.
    #[inline]
    pub fn pack_into(&self, out: &mut Vec<u8>) {
        let whole = self.len / 8;
        if self.start.is_multiple_of(8) {
            let byte = self.start / 8;
            out.extend_from_slice(&self.bytes[byte..byte + whole]);
        } else {
            out.extend((0..whole).map(|index| self.window(index * 8)));
        }
        let rest = self.len % 8;
        if rest > 0 {
            out.push(self.window(whole * 8) & (0xff << (8 - rest)));
        }
    }
}

impl PartialEq for Bits<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.common_prefix(other) == self.len
    }
}

impl Eq for Bits<'_> {}

/// Bits of its own, packed from the first byte's top bit.
#[derive(Clone, Debug, Default)]
pub struct BitBuf {
    /// Always `len` bits rounded up to bytes, the last one filled with zeros.
    bytes: SmallVec<[u8; 80]>,
    len: usize,
}

impl BitBuf {
    /// A copy of some bits.
    pub fn copy_of(bits: Bits<'_>) -> Self {
        let mut buffer = Self::default();
        buffer.push_bits(bits);
        buffer
    }

    /// Appends one bit.
    pub fn push(&mut self, bit: bool) {
        let shift = self.len % 8;
        if shift == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut()
            && bit
        {
            *last |= 0x80 >> shift;
        }
        self.len += 1;
    }

    /// Appends bits.
    pub fn push_bits(&mut self, bits: Bits<'_>) {
        let shift = self.len % 8;
        let mut index = 0;
        while index < bits.len {
            let count = (bits.len - index).min(8);
            let window = bits.window(index) & (0xff << (8 - count));
            if shift == 0 {
                self.bytes.push(window);
            } else {
                if let Some(last) = self.bytes.last_mut() {
                    *last |= window >> shift;
                }
                if count > 8 - shift {
                    self.bytes.push(window << (8 - shift));
                }
            }
            index += count;
        }
        self.len += bits.len;
    }

    /// Cuts to the first `len` bits.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.bytes.truncate(len.div_ceil(8));
        let rest = len % 8;
        if rest > 0
            && let Some(last) = self.bytes.last_mut()
        {
            *last &= 0xff << (8 - rest);
        }
        self.len = len;
    }

    /// The bits.
    pub fn as_bits(&self) -> Bits<'_> {
        Bits { bytes: &self.bytes, start: 0, len: self.len }
    }

    /// The bytes, the last one filled with zeros.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(bits: Bits<'_>) -> Vec<bool> {
        (0..bits.len()).map(|index| bits.get(index)).collect()
    }

    #[test]
    fn slices_joins_and_packing_agree_with_single_bits() {
        let bytes: Vec<u8> = (0..40u8).map(|at| at.wrapping_mul(151).wrapping_add(17)).collect();
        let all = expand(Bits::of_key(&bytes));
        for from in 0..20 {
            for to in from..190 {
                let slice = Bits::of_key(&bytes).to(to).from(from);
                assert_eq!(expand(slice), all[from..to]);
                let mut packed = Vec::new();
                slice.pack_into(&mut packed);
                assert_eq!(packed.len(), (to - from).div_ceil(8));
                assert_eq!(Bits::packed(&packed, to - from), slice);
                let mut joined = BitBuf::copy_of(Bits::of_key(&bytes).to(from));
                joined.push(to % 2 == 0);
                joined.push_bits(slice);
                let mut expected = all[..from].to_vec();
                expected.push(to % 2 == 0);
                expected.extend(&all[from..to]);
                assert_eq!(expand(joined.as_bits()), expected);
                joined.truncate(from / 2);
                joined.push_bits(slice);
                let mut expected = all[..from / 2].to_vec();
                expected.extend(&all[from..to]);
                assert_eq!(expand(joined.as_bits()), expected);
            }
        }
    }

    #[test]
    fn the_common_prefix_ends_at_the_first_difference() {
        let a: Vec<u8> = (0..40u8).map(|at| at.wrapping_mul(37)).collect();
        for flipped in 0..320 {
            let mut b = a.clone();
            b[flipped / 8] ^= 0x80 >> (flipped % 8);
            for start in 0..12 {
                let (x, y) = (Bits::of_key(&a).from(start), Bits::of_key(&b).from(start));
                assert_eq!(x.common_prefix(&y), if flipped < start { 320 - start } else { flipped - start });
                assert_eq!(x.to(50).common_prefix(&y), x.common_prefix(&y).min(50));
            }
        }
    }
}
