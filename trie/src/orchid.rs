//! The form of a node before RSKIP107 (rskj: `Trie.toMessageOrchid`, `fromMessageOrchid`).
//!
//! Bytes: arity 2; flags (1 secure, 2 long value); bitmap of the children and path length, 16 bits each, big-endian; the
//! packed path; the hashes of the children, none embedded; the value, or the hash of one of over 32 bytes. The shape of the
//! tree is that of the present form, so only the hashes differ.

use alloy_primitives::B256;

use crate::bits::Bits;
use crate::codec::{NodeError, ORCHID_ARITY};

const SECURE: u8 = 0b01;
const LONG_VALUE: u8 = 0b10;

/// A value in the old form; the length of a long one is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrchidValue<'a> {
    /// None.
    None,
    /// The bytes.
    Short(&'a [u8]),
    /// The keccak of a value of over 32 bytes.
    Long(&'a B256),
}

/// An old message taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrchidView<'a> {
    /// The shared path.
    pub path: Bits<'a>,
    /// The hashes of the children, left, then right.
    pub children: [Option<&'a B256>; 2],
    /// The value.
    pub value: OrchidValue<'a>,
}

impl<'a> OrchidView<'a> {
    /// Takes an old message apart. What follows the hash of a long value is not looked at, as in rskj.
    ///
    /// # Errors
    /// When the message is too short or not of the old form.
    pub fn parse(message: &'a [u8]) -> Result<Self, NodeError> {
        let (header, mut rest) = message.split_first_chunk::<6>().ok_or_else(|| NodeError::truncated(6, message))?;
        let [arity, flags, _, bitmap, path_high, path_low] = *header;
        if arity != ORCHID_ARITY {
            return Err(NodeError::OldForm);
        }
        let path_bits = usize::from(u16::from_be_bytes([path_high, path_low]));
        let path_bytes = path_bits.div_ceil(8);
        let (packed, behind) =
            rest.split_at_checked(path_bytes).ok_or_else(|| NodeError::truncated(path_bytes, rest))?;
        rest = behind;
        let mut hash = || -> Result<&'a B256, NodeError> {
            let (hash, behind) = rest.split_first_chunk::<32>().ok_or_else(|| NodeError::truncated(32, rest))?;
            rest = behind;
            Ok(hash.into())
        };
        let mut children = [None; 2];
        for (side, child) in children.iter_mut().enumerate() {
            if bitmap & (1 << side) != 0 {
                *child = Some(hash()?);
            }
        }
        let value = if flags & LONG_VALUE != 0 {
            OrchidValue::Long(hash()?)
        } else if rest.is_empty() {
            OrchidValue::None
        } else {
            OrchidValue::Short(rest)
        };
        Ok(Self { path: Bits::packed(packed, path_bits), children, value })
    }
}

/// Appends a message of the old form. `secure` is a flag that the state had and the transaction and receipt trees lack.
pub fn encode_into(
    out: &mut Vec<u8>,
    secure: bool,
    path: Bits<'_>,
    children: [Option<&B256>; 2],
    value: OrchidValue<'_>,
) {
    let mut flags = if secure { SECURE } else { 0 };
    if matches!(value, OrchidValue::Long(_)) {
        flags |= LONG_VALUE;
    }
    let bitmap = u8::from(children[0].is_some()) | u8::from(children[1].is_some()) << 1;
    out.extend_from_slice(&[ORCHID_ARITY, flags, 0, bitmap]);
    // Sixteen bits are what the form has; rskj drops the others too.
    out.extend_from_slice(&(path.len() as u16).to_be_bytes());
    path.pack_into(out);
    for hash in children.into_iter().flatten() {
        out.extend_from_slice(hash.as_slice());
    }
    match value {
        OrchidValue::None => {}
        OrchidValue::Short(bytes) => out.extend_from_slice(bytes),
        OrchidValue::Long(hash) => out.extend_from_slice(hash.as_slice()),
    }
}
