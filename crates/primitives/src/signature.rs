//! Signatures over secp256k1 and the recovery of their signer (`ECDSASignature`, `Secp256k1Service`).
//!
//! Recovery runs on libsecp256k1 for everything it takes. rskj's default implementation takes more: an `r` at or above the
//! curve order, an `s` of zero or above the order, and a signature whose key is the point at infinity, which anyone can make
//! for any message and which has an address like any other. Those go through the slow path here.

use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, PublicKey, SECP256K1, SecretKey};

use crate::{Address, B256, KECCAK_EMPTY, U256, keccak256, uint};

/// The order of the curve.
pub const CURVE_ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

/// Half the curve order, rounded down.
pub const HALF_CURVE_ORDER: U256 = uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// The field prime of the curve.
const FIELD_PRIME: U256 = uint!(0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f_U256);

/// Why no signer comes out of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The value that selects the key is not in 27..=34.
    #[error("recovery value: expected 27 to 34, got {0}")]
    RecoveryValue(u8),
    /// No point of the curve has the x coordinate that the signature means.
    #[error("no key for this signature")]
    NoKey,
    /// There is no signature.
    #[error("not signed")]
    Unsigned,
}

/// The parts of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature {
    /// x coordinate of the nonce point.
    pub r: U256,
    /// The proof.
    pub s: U256,
    /// 27 or 28 in transactions: which of the candidate keys is meant.
    pub v: u8,
}

impl Signature {
    /// True when `v` is 27 or 28 and both numbers lie between one and the curve order (`validateComponents`).
    pub fn has_valid_components(&self) -> bool {
        let in_range = |number: U256| !number.is_zero() && number < CURVE_ORDER;
        matches!(self.v, 27 | 28) && in_range(self.r) && in_range(self.s)
    }

    /// True when `s` lies below half the curve order. The half itself is refused, other than in Ethereum
    /// (`Transaction.acceptTransactionSignature`).
    pub fn has_low_s(&self) -> bool {
        self.s < HALF_CURVE_ORDER
    }

    /// The key that made this signature over `hash` (`signatureToKey`).
    ///
    /// # Errors
    /// When `v` is not in 27..=34 or no key exists.
    pub fn recover(&self, hash: &B256) -> Result<RecoveredKey, SignatureError> {
        recover(hash, self.v, self.r, self.s)
    }
}

/// A recovered public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveredKey {
    /// A proper key.
    Point(PublicKey),
    /// The point at infinity.
    Infinity,
}

impl RecoveredKey {
    /// The last 20 bytes of the Keccak-256 hash over the key's coordinates; over nothing for the point at infinity.
    pub fn address(&self) -> Address {
        let hash = match self {
            Self::Point(key) => keccak256(&key.serialize_uncompressed()[1..]),
            Self::Infinity => KECCAK_EMPTY,
        };
        Address::from_slice(&hash[12..])
    }
}

/// The address of the key that made a signature over `hash`.
///
/// # Errors
/// When `v` is not in 27..=34 or no key exists.
pub fn recover_address(hash: &B256, v: u8, r: U256, s: U256) -> Result<Address, SignatureError> {
    recover(hash, v, r, s).map(|key| key.address())
}

/// The key that made a signature over `hash`. No range is asked of `r` and `s` beyond what the curve needs.
///
/// # Errors
/// When `v` is not in 27..=34 or no key exists.
pub fn recover(hash: &B256, v: u8, r: U256, s: U256) -> Result<RecoveredKey, SignatureError> {
    let id = match v {
        27..=30 => v - 27,
        31..=34 => v - 31,
        _ => return Err(SignatureError::RecoveryValue(v)),
    };
    if let Some(key) = recover_common(hash, id, r, s) {
        return Ok(RecoveredKey::Point(key));
    }
    recover_odd(hash, id, r, s)
}

/// Recovery of a signature with both numbers in range and a proper key.
fn recover_common(hash: &B256, id: u8, r: U256, s: U256) -> Option<PublicKey> {
    let mut compact = [0; 64];
    compact[..32].copy_from_slice(&r.to_be_bytes::<32>());
    compact[32..].copy_from_slice(&s.to_be_bytes::<32>());
    let id = RecoveryId::from_i32(i32::from(id)).ok()?;
    let signature = RecoverableSignature::from_compact(&compact, id).ok()?;
    SECP256K1.recover_ecdsa(&Message::from_digest(hash.0), &signature).ok()
}

