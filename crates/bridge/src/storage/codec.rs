//! Small forms shared by many cells (`BridgeSerializationUtils`, `RLP`).

use rhizome_primitives::rlp::{self, Items};
use rhizome_primitives::{Address, B256, U256};

pub use crate::bitcoin::Satoshi;
use crate::failure::{Failure, Result};

/// `BigInteger.valueOf(value)` as `RLP.encodeBigInteger` writes it. A negative number becomes its shortest two's complement
/// bytes, which read back as another, positive number.
pub fn put_long(out: &mut Vec<u8>, value: i64) {
    if value >= 0 {
        rlp::put_u64(out, value as u64);
        return;
    }
    let bytes = value.to_be_bytes();
    let redundant = bytes.windows(2).take_while(|pair| pair[0] == 0xff && pair[1] & 0x80 != 0).count();
    rlp::put_bytes(out, &bytes[redundant..]);
}

/// The form of [`put_long`] alone.
pub fn long(value: i64) -> Vec<u8> {
    let mut out = Vec::with_capacity(9);
    put_long(&mut out, value);
    out
}

/// A byte string.
pub fn element(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 9);
    rlp::put_bytes(&mut out, bytes);
    out
}

/// A list whose elements the closure writes.
pub fn list(elements: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    rlp::put_list(&mut out, elements);
    out
}

/// The elements of a cell that holds a list; none for an absent cell.
pub fn read_list(stored: Option<&[u8]>) -> Result<Vec<&[u8]>> {
    match stored {
        None | Some([]) => Ok(Vec::new()),
        Some(bytes) => elements(rlp::decode_leading_list(bytes)?),
    }
}

/// The content of each element of a list.
pub fn elements(items: Items<'_>) -> Result<Vec<&[u8]>> {
    items.map(|item| Ok(item?.data())).collect()
}

/// Low 64 bits of an unsigned number of any length (`BigInteger.longValue`).
pub fn long_from_bytes(bytes: &[u8]) -> i64 {
    bytes.iter().fold(0u64, |value, byte| (value << 8) | u64::from(*byte)) as i64
}

/// A number of a cell; `None` for an absent cell (`deserializeOptionalLong`).
pub fn read_optional_long(stored: Option<&[u8]>) -> Result<Option<i64>> {
    stored.map(|bytes| Ok(long_from_bytes(rlp::first(bytes)?.data()))).transpose()
}

/// An amount of satoshi (`deserializeCoin`): a number beyond 64 bits throws.
pub fn read_coin(stored: Option<&[u8]>) -> Result<Option<Satoshi>> {
    match stored {
        None | Some([]) => Ok(None),
        Some(bytes) => exact_long(rlp::first(bytes)?.data()).map(Some),
    }
}

/// An unsigned number that must fit a Java `long` (`longValueExact`).
pub fn exact_long(bytes: &[u8]) -> Result<i64> {
    let digits = bytes.iter().position(|byte| *byte != 0).map_or(&[][..], |at| &bytes[at..]);
    let value = long_from_bytes(digits);
    if digits.len() > 8 || value < 0 { Err(Failure::threw("BigInteger out of long range")) } else { Ok(value) }
}

/// An amount of wei (`deserializeRskCoin`).
pub fn read_wei(stored: Option<&[u8]>) -> Result<Option<U256>> {
    match stored {
        None | Some([]) => Ok(None),
        Some(bytes) => {
            let data = rlp::first(bytes)?.data();
            U256::try_from_be_slice(data).map(Some).ok_or_else(|| Failure::threw("amount beyond 256 bits"))
        }
    }
}

/// The form of an amount of wei.
pub fn wei(value: U256) -> Vec<u8> {
    let mut out = Vec::with_capacity(33);
    rlp::put_u256(&mut out, value);
    out
}

/// 32 bytes, or an exception as of `Keccak256` and `Sha256Hash`.
pub fn hash(bytes: &[u8]) -> Result<B256> {
    B256::try_from(bytes).map_err(|_| Failure::threw("a hash has 32 bytes"))
}

/// 20 bytes, or an exception as of `RskAddress`.
pub fn rsk_address(bytes: &[u8]) -> Result<Address> {
    Address::try_from(bytes).map_err(|_| Failure::threw("an address has 20 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_are_stored_as_twos_complement() {
        assert_eq!(long(-1), [0x81, 0xff]);
        assert_eq!(long(-256), [0x82, 0xff, 0x00]);
        assert_eq!(long(i64::MIN)[1..], i64::MIN.to_be_bytes());
        assert_eq!(read_coin(Some(&long(-1))).unwrap(), Some(255));
        assert!(read_coin(Some(&long(i64::MIN))).is_err());
        assert_eq!(long(0), [0x80]);
        assert_eq!(read_optional_long(Some(&[0x80])).unwrap(), Some(0));
    }
}
