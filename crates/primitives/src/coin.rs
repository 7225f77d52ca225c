//! Amounts of money and difficulty, and the byte forms that Java's `BigInteger` gives them.
//!
//! rskj's numbers have no upper bound. Values that can take part in a valid block fit 256 bits; where a wider one can stand in
//! bytes that still decode, the owner of the field keeps the bytes and stores the nearest representable value here.

use std::fmt;

use crate::error::DecodeError;
use crate::{I256, U256};

/// An amount in wei.
pub type Coin = U256;

/// An amount in wei that may be negative in bytes from outside (`RLP.parseSignedCoinNonNullZero`).
pub type SignedCoin = I256;

/// A block difficulty or a sum of them: never negative, encoded as two's complement, so with a leading zero byte where the top
/// bit is set (`BlockDifficulty`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Difficulty(pub U256);

impl Difficulty {
    /// No difficulty.
    pub const ZERO: Self = Self(U256::ZERO);
    /// The smallest difficulty.
    pub const ONE: Self = Self(U256::ONE);

    /// The number.
    pub const fn value(self) -> U256 {
        self.0
    }

    /// Reads two's complement bytes (`RLP.parseBlockDifficulty` of a non-null array).
    ///
    /// # Errors
    /// For no bytes, a negative number and one above 256 bits.
    pub fn from_signed_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        const FIELD: &str = "difficulty";
        let Some(first) = bytes.first() else { return Err(DecodeError::Empty { field: FIELD }) };
        if first & 0x80 != 0 {
            return Err(DecodeError::Negative { field: FIELD, first: *first });
        }
        unsigned(bytes).map(Self).ok_or(DecodeError::OutOfRange { field: FIELD, bits: 256, got: bytes.len() })
    }

    /// The minimal two's complement bytes (`BlockDifficulty.getBytes`): zero is one zero byte.
    pub fn to_signed_bytes(self) -> MinimalBytes {
        MinimalBytes::twos_complement(self.0)
    }

    /// The sum. It saturates, which no real chain comes near.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Difficulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for Difficulty {
    fn from(value: u64) -> Self {
        Self(U256::from(value))
    }
}

impl From<U256> for Difficulty {
    fn from(value: U256) -> Self {
        Self(value)
    }
}

/// A number of at most 33 bytes in big-endian order, held in place.
#[derive(Clone, Copy)]
pub struct MinimalBytes {
    bytes: [u8; 33],
    start: u8,
}

impl MinimalBytes {
    /// The number without leading zero bytes; zero is no byte at all (`BigIntegers.asUnsignedByteArray`).
    pub fn unsigned(value: U256) -> Self {
        let mut bytes = [0; 33];
        bytes[1..].copy_from_slice(&value.to_be_bytes::<32>());
        Self { bytes, start: 33 - value.byte_len() as u8 }
    }

    /// The shortest two's complement form of a non-negative number (`BigInteger.toByteArray`): zero is one zero byte.
    pub fn twos_complement(value: U256) -> Self {
        let mut bytes = [0; 33];
        bytes[1..].copy_from_slice(&value.to_be_bytes::<32>());
        Self { bytes, start: 32 - (value.bit_len() / 8) as u8 }
    }

    /// The shortest two's complement form of a number below zero by this amount, which is not zero.
    pub fn negative(magnitude: U256) -> Self {
        let raw = magnitude.wrapping_neg();
        let mut bytes = [0xff; 33];
        bytes[1..].copy_from_slice(&raw.to_be_bytes::<32>());
        Self { bytes, start: 32 - ((!raw).bit_len() / 8) as u8 }
    }

    /// The shortest two's complement form of a signed number: zero is one zero byte.
    pub fn signed(value: I256) -> Self {
        let raw = value.into_raw();
        if !value.is_negative() {
            return Self::twos_complement(raw);
        }
        let mut bytes = [0xff; 33];
        bytes[1..].copy_from_slice(&raw.to_be_bytes::<32>());
        Self { bytes, start: 32 - ((!raw).bit_len() / 8) as u8 }
    }
}