/// Recovery by the formula `(s·R − hash·G) / r` for everything that libsecp256k1 refuses.
fn recover_odd(hash: &B256, id: u8, r: U256, s: U256) -> Result<RecoveredKey, SignatureError> {
    // The x coordinate is r, or r + order for the second pair of candidates, and must lie in the field.
    let x = if id < 2 { Some(r) } else { r.checked_add(CURVE_ORDER) };
    let x = x.filter(|x| *x < FIELD_PRIME).ok_or(SignatureError::NoKey)?;
    let mut compressed = [0; 33];
    compressed[0] = 2 + (id & 1);
    compressed[1..].copy_from_slice(&x.to_be_bytes::<32>());
    let point = PublicKey::from_slice(&compressed).map_err(|_| SignatureError::NoKey)?;
    let inverse = r.inv_mod(CURVE_ORDER).ok_or(SignatureError::NoKey)?;

    let negated_hash = CURVE_ORDER.wrapping_sub(U256::from_be_bytes(hash.0).reduce_mod(CURVE_ORDER));
    let of_generator = scalar(negated_hash.mul_mod(inverse, CURVE_ORDER)).map(|key| key.public_key(SECP256K1));
    let of_point =
        scalar(s.mul_mod(inverse, CURVE_ORDER)).and_then(|factor| point.mul_tweak(SECP256K1, &factor.into()).ok());
    Ok(match (of_generator, of_point) {
        (None, None) => RecoveredKey::Infinity,
        (Some(key), None) | (None, Some(key)) => RecoveredKey::Point(key),
        // The sum of two points fails only when they cancel out.
        (Some(a), Some(b)) => a.combine(&b).map_or(RecoveredKey::Infinity, RecoveredKey::Point),
    })
}

/// A number of any width, modulo the curve order.
pub(crate) fn reduce(bytes: &[u8]) -> U256 {
    let base = U256::from(256);
    bytes
        .iter()
        .fold(U256::ZERO, |value, byte| value.mul_mod(base, CURVE_ORDER).add_mod(U256::from(*byte), CURVE_ORDER))
}

/// A scalar, `None` for zero.
fn scalar(value: U256) -> Option<SecretKey> {
    SecretKey::from_slice(&value.to_be_bytes::<32>()).ok()
}

/// Signs a hash with the deterministic nonce of RFC 6979; `s` comes out low.
pub fn sign(hash: &B256, key: &SecretKey) -> Signature {
    let signature = SECP256K1.sign_ecdsa_recoverable(&Message::from_digest(hash.0), key);
    let (id, compact) = signature.serialize_compact();
    let (r, s) = compact.split_at(32);
    Signature { r: U256::from_be_slice(r), s: U256::from_be_slice(s), v: 27 + id.to_i32() as u8 }
}

/// The address that belongs to a public key.
pub fn public_key_to_address(key: &PublicKey) -> Address {
    RecoveredKey::Point(*key).address()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(seed: [u8; 32]) -> SecretKey {
        SecretKey::from_slice(&keccak256(seed).0).unwrap()
    }

    #[test]
    fn half_the_order() {
        assert_eq!(HALF_CURVE_ORDER, CURVE_ORDER >> 1);
    }

    #[test]
    fn the_key_at_infinity_has_an_address() {
        // With R = G and s equal to the hash, s·R − hash·G is the point at infinity.
        let generator = SecretKey::from_slice(&U256::ONE.to_be_bytes::<32>()).unwrap().public_key(SECP256K1);
        let bytes = generator.serialize();
        let r = U256::from_be_slice(&bytes[1..]);
        let hash = keccak256(b"message");
        let recovered = recover(&hash, 27 + (bytes[0] & 1), r, U256::from_be_bytes(hash.0)).unwrap();
        assert_eq!(recovered, RecoveredKey::Infinity);
        assert_eq!(recovered.address(), Address::from_slice(&KECCAK_EMPTY[12..]));
    }

    #[test]
    fn nothing_to_recover() {
        assert_eq!(recover(&B256::ZERO, 26, U256::ONE, U256::ONE), Err(SignatureError::RecoveryValue(26)));
        assert_eq!(recover(&B256::ZERO, 27, U256::ZERO, U256::ONE), Err(SignatureError::NoKey));
        assert_eq!(recover(&B256::ZERO, 29, U256::MAX, U256::ONE), Err(SignatureError::NoKey));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_slow_path_agrees(seed in any::<[u8; 32]>(), hash in any::<[u8; 32]>()) {
            let (key, hash) = (key(seed), B256::from(hash));
            let signature = sign(&hash, &key);
            prop_assert!(signature.has_valid_components() && signature.has_low_s());
            let expected = RecoveredKey::Point(key.public_key(SECP256K1));
            prop_assert_eq!(signature.recover(&hash), Ok(expected));
            prop_assert_eq!(recover_odd(&hash, signature.v - 27, signature.r, signature.s), Ok(expected));
            prop_assert_eq!(recover(&hash, signature.v + 4, signature.r, signature.s), Ok(expected));
        }

        #[test]
        fn any_numbers(hash in any::<[u8; 32]>(), r in any::<[u8; 32]>(), s in any::<[u8; 32]>(), v in any::<u8>()) {
            let _ = recover(&B256::from(hash), v, U256::from_be_bytes(r), U256::from_be_bytes(s));
        }
    }
}
