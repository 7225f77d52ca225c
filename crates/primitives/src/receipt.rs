//! Receipts and logs (`TransactionReceipt`, `LogInfo`).
//!
//! A receipt has six elements: post-state slot, cumulative gas, bloom, logs, gas used, status. There is no state root per
//! transaction; slot and status both hold 0x01 on success and are empty on failure. Only bytes from outside have other forms:
//! a slot with a root or a zero byte, or no status element at all.

use crate::bloom;
use crate::coin::{self, MinimalBytes};
use crate::error::DecodeError;
use crate::rlp::{self, Item, ListPayload, Sink};
use crate::{Address, B256, Bloom, Bytes, U256};

/// A log entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Log {
    /// The contract that logged.
    pub address: Address,
    /// Up to four words to search by.
    pub topics: Vec<B256>,
    /// Free data.
    pub data: Bytes,
}

impl Log {
    /// `RLP[address, [topics], data]`.
    pub fn encode(&self) -> Vec<u8> {
        self.list_to_vec()
    }

    /// The log's own filter.
    pub fn bloom(&self) -> Bloom {
        bloom::of_logs([self])
    }

    /// Reads a log from bytes that start with its list.
    ///
    /// # Errors
    /// When the structure is broken, the address has not 20 bytes or a topic has none or more than 32.
    pub fn decode(encoded: &[u8]) -> Result<Self, DecodeError> {
        let items = rlp::decode_leading_list(encoded)?.collect_all()?;
        let [address, topics, data, ..] = items.as_slice() else {
            return Err(DecodeError::ElementCount { what: "log", expected: "3 or more".into(), got: items.len() });
        };
        let length = |field, expected, item: &Item<'_>| DecodeError::Length { field, expected, got: item.data().len() };
        let topic = |item: Item<'_>| match item.data().len() {
            // A short topic is padded in front (DataWord.valueOf).
            1..=32 => Ok(B256::left_padding_from(item.data())),
            _ => Err(length("topic", "1 to 32", &item)),
        };
        Ok(Self {
            address: Address::try_from(address.data()).map_err(|_| length("log address", "20", address))?,
            topics: topics.list()?.map(|item| topic(item?)).collect::<Result<_, DecodeError>>()?,
            data: Bytes::copy_from_slice(data.data()),
        })
    }
}

struct Topics<'a>(&'a [B256]);

impl ListPayload for Topics<'_> {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        self.0.iter().for_each(|topic| rlp::put_bytes(out, topic.as_slice()));
    }
}

impl ListPayload for Log {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        rlp::put_bytes(out, self.address.as_slice());
        Topics(&self.topics).put_as_list(out);
        rlp::put_bytes(out, &self.data);
    }
}

struct Logs<'a>(&'a [Log]);

impl ListPayload for Logs<'_> {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        self.0.iter().for_each(|log| log.put_as_list(out));
    }
}

/// What a transaction left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The post-state slot as received; 0x01 or empty in every block.
    pub post_state: Bytes,
    /// Gas used in the block up to and including this transaction, as received.
    pub cumulative_gas: Bytes,
    /// The filter over the logs. One that was received with another length than 256 bytes, which rskj keeps as it is, reads as
    /// empty here; the receipt's encoding keeps it.
    pub bloom: Bloom,
    /// Logs in order.
    pub logs: Vec<Log>,
    /// Gas used by this transaction, as received.
    pub gas_used: Bytes,
    /// The status as received: 0x01 on success, empty on failure.
    pub status: Bytes,
    /// The bytes it was read from, where these are not the normal form. rskj hashes those.
    received: Option<Bytes>,
}

impl Receipt {
    /// The receipt of an executed transaction.
    pub fn new(success: bool, cumulative_gas: u64, gas_used: u64, logs: Vec<Log>) -> Self {
        let number = |value| Bytes::copy_from_slice(&MinimalBytes::unsigned(U256::from(value)));
        let status = if success { Bytes::from_static(&[1]) } else { Bytes::new() };
        let (cumulative_gas, gas_used) = (number(cumulative_gas), number(gas_used));
        Self::from_parts(status.clone(), cumulative_gas, gas_used, bloom::of_logs(&logs), logs, status)
    }

    /// A receipt of given parts. A status that is neither 0x01 nor empty counts as empty.
    pub fn from_parts(
        post_state: Bytes,
        cumulative_gas: Bytes,
        gas_used: Bytes,
        bloom: Bloom,
        logs: Vec<Log>,
        status: Bytes,
    ) -> Self {
        let status = if status[..] == [1] { status } else { Bytes::new() };
        Self { post_state, cumulative_gas, bloom, logs, gas_used, status, received: None }
    }

