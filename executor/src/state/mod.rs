//! The state of the block under execution: what the parent state holds, and every change since.
//!
//! Grain: one trie key, that is an account's record (nonce, balance, flags), its code, its contract marker, one storage cell.
//!
//! Invariants:
//! - Reads go to the parent [`Trie`] once for each key; a missing trie node is a [`Fault`], never an absent key.
//! - Nothing is written to the trie here. [`WorldState::changes`] is the net effect, sorted by trie key, so that no order of
//!   hash maps can be seen from outside.
//! - Inside a [`Checkpoint`] each change leaves its inverse in the undo log; a revert costs what was changed since.
//! - Each access marks its key as read or written, also in frames that are reverted later (RSKIP-144); only
//!   [`WorldState::clear_accesses`] takes marks away.
//!
//! Operations have the names and the exact sequence of key accesses of rskj's `MutableRepository`.

mod access;
mod account;
mod changes;
mod code;

use std::sync::Arc;

use rhizome_primitives::account::AccountState;
use rhizome_primitives::map::{HashMap, HashSet};
use rhizome_primitives::receipt::Log;
use rhizome_primitives::{Address, B256, Bytes, KECCAK_EMPTY, U256};
use rhizome_trie::Trie;
use rhizome_trie::key::AccountKeys;

use crate::error::Fault;
use account::{Account, Contents, Slot, cell_word};

pub use access::{AccessConflict, AccessedKey, Accesses};
pub use account::{Balance, CellValue, Location};
pub use code::{Code, CodeCache, JumpMap};

/// A place in the undo log to which the state can go back.
#[derive(Debug)]
#[must_use = "a checkpoint is either committed or reverted"]
pub struct Checkpoint {
    undo: usize,
}

/// An account of one [`WorldState`], found already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccountRef(u32);

/// The inverse of one change.
#[derive(Debug)]
enum Undo {
    Record(u32, Slot<Option<AccountState>>),
    Code(u32, Slot<Option<Arc<Code>>>),
    Marker(u32, Slot<bool>),
    Cell(u32, U256, Slot<CellValue>),
    Delete(u32, Box<Contents>),
    Transient(Address, U256, U256),
}

/// The state of a block, or of one of its parallel lists, under execution.
#[derive(Debug)]
pub struct WorldState {
    parent: Trie,
    codes: Arc<CodeCache>,
    index: HashMap<Location, u32>,
    accounts: Vec<Account>,
    undo: Vec<Undo>,
    /// Open checkpoints; without any, changes leave no inverse.
    open: usize,
    logs: Vec<Log>,
    transient: HashMap<(Address, U256), U256>,
    destroyed: HashSet<Address>,
}

impl WorldState {
    /// The state of a trie, with nothing changed. `codes` is shared between blocks.
    pub fn new(parent: Trie, codes: Arc<CodeCache>) -> Self {
        Self {
            parent,
            codes,
            index: HashMap::default(),
            accounts: Vec::new(),
            undo: Vec::new(),
            open: 0,
            logs: Vec::new(),
            transient: HashMap::default(),
            destroyed: HashSet::default(),
        }
    }

    /// The trie below.
    pub fn parent(&self) -> &Trie {
        &self.parent
    }

    /// The position of an account, adding it if it was never asked for.
    fn at(&mut self, location: Location) -> u32 {
        let next = self.accounts.len() as u32;
        let accounts = &mut self.accounts;
        *self.index.entry(location).or_insert_with(|| {
            accounts.push(Account::new(location));
            next
        })
    }

    /// A handle on an account for accesses in quick succession. Touches no key.
    pub(crate) fn locate(&mut self, location: impl Into<Location>) -> AccountRef {
        AccountRef(self.at(location.into()))
    }

    /// The account's record; counts as a read of the account key.
    fn record(&mut self, at: u32) -> Result<&Option<AccountState>, Fault> {
        let account = &mut self.accounts[at as usize];
        let record = &mut account.contents.record;
        record.mark_read();
        if !record.is_loaded() {
            let decoded = if account.contents.detached {
                None
            } else {
                let decoded = record_in(&self.parent, account.location, &account.keys)?;
                account.balance_before = Some(Balance::of(decoded.as_ref()));
                decoded
            };
            record.load(decoded);
        }
        Ok(&record.value)
    }

    /// Writes the record.
    fn put_record(&mut self, at: u32, value: AccountState) {
        let previous = self.accounts[at as usize].contents.record.write(Some(value));
        if self.open > 0 {
            self.undo.push(Undo::Record(at, previous));
        }
    }

