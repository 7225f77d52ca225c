//! RLP exactly as rskj reads and writes it (`org.ethereum.util.RLP`).
//!
//! Reading is lax: non-minimal lengths are fine, and only a range outside the buffer is refused. Lists are read lazily: what
//! stands inside a list is looked at when it is asked for, so a broken list in a place that is only copied does no harm.
//! Nothing recurses here. Writing lives in [`encode`].

mod encode;

pub use encode::*;

/// Why bytes are not RLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RlpError {
    /// Nothing where an item should start.
    #[error("expected an item, got the end of the input")]
    End,
    /// The bytes of a length reach beyond the input.
    #[error("the length of an item: expected {expected} bytes, got {got}")]
    LengthOfLength {
        /// The bytes that the length has.
        expected: usize,
        /// The bytes that are left.
        got: usize,
    },
    /// A length is negative as a signed 32-bit number.
    #[error("length out of range: expected at most {} bytes, got {got}", i32::MAX)]
    Length {
        /// The length, cut to 32 bits as rskj cuts it.
        got: u32,
    },
    /// An item reaches beyond the input.
    #[error("item beyond the input: expected {expected} bytes, got {got}")]
    Overrun {
        /// The bytes that the item has.
        expected: usize,
        /// The bytes that are left.
        got: usize,
    },
    /// The input is not exactly one list.
    #[error("expected exactly one list, got something else or more")]
    NotOneList,
    /// A list is needed here.
    #[error("expected a list, got a byte string")]
    NotAList,
    /// Not a number in the short form.
    #[error("expected a number in the short form, got a long string or a list")]
    NotANumber,
}

/// One item of the input: a byte string or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// A byte string's content; a list with its header.
    data: &'a [u8],
    /// Length of a list's header; zero for a byte string.
    header: u8,
}

impl<'a> Item<'a> {
    /// The bytes that rskj's `getRLPData` gives: the content of a byte string, or a whole list *with* its header, because a
    /// list in the place of a scalar is taken as its raw bytes.
    ///
    /// Where rskj tells null from empty, empty bytes here are its null.
    pub const fn data(&self) -> &'a [u8] {
        self.data
    }

    /// True for a list.
    pub const fn is_list(&self) -> bool {
        self.header != 0
    }

    /// The elements of a list.
    ///
    /// # Errors
    /// When this is a byte string (rskj fails to cast).
    pub fn list(&self) -> Result<Items<'a>, RlpError> {
        if self.is_list() {
            Ok(Items { rest: &self.data[usize::from(self.header)..] })
        } else {
            Err(RlpError::NotAList)
        }
    }
}

/// The items of a byte sequence, in order. Ends after the first broken one.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Items<'a> {
    /// The items of `input` (`RLP.decode2`).
    pub const fn new(input: &'a [u8]) -> Self {
        Self { rest: input }
    }

    /// Reads exactly `N` items and says how many there were otherwise: `Ok(Err(count))`.
    ///
    /// # Errors
    /// When any item is broken, as rskj reads all elements of a list before it gives the first.
    pub fn exactly<const N: usize>(self) -> Result<Result<[Item<'a>; N], usize>, RlpError> {
        const EMPTY: Item<'static> = Item { data: &[], header: 0 };
        let mut items = [EMPTY; N];
        let mut count = 0;
        for item in self {
            let item = item?;
            if let Some(place) = items.get_mut(count) {
                *place = item;
            }
            count += 1;
        }
        Ok(if count == N { Ok(items) } else { Err(count) })
    }

    /// All items.
    ///
    /// # Errors
    /// When any item is broken.
    pub fn collect_all(self) -> Result<Vec<Item<'a>>, RlpError> {
        self.collect()
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, RlpError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match split_first(self.rest) {
            Ok((item, rest)) => {
                self.rest = rest;
                Some(Ok(item))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

/// The first item of the input, whatever follows it (`RLP.decodeFirstElement`).
///
/// # Errors
/// When the input is empty or its first item is broken.
pub fn first(input: &[u8]) -> Result<Item<'_>, RlpError> {
    split_first(input).map(|(item, _)| item)
}

/// The one list that the input must be (`RLP.decodeList`).
///
/// # Errors
/// When an item is broken, or the input is not exactly one item, or that item is no list.
pub fn decode_list(input: &[u8]) -> Result<Items<'_>, RlpError> {
    match Items::new(input).exactly::<1>()? {
        Ok([item]) if item.is_list() => item.list(),
        _ => Err(RlpError::NotOneList),
    }
}

/// The list that the first item of the input must be; further items are only required to be sound (`decode2(..).get(0)`).
///
/// # Errors
/// When any item is broken or the first one is no list.
pub fn decode_leading_list(input: &[u8]) -> Result<Items<'_>, RlpError> {
    let mut items = Items::new(input);
    let head = items.next().ok_or(RlpError::End)??;
    for item in items {
        item?;
    }
    head.list()
}

/// A small number in the short form (`RLP.decodeInt`): a byte below 0x80, or a string of up to 54 bytes of which only the last
/// four count.
///
/// # Errors
/// When the input is empty, too short, or starts a long string or a list.
pub fn decode_int(input: &[u8]) -> Result<i32, RlpError> {
    let (&first, rest) = input.split_first().ok_or(RlpError::End)?;
    match first {
        0..0x80 => Ok(i32::from(first)),
        0x80..0xb7 => {
            let expected = usize::from(first - 0x80);
            let bytes = rest.get(..expected).ok_or(RlpError::Overrun { expected, got: rest.len() })?;
            Ok(java_int(bytes))
        }
        _ => Err(RlpError::NotANumber),
    }
}

