//! Bitcoin addresses of the two base58 forms (bitcoinj's `Address`, `VersionedChecksummedBytes`).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use bitcoin::base58;

use super::hash::sha256d;
use super::params::BtcNetwork;
use super::script::Script;

/// Why something is not an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// bitcoinj's `AddressFormatException`.
    #[error("not an address: {0}")]
    Format(&'static str),
    /// bitcoinj's `WrongNetworkException`.
    #[error("expected a version of {1:?}, got {0}")]
    WrongNetwork(i32, BtcNetwork),
    /// Any other exception.
    #[error("{0}")]
    Other(&'static str),
}

/// A version byte and a hash160.
#[derive(Clone, Copy)]
pub struct Address {
    /// The network it was made for; no part of equality, as in bitcoinj.
    pub network: BtcNetwork,
    /// First byte.
    pub version: u8,
    /// Hash of a key or of a script.
    pub hash: [u8; 20],
}

impl Address {
    /// Hash of a key.
    pub const fn p2pkh(network: BtcNetwork, hash: [u8; 20]) -> Self {
        Address { network, version: network.address_header(), hash }
    }

    /// Hash of a script.
    pub const fn p2sh(network: BtcNetwork, hash: [u8; 20]) -> Self {
        Address { network, version: network.p2sh_header(), hash }
    }

    /// From a version, which must be one of the network's two.
    pub fn new(network: BtcNetwork, version: i32, hash: [u8; 20]) -> Result<Self, AddressError> {
        let version_byte = u8::try_from(version)
            .map_err(|_| AddressError::Other("expected a version of one byte, got one out of its range"))?;
        if version_byte != network.address_header() && version_byte != network.p2sh_header() {
            return Err(AddressError::WrongNetwork(version, network));
        }
        Ok(Address { network, version: version_byte, hash })
    }

    /// From text. bitcoinj has an object for a text of other than 20 bytes, too: see [`Address::parse_base58`].
    pub fn from_base58(network: BtcNetwork, text: &str) -> Result<Self, AddressError> {
        let (version, hash) = Self::parse_base58(network, text)?;
        let hash =
            hash.try_into().map_err(|_| AddressError::Format("expected a hash of 20 bytes, got another length"))?;
        Ok(Address { network, version, hash })
    }

    /// `Address.fromBase58`: a version of the network and any number of bytes. A text of a checksum alone is an index out of
    /// bounds.
    pub fn parse_base58(network: BtcNetwork, text: &str) -> Result<(u8, Vec<u8>), AddressError> {
        let mut data =
            decode_base58(text).ok_or(AddressError::Format("expected digits of base 58, got another character"))?;
        let at = data
            .len()
            .checked_sub(4)
            .ok_or(AddressError::Format("expected at least the 4 bytes of a checksum, got fewer"))?;
        let checksum = data.split_off(at);
        if checksum != sha256d(&data)[..4] {
            return Err(AddressError::Format("expected the checksum of the bytes before it, got another"));
        }
        let (version, hash) = data.split_first().ok_or(AddressError::Other("expected a version, got no bytes"))?;
        if ![network.address_header(), network.p2sh_header()].contains(version) {
            return Err(AddressError::WrongNetwork(i32::from(*version), network));
        }
        Ok((*version, hash.to_vec()))
    }

    /// Whether it is the hash of a script.
    pub fn is_p2sh(&self) -> bool {
        self.version == self.network.p2sh_header()
    }

    /// The output that pays to it.
    pub fn output_script(&self) -> Script {
        if self.is_p2sh() { Script::p2sh(&self.hash) } else { Script::p2pkh(&self.hash) }
    }

    /// `BridgeUtils.serializeBtcAddressWithVersion`: version byte and hash; before RSKIP-284 a version of 128 and more has
    /// a zero byte before it.
    pub fn serialize_with_version(&self, rskip284: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(22);
        if !rskip284 && self.version >= 0x80 {
            out.push(0);
        }
        out.push(self.version);
        out.extend_from_slice(&self.hash);
        out
    }

    /// `BridgeUtils.deserializeBtcAddressWithVersion`: 21 bytes with RSKIP-284; before, a signed version byte and 20 bytes
    /// of at least as many.
    pub fn deserialize_with_version(network: BtcNetwork, rskip284: bool, bytes: &[u8]) -> Result<Self, AddressError> {
        let (version, rest) = bytes.split_first().ok_or(AddressError::Other("expected a version, got no bytes"))?;
        if rskip284 && rest.len() != 20 {
            return Err(AddressError::Other("expected 21 bytes of version and hash, got another length"));
        }
        let hash = rest.first_chunk::<20>().ok_or(AddressError::Other("expected 20 bytes of a hash, got fewer"))?;
        let version = if rskip284 { i32::from(*version) } else { i32::from(*version as i8) };
        Self::new(network, version, *hash)
    }
}

/// `Base58.decode`. The time goes with the square of the length, of which callers pay for every byte; ten digits at once
/// make it a hundredth of bitcoinj's.
fn decode_base58(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let digits = text.bytes().map(|digit| DIGITS.iter().position(|d| *d == digit)).collect::<Option<Vec<usize>>>()?;
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    let mut limbs: Vec<u64> = Vec::with_capacity(digits.len() / 10 + 1);
    for group in digits[zeros..].chunks(10) {
        let factor = 58u128.pow(group.len() as u32);
        let mut carry = group.iter().fold(0u128, |number, digit| number * 58 + *digit as u128);
        for limb in &mut limbs {
            carry += u128::from(*limb) * factor;
            *limb = carry as u64;
            carry >>= 64;
        }
        if carry != 0 {
            limbs.push(carry as u64);
        }
    }
    let number = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()).skip_while(|byte| *byte == 0);
    Some(std::iter::repeat_n(0, zeros).chain(number).collect())
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        (self.version, self.hash) == (other.version, other.hash)
    }
}