    /// The record, created first if it is absent (`MutableRepository.getAccountStateOrCreateNew`).
    fn record_or_new(&mut self, at: u32) -> Result<AccountState, Fault> {
        if let Some(record) = self.record(at)? {
            return Ok(*record);
        }
        self.put_record(at, AccountState::default());
        Ok(AccountState::default())
    }

    /// Whether the account exists, that is, has a record.
    pub fn exists(&mut self, location: impl Into<Location>) -> Result<bool, Fault> {
        let at = self.at(location.into());
        Ok(self.record(at)?.is_some())
    }

    /// The account's record, if it exists.
    pub fn account(&mut self, location: impl Into<Location>) -> Result<Option<AccountState>, Fault> {
        let at = self.at(location.into());
        Ok(*self.record(at)?)
    }

    /// Writes an empty record, over an existing one too (`Repository.createAccount`). With `keep_balance` an existing balance
    /// is carried over.
    pub fn create_account(&mut self, location: impl Into<Location>, keep_balance: bool) -> Result<(), Fault> {
        let at = self.at(location.into());
        let mut fresh = AccountState::default();
        if keep_balance && let Some(record) = self.record(at)? {
            (fresh.balance, fresh.negative) = (record.balance, record.negative);
        }
        self.put_record(at, fresh);
        Ok(())
    }

    /// The balance in wei; zero for an absent account and for one in debt.
    pub fn balance(&mut self, location: impl Into<Location>) -> Result<U256, Fault> {
        let at = self.at(location.into());
        Ok(match self.record(at)? {
            Some(record) if !record.negative => record.balance,
            _ => U256::ZERO,
        })
    }

    /// Whether the balance is not below an amount. A balance in debt is below zero too.
    pub fn covers(&mut self, location: impl Into<Location>, amount: U256) -> Result<bool, Fault> {
        let at = self.at(location.into());
        Ok(match self.record(at)? {
            Some(record) => !record.negative && record.balance >= amount,
            None => amount.is_zero(),
        })
    }

    /// Adds to the balance; creates an absent account, also when the amount is zero.
    pub fn add_balance(&mut self, location: impl Into<Location>, amount: U256) -> Result<(), Fault> {
        let at = self.at(location.into());
        self.change_balance(at, amount, false)
    }

    /// Takes from the balance; creates an absent account, also when the amount is zero.
    ///
    /// Whether the balance suffices is for the caller to check ([`Self::covers`]): it may fall below zero, as it may in rskj.
    pub fn sub_balance(&mut self, location: impl Into<Location>, amount: U256) -> Result<(), Fault> {
        let at = self.at(location.into());
        self.change_balance(at, amount, true)
    }

    /// Adds an amount that may be negative.
    fn change_balance(&mut self, at: u32, amount: U256, negative: bool) -> Result<(), Fault> {
        let mut record = self.record_or_new(at)?;
        if amount.is_zero() {
            return Ok(());
        }
        if record.negative == negative {
            record.balance =
                record.balance.checked_add(amount).ok_or_else(|| Fault::Internal("a balance passes 2^256".into()))?;
        } else if record.balance >= amount {
            record.balance -= amount;
            record.negative &= !record.balance.is_zero();
        } else {
            record.balance = amount - record.balance;
            record.negative = negative;
        }
        self.put_record(at, record);
        Ok(())
    }

    /// Moves an amount; creates both accounts where they are absent, also when the amount is zero.
    pub fn transfer(&mut self, from: impl Into<Location>, to: impl Into<Location>, amount: U256) -> Result<(), Fault> {
        self.sub_balance(from, amount)?;
        self.add_balance(to, amount)
    }

    /// The nonce; zero for an absent account.
    pub fn nonce(&mut self, location: impl Into<Location>) -> Result<U256, Fault> {
        let at = self.at(location.into());
        Ok(self.record(at)?.as_ref().map_or(U256::ZERO, |record| record.nonce))
    }

    /// Adds one to the nonce; creates an absent account.
    pub fn increase_nonce(&mut self, location: impl Into<Location>) -> Result<(), Fault> {
        let at = self.at(location.into());
        let mut record = self.record_or_new(at)?;
        record.nonce = record.nonce.wrapping_add(U256::ONE);
        self.put_record(at, record);
        Ok(())
    }

    /// Sets the nonce; creates an absent account.
    pub fn set_nonce(&mut self, location: impl Into<Location>, nonce: U256) -> Result<(), Fault> {
        let at = self.at(location.into());
        let mut record = self.record_or_new(at)?;
        record.nonce = nonce;
        self.put_record(at, record);
        Ok(())
    }

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

