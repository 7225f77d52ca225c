//! Why bytes from outside are not what they should be.

use std::borrow::Cow;

use crate::rlp::RlpError;

/// A refused header, transaction, receipt, block or account encoding.
///
/// It corresponds to an exception of rskj's decoder: the sender of the bytes is at fault, never the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The RLP structure is broken.
    #[error(transparent)]
    Rlp(#[from] RlpError),
    /// A list has the wrong number of elements.
    #[error("{what} has {got} elements instead of {expected}")]
    ElementCount {
        /// The kind of list.
        what: &'static str,
        /// The numbers of elements that it may have.
        expected: Cow<'static, str>,
        /// How many elements it has.
        got: usize,
    },
    /// A byte string has the wrong length.
    #[error("{field} has {got} bytes instead of {expected}")]
    Length {
        /// The field.
        field: &'static str,
        /// The lengths that it may have.
        expected: &'static str,
        /// Its length in bytes.
        got: usize,
    },
    /// A number does not fit the width that rskj gives it.
    #[error("{field} is out of range: expected a number of at most {bits} bits, got one of {got} bytes")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The bits that it may have.
        bits: u32,
        /// The bytes that were read.
        got: usize,
    },
    /// A field that must not be empty is empty.
    #[error("{field} is empty: expected at least one byte")]
    Empty {
        /// The field.
        field: &'static str,
    },
    /// A number that must not be negative is negative.
    #[error("{field} is negative: expected zero or more, got a number that begins with {first:#04x}")]
    Negative {
        /// The field.
        field: &'static str,
        /// Its first byte, whose top bit is the sign.
        first: u8,
    },
    /// A version byte that no known form has.
    #[error("unknown version {got} of {what}: expected 1 or 2")]
    UnknownVersion {
        /// The versioned thing.
        what: &'static str,
        /// Its version byte.
        got: u8,
    },
}
