//! The whitelist's methods (`WhitelistSupportImpl`).

use rhizome_chainspec::Rskip;

use crate::abi::Word;
use crate::bitcoin::{Address as BtcAddress, AddressError};
use crate::failure::{Failure, Result};
use crate::peg::Peg;
use crate::storage::cell::Raw;
use crate::storage::codec::Satoshi;
use crate::storage::keys;
use crate::votes::whitelist::{Entry, LockWhitelist};

/// Answers of the methods.
pub mod code {
    /// Done.
    pub const SUCCESS: i64 = 1;
    /// Limit of an unlimited entry.
    pub const UNLIMITED: i64 = 0;
    /// The address has an entry.
    pub const ALREADY_LISTED: i64 = -1;
    /// The address has no entry.
    pub const NOT_LISTED: i64 = -1;
    /// The end was set before.
    pub const DELAY_ALREADY_SET: i64 = -1;
    /// Not an address of this network.
    pub const BAD_ADDRESS: i64 = -2;
    /// Not a height in the future.
    pub const BAD_DELAY: i64 = -2;
    /// The sender may not change the whitelist.
    pub const UNAUTHORIZED: i64 = -10;
}

impl Peg<'_> {
    fn whitelist(&mut self) -> Result<&mut LockWhitelist> {
        let unlimited = self.is_active(Rskip::R87);
        if self.cells.whitelist.loaded().is_none() {
            let one_off = self.host.cell(&keys::LOCK_WHITELIST)?;
            let whitelist = match LockWhitelist::decode_one_off(one_off.raw())? {
                None => LockWhitelist::default(),
                Some(mut whitelist) => {
                    if unlimited {
                        let stored = self.host.cell(&keys::UNLIMITED_WHITELIST)?;
                        whitelist.add_unlimited(stored.raw())?;
                    }
                    whitelist
                }
            };
            self.cells.whitelist.set(whitelist);
        }
        self.cells.whitelist.loaded_mut().ok_or_else(|| Failure::threw("whitelist not read"))
    }

    /// Hash in an address of this network, of any length.
    fn whitelist_address(&self, base58: &str) -> Result<Option<Vec<u8>>> {
        match BtcAddress::parse_base58(self.constants.network, base58) {
            Ok((_, hash)) => Ok(Some(hash)),
            Err(AddressError::Format(_) | AddressError::WrongNetwork(..)) => Ok(None),
            Err(AddressError::Other(message)) => Err(Failure::threw(message)),
        }
    }

    fn may_change_whitelist(&self) -> bool {
        self.constants.whitelist.change_authorizer.is_authorized(&self.call.sender)
    }

    /// Number of entries.
    pub(crate) fn whitelist_size(&mut self) -> Result<i64> {
        Ok(self.whitelist()?.len() as i64)
    }

    /// Base58 address of the entry at a place; empty beyond the last one.
    pub(crate) fn whitelist_address_at(&mut self, index: i32) -> Result<String> {
        let network = self.constants.network;
        let whitelist = self.whitelist()?;
        let entry = usize::try_from(index).ok().and_then(|index| whitelist.nth(index));
        let hash = entry.and_then(|(hash, _)| hash.try_into().ok());
        Ok(hash.map(|hash| BtcAddress::p2pkh(network, hash).to_string()).unwrap_or_default())
    }

    /// Limit of an address' entry, zero for an unlimited one, −1 without entry.
    pub(crate) fn whitelist_entry(&mut self, base58: &str) -> Result<i64> {
        let Some(address) = self.whitelist_address(base58)? else { return Ok(code::NOT_LISTED) };
        Ok(match self.whitelist()?.get(&address) {
            Some(Entry::OneOff(limit)) => limit,
            Some(Entry::Unlimited) => code::UNLIMITED,
            None => code::NOT_LISTED,
        })
    }

    /// Adds a one-off entry; a limit beyond 64 bits throws.
    pub(crate) fn add_one_off_to_whitelist(&mut self, base58: &str, limit: Word) -> Result<i64> {
        let Some(address) = self.whitelist_address(base58)? else { return Ok(code::BAD_ADDRESS) };
        let limit = limit.exact_i64().ok_or_else(|| Failure::threw("whitelist limit out of range"))?;
        self.add_to_whitelist(address, Entry::OneOff(limit))
    }

    /// Adds an unlimited entry.
    pub(crate) fn add_unlimited_to_whitelist(&mut self, base58: &str) -> Result<i64> {
        let Some(address) = self.whitelist_address(base58)? else { return Ok(code::BAD_ADDRESS) };
        self.add_to_whitelist(address, Entry::Unlimited)
    }

    fn add_to_whitelist(&mut self, address: Vec<u8>, entry: Entry) -> Result<i64> {
        if !self.may_change_whitelist() {
            return Ok(code::UNAUTHORIZED);
        }
        let added = self.whitelist()?.add(address, entry);
        Ok(if added { code::SUCCESS } else { code::ALREADY_LISTED })
    }

    /// Removes an entry.
    pub(crate) fn remove_from_whitelist(&mut self, base58: &str) -> Result<i64> {
        if !self.may_change_whitelist() {
            return Ok(code::UNAUTHORIZED);
        }
        self.whitelist()?;
        let Some(address) = self.whitelist_address(base58)? else { return Ok(code::BAD_ADDRESS) };
        let removed = self.whitelist()?.remove(&address);
        Ok(if removed { code::SUCCESS } else { code::NOT_LISTED })
    }

    /// Ends the whitelist `delay` Bitcoin blocks after the best one known. Can be set once.
    pub(crate) fn set_whitelist_disable_delay(&mut self, delay: Word) -> Result<i64> {
        let best = self.btc_best_height()?;
        if !self.may_change_whitelist() {
            return Ok(code::UNAUTHORIZED);
        }
        let whitelist = self.whitelist()?;
        if whitelist.disable_height() < i32::MAX {
            return Ok(code::DELAY_ALREADY_SET);
        }
        let delay = delay.exact_i32().ok_or_else(|| Failure::threw("whitelist delay out of range"))?;
        let height = best.wrapping_add(delay);
        if height <= best {
            return Ok(code::BAD_DELAY);
        }
        whitelist.set_disable_height(height);
        Ok(code::SUCCESS)
    }

    /// Whether the sender of a peg-in is listed for it; consumes a one-off entry.
    pub(crate) fn consume_whitelisted(&mut self, sender: &BtcAddress, amount: Satoshi, height: i32) -> Result<bool> {
        let sender = sender.hash;
        Ok(self.whitelist()?.consume(&sender, amount, height))
    }
}