    /// Deletes the account with its code and storage. What is written to it afterwards stays.
    ///
    /// Only the account key counts as written.
    pub fn delete(&mut self, location: impl Into<Location>) {
        let at = self.at(location.into());
        let contents = &mut self.accounts[at as usize].contents;
        let mut empty = Contents::after_delete();
        // The marks of the accesses so far stay: they are facts of the list, not of the account.
        empty.inherit_accesses(contents);
        empty.record.mark_written();
        let previous = std::mem::replace(contents, empty);
        if self.open > 0 {
            self.undo.push(Undo::Delete(at, Box::new(previous)));
        }
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

    /// Adds a log of the running transaction.
    ///
    /// Logs are not undone with the state: a precompile that fails leaves its logs with the frame that called it. Frames cut
    /// them with [`WorldState::truncate_logs`].
    pub fn log(&mut self, log: Log) {
        self.logs.push(log);
    }

    /// Logs of the running transaction so far.
    pub fn logs(&self) -> &[Log] {
        &self.logs
    }

    /// Drops the logs from a position on.
    pub fn truncate_logs(&mut self, len: usize) {
        self.logs.truncate(len);
    }

    /// Takes the logs of the transaction that ended.
    pub fn take_logs(&mut self) -> Vec<Log> {
        std::mem::take(&mut self.logs)
    }

    /// Whether an earlier transaction of this block (of this list and of those merged into it) destroyed the contract.
    pub fn was_destroyed(&self, address: &Address) -> bool {
        self.destroyed.contains(address)
    }

    /// Notes a contract that a transaction destroyed, for the transactions after it.
    pub fn note_destroyed(&mut self, address: Address) {
        self.destroyed.insert(address);
    }

    /// Opens a checkpoint. Checkpoints nest and are closed in reverse order.
    pub fn checkpoint(&mut self) -> Checkpoint {
        self.open += 1;
        Checkpoint { undo: self.undo.len() }
    }

    /// Closes a checkpoint and keeps the changes.
    pub fn commit(&mut self, checkpoint: Checkpoint) {
        debug_assert!(checkpoint.undo <= self.undo.len());
        self.open -= 1;
        if self.open == 0 {
            self.undo.clear();
        }
    }

    /// Closes a checkpoint and takes its changes back. Accesses still count, logs stay.
    pub fn revert(&mut self, checkpoint: Checkpoint) {
        self.open -= 1;
        while self.undo.len() > checkpoint.undo {
            let Some(undo) = self.undo.pop() else { break };
            match undo {
                Undo::Record(at, slot) => self.accounts[at as usize].contents.record.restore(slot),
                Undo::Code(at, slot) => self.accounts[at as usize].contents.code.restore(slot),
                Undo::Marker(at, slot) => self.accounts[at as usize].contents.marker.restore(slot),
                Undo::Cell(at, key, slot) => {
                    self.accounts[at as usize].contents.cells.entry(key).or_default().restore(slot);
                }
                Undo::Delete(at, contents) => {
                    let account = &mut self.accounts[at as usize];
                    let accessed = std::mem::replace(&mut account.contents, *contents);
                    account.contents.inherit_accesses(&accessed);
                }
                Undo::Transient(address, key, value) => {
                    self.transient.insert((address, key), value);
                }
            }
        }
    }

    /// A state on top of this one, for a parallel list: it sees everything this one has now, and keeps its changes, its
    /// accesses, its logs and its destroyed contracts to itself.
    pub fn child(&self) -> Self {
        Self {
            parent: self.parent.clone(),
            codes: Arc::clone(&self.codes),
            index: self.index.clone(),
            accounts: self
                .accounts
                .iter()
                .map(|account| Account {
                    location: account.location,
                    keys: account.keys.clone(),
                    contents: account.contents.as_parent(),
                    balance_before: account.balance_before,
                })
                .collect(),
            undo: Vec::new(),
            open: 0,
            logs: Vec::new(),
            transient: HashMap::default(),
            destroyed: HashSet::default(),
        }
    }

    /// Applies the changes of a child, and adds its destroyed contracts to this state's. The child's accesses are dropped.
    pub fn merge(&mut self, child: Self) {
        debug_assert_eq!(self.open, 0, "a merge is never undone");
        for mut account in child.accounts {
            match self.index.get(&account.location) {
                Some(at) => {
                    let own = &mut self.accounts[*at as usize];
                    own.contents.merge(account.contents);
                    own.balance_before = own.balance_before.or(account.balance_before);
                }
                None => {
                    account.contents.clear_accesses();
                    self.index.insert(account.location, self.accounts.len() as u32);
                    self.accounts.push(account);
                }
            }
        }
        self.destroyed.extend(child.destroyed);
    }
}

/// An account's record in a trie.
fn record_in(trie: &Trie, location: Location, keys: &AccountKeys) -> Result<Option<AccountState>, Fault> {
    let Some(bytes) = trie.get(keys.account())? else { return Ok(None) };
    let decoded = AccountState::decode(&bytes);
    decoded.map(Some).map_err(|_| Fault::CorruptState { what: "record", account: location.to_string() })
}

#[cfg(test)]
mod tests {
    use rhizome_trie::MemoryTrieStore;