    /// Reads a receipt: five elements or more, of which the sixth is the status.
    ///
    /// # Errors
    /// When the structure is broken, or a log's address or a topic has a wrong length.
    pub fn decode(encoded: &[u8]) -> Result<Self, DecodeError> {
        let items = rlp::decode_leading_list(encoded)?.collect_all()?;
        let [post_state, cumulative_gas, bloom, logs, gas_used, rest @ ..] = items.as_slice() else {
            return Err(DecodeError::ElementCount { what: "receipt", expected: "5 or more".into(), got: items.len() });
        };
        let bytes = |item: &Item<'_>| Bytes::copy_from_slice(item.data());
        let bloom = <[u8; 256]>::try_from(bloom.data()).map(Bloom::from).unwrap_or_default();
        let mut receipt = Self {
            post_state: bytes(post_state),
            cumulative_gas: bytes(cumulative_gas),
            bloom,
            logs: logs.list()?.map(|item| Log::decode(item?.data())).collect::<Result<_, _>>()?,
            gas_used: bytes(gas_used),
            status: rest.first().map(bytes).unwrap_or_default(),
            received: None,
        };
        if receipt.encode() != encoded {
            receipt.received = Some(Bytes::copy_from_slice(encoded));
        }
        Ok(receipt)
    }

    /// The encoding that goes into the receipts trie.
    pub fn encode(&self) -> Vec<u8> {
        self.received.as_ref().map_or_else(|| self.list_to_vec(), |bytes| bytes.to_vec())
    }

    /// True when the status says success.
    pub fn is_successful(&self) -> bool {
        self.status[..] == [1]
    }

    /// True when the post-state slot holds a status and not a root (`hasTxStatus`).
    pub fn has_slot_status(&self) -> bool {
        self.post_state.len() <= 1
    }

    /// Gas used by this transaction; `u64::MAX` where the bytes have more than 64 bits.
    pub fn gas_used_value(&self) -> u64 {
        coin::unsigned(&self.gas_used).map_or(u64::MAX, |value| value.saturating_to())
    }

    /// Gas used in the block so far; `u64::MAX` where the bytes have more than 64 bits.
    pub fn cumulative_gas_value(&self) -> u64 {
        coin::unsigned(&self.cumulative_gas).map_or(u64::MAX, |value| value.saturating_to())
    }
}

impl ListPayload for Receipt {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        rlp::put_bytes(out, &self.post_state);
        rlp::put_bytes(out, &self.cumulative_gas);
        rlp::put_bytes(out, self.bloom.as_slice());
        Logs(&self.logs).put_as_list(out);
        rlp::put_bytes(out, &self.gas_used);
        rlp::put_bytes(out, &self.status);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn logs() -> impl Strategy<Value = Vec<Log>> {
        let log = (any::<[u8; 20]>(), proptest::collection::vec(any::<[u8; 32]>(), 0..5), any::<Vec<u8>>());
        let log = log.prop_map(|(address, topics, data)| Log {
            address: address.into(),
            topics: topics.into_iter().map(B256::from).collect(),
            data: data.into(),
        });
        proptest::collection::vec(log, 0..4)
    }

    #[test]
    fn both_places_hold_the_status() {
        let receipt = Receipt::new(true, 21000, 0, vec![]);
        assert_eq!((&receipt.post_state[..], &receipt.status[..]), (&[1][..], &[1][..]));
        assert!(receipt.gas_used.is_empty());
        assert!(!Receipt::new(false, 1, 1, vec![]).is_successful());
    }

    #[test]
    fn lax_receipts_keep_their_bytes() {
        let mut encoded = Receipt::new(true, 5, 5, vec![]).encode();
        encoded.push(0x80);
        let receipt = Receipt::decode(&encoded).unwrap();
        assert_eq!(receipt.encode(), encoded);
    }

    #[test]
    fn a_bloom_of_any_length_is_read_and_written_again() {
        for len in [0, 1, 255, 257, 1_000] {
            let normal = Receipt::new(true, 21_000, 21_000, vec![Log::default()]);
            let bloom = vec![0xff; len];
            let mut encoded = Vec::new();
            rlp::put_list(&mut encoded, |out| {
                rlp::put_bytes(out, &normal.post_state);
                rlp::put_bytes(out, &normal.cumulative_gas);
                rlp::put_bytes(out, &bloom);
                Logs(&normal.logs).put_as_list(out);
                rlp::put_bytes(out, &normal.gas_used);
                rlp::put_bytes(out, &normal.status);
            });
            let receipt = Receipt::decode(&encoded).unwrap();
            assert_eq!((receipt.encode(), receipt.bloom), (encoded, Bloom::ZERO), "{len} bytes");
            assert_eq!((&receipt.logs, receipt.is_successful()), (&normal.logs, true));
        }
    }

    proptest! {
        #[test]
        fn receipts_survive(success in any::<bool>(), cumulative in any::<u64>(), used in any::<u64>(), logs in logs()) {
            let receipt = Receipt::new(success, cumulative, used, logs);
            let decoded = Receipt::decode(&receipt.encode());
            prop_assert_eq!(decoded.as_ref(), Ok(&receipt));
            prop_assert_eq!(receipt.gas_used_value(), used);
            prop_assert_eq!(receipt.cumulative_gas_value(), cumulative);
            prop_assert!(receipt.logs.iter().all(|log| receipt.bloom.contains(&log.bloom())));
        }

        #[test]
        fn damaged_receipts(logs in logs(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut encoded = Receipt::new(true, 1, 1, logs).encode();
            let place = place.index(encoded.len());
            encoded[place] = byte;
            if let Ok(receipt) = Receipt::decode(&encoded) {
                prop_assert_eq!(receipt.encode(), encoded);
            }
        }
    }
}
