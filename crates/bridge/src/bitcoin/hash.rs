//! Hashes as bitcoinj holds them.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use bitcoin::hashes::{Hash as _, hash160 as h160, sha256 as h256, sha256d as h256d};
use rhizome_primitives::{B256, U256};

/// A double SHA-256 in *display* order, the order of block explorers (bitcoinj's `Sha256Hash`).
///
/// Display order is what the Bridge writes to its cells, logs and keys; [`BtcHash::wire_bytes`] is the order inside
/// Bitcoin's own serialisations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BtcHash([u8; 32]);

impl BtcHash {
    /// All zeros.
    pub const ZERO: BtcHash = BtcHash([0; 32]);

    /// From bytes in display order (`Sha256Hash.wrap`).
    pub const fn from_display(bytes: [u8; 32]) -> Self {
        BtcHash(bytes)
    }

    /// From bytes in display order; `None` unless there are exactly 32.
    pub fn from_display_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(BtcHash)
    }

    /// From bytes in wire order (`Sha256Hash.wrapReversed`).
    pub const fn from_wire(mut bytes: [u8; 32]) -> Self {
        let mut i = 0;
        while i < 16 {
            let other = bytes[31 - i];
            bytes[31 - i] = bytes[i];
            bytes[i] = other;
            i += 1;
        }
        BtcHash(bytes)
    }

    /// Double SHA-256 of Bitcoin's serialisation of something.
    pub fn of_wire_data(data: &[u8]) -> Self {
        Self::from_wire(sha256d(data))
    }

    /// Bytes in display order (`getBytes`).
    pub const fn display_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Bytes in wire order (`getReversedBytes`).
    pub const fn wire_bytes(&self) -> [u8; 32] {
        BtcHash::from_wire(self.0).0
    }

    /// Display order as a data word.
    pub const fn word(&self) -> B256 {
        B256::new(self.0)
    }

    /// The number that proof of work compares (`toBigInteger`).
    pub fn to_number(&self) -> U256 {
        U256::from_be_bytes(self.0)
    }
}

/// bitcoinj's `Sha256Hash.compareTo`: unsigned bytes of the display form, from the last to the first.
impl Ord for BtcHash {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl PartialOrd for BtcHash {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for BtcHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for BtcHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 64 hexadecimal digits, letters in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits in lower case, got another text")]
pub struct NotAHash;

impl FromStr for BtcHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        if text.len() != 64 || !text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(NotAHash);
        }
        let mut bytes = [0; 32];
        rhizome_primitives::hex::decode_to_slice(text, &mut bytes).map_err(|_| NotAHash)?;
        Ok(BtcHash(bytes))
    }
}

/// SHA-256.
pub fn sha256(data: &[u8]) -> [u8; 32] {
    h256::Hash::hash(data).to_byte_array()
}

/// SHA-256 of the SHA-256.
pub fn sha256d(data: &[u8]) -> [u8; 32] {
    h256d::Hash::hash(data).to_byte_array()
}

/// RIPEMD-160 of the SHA-256, the form of addresses (bitcoinj's `Utils.sha256hash160`).
pub fn hash160(data: &[u8]) -> [u8; 20] {
    h160::Hash::hash(data).to_byte_array()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn order_is_by_the_last_byte_first() {
        let mut a = [0; 32];
        let mut b = [0; 32];
        a[0] = 9;
        b[31] = 1;
        assert!(BtcHash::from_display(a) < BtcHash::from_display(b));
        assert_eq!(BtcHash::from_wire(BtcHash::from_display(a).wire_bytes()), BtcHash::from_display(a));
        assert_eq!(BtcHash::from_display(a).to_string().parse::<BtcHash>().unwrap(), BtcHash::from_display(a));
    }

    #[test]
    fn text_is_lower_case_without_a_prefix() {
        let text = "ab".repeat(32);
        assert_eq!(text.parse(), Ok(BtcHash::from_display([0xab; 32])));
        for other in [text.to_uppercase(), format!("0x{text}"), format!("0x{}", &text[2..]), text[1..].to_owned()] {
            assert_eq!(other.parse::<BtcHash>(), Err(NotAHash));
        }
    }
}