    use super::*;

    const A: Address = Address::repeat_byte(0xaa);
    const B: Address = Address::repeat_byte(0xbb);

    fn empty() -> WorldState {
        WorldState::new(Trie::empty(Arc::new(MemoryTrieStore::default())), Arc::default())
    }

    /// The same state after its changes went through the trie.
    fn settled(state: &WorldState) -> WorldState {
        WorldState::new(state.parent().apply(&state.changes()).unwrap(), Arc::default())
    }

    fn word(value: u64) -> U256 {
        U256::from(value)
    }

    #[test]
    fn a_revert_leaves_nothing_but_accesses() {
        let mut state = empty();
        state.add_balance(A, word(5)).unwrap();
        state.set_storage(A, word(1), word(7)).unwrap();
        let before = state.changes();
        let outer = state.checkpoint();
        state.sub_balance(A, word(3)).unwrap();
        let inner = state.checkpoint();
        state.set_storage(A, word(1), U256::ZERO).unwrap();
        state.set_storage(B, word(2), word(9)).unwrap();
        state.save_code(B, Bytes::from_static(&[1, 2])).unwrap();
        state.set_transient(A, word(1), word(1));
        state.delete(A);
        state.add_balance(A, word(1)).unwrap();
        state.commit(inner);
        state.revert(outer);
        assert_eq!(state.changes(), before);
        assert_eq!(state.transient(A, word(1)), U256::ZERO);
        assert_eq!(state.balance(A).unwrap(), word(5));
        assert_eq!(state.storage(A, word(1)).unwrap(), &CellValue::Word(word(7)));
        assert!(!state.exists(B).unwrap() && !state.is_contract(B).unwrap());
        let written = state.accesses().writes;
        for key in [AccessedKey::Record, AccessedKey::Code, AccessedKey::Marker, AccessedKey::Cell(word(2))] {
            assert!(written.contains(&(Location::Account(B), key)), "{key:?}");
        }
    }

    #[test]
    fn a_deleted_account_comes_back_without_its_past() {
        let mut state = empty();
        state.add_balance(A, word(5)).unwrap();
        state.set_storage(A, word(1), word(7)).unwrap();
        state.save_code(A, Bytes::from_static(&[1])).unwrap();
        let mut state = settled(&state);
        assert_eq!(state.balance(A).unwrap(), word(5));
        state.delete(A);
        assert!(!state.exists(A).unwrap());
        assert!(state.code(A).unwrap().is_none());
        assert!(state.storage(A, word(1)).unwrap().is_absent());
        state.set_storage(A, word(2), word(8)).unwrap();
        let mut state = settled(&state);
        assert_eq!(state.balance(A).unwrap(), U256::ZERO);
        assert!(state.storage(A, word(1)).unwrap().is_absent());
        assert_eq!(state.storage(A, word(2)).unwrap(), &CellValue::Word(word(8)));
        assert!(state.code(A).unwrap().is_none());
    }

    #[test]
    fn balances_go_below_zero_and_come_back() {
        let mut state = empty();
        state.add_balance(A, word(5)).unwrap();
        state.sub_balance(A, word(7)).unwrap();
        assert!(!state.covers(A, U256::ZERO).unwrap());
        let mut state = settled(&state);
        assert_eq!(state.balance(A).unwrap(), U256::ZERO);
        state.sub_balance(A, word(1)).unwrap();
        state.add_balance(A, word(3)).unwrap();
        assert!(state.covers(A, U256::ZERO).unwrap());
        state.add_balance(A, word(4)).unwrap();
        assert_eq!(state.balance(A).unwrap(), word(4));
        assert!(state.covers(A, word(4)).unwrap() && !state.covers(A, word(5)).unwrap());
    }

