//! Arguments and results of native contracts (rskj `CallTransaction.Function`, `SolidityType`).
//!
//! Offsets and lengths are Java integers: the low 32 bits of a word, signed, and every sum is checked. The place of a dynamic
//! argument is read leniently, as if zeros followed the input, as long as it begins inside or right behind it. An input of
//! nothing but a selector decodes: integers are zero, a first array is empty, while byte strings are refused.

use rhizome_primitives::Bytes;

/// The input does not decode. rskj then treats the call as one of an unknown method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadArguments;

/// Arguments behind the selector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a>(&'a [u8]);

impl<'a> Arguments<'a> {
    pub(super) fn new(encoded: &'a [u8]) -> Self {
        Self(encoded)
    }

    fn range(self, from: i32, size: i32) -> Result<&'a [u8], BadArguments> {
        let end = from.checked_add(size).ok_or(BadArguments)?;
        let (Ok(from), Ok(end)) = (usize::try_from(from), usize::try_from(end)) else { return Err(BadArguments) };
        self.0.get(from..end).ok_or(BadArguments)
    }

    fn word(self, offset: i32) -> Result<[u8; 32], BadArguments> {
        let mut word = [0; 32];
        if !self.0.is_empty() {
            word.copy_from_slice(self.range(offset, 32)?);
        }
        Ok(word)
    }

    fn integer(self, offset: i32) -> Result<i32, BadArguments> {
        Ok(low_integer(&self.word(offset)?))
    }

    /// The `index`th argument as an `int256`.
    pub(super) fn int256(self, index: i32) -> Result<[u8; 32], BadArguments> {
        self.word(index * 32)
    }

    /// Where the `index`th argument, a dynamic one, has its contents.
    fn pointer(self, index: usize) -> Result<i32, BadArguments> {
        let given = self.0.get(index * 32..).ok_or(BadArguments)?;
        let mut word = [0; 32];
        let count = given.len().min(32);
        word[..count].copy_from_slice(&given[..count]);
        Ok(low_integer(&word))
    }

    /// The `index`th argument as `bytes` or `string`.
    pub(super) fn bytes(self, index: usize) -> Result<&'a [u8], BadArguments> {
        self.bytes_at(self.pointer(index)?)
    }

    fn bytes_at(self, offset: i32) -> Result<&'a [u8], BadArguments> {
        let len = self.integer(offset)?;
        self.range(offset.checked_add(32).ok_or(BadArguments)?, len)
    }

    /// The `index`th argument as `bytes[]`. The elements borrow the input, so overlapping ones cost nothing.
    pub(super) fn bytes_array(self, index: usize) -> Result<Vec<&'a [u8]>, BadArguments> {
        let head = self.pointer(index)?;
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let len = self.integer(head)?;
        let start = head.checked_add(32).ok_or(BadArguments)?;
        // rskj's check of the length is in elements, not bytes, and so only a first bound.
        if i64::from(len.checked_add(start).ok_or(BadArguments)?) > self.0.len() as i64 || len < 0 {
            return Err(BadArguments);
        }
        let mut elements = Vec::new();
        let mut at = start;
        for _ in 0..len {
            let relative = self.integer(at)?;
            elements.push(self.bytes_at(start.checked_add(relative).ok_or(BadArguments)?)?);
            at = at.checked_add(32).ok_or(BadArguments)?;
        }
        Ok(elements)
    }
}

fn low_integer(word: &[u8; 32]) -> i32 {
    let mut low = [0; 4];
    low.copy_from_slice(&word[28..]);
    i32::from_be_bytes(low)
}

/// Java's `shortValueExact` of an `int256`.
pub(super) fn exact_short(word: &[u8; 32]) -> Option<i16> {
    exact_int(word).and_then(|value| i16::try_from(value).ok())
}

/// Java's `intValueExact` of an `int256`.
pub(super) fn exact_int(word: &[u8; 32]) -> Option<i32> {
    let value = low_integer(word);
    let sign = if value < 0 { 0xff } else { 0 };
    word[..28].iter().all(|&byte| byte == sign).then_some(value)
}

/// One result of type `bytes` or `string`. The padding of an empty one is a whole word, 96 bytes in all.
pub(crate) fn encode_bytes(value: &[u8]) -> Bytes {
    let padded = value.len().div_ceil(32).max(1) * 32;
    let mut out = vec![0; 64 + padded];
    out[31] = 32;
    out[56..64].copy_from_slice(&(value.len() as u64).to_be_bytes());
    out[64..64 + value.len()].copy_from_slice(value);
    out.into()
}

/// One result of an unsigned integer type.
pub(super) fn encode_u64(value: u64) -> Bytes {
    let mut out = [0; 32];
    out[24..].copy_from_slice(&value.to_be_bytes());
    Bytes::copy_from_slice(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selector_alone_decodes_integers_and_a_first_array() {
        let none = Arguments::new(&[]);
        assert_eq!(none.int256(1), Ok([0; 32]));
        assert_eq!(none.bytes_array(0), Ok(Vec::new()));
        assert_eq!(none.bytes(0), Err(BadArguments));
        // The place of a second argument lies beyond the input.
        assert_eq!(none.bytes_array(1), Err(BadArguments));
    }

    #[test]
    fn places_of_dynamic_arguments_are_padded() {
        let word = Arguments::new(&[0; 32]);
        assert_eq!(word.bytes(1), Ok(&[][..]));
        assert_eq!(word.bytes_array(1), Ok(Vec::new()));
        assert_eq!(word.bytes(2), Err(BadArguments));
        assert_eq!(word.int256(1), Err(BadArguments));
        // Only the last four bytes of the place count, so that 28 bytes of anything are a zero.
        let mut input = [0xff; 60];
        input[..32].fill(0);
        assert_eq!(Arguments::new(&input).bytes(1), Ok(&[][..]));
        assert_eq!(Arguments::new(&[&input[..], &[0x7f]].concat()).bytes(1), Err(BadArguments));
    }

    #[test]
    fn hostile_offsets_are_refused() {
        for low in [[0x80, 0, 0, 0], [0x7f, 0xff, 0xff, 0xff], [0xff; 4]] {
            let mut word = [0; 32];
            word[28..].copy_from_slice(&low);
            assert_eq!(Arguments::new(&word).bytes(0), Err(BadArguments));
            assert_eq!(Arguments::new(&word).bytes_array(0), Err(BadArguments));
        }
    }

    #[test]
    fn exact_values() {
        assert_eq!(exact_int(&[0xff; 32]), Some(-1));
        let mut word = [0; 32];
        word[28] = 0x80;
        assert_eq!(exact_int(&word), None);
        word[28..].copy_from_slice(&[0, 0, 0x80, 0]);
        assert_eq!((exact_int(&word), exact_short(&word)), (Some(32768), None));
    }

    #[test]
    fn empty_bytes_take_three_words() {
        assert_eq!(encode_bytes(&[]).len(), 96);
        assert_eq!(encode_bytes(&[1; 32]).len(), 96);
        assert_eq!(encode_bytes(&[1; 33]).len(), 128);
    }
}
