//! The contract's argument and result encoding, as rskj reads and writes it (`SolidityType`, `CallTransaction.Function`).
//!
//! Not a general ABI library: only the types that the Bridge's methods use, with rskj's bounds checks and its habit of
//! cutting offsets and lengths to 32 bits. Arguments borrow from the call's input, so that an array of dynamic elements
//! which all point to one place costs no memory.

mod decode;
mod encode;

pub use decode::{DecodeError, Value, decode_arguments};
pub use encode::{Output, encode_event_data, encode_output};

use rhizome_primitives::U256;

/// Types of the Bridge's arguments and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `bytes`
    Bytes,
    /// `bytes32`
    Bytes32,
    /// `string`
    String,
    /// Any of `int`, `int64`, `int256`, `uint`, `uint256`: rskj reads all as signed 256-bit numbers.
    Int(&'static str),
    /// `bool`
    Bool,
    /// `address`
    Address,
    /// `bytes[]`
    BytesArray,
    /// `bytes32[]`
    Bytes32Array,
    /// `string[]`, only as a result
    StringArray,
}

impl Type {
    /// Name in a method's signature.
    pub fn canonical_name(self) -> &'static str {
        match self {
            Type::Bytes => "bytes",
            Type::Bytes32 => "bytes32",
            Type::String => "string",
            Type::Int("int") => "int256",
            Type::Int("uint") => "uint256",
            Type::Int(name) => name,
            Type::Bool => "bool",
            Type::Address => "address",
            Type::BytesArray => "bytes[]",
            Type::Bytes32Array => "bytes32[]",
            Type::StringArray => "string[]",
        }
    }

    fn is_dynamic(self) -> bool {
        matches!(self, Type::Bytes | Type::String | Type::BytesArray | Type::Bytes32Array | Type::StringArray)
    }
}

/// A signed 256-bit number in two's complement, as Java's `BigInteger` arguments are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Word(pub U256);

impl Word {
    /// Whether the number is below zero.
    pub fn is_negative(self) -> bool {
        self.0.bit(255)
    }

    /// The lowest 32 bits (`BigInteger.intValue`).
    pub fn low_i32(self) -> i32 {
        self.0.as_limbs()[0] as u32 as i32
    }

    /// The number where it fits 64 bits (`BigInteger.longValueExact`).
    pub fn exact_i64(self) -> Option<i64> {
        let low = self.0.as_limbs()[0] as i64;
        (Word::from(low) == self).then_some(low)
    }

    /// The number where it fits 32 bits (`BigInteger.intValueExact`).
    pub fn exact_i32(self) -> Option<i32> {
        self.exact_i64().and_then(|value| i32::try_from(value).ok())
    }

    /// The number where it is not negative.
    pub fn non_negative(self) -> Option<U256> {
        (!self.is_negative()).then_some(self.0)
    }
}

impl From<i64> for Word {
    fn from(value: i64) -> Self {
        let fill = if value < 0 { u64::MAX } else { 0 };
        Word(U256::from_limbs([value as u64, fill, fill, fill]))
    }
}