    #[test]
    fn empty_code_has_a_hash_until_its_block_ends() {
        let mut state = empty();
        state.create_account(A, false).unwrap();
        state.setup_contract(A);
        assert_eq!(state.code_hash(A, false).unwrap(), B256::ZERO);
        let checkpoint = state.checkpoint();
        state.save_code(A, Bytes::new()).unwrap();
        assert_eq!(state.code_hash(A, false).unwrap(), KECCAK_EMPTY);
        state.revert(checkpoint);
        assert_eq!(state.code_hash(A, false).unwrap(), B256::ZERO);
        state.save_code(A, Bytes::new()).unwrap();
        assert!(state.code(A).unwrap().is_none() && state.code_len(A).unwrap() == 0);
        // The lists of a split block, and what comes after them, are in the same block.
        let mut child = state.child();
        assert_eq!(child.code_hash(A, false).unwrap(), KECCAK_EMPTY);
        child.save_code(B, Bytes::new()).unwrap();
        child.create_account(B, false).unwrap();
        child.setup_contract(B);
        state.merge(child);
        assert_eq!(state.code_hash(B, false).unwrap(), KECCAK_EMPTY);
        let mut state = settled(&state);
        for address in [A, B] {
            assert_eq!(state.code_hash(address, false).unwrap(), B256::ZERO);
            assert_eq!(state.code_hash(address, true).unwrap(), KECCAK_EMPTY);
        }
    }

    #[test]
    fn raw_cells_keep_their_bytes() {
        let mut state = empty();
        let key = B256::with_last_byte(1);
        for bytes in [&[0u8][..], &[0xc0], &[7; 40], &[0, 0, 1]] {
            state.set_cell(A, &key, Some(Bytes::copy_from_slice(bytes))).unwrap();
            let stored = Some(Bytes::copy_from_slice(bytes));
            assert_eq!(state.cell(A, &key).unwrap(), stored);
            assert_eq!(settled(&state).cell(A, &key).unwrap(), stored);
        }
        state.set_cell(A, &key, Some(Bytes::new())).unwrap();
        assert_eq!(settled(&state).cell(A, &key).unwrap(), None);
    }

    #[test]
    fn lists_conflict_over_keys_and_not_over_accounts() {
        let mut base = empty();
        base.add_balance(A, word(50)).unwrap();
        base.set_storage(B, word(1), word(1)).unwrap();
        let mut base = settled(&base);
        base.clear_accesses();
        let child = || {
            let mut child = base.child();
            child.add_balance(Address::repeat_byte(1), word(1)).unwrap();
            child
        };
        let mut reader = base.child();
        reader.storage(B, word(1)).unwrap();
        let mut other_cell = base.child();
        other_cell.set_storage(B, word(2), word(2)).unwrap();
        // Both read B's record, which stands in nobody's way.
        assert_eq!(reader.conflict_with(&other_cell), None);
        let mut same_cell = base.child();
        same_cell.set_storage(B, word(1), word(2)).unwrap();
        let conflict = AccessConflict { location: B.into(), key: AccessedKey::Cell(word(1)), both_wrote: false };
        assert_eq!(reader.conflict_with(&same_cell), Some(conflict));
        assert_eq!(same_cell.conflict_with(&reader), Some(conflict));
        let both = child().conflict_with(&child()).unwrap();
        assert!(both.both_wrote && both.key == AccessedKey::Record);
        let mut touched = base.child();
        let checkpoint = touched.checkpoint();
        touched.set_storage(B, word(1), word(3)).unwrap();
        touched.revert(checkpoint);
        assert!(reader.conflict_with(&touched).is_some());
    }

    #[test]
    fn merged_children_are_one_after_the_other() {
        let mut base = empty();
        base.add_balance(A, word(5)).unwrap();
        base.set_storage(A, word(1), word(7)).unwrap();
        let mut first = base.child();
        first.delete(A);
        first.note_destroyed(A);
        first.add_balance(B, word(1)).unwrap();
        let mut second = base.child();
        second.set_storage(B, word(3), word(3)).unwrap();
        assert!(!second.was_destroyed(&A));
        base.merge(first);
        base.merge(second);
        assert!(base.was_destroyed(&A));
        let mut state = settled(&base);
        assert!(!state.exists(A).unwrap());
        assert!(state.storage(A, word(1)).unwrap().is_absent());
        assert_eq!(state.storage(B, word(3)).unwrap(), &CellValue::Word(word(3)));
    }
}
