//! Who may peg in: the whitelist of the first years (`LockWhitelist`, `WhitelistStorageProviderImpl`).
//!
//! Two cells: one-off entries with the height that ends the whitelist, and since RSKIP-87 unlimited entries. Without the
//! first cell the second is not even read. Entries are ordered by the hash of their address alone, so an address' version
//! plays no part.

use std::collections::BTreeMap;

use rhizome_primitives::rlp;

use crate::failure::{Failure, Result};
use crate::storage::codec::{self, Satoshi};

/// What an address may peg in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Once, up to this amount.
    OneOff(Satoshi),
    /// Any amount, any number of times.
    Unlimited,
}

/// The whitelist with the Bitcoin height after which everybody may peg in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockWhitelist {
    /// By hash. In the state a hash has 20 bytes; one just added may have any number, which makes the cell unreadable.
    entries: BTreeMap<Vec<u8>, Entry>,
    disable_height: i32,
}

impl Default for LockWhitelist {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), disable_height: i32::MAX }
    }
}

/// `hash160, limit, …, height`: the form of the one-off entries, in the order given.
pub fn one_off_cell(entries: impl IntoIterator<Item = (impl AsRef<[u8]>, Satoshi)>, disable_height: i32) -> Vec<u8> {
    codec::list(|out| {
        for (address, limit) in entries {
            rlp::put_bytes(out, address.as_ref());
            codec::put_long(out, limit);
        }
        codec::put_long(out, i64::from(disable_height));
    })
}

/// `hash160, …`: the form of the unlimited entries, in the order given.
pub fn unlimited_cell(entries: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    codec::list(|out| entries.into_iter().for_each(|address| rlp::put_bytes(out, address.as_ref())))
}

impl LockWhitelist {
    /// Number of entries of both kinds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry at this place in the order of address hashes.
    pub fn nth(&self, index: usize) -> Option<(&[u8], Entry)> {
        self.entries.iter().nth(index).map(|(hash, entry)| (hash.as_slice(), *entry))
    }

    /// The entry of an address.
    pub fn get(&self, address: &[u8]) -> Option<Entry> {
        self.entries.get(address).copied()
    }

    /// Adds an entry; false if the address has one.
    pub fn add(&mut self, address: impl Into<Vec<u8>>, entry: Entry) -> bool {
        let address = address.into();
        if self.entries.contains_key(&address) {
            return false;
        }
        self.entries.insert(address, entry);
        true
    }

    /// Removes an entry; false if there is none.
    pub fn remove(&mut self, address: &[u8]) -> bool {
        self.entries.remove(address).is_some()
    }

    /// Whether this amount may be pegged in at this Bitcoin height; consumes a one-off entry if so.
    pub fn consume(&mut self, address: &[u8], amount: Satoshi, height: i32) -> bool {
        let entry = self.get(address);
        let allowed = height > self.disable_height
            || match entry {
                Some(Entry::OneOff(limit)) => limit >= amount,
                Some(Entry::Unlimited) => true,
                None => false,
            };
        if allowed && matches!(entry, Some(Entry::OneOff(_))) {
            self.entries.remove(address);
        }
        allowed
    }

    /// The last Bitcoin height at which the whitelist counts.
    pub fn disable_height(&self) -> i32 {
        self.disable_height
    }

    /// Sets the last height.
    pub fn set_disable_height(&mut self, height: i32) {
        self.disable_height = height;
    }

    /// The cell of the one-off entries.
    pub fn encode_one_off(&self) -> Vec<u8> {
        let limited = self.entries.iter().filter_map(|(address, entry)| match entry {
            Entry::OneOff(limit) => Some((address, *limit)),
            Entry::Unlimited => None,
        });
        one_off_cell(limited, self.disable_height)
    }

    /// The cell of the unlimited entries.
    pub fn encode_unlimited(&self) -> Vec<u8> {
        let unlimited = self.entries.iter().filter(|(_, entry)| **entry == Entry::Unlimited);
        unlimited_cell(unlimited.map(|(address, _)| address))
    }

    /// Reads the first cell; `None` where it does not exist.
    pub fn decode_one_off(stored: Option<&[u8]>) -> Result<Option<Self>> {
        if stored.is_none_or(<[u8]>::is_empty) {
            return Ok(None);
        }
        let items = codec::read_list(stored)?;
        let Some((height, pairs)) = items.split_last().filter(|(_, pairs)| pairs.len() % 2 == 0) else {
            return Err(Failure::threw("whitelist with an odd number of entries"));
        };
        let mut entries = BTreeMap::new();
        for pair in pairs.chunks_exact(2) {
            entries.insert(hash160(pair[0])?, Entry::OneOff(codec::exact_long(pair[1])?));
        }
        let disable_height =
            i32::try_from(codec::exact_long(height)?).map_err(|_| Failure::threw("whitelist height out of range"))?;
        Ok(Some(Self { entries, disable_height }))
    }

    /// Adds the entries of the second cell. They replace one-off entries of the same address.
    pub fn add_unlimited(&mut self, stored: Option<&[u8]>) -> Result<()> {
        for address in codec::read_list(stored)? {
            self.entries.insert(hash160(address)?, Entry::Unlimited);
        }
        Ok(())
    }
}

fn hash160(bytes: &[u8]) -> Result<Vec<u8>> {
    if bytes.len() == 20 { Ok(bytes.to_vec()) } else { Err(Failure::threw("an address' hash has 20 bytes")) }
}
