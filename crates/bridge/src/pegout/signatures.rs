//! Releases that wait for signatures (`rskTxsWaitingFS`), by the hash of the Rootstock transaction that stands for them.

use std::collections::BTreeMap;

use rhizome_primitives::B256;

use crate::bitcoin::BtcTransaction;
use crate::failure::Result;
use crate::storage::{codec, forms};

/// A key in the order of rskj's `Keccak256.compareTo`: bytes from the last to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reversed([u8; 32]);

impl From<B256> for Reversed {
    fn from(hash: B256) -> Self {
        let mut bytes = hash.0;
        bytes.reverse();
        Reversed(bytes)
    }
}

impl From<Reversed> for B256 {
    fn from(reversed: Reversed) -> Self {
        let mut bytes = reversed.0;
        bytes.reverse();
        B256::new(bytes)
    }
}

/// The releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitingSignatures {
    transactions: BTreeMap<Reversed, BtcTransaction>,
}

impl WaitingSignatures {
    /// The release of a hash.
    pub fn get(&self, hash: &B256) -> Option<&BtcTransaction> {
        self.transactions.get(&Reversed::from(*hash))
    }

    /// The release of a hash, to be signed.
    pub fn get_mut(&mut self, hash: &B256) -> Option<&mut BtcTransaction> {
        self.transactions.get_mut(&Reversed::from(*hash))
    }

    /// Adds or replaces a release.
    pub fn insert(&mut self, hash: B256, tx: BtcTransaction) {
        self.transactions.insert(hash.into(), tx);
    }

    /// Removes a release.
    pub fn remove(&mut self, hash: &B256) {
        self.transactions.remove(&Reversed::from(*hash));
    }

    /// `hash, transaction, …` in the order of the keys.
    pub fn encode(&self) -> Vec<u8> {
        codec::list(|out| {
            for (hash, tx) in &self.transactions {
                forms::put_hash_and_transaction(out, &B256::from(*hash), tx);
            }
        })
    }

    /// Reads the cell; an odd last element is ignored.
    pub fn decode(stored: Option<&[u8]>) -> Result<Self> {
        let mut waiting = Self::default();
        for entry in codec::read_list(stored)?.chunks_exact(2) {
            waiting.insert(codec::hash(entry[0])?, BtcTransaction::decode(entry[1])?);
        }
        Ok(waiting)
    }
}
