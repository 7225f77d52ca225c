//! Transactions (`Transaction`, `ImmutableTransaction`, `RemascTransaction`).
//!
//! There is one kind: nine elements, signed or not. The hash is taken over a re-encoding in which nonce, gas limit and data keep
//! their bytes and the rest is normalised, so two encodings may be one transaction and one value may be two.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::coin::{self, Coin, MinimalBytes};
use crate::error::DecodeError;
use crate::gas::{self, InvalidGas};
use crate::header;
use crate::rlp::{self, ListPayload, Sink};
use crate::signature::{self, Signature, SignatureError};
use crate::{Address, B256, Bytes, REMASC_ADDRESS, U256, keccak256};

/// Number of elements.
const ELEMENTS: usize = 9;

/// The plain fields of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionFields {
    /// Nonce as received.
    pub nonce: Bytes,
    /// Price of gas in wei; `None` for the empty string, which counts as zero but is another transaction than an explicit zero.
    pub gas_price: Option<Coin>,
    /// Gas limit as received.
    pub gas_limit: Bytes,
    /// Receiver; `None` creates a contract.
    pub to: Option<Address>,
    /// Amount in wei.
    pub value: Coin,
    /// Call data or initialisation code.
    pub data: Bytes,
    /// The network that the signature binds the transaction to; zero for any.
    pub chain_id: u8,
    /// The signature.
    pub signature: Option<Signature>,
}

impl TransactionFields {
    /// Number of zero and of other bytes in the data.
    pub fn data_bytes(&self) -> (u64, u64) {
        let zeros = self.data.iter().filter(|byte| **byte == 0).count() as u64;
        (zeros, self.data.len() as u64 - zeros)
    }

    /// The V element of the encoding (`getEncodedV`).
    fn encoded_v(&self, signature: &Signature) -> u8 {
        match self.chain_id {
            0 => signature.v,
            id => signature.v.wrapping_sub(27).wrapping_add(id.wrapping_mul(2)).wrapping_add(35),
        }
    }

    /// Keccak-256 over what is signed: six elements, or nine with the chain id where there is one.
    fn signing_hash(&self, wide: Option<&WideFields>) -> B256 {
        Form { fields: self, wide, for_signing: true }.hash_as_list()
    }
}

/// Numbers of more than 256 bits, without leading zeros. They never pass validation, but they decode, and the hash covers them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct WideFields {
    gas_price: Option<Bytes>,
    value: Option<Bytes>,
    r: Option<Bytes>,
    s: Option<Bytes>,
}

/// A transaction's elements, as encoded or as signed.
struct Form<'a> {
    fields: &'a TransactionFields,
    wide: Option<&'a WideFields>,
    for_signing: bool,
}

impl ListPayload for Form<'_> {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        let fields = self.fields;
        rlp::put_bytes(out, if fields.nonce[..] == [0] { &[] } else { &fields.nonce });
        match self.wide.and_then(|wide| wide.gas_price.as_ref()) {
            None => rlp::put_coin_non_null_zero(out, fields.gas_price),
            Some(bytes) => rlp::put_bytes(out, bytes),
        }
        rlp::put_bytes(out, &fields.gas_limit);
        rlp::put_address(out, fields.to.as_ref());
        match self.wide.and_then(|wide| wide.value.as_ref()) {
            None => rlp::put_coin_null_zero(out, fields.value),
            Some(bytes) => rlp::put_bytes(out, bytes),
        }
        rlp::put_bytes(out, &fields.data);
        match &fields.signature {
            Some(signature) if !self.for_signing => {
                rlp::put_byte(out, fields.encoded_v(signature));
                put_scalar(out, signature.r, self.wide.and_then(|wide| wide.r.as_ref()));
                put_scalar(out, signature.s, self.wide.and_then(|wide| wide.s.as_ref()));
            }
            _ if self.for_signing && fields.chain_id == 0 => {}
            _ => {
                rlp::put_byte(out, fields.chain_id);
                out.put(&[0x80, 0x80]);
            }
        }
    }
}

fn put_scalar<S: Sink>(out: &mut S, value: U256, wide: Option<&Bytes>) {
    match wide {
        None => rlp::put_bytes(out, &MinimalBytes::unsigned(value)),
        Some(bytes) => rlp::put_bytes(out, bytes),
    }
}

/// A transaction with its encoding and, once asked for, its hash.
#[derive(Debug, Clone)]
pub struct Transaction {
    fields: TransactionFields,
    wide: Option<Box<WideFields>>,
    encoded: Bytes,
    hash: OnceLock<B256>,
}

