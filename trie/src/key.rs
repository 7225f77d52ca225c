//! Where accounts, code and storage lie in the tree (rskj: `TrieKeyMapper`).
//!
//! An account's key is `00 ‖ first ten bytes of keccak(address) ‖ address`; its code and storage keys begin with it, so one
//! recursive delete takes a whole account. [`AccountKeys`] hashes an address once for all its keys.

use alloy_primitives::{Address, B256, Bytes, keccak256};
use rhizome_keccak::keccak256_batch;

use crate::TrieKey;

/// The first byte of every state key.
const DOMAIN: u8 = 0x00;
/// Behind an account's key: its storage. The byte alone is the key of the marker.
const STORAGE: u8 = 0x00;
/// Behind an account's key: its code.
const CODE: u8 = 0x80;
/// Hash bytes that spread keys over the tree.
const HASH_PREFIX: usize = 10;

/// The value of a storage marker: its presence says "is contract".
pub const STORAGE_MARKER_VALUE: [u8; 1] = [0x01];

/// The keys of one account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKeys {
    account: TrieKey,
}

impl AccountKeys {
    /// The keys of a normal account.
    pub fn new(address: &Address) -> Self {
        Self::of_bytes(address.as_slice())
    }

    /// The keys of the sender of the reward transaction, whose address is the single byte 0: its account key has 12 bytes.
    pub fn remasc_sender() -> Self {
        Self::of_bytes(&[0x00])
    }

    /// The keys of the empty address, which a miner may give as its own: the account key has 11 bytes.
    pub fn no_address() -> Self {
        Self::of_bytes(&[])
    }

    fn of_bytes(address: &[u8]) -> Self {
        let mut account = TrieKey::new(&[DOMAIN]);
        account.extend(&keccak256(address)[..HASH_PREFIX]);
        account.extend(address);
        Self { account }
    }

    /// The account itself.
    pub fn account(&self) -> &TrieKey {
        &self.account
    }

    /// The code.
    pub fn code(&self) -> TrieKey {
        self.account.join(&[CODE])
    }

    /// The storage marker, which is also what all storage keys begin with.
    pub fn storage_marker(&self) -> TrieKey {
        self.account.join(&[STORAGE])
    }

    /// A storage cell: the hash is of the whole word, the word itself stands without its leading zeros (zero is one zero
    /// byte).
    pub fn storage(&self, slot: &B256) -> TrieKey {
        self.storage_hashed(slot, &keccak256(slot))
    }

    /// Several storage cells, hashed together.
    pub fn storage_many(&self, slots: &[B256]) -> Vec<TrieKey> {
        let inputs: Vec<&[u8]> = slots.iter().map(B256::as_slice).collect();
        let mut hashes = vec![B256::ZERO; slots.len()];
        keccak256_batch(&inputs, &mut hashes);
        slots.iter().zip(&hashes).map(|(slot, hash)| self.storage_hashed(slot, hash)).collect()
    }

    fn storage_hashed(&self, slot: &B256, hash: &B256) -> TrieKey {
        let mut key = self.account.clone();
        key.extend(&[STORAGE]);
        key.extend(&hash[..HASH_PREFIX]);
        key.extend(without_leading_zeros(slot));
        key
    }
}

/// The key of an account.
pub fn account_key(address: &Address) -> TrieKey {
    AccountKeys::new(address).account
}

/// The key of an account's code.
pub fn code_key(address: &Address) -> TrieKey {
    AccountKeys::new(address).code()
}

/// The key of an account's storage marker.
pub fn storage_marker_key(address: &Address) -> TrieKey {
    AccountKeys::new(address).storage_marker()
}

/// The key of a storage cell.
pub fn storage_key(address: &Address, slot: &B256) -> TrieKey {
    AccountKeys::new(address).storage(slot)
}

/// The account key of the reward transaction's sender, 12 bytes.
pub fn remasc_sender_key() -> TrieKey {
    AccountKeys::remasc_sender().account
}

/// What is stored for a word: its bytes without leading zeros; nothing for zero, which deletes the cell.
pub fn stored_word(word: &B256) -> Option<Bytes> {
    (!word.is_zero()).then(|| Bytes::copy_from_slice(without_leading_zeros(word)))
}

/// The bytes without leading zeros, but the last byte always.
fn without_leading_zeros(word: &B256) -> &[u8] {
    let zeros = word.iter().take_while(|byte| **byte == 0).count();
    &word[zeros.min(31)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reward_senders_key_has_twelve_bytes() {
        let key = remasc_sender_key();
        assert_eq!(key.len(), 12);
        assert_eq!((key[0], key[11]), (0, 0));
        assert_eq!(key[1..11], keccak256([0])[..10]);
    }

    #[test]
    fn hashing_slots_together_gives_the_same_keys() {
        let keys = AccountKeys::new(&Address::repeat_byte(7));
        let slots: Vec<B256> = (0..20u8).map(B256::with_last_byte).collect();
        let single: Vec<TrieKey> = slots.iter().map(|slot| keys.storage(slot)).collect();
        assert_eq!(keys.storage_many(&slots), single);
        assert_eq!(single[0].len(), 31 + 1 + 10 + 1);
        assert_eq!(single[0].last(), Some(&0));
    }
}
