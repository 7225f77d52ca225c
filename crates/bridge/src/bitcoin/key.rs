//! Public keys (bitcoinj's `BtcECKey`, rskj's `ECKey`; points by Bouncy Castle's `decodePoint`).

use std::fmt;
use std::hash::{Hash, Hasher};

use rhizome_primitives::{Address as RskAddress, keccak256};
use secp256k1::ecdsa::Signature;
use secp256k1::{Message, PublicKey, SECP256K1};

use super::address::Address;
use super::hash::hash160;
use super::params::BtcNetwork;
use super::signature::EcdsaSignature;

/// The bytes are not a point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a point of the curve, got other bytes")]
pub struct KeyError;

/// A public key with the form it was given in. Keys are equal if their points are, whatever the form.
#[derive(Clone, Copy)]
pub struct BtcKey {
    bytes: [u8; 65],
    len: u8,
}

impl BtcKey {
    /// Reads a compressed key, an uncompressed one (also in the "hybrid" form, which becomes a plain one), or the single
    /// zero byte of the point at infinity.
    pub fn decode(encoded: &[u8]) -> Result<Self, KeyError> {
        let mut bytes = [0; 65];
        if encoded == [0] {
            return Ok(BtcKey { bytes, len: 1 });
        }
        PublicKey::from_slice(encoded).map_err(|_| KeyError)?;
        bytes[..encoded.len()].copy_from_slice(encoded);
        if encoded.len() == 65 {
            bytes[0] = 4;
        }
        Ok(BtcKey { bytes, len: encoded.len() as u8 })
    }

    /// A compressed key that was checked when it was stored or written down. The point is worked out only when needed; if
    /// there is none, nothing verifies under the key.
    pub const fn from_checked(compressed: [u8; 33]) -> Self {
        let mut bytes = [0; 65];
        let mut i = 0;
        while i < 33 {
            bytes[i] = compressed[i];
            i += 1;
        }
        BtcKey { bytes, len: 33 }
    }

    /// `getPubKey`: the encoding it was given in.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The key in compressed form.
    #[must_use]
    pub fn compressed(&self) -> BtcKey {
        let mut bytes = self.bytes;
        let mut len = self.len;
        if len == 65 {
            bytes[0] = 2 + (bytes[64] & 1);
            bytes[33..].fill(0);
            len = 33;
        }
        BtcKey { bytes, len }
    }

    /// RIPEMD-160 of SHA-256 of the encoding.
    pub fn hash160(&self) -> [u8; 20] {
        hash160(self.bytes())
    }

    /// Bitcoin address of the encoding.
    pub fn address(&self, network: BtcNetwork) -> Address {
        Address::p2pkh(network, self.hash160())
    }

    /// Rootstock address of the point: of its encoding without the first byte, so that the point at infinity has that of
    /// no bytes. Zero for a point that is none.
    pub fn rsk_address(&self) -> RskAddress {
        let address = |encoded: &[u8]| RskAddress::from_slice(&keccak256(encoded)[12..]);
        if self.bytes() == [0] {
            return address(&[]);
        }
        PublicKey::from_slice(self.bytes()).map_or(RskAddress::ZERO, |key| address(&key.serialize_uncompressed()[1..]))
    }

    /// Whether the signature of a digest (in the order in which it was computed) was made by this key. High s values are
    /// taken, as in Bouncy Castle.
    pub fn verify(&self, digest: &[u8; 32], signature: &EcdsaSignature) -> bool {
        let Some(Ok(mut signature)) = signature.compact().map(|compact| Signature::from_compact(&compact)) else {
            return false;
        };
        signature.normalize_s();
        PublicKey::from_slice(self.bytes())
            .is_ok_and(|key| SECP256K1.verify_ecdsa(&Message::from_digest(*digest), &signature, &key).is_ok())
    }
}

impl PartialEq for BtcKey {
    fn eq(&self, other: &Self) -> bool {
        self.compressed().bytes == other.compressed().bytes
    }
}

impl Eq for BtcKey {}

impl Hash for BtcKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.compressed().bytes.hash(state);
    }
}

impl fmt::Display for BtcKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BtcKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rhizome_primitives::hex;

    const COMPRESSED: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

    #[test]
    fn forms_of_one_key() {
        let compressed = BtcKey::decode(&hex::decode(COMPRESSED).unwrap()).unwrap();
        let mut long = PublicKey::from_slice(compressed.bytes()).unwrap().serialize_uncompressed();
        let uncompressed = BtcKey::decode(&long).unwrap();
        assert_eq!(compressed, uncompressed);
        assert_ne!(compressed.bytes(), uncompressed.bytes());
        long[0] = 6 + (long[64] & 1);
        assert_eq!(BtcKey::decode(&long).unwrap().bytes(), uncompressed.bytes());
        long[0] ^= 1;
        assert!(BtcKey::decode(&long).is_err());
        assert_eq!(compressed.rsk_address().to_string().to_lowercase(), "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf");
        assert!(BtcKey::decode(&[]).is_err());
    }

    #[test]
    fn infinity_has_the_address_of_no_bytes() {
        let infinity = BtcKey::decode(&[0]).unwrap();
        assert_eq!(infinity.rsk_address().to_string().to_lowercase(), "0xdcc703c0e500b653ca82273b7bfad8045d85a470");
    }
}
