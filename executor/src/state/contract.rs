//! What makes an account a contract: its code, and the marker of its storage.

use std::sync::Arc;

use rhizome_primitives::account::AccountState;
use rhizome_primitives::{B256, Bytes, KECCAK_EMPTY};

use super::{Code, Location, Undo, WorldState};
use crate::error::Fault;

impl WorldState {
    /// The code under the account's code key; counts as a read of it. Code that was stored empty in this block is there, without
    /// a byte.
    fn code_at(&mut self, at: u32) -> Result<&Option<Arc<Code>>, Fault> {
        let account = &mut self.accounts[at as usize];
        let slot = &mut account.contents.code;
        slot.mark_read();
        if !slot.is_loaded() {
            let value = if account.contents.detached {
                None
            } else {
                let key = account.keys.code();
                match self.parent.value_hash(&key)? {
                    None => None,
                    Some(hash) => match self.codes.get(&hash) {
                        Some(code) => Some(code),
                        None => self.parent.get(&key)?.map(|bytes| {
                            let code = Arc::new(Code::with_hash(bytes, hash));
                            self.codes.insert(hash, Arc::clone(&code));
                            code
                        }),
                    },
                }
            };
            slot.load(value);
        }
        Ok(&slot.value)
    }

    /// The code of an account; `None` where there is no account, or no code, or the account hibernates.
    pub fn code(&mut self, location: impl Into<Location>) -> Result<Option<Arc<Code>>, Fault> {
        let at = self.at(location.into());
        match self.record(at)? {
            Some(record) if !record.is_hibernated() => Ok(self.code_at(at)?.clone().filter(|code| !code.is_empty())),
            _ => Ok(None),
        }
    }

    /// The length of the code in bytes, without an account zero.
    pub fn code_len(&mut self, location: impl Into<Location>) -> Result<usize, Fault> {
        Ok(self.code(location)?.map_or(0, |code| code.len()))
    }

    /// The hash that EXTCODEHASH gives: zero without an account, that of the empty string for what is no contract.
    ///
    /// A contract without code has the hash of the empty string from RSKIP-169 on (`standard`), zero before; but also before,
    /// one whose empty code was stored in this very block has the hash of the empty string: rskj's cache holds empty code, its
    /// tree does not.
    pub fn code_hash(&mut self, location: impl Into<Location>, standard: bool) -> Result<B256, Fault> {
        let at = self.at(location.into());
        if self.record(at)?.is_none() {
            return Ok(B256::ZERO);
        }
        if !self.marker(at)? {
            return Ok(KECCAK_EMPTY);
        }
        Ok(match self.code_at(at)? {
            Some(code) => code.hash(),
            None if standard => KECCAK_EMPTY,
            None => B256::ZERO,
        })
    }

    /// Stores code; creates an absent account unless the code is empty. Empty code stores nothing, and removes what was there.
    pub fn save_code(&mut self, location: impl Into<Location>, code: Bytes) -> Result<(), Fault> {
        let at = self.at(location.into());
        let creates = !code.is_empty();
        let previous = self.accounts[at as usize].contents.code.write(Some(Arc::new(Code::new(code))));
        if self.open > 0 {
            self.undo.push(Undo::Code(at, previous));
        }
        if creates && self.record(at)?.is_none() {
            self.put_record(at, AccountState::default());
        }
        Ok(())
    }

    fn marker(&mut self, at: u32) -> Result<bool, Fault> {
        let account = &mut self.accounts[at as usize];
        let slot = &mut account.contents.marker;
        slot.mark_read();
        if !slot.is_loaded() {
            let found = !account.contents.detached && self.parent.get(&account.keys.storage_marker())?.is_some();
            slot.load(found);
        }
        Ok(slot.value)
    }

    /// Whether the account is marked as a contract. The marker is not the code.
    pub fn is_contract(&mut self, location: impl Into<Location>) -> Result<bool, Fault> {
        let at = self.at(location.into());
        self.marker(at)
    }

    /// Marks the account as a contract. Creates no account.
    pub fn setup_contract(&mut self, location: impl Into<Location>) {
        let at = self.at(location.into());
        let previous = self.accounts[at as usize].contents.marker.write(true);
        if self.open > 0 {
            self.undo.push(Undo::Marker(at, previous));
        }
    }
}