impl std::ops::Deref for MinimalBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

impl fmt::Debug for MinimalBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", alloy_primitives::hex::encode(&**self))
    }
}

/// Bytes without leading zeros.
pub fn strip_leading_zeros(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len())..]
}

/// Reads an unsigned big-endian number with any number of leading zeros; `None` above 256 bits.
pub fn unsigned(bytes: &[u8]) -> Option<U256> {
    U256::try_from_be_slice(strip_leading_zeros(bytes))
}

/// Reads a two's complement number below zero and gives how far; `None` beyond 256 bits.
pub fn negative(bytes: &[u8]) -> Option<U256> {
    let start = bytes.iter().position(|byte| *byte != 0xff).unwrap_or(bytes.len());
    let significant = &bytes[start..];
    if significant.len() > 32 {
        return None;
    }
    let mut word = [0xff; 32];
    word[32 - significant.len()..].copy_from_slice(significant);
    let magnitude = U256::from_be_bytes(word).wrapping_neg();
    (!magnitude.is_zero()).then_some(magnitude)
}

/// Reads a two's complement number (`new BigInteger(bytes)`); `None` for no bytes and outside 256 bits.
pub fn signed(bytes: &[u8]) -> Option<I256> {
    let fill = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let start = bytes.iter().position(|byte| *byte != fill).unwrap_or(bytes.len());
    let significant = &bytes[start..];
    if significant.len() > 32 {
        return None;
    }
    let mut word = [fill; 32];
    word[32 - significant.len()..].copy_from_slice(significant);
    let value = I256::from_raw(U256::from_be_bytes(word));
    (value.is_negative() == (fill != 0)).then_some(value)
}

/// Reads an unsigned number as Java's `longValueExact` does: at most `i64::MAX`.
pub(crate) fn long_exact(bytes: &[u8], field: &'static str) -> Result<u64, DecodeError> {
    let significant = strip_leading_zeros(bytes);
    if significant.len() > 8 {
        return Err(DecodeError::OutOfRange { field, bits: 63, got: bytes.len() });
    }
    let value = significant.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    if i64::try_from(value).is_err() {
        Err(DecodeError::OutOfRange { field, bits: 63, got: bytes.len() })
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn minimal_forms_at_the_top_bit() {
        let cases =
            [(0u64, "", "00"), (0x7f, "7f", "7f"), (0x80, "80", "0080"), (0xff, "ff", "00ff"), (256, "0100", "0100")];
        for (value, unsigned, signed) in cases {
            assert_eq!(format!("{:?}", MinimalBytes::unsigned(U256::from(value))), unsigned);
            assert_eq!(format!("{:?}", MinimalBytes::twos_complement(U256::from(value))), signed);
        }
        assert_eq!(MinimalBytes::twos_complement(U256::MAX).len(), 33);
        let negative = [(-1i64, "ff"), (-128, "80"), (-129, "ff7f"), (-32767, "8001")];
        for (value, bytes) in negative {
            let value = I256::try_from(value).unwrap();
            assert_eq!(format!("{:?}", MinimalBytes::signed(value)), bytes);
        }
        assert_eq!(MinimalBytes::signed(I256::MIN).len(), 32);
    }

    proptest! {
        #[test]
        fn numbers_survive(word in any::<[u8; 32]>(), zeros in 0usize..3) {
            let value = U256::from_be_bytes(word);
            let padded = [vec![0; zeros], word.to_vec()].concat();
            prop_assert_eq!(unsigned(&padded), Some(value));
            prop_assert_eq!(unsigned(&MinimalBytes::unsigned(value)), Some(value));
            prop_assert_eq!(Difficulty::from_signed_bytes(&Difficulty(value).to_signed_bytes()), Ok(Difficulty(value)));
            let number = I256::from_raw(value);
            prop_assert_eq!(signed(&MinimalBytes::signed(number)), Some(number));
        }
    }
}