impl Transaction {
    /// Completes the fields.
    pub fn new(fields: TransactionFields) -> Self {
        let encoded = Form { fields: &fields, wide: None, for_signing: false }.list_to_vec();
        Self { fields, wide: None, encoded: encoded.into(), hash: OnceLock::new() }
    }

    /// Reads a transaction from bytes that must be exactly one list.
    ///
    /// # Errors
    /// Whenever rskj refuses the bytes.
    pub fn decode(encoded: &[u8]) -> Result<Self, DecodeError> {
        Self::decode_bytes(&Bytes::copy_from_slice(encoded))
    }

    /// Reads a transaction whose fields share the given bytes. When the bytes are in the normal form, so does its encoding.
    ///
    /// # Errors
    /// Whenever rskj refuses the bytes.
    pub fn decode_bytes(raw: &Bytes) -> Result<Self, DecodeError> {
        Self::decode_within(raw, raw)
    }

    /// Reads a transaction from `raw`, which is a part of `owner`.
    pub(crate) fn decode_within(owner: &Bytes, raw: &[u8]) -> Result<Self, DecodeError> {
        let items = rlp::decode_list(raw)?.exactly::<ELEMENTS>()?.map_err(|got| DecodeError::ElementCount {
            what: "transaction",
            expected: "9".into(),
            got,
        })?;
        let [nonce, gas_price, gas_limit, to, value, data, v, r, s] = items.map(|item| item.data());
        let share = |bytes: &[u8]| owner.slice_ref(bytes);
        let mut wide = WideFields::default();
        let number = |bytes: &[u8], wide: &mut Option<Bytes>| {
            coin::unsigned(bytes).unwrap_or_else(|| {
                *wide = Some(share(coin::strip_leading_zeros(bytes)));
                U256::MAX
            })
        };
        let mut fields = TransactionFields {
            nonce: share(nonce),
            gas_price: (!gas_price.is_empty()).then(|| number(gas_price, &mut wide.gas_price)),
            gas_limit: share(gas_limit),
            to: header::address(to)?,
            value: number(value, &mut wide.value),
            data: share(data),
            chain_id: 0,
            signature: None,
        };
        match *v {
            [] => {}
            [v] => {
                for (field, bytes) in [("signature R", r), ("signature S", s)] {
                    if bytes.is_empty() {
                        return Err(DecodeError::Empty { field });
                    }
                }
                fields.chain_id = chain_id(v);
                let (r, s) = (number(r, &mut wide.r), number(s, &mut wide.s));
                fields.signature = Some(Signature { r, s, v: real_v(v) });
            }
            _ => return Err(DecodeError::Length { field: "signature V", expected: "0 or 1", got: v.len() }),
        }
        let wide = (wide != WideFields::default()).then(|| Box::new(wide));
        let normal = Form { fields: &fields, wide: wide.as_deref(), for_signing: false };
        let mut same = Comparison { rest: raw, differs: false };
        normal.put_as_list(&mut same);
        let encoded = if same.is_equal() { share(raw) } else { normal.list_to_vec().into() };
        Ok(Self { fields, wide, encoded, hash: OnceLock::new() })
    }

    /// The plain fields.
    pub const fn fields(&self) -> &TransactionFields {
        &self.fields
    }

    /// The re-encoding, which stands in blocks and messages and is hashed (`getEncoded`).
    pub const fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// The transaction hash.
    pub fn hash(&self) -> B256 {
        *self.hash.get_or_init(|| keccak256(&self.encoded))
    }

    /// What is signed: six elements, or nine with the chain id where there is one (`getEncodedRaw`).
    pub fn encode_for_signing(&self) -> Vec<u8> {
        Form { fields: &self.fields, wide: self.wide.as_deref(), for_signing: true }.list_to_vec()
    }

    /// The hash that is signed (`getRawHash`).
    pub fn signing_hash(&self) -> B256 {
        self.fields.signing_hash(self.wide.as_deref())
    }

    /// Nonce as a number; the greatest one above 256 bits, which validation refuses.
    pub fn nonce(&self) -> U256 {
        coin::unsigned(&self.fields.nonce).unwrap_or(U256::MAX)
    }

    /// Price of gas in wei.
    pub fn gas_price(&self) -> Coin {
        self.fields.gas_price.unwrap_or(Coin::ZERO)
    }

    /// Gas limit by rskj's law for gas amounts.
    ///
    /// # Errors
    /// When its eight bytes make a negative number.
    pub fn gas_limit(&self) -> Result<u64, InvalidGas> {
        gas::to_gas(&self.fields.gas_limit)
    }

    /// Gas limit as an unsigned number; the greatest one above 256 bits.
    pub fn gas_limit_number(&self) -> U256 {
        coin::unsigned(&self.fields.gas_limit).unwrap_or(U256::MAX)
    }