/// The sum that Java makes of `byte << (8 * place)` in 32 bits, where the place of a far byte wraps modulo four.
fn java_int(bytes: &[u8]) -> i32 {
    bytes
        .iter()
        .rev()
        .enumerate()
        .fold(0i32, |value, (place, byte)| value.wrapping_add(i32::from(*byte).wrapping_shl(8 * (place as u32 % 4))))
}

/// Splits off the first item (`RLP.decodeElement`).
fn split_first(input: &[u8]) -> Result<(Item<'_>, &[u8]), RlpError> {
    let first = *input.first().ok_or(RlpError::End)?;
    let (offset, length, list) = match first {
        0..0x80 => (0, 1, false),
        0x80..=0xb7 => (1, i32::from(first - 0x80), false),
        0xb8..=0xbf => {
            let width = usize::from(first - 0xb7);
            (1 + width, long_length(&input[1..], width)?, false)
        }
        0xc0..=0xf7 => (1, i32::from(first - 0xc0), true),
        0xf8..=0xff => {
            let width = usize::from(first - 0xf7);
            (1 + width, long_length(&input[1..], width)?, true)
        }
    };
    // Java adds in 32 bits: what overflows there can never fit the input, which is shorter than that.
    let end = offset + usize::try_from(length).map_err(|_| RlpError::Length { got: length as u32 })?;
    if end > input.len() {
        return Err(RlpError::Overrun { expected: end, got: input.len() });
    }
    let (item, rest) = input.split_at(end);
    let item = if list { Item { data: item, header: offset as u8 } } else { Item { data: &item[offset..], header: 0 } };
    Ok((item, rest))
}

/// A length of `width` bytes, where Java's 32-bit shifts drop the high ones; a negative result is refused.
fn long_length(input: &[u8], width: usize) -> Result<i32, RlpError> {
    let bytes = input.get(..width).ok_or(RlpError::LengthOfLength { expected: width, got: input.len() })?;
    let length = bytes.iter().fold(0i32, |length, byte| length.wrapping_shl(8).wrapping_add(i32::from(*byte)));
    if length < 0 { Err(RlpError::Length { got: length as u32 }) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data(input: &[u8]) -> Result<Vec<u8>, RlpError> {
        first(input).map(|item| item.data().to_vec())
    }

    #[test]
    fn lax_lengths() {
        assert_eq!(data(&[0x81, 0x05]), Ok(vec![5]));
        assert_eq!(data(&[0xb8, 0x01, 0x05]), Ok(vec![5]));
        assert_eq!(data(&[0xb9, 0x00, 0x01, 0x05]), Ok(vec![5]));
        // Eight length bytes of which the upper four are dropped.
        assert_eq!(data(&[0xbf, 0x0f, 0, 0, 0, 0, 0, 0, 2, 0x11, 0x11]), Ok(vec![0x11, 0x11]));
        assert_eq!(data(&[0xbb, 0x80, 0, 0, 0]), Err(RlpError::Length { got: 0x8000_0000 }));
        assert_eq!(data(&[0xb9, 0x01]), Err(RlpError::LengthOfLength { expected: 2, got: 1 }));
        assert_eq!(data(&[0x82, 0x01]), Err(RlpError::Overrun { expected: 3, got: 2 }));
        assert_eq!(data(&[]), Err(RlpError::End));
    }

    #[test]
    fn a_broken_list_is_fine_until_it_is_opened() {
        let item = first(&[0xc1, 0xb8]).unwrap();
        assert_eq!(item.data(), [0xc1, 0xb8]);
        assert!(item.list().unwrap().collect_all().is_err());
    }

    #[test]
    fn one_list_only() {
        assert!(decode_list(&[0xc0]).unwrap().next().is_none());
        assert_eq!(decode_list(&[0xc0, 0x80]).err(), Some(RlpError::NotOneList));
        assert_eq!(decode_list(&[0x80]).err(), Some(RlpError::NotOneList));
        assert_eq!(decode_list(&[]).err(), Some(RlpError::NotOneList));
        assert!(decode_leading_list(&[0xc0, 0x80]).is_ok());
    }

    #[test]
    fn short_numbers() {
        assert_eq!(decode_int(&[0x7f]), Ok(0x7f));
        assert_eq!(decode_int(&[0x80]), Ok(0));
        assert_eq!(decode_int(&[0x84, 0xff, 0xff, 0xff, 0xff]), Ok(-1));
        assert_eq!(decode_int(&[0x82, 1]), Err(RlpError::Overrun { expected: 2, got: 1 }));
        assert_eq!(decode_int(&[0xc0]), Err(RlpError::NotANumber));
    }

    proptest! {
        #[test]
        fn any_bytes(input in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut total = 0;
            for item in Items::new(&input).flatten() {
                total += item.data().len();
                if let Ok(items) = item.list() {
                    items.for_each(drop);
                }
            }
            prop_assert!(total <= input.len());
            let _ = decode_int(&input);
            let _ = decode_list(&input);
        }

        #[test]
        fn strings_survive(strings in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..8)) {
            let mut encoded = Vec::new();
            put_list(&mut encoded, |out| strings.iter().for_each(|string| put_bytes(out, string)));
            let decoded: Vec<_> = decode_list(&encoded).unwrap().map(|item| item.unwrap().data().to_vec()).collect();
            prop_assert_eq!(decoded, strings);
        }
    }
}
