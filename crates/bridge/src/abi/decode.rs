//! Reading arguments (`CallTransaction.Function.decode`, `SolidityType.*.decode`).

use std::borrow::Cow;

use rhizome_primitives::{Address, B256, U256};

use super::{Type, Word};

/// One argument of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// `bytes`
    Bytes(&'a [u8]),
    /// `bytes32`
    Bytes32(B256),
    /// `string`; malformed UTF-8 is replaced as Java does
    String(Cow<'a, str>),
    /// Any number type
    Int(Word),
    /// `bool`
    Bool(bool),
    /// `address`
    Address(Address),
    /// `bytes[]`
    BytesArray(Vec<&'a [u8]>),
    /// `bytes32[]`
    Bytes32Array(Vec<B256>),
}

/// Arguments that rskj does not decode. Such input is not a call of the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("arguments do not decode")]
pub struct DecodeError;

const WORD: i32 = 32;

/// Decodes the arguments behind the selector. Bytes beyond the last argument are ignored.
pub fn decode_arguments<'a>(types: &[Type], input: &'a [u8]) -> Result<Vec<Value<'a>>, DecodeError> {
    if i32::try_from(input.len()).is_err() {
        return Err(DecodeError);
    }
    let mut values = Vec::with_capacity(types.len());
    let mut offset = 0i32;
    for &kind in types {
        let at = if kind.is_dynamic() { pointer(input, offset)? } else { offset };
        values.push(decode_value(kind, input, at)?);
        offset = offset.checked_add(WORD).ok_or(DecodeError)?;
    }
    Ok(values)
}

/// The head's pointer to a dynamic argument. Read past the end it is filled up with zeros, unlike everything else.
fn pointer(input: &[u8], offset: i32) -> Result<i32, DecodeError> {
    let tail = usize::try_from(offset).ok().and_then(|from| input.get(from..)).ok_or(DecodeError)?;
    let mut word = [0u8; 32];
    let length = tail.len().min(32);
    word[..length].copy_from_slice(&tail[..length]);
    Ok(Word(U256::from_be_bytes(word)).low_i32())
}

fn decode_value(kind: Type, input: &[u8], at: i32) -> Result<Value<'_>, DecodeError> {
    Ok(match kind {
        Type::Int(_) => Value::Int(int(input, at)?),
        Type::Bool => Value::Bool(int(input, at)?.low_i32() != 0),
        Type::Address => Value::Address(address(int(input, at)?)),
        Type::Bytes32 => Value::Bytes32(B256::from_slice(range(input, at, WORD)?)),
        Type::Bytes => Value::Bytes(bytes(input, at)?),
        Type::String => Value::String(String::from_utf8_lossy(bytes(input, at)?)),
        Type::BytesArray => Value::BytesArray(array(input, at, |start, element| {
            let relative = int(input, element)?.low_i32();
            bytes(input, start.checked_add(relative).ok_or(DecodeError)?)
        })?),
        Type::Bytes32Array => {
            Value::Bytes32Array(array(input, at, |_, element| Ok(B256::from_slice(range(input, element, WORD)?)))?)
        }
        Type::StringArray => return Err(DecodeError),
    })
}

/// A number. Of an empty input every number reads as zero, so that the price of a bare selector can be told.
fn int(input: &[u8], at: i32) -> Result<Word, DecodeError> {
    if input.is_empty() {
        return Ok(Word::default());
    }
    Ok(Word(U256::from_be_slice(range(input, at, WORD)?)))
}

/// The last 20 bytes of the number's shortest two's complement form, padded with zeros (`DataWord.valueOf`).
fn address(word: Word) -> Address {
    let bytes = word.0.to_be_bytes::<32>();
    if !word.is_negative() {
        return Address::from_slice(&bytes[12..]);
    }
    let redundant = bytes.windows(2).take_while(|pair| pair[0] == 0xff && pair[1] & 0x80 != 0).count();
    let mut padded = [0u8; 32];
    padded[redundant..].copy_from_slice(&bytes[redundant..]);
    Address::from_slice(&padded[12..])
}

fn bytes(input: &[u8], at: i32) -> Result<&[u8], DecodeError> {
    let length = int(input, at)?.low_i32();
    range(input, at.wrapping_add(WORD), length)
}

fn array<T>(
    input: &[u8],
    at: i32,
    mut element: impl FnMut(i32, i32) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    if input.is_empty() {
        return Ok(Vec::new());
    }
    let length = int(input, at)?.low_i32();
    let start = at.wrapping_add(WORD);
    check_size(input, start, length)?;
    let count = usize::try_from(length).map_err(|_| DecodeError)?;
    let mut elements = Vec::with_capacity(count.min(input.len() / 32));
    let mut offset = start;
    for _ in 0..count {
        elements.push(element(start, offset)?);
        offset = offset.checked_add(WORD).ok_or(DecodeError)?;
    }
    Ok(elements)
}

fn check_size(input: &[u8], from: i32, size: i32) -> Result<(), DecodeError> {
    let end = size.checked_add(from).ok_or(DecodeError)?;
    if (input.len() as i64) < i64::from(end) { Err(DecodeError) } else { Ok(()) }
}

fn range(input: &[u8], from: i32, size: i32) -> Result<&[u8], DecodeError> {
    check_size(input, from, size)?;
    let from = usize::try_from(from).map_err(|_| DecodeError)?;
    let size = usize::try_from(size).map_err(|_| DecodeError)?;
    input.get(from..from + size).ok_or(DecodeError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_selector_reads_numbers_as_zero_but_no_bytes() {
        let int = Type::Int("int256");
        assert_eq!(
            decode_arguments(&[int, Type::Bool], &[]),
            Ok(vec![Value::Int(Word::default()), Value::Bool(false)])
        );
        assert_eq!(decode_arguments(&[Type::Bytes], &[]), Err(DecodeError));
        assert_eq!(decode_arguments(&[Type::Bytes32], &[]), Err(DecodeError));
    }

    #[test]
    fn offsets_and_lengths_are_cut_to_32_bits() {
        let mut input = vec![0u8; 96];
        input[10] = 7; // beyond 32 bits
        input[31] = 32;
        input[63] = 2;
        input[64] = 0xab;
        input[65] = 0xcd;
        assert_eq!(decode_arguments(&[Type::Bytes], &input), Ok(vec![Value::Bytes(&[0xab, 0xcd])]));
        input[60] = 0x80; // negative length
        assert_eq!(decode_arguments(&[Type::Bytes], &input), Err(DecodeError));
    }

    #[test]
    fn address_of_a_negative_number_loses_its_leading_ones() {
        let all_ones = Word(U256::MAX);
        let mut expected = [0u8; 20];
        expected[19] = 0xff;
        assert_eq!(address(all_ones), Address::from(expected));
    }

    #[test]
    fn array_length_is_bounded_by_the_input() {
        let mut input = vec![0u8; 64];
        input[31] = 32;
        input[60..64].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(decode_arguments(&[Type::BytesArray], &input), Err(DecodeError));
    }
}