    /// The chain id of the signature, zero for none.
    pub const fn chain_id(&self) -> u8 {
        self.fields.chain_id
    }

    /// True when the transaction creates a contract.
    pub const fn is_contract_creation(&self) -> bool {
        self.fields.to.is_none()
    }

    /// The V element of the encoding, for a signed transaction.
    pub fn encoded_v(&self) -> Option<u8> {
        self.fields.signature.as_ref().map(|signature| self.fields.encoded_v(signature))
    }

    /// True when the signature's numbers are in range, its S is low and it binds to this network or to none
    /// (`acceptTransactionSignature`). The REMASC transaction is exempt by its position, which is for the caller to know.
    pub fn accepts_signature(&self, chain_id: u8) -> bool {
        self.fields.signature.is_some_and(|signature| signature.has_valid_components() && signature.has_low_s())
            && (self.fields.chain_id == 0 || self.fields.chain_id == chain_id)
    }

    /// True when no field is longer than a word and, unless unsigned, a signer exists (`Transaction.verify`); price and value
    /// count with their sign bit.
    ///
    /// `signer_exists` stands for the recovery of the sender, which the caller has done already.
    pub fn has_valid_fields(&self, signer_exists: bool) -> bool {
        let fields = &self.fields;
        let fits = |value: Coin| !value.bit(255);
        fields.nonce.len() <= 32
            && !fields.gas_limit.is_empty()
            && fields.gas_limit.len() <= 32
            && fits(self.gas_price())
            && fits(fields.value)
            && self.wide.is_none()
            && (fields.signature.is_none() || signer_exists)
    }

    /// The address that signed the transaction.
    ///
    /// # Errors
    /// When it is not signed or the signature belongs to no key.
    pub fn recover_sender(&self) -> Result<Address, SignatureError> {
        let signature = self.fields.signature.as_ref().ok_or(SignatureError::Unsigned)?;
        let mut signature = *signature;
        if let Some(wide) = &self.wide {
            if wide.r.is_some() {
                return Err(SignatureError::NoKey);
            }
            if let Some(s) = &wide.s {
                signature.s = signature::reduce(s);
            }
        }
        Ok(signature.recover(&self.signing_hash())?.address())
    }

    /// True for the REMASC transaction: last of `count`, unsigned, to the contract, without data, value, price and gas
    /// (`isRemascTransaction`).
    pub fn is_remasc(&self, position: usize, count: usize) -> bool {
        let fields = &self.fields;
        position + 1 == count
            && fields.to == Some(REMASC_ADDRESS)
            && fields.data.is_empty()
            && fields.signature.is_none()
            && fields.value.is_zero()
            && !fields.gas_limit.is_empty()
            && fields.gas_limit.iter().all(|byte| *byte == 0)
            && self.gas_price().is_zero()
    }
}

impl Deref for Transaction {
    type Target = TransactionFields;

    fn deref(&self) -> &TransactionFields {
        &self.fields
    }
}

/// Transactions are equal when their hashes are, as in rskj.
impl PartialEq for Transaction {
    fn eq(&self, other: &Self) -> bool {
        self.encoded == other.encoded
    }
}

impl Eq for Transaction {}

/// The REMASC transaction of the block at height `number`, which is at least one.
pub fn remasc_transaction(number: u64) -> Transaction {
    let nonce = MinimalBytes::unsigned(U256::from(number.saturating_sub(1)));
    Transaction::new(TransactionFields {
        nonce: Bytes::copy_from_slice(&nonce),
        gas_price: Some(Coin::ZERO),
        gas_limit: Bytes::from_static(&[0]),
        to: Some(REMASC_ADDRESS),
        value: Coin::ZERO,
        data: Bytes::new(),
        chain_id: 0,
        signature: None,
    })
}

/// The address of a contract that `sender`'s transaction of this nonce creates (`HashUtil.calcNewAddr`).
pub fn create_address(sender: &[u8], nonce: U256) -> Address {
    struct Content<'a>(&'a [u8], U256);
    impl ListPayload for Content<'_> {
        fn put_payload<S: Sink>(&self, out: &mut S) {
            rlp::put_bytes(out, self.0);
            rlp::put_u256(out, self.1);
        }
    }
    Address::from_slice(&Content(sender, nonce).hash_as_list()[12..])
}

/// The chain id in V: Java rounds to zero and keeps one byte.
fn chain_id(v: u8) -> u8 {
    match v {
        27 | 28 => 0,
        _ => ((i32::from(v) - 35) / 2) as u8,
    }
}