impl Eq for Address {}

impl Hash for Address {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.version, self.hash).hash(state);
    }
}

/// `VersionedChecksummedBytes.compareTo`.
impl Ord for Address {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.version, self.hash).cmp(&(other.version, other.hash))
    }
}

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut data = [0; 21];
        data[0] = self.version;
        data[1..].copy_from_slice(&self.hash);
        f.write_str(&base58::encode_check(&data))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_and_bytes() {
        let text = "35JUi1FxabGdhygLhnNUEFG4AgvpNMgxK1";
        let address = Address::from_base58(BtcNetwork::Mainnet, text).unwrap();
        assert!(address.is_p2sh());
        assert_eq!(address.to_string(), text);
        assert_eq!(
            Address::from_base58(BtcNetwork::Testnet, text),
            Err(AddressError::WrongNetwork(5, BtcNetwork::Testnet))
        );
        assert!(Address::from_base58(BtcNetwork::Mainnet, "35JUi1FxabGdhygLhnNUEFG4AgvpNMgxK2").is_err());
        assert!(Address::from_base58(BtcNetwork::Mainnet, "").is_err());
        let test = Address::p2sh(BtcNetwork::Regtest, [3; 20]);
        assert_eq!(test.serialize_with_version(false)[..2], [0, 196]);
        let bytes = test.serialize_with_version(true);
        assert_eq!(Address::deserialize_with_version(BtcNetwork::Testnet, true, &bytes), Ok(test));
        assert!(Address::deserialize_with_version(BtcNetwork::Testnet, false, &bytes).is_err());
    }

    #[test]
    fn texts_of_any_length_parse() {
        for len in [0, 1, 7, 19, 20, 21, 40, 100, 1_000] {
            for first in [0, 0xff] {
                let hash: Vec<u8> = (0..len).map(|i| if i == 0 { first } else { i as u8 }).collect();
                for (version, network) in [(0, BtcNetwork::Mainnet), (196, BtcNetwork::Testnet)] {
                    let text = base58::encode_check(&[&[version], hash.as_slice()].concat());
                    assert_eq!(Address::parse_base58(network, &text), Ok((version, hash.clone())));
                    assert_eq!(Address::from_base58(network, &text).is_ok(), len == 20);
                }
            }
        }
        let parse = |text: &str| Address::parse_base58(BtcNetwork::Mainnet, text);
        assert_eq!(parse(&base58::encode_check(&[])), Err(AddressError::Other("expected a version, got no bytes")));
        assert_eq!(parse(&base58::encode_check(&[1; 21])), Err(AddressError::WrongNetwork(1, BtcNetwork::Mainnet)));
        for bad in ["1", "0", "é", "35JUi1FxabGdhygLhnNUEFG4AgvpNMgxK1 "] {
            assert!(matches!(parse(bad), Err(AddressError::Format(_))));
        }
    }

    proptest::proptest! {
        #[test]
        fn base58_reads_what_it_wrote(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            proptest::prop_assert_eq!(decode_base58(&base58::encode(&bytes)), Some(bytes));
        }
    }
}
