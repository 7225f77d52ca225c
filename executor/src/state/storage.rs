//! The storage of accounts: cells that last, under words or raw keys, and words that last for a transaction.

use rhizome_primitives::account::AccountState;
use rhizome_primitives::{Address, B256, Bytes, U256};

use super::account::cell_word;
use super::{AccountRef, CellValue, Location, Undo, WorldState};
use crate::error::Fault;

impl WorldState {
    /// A storage cell under its key as a word; counts as a read of the cell.
    fn cell_at(&mut self, at: u32, key: U256) -> Result<&CellValue, Fault> {
        let account = &mut self.accounts[at as usize];
        let contents = &mut account.contents;
        let slot = contents.cells.entry(key).or_default();
        slot.mark_read();
        if !slot.is_loaded() {
            let value =
                if contents.detached { None } else { self.parent.get(&account.keys.storage(&B256::from(key)))? };
            slot.load(CellValue::bytes(value));
        }
        Ok(&slot.value)
    }

    fn put_cell(&mut self, at: u32, key: U256, value: CellValue) -> Result<(), Fault> {
        if self.record(at)?.is_none() {
            self.put_record(at, AccountState::default());
            let previous = self.accounts[at as usize].contents.marker.write(true);
            if self.open > 0 {
                self.undo.push(Undo::Marker(at, previous));
            }
        }
        let previous = self.accounts[at as usize].contents.cells.entry(key).or_default().write(value);
        if self.open > 0 {
            self.undo.push(Undo::Cell(at, key, previous));
        }
        Ok(())
    }

    /// The stored bytes of a cell (`getStorageBytes`).
    pub fn cell(&mut self, location: impl Into<Location>, key: &B256) -> Result<Option<Bytes>, Fault> {
        let at = self.at(location.into());
        Ok(self.cell_at(at, cell_word(key))?.to_bytes())
    }

    /// Stores the bytes of a cell (`addStorageBytes`); `None` and no bytes delete it. An absent account is created and marked.
    pub fn set_cell(&mut self, location: impl Into<Location>, key: &B256, value: Option<Bytes>) -> Result<(), Fault> {
        let at = self.at(location.into());
        self.put_cell(at, cell_word(key), CellValue::bytes(value))
    }

    /// The value of a cell, read as a contract does (`getStorageValue`).
    pub fn storage(&mut self, address: Address, key: U256) -> Result<&CellValue, Fault> {
        let at = self.at(address.into());
        self.cell_at(at, key)
    }

    /// Stores a word in a cell (`addStorageRow`); zero deletes it. An absent account is created and marked.
    pub fn set_storage(&mut self, address: Address, key: U256, value: U256) -> Result<(), Fault> {
        let at = self.at(address.into());
        self.put_cell(at, key, CellValue::word(value))
    }

    /// [`Self::storage`] of a located account.
    pub(crate) fn storage_of(&mut self, account: AccountRef, key: U256) -> Result<&CellValue, Fault> {
        self.cell_at(account.0, key)
    }

    /// [`Self::set_storage`] of a located account.
    pub(crate) fn set_storage_of(&mut self, account: AccountRef, key: U256, value: U256) -> Result<(), Fault> {
        self.put_cell(account.0, key, CellValue::word(value))
    }

    /// The word in transient storage (RSKIP-446).
    pub fn transient(&self, address: Address, key: U256) -> U256 {
        self.transient.get(&(address, key)).copied().unwrap_or_default()
    }

    /// Sets a word of transient storage.
    pub fn set_transient(&mut self, address: Address, key: U256, value: U256) {
        let previous = self.transient.insert((address, key), value).unwrap_or_default();
        if self.open > 0 {
            self.undo.push(Undo::Transient(address, key, previous));
        }
    }

    /// Forgets transient storage, as every transaction's end does.
    pub fn clear_transient(&mut self) {
        if !self.transient.is_empty() {
            self.transient.clear();
        }
    }
}