/// The 27 or 28 in V.
const fn real_v(v: u8) -> u8 {
    match v {
        27 | 28 => v,
        _ if v.is_multiple_of(2) => 28,
        _ => 27,
    }
}

/// Compares what is written with expected bytes.
struct Comparison<'a> {
    rest: &'a [u8],
    differs: bool,
}

impl Comparison<'_> {
    const fn is_equal(&self) -> bool {
        !self.differs && self.rest.is_empty()
    }
}

impl Sink for Comparison<'_> {
    fn put(&mut self, bytes: &[u8]) {
        match self.rest.strip_prefix(bytes) {
            Some(rest) => self.rest = rest,
            None => self.differs = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hex;

    fn fields() -> impl Strategy<Value = TransactionFields> {
        let bytes = |max| proptest::collection::vec(any::<u8>(), 0..max).prop_map(Bytes::from);
        let amount = || any::<[u8; 12]>().prop_map(|bytes| Coin::from_be_slice(&bytes));
        (
            bytes(9),
            proptest::option::of(amount()),
            bytes(9),
            proptest::option::of(any::<[u8; 20]>().prop_map(Address::from)),
            amount(),
            bytes(200),
            prop_oneof![Just(0u8), Just(30), Just(31), Just(33)],
        )
            .prop_map(|(nonce, gas_price, gas_limit, to, value, data, chain_id)| TransactionFields {
                nonce,
                gas_price,
                gas_limit,
                to,
                value,
                data,
                chain_id,
                signature: None,
            })
    }

    #[test]
    fn versions_of_v() {
        for (v, id, real) in
            [(27, 0, 27), (28, 0, 28), (34, 0, 28), (35, 0, 27), (36, 0, 28), (95, 30, 27), (0, 239, 28)]
        {
            assert_eq!((chain_id(v), real_v(v)), (id, real), "V = {v}");
        }
    }

    #[test]
    fn remasc_is_known_by_place_and_zeros() {
        let transaction = remasc_transaction(257);
        assert_eq!(
            hex::encode(transaction.encoded()),
            "df82010000009400000000000000000000000000000000010000088080808080"
        );
        assert!(transaction.is_remasc(1, 2));
        assert!(!transaction.is_remasc(0, 2));
        assert_eq!(transaction.recover_sender(), Err(SignatureError::Unsigned));
        assert_eq!(Transaction::decode(transaction.encoded()).unwrap(), transaction);
    }

    #[test]
    fn lax_encodings_are_normalised() {
        // Gas price with a leading zero, data in the long form.
        let raw = hex::decode("cb0182000502808 0b801aa808080".replace(' ', "")).unwrap();
        let raw = {
            let mut out = vec![];
            rlp::put_list(&mut out, |out| out.extend_from_slice(&raw[1..]));
            out
        };
        let transaction = Transaction::decode(&raw).unwrap();
        assert_eq!(hex::encode(transaction.encoded()), "ca010502808081aa808080");
        assert_eq!(transaction.hash(), keccak256(transaction.encoded()));
    }

    proptest! {
        #[test]
        fn signed_transactions_survive(fields in fields(), seed in any::<[u8; 32]>()) {
            let key = secp256k1::SecretKey::from_slice(&keccak256(seed).0).unwrap();
            let unsigned = Transaction::new(fields.clone());
            let signature = signature::sign(&unsigned.signing_hash(), &key);
            let signed = Transaction::new(TransactionFields { signature: Some(signature), ..fields });
            prop_assert_eq!(signed.signing_hash(), keccak256(signed.encode_for_signing()));
            let sender = signature::public_key_to_address(&key.public_key(secp256k1::SECP256K1));
            let decoded = Transaction::decode(signed.encoded()).unwrap();
            prop_assert_eq!(&decoded, &signed);
            prop_assert_eq!(decoded.hash(), signed.hash());
            prop_assert_eq!(decoded.chain_id(), signed.chain_id());
            prop_assert_eq!(decoded.recover_sender(), Ok(sender));
            prop_assert!(decoded.accepts_signature(signed.chain_id()));
        }

        #[test]
        fn any_bytes(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Transaction::decode(&raw);
        }

        #[test]
        fn any_elements(elements in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 9)) {
            let mut raw = Vec::new();
            rlp::put_list(&mut raw, |out| elements.iter().for_each(|element| rlp::put_bytes(out, element)));
            if let Ok(transaction) = Transaction::decode(&raw) {
                let _ = (transaction.recover_sender(), transaction.gas_limit(), transaction.accepts_signature(30));
                // The normal form is a fixed point.
                let again = Transaction::decode(transaction.encoded()).unwrap();
                prop_assert_eq!(again.encoded(), transaction.encoded());
            }
        }
    }
}
