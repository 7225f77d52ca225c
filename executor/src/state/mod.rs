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
mod contract;
mod storage;

use std::sync::Arc;

use rhizome_primitives::account::AccountState;
use rhizome_primitives::map::{HashMap, HashSet};
use rhizome_primitives::receipt::Log;
use rhizome_primitives::{Address, U256};
use rhizome_trie::Trie;
use rhizome_trie::key::AccountKeys;

use crate::error::Fault;
use account::{Account, Contents, Slot};

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
mod tests;
