//! One account of a [`super::WorldState`]: its record, code, marker and cells, each with what is known and what has changed.

use std::fmt;
use std::sync::Arc;

use rhizome_primitives::account::AccountState;
use rhizome_primitives::map::HashMap;
use rhizome_primitives::{Address, B256, Bytes, Sender, U256};
use rhizome_trie::key::AccountKeys;

use super::Code;

/// Whose account it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// An ordinary address.
    Account(Address),
    /// The sender of the reward transaction, whose address is one zero byte and so has a key of another length.
    RemascSender,
    /// The empty address. A header may name it as its miner, who is paid all the same.
    NoAddress,
}

impl Location {
    /// The trie keys of the account.
    pub(super) fn keys(&self) -> AccountKeys {
        match self {
            Self::Account(address) => AccountKeys::new(address),
            Self::RemascSender => AccountKeys::remasc_sender(),
            Self::NoAddress => AccountKeys::no_address(),
        }
    }
}

impl From<Sender> for Location {
    fn from(sender: Sender) -> Self {
        match sender {
            Sender::Account(address) => Self::Account(address),
            Sender::Remasc => Self::RemascSender,
        }
    }
}

impl From<Address> for Location {
    fn from(address: Address) -> Self {
        Self::Account(address)
    }
}

impl From<&Address> for Location {
    fn from(address: &Address) -> Self {
        Self::Account(*address)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(address) => write!(f, "{address:#x}"),
            Self::RemascSender => f.write_str("0x00"),
            Self::NoAddress => f.write_str("0x"),
        }
    }
}

/// A storage cell's value.
///
/// Contracts store words, whose bytes have no leading zeros; the Bridge and REMASC store any bytes. Bytes that read the same
/// as a word's are always held as [`CellValue::Word`], so that equal values are equal here.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum CellValue {
    /// There is no such cell.
    #[default]
    Absent,
    /// A word other than zero, stored without its leading zeros.
    Word(U256),
    /// Bytes that no word is stored as: longer than 32 bytes, or with a leading zero.
    Raw(Bytes),
}

impl CellValue {
    /// The value of a word; zero is an absent cell.
    #[inline]
    pub fn word(word: U256) -> Self {
        if word.is_zero() { Self::Absent } else { Self::Word(word) }
    }

    /// The value of stored bytes; no bytes are an absent cell.
    pub fn bytes(bytes: Option<Bytes>) -> Self {
        match bytes {
            None => Self::Absent,
            Some(bytes) => match bytes.first() {
                None => Self::Absent,
                Some(0) => Self::Raw(bytes),
                Some(_) if bytes.len() > 32 => Self::Raw(bytes),
                Some(_) => Self::Word(U256::from_be_slice(&bytes)),
            },
        }
    }

    /// The stored bytes.
    pub fn to_bytes(&self) -> Option<Bytes> {
        match self {
            Self::Absent => None,
            Self::Word(word) => {
                let bytes = word.to_be_bytes::<32>();
                let zeros = word.leading_zeros() / 8;
                Some(Bytes::copy_from_slice(&bytes[zeros..]))
            }
            Self::Raw(bytes) => Some(bytes.clone()),
        }
    }

    /// The word that a contract reads; `None` for bytes too long for a word, which rskj cannot read as one either.
    #[inline]
    pub fn to_word(&self) -> Option<U256> {
        match self {
            Self::Absent => Some(U256::ZERO),
            Self::Word(word) => Some(*word),
            Self::Raw(bytes) => (bytes.len() <= 32).then(|| U256::from_be_slice(bytes)),
        }
    }

    /// Whether there is no such cell.
    #[inline]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// The value is known.
const LOADED: u8 = 1;
/// The value differs, or may differ, from the parent state's.
const DIRTY: u8 = 2;
/// The key counts as read (RSKIP-144); survives reverts.
const READ: u8 = 4;
/// The key counts as written (RSKIP-144); survives reverts.
const WRITTEN: u8 = 8;
const ACCESSES: u8 = READ | WRITTEN;

/// What is known of the value under one trie key.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot<T> {
    pub(super) value: T,
    flags: u8,
}

impl<T> Slot<T> {
    pub(super) fn is_loaded(&self) -> bool {
        self.flags & LOADED != 0
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.flags & DIRTY != 0
    }

    pub(super) fn is_read(&self) -> bool {
        self.flags & READ != 0
    }

    pub(super) fn is_written(&self) -> bool {
        self.flags & WRITTEN != 0
    }

    pub(super) fn mark_read(&mut self) {
        self.flags |= READ;
    }

    pub(super) fn mark_written(&mut self) {
        self.flags |= WRITTEN;
    }

    pub(super) fn clear_accesses(&mut self) {
        self.flags &= !ACCESSES;
    }

    /// The value as the parent state has it.
    pub(super) fn load(&mut self, value: T) {
        self.value = value;
        self.flags |= LOADED;
    }

    /// Changes the value and returns the slot as it was.
    pub(super) fn write(&mut self, value: T) -> Self {
        let previous = Self { value: std::mem::replace(&mut self.value, value), flags: self.flags };
        self.flags |= LOADED | DIRTY | WRITTEN;
        previous
    }

    /// Goes back to an earlier slot; accesses since then still count.
    pub(super) fn restore(&mut self, previous: Self) {
        let accesses = self.flags & ACCESSES;
        *self = previous;
        self.flags |= accesses;
    }

    /// The slot as a state on top of this one sees it: known, and with no change or access of its own.
    pub(super) fn as_parent(&self) -> Self
    where
        T: Clone,
    {
        Self { value: self.value.clone(), flags: self.flags & LOADED }
    }
}

/// What lies under an account's key in the trie.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) record: Slot<Option<AccountState>>,
    pub(super) code: Slot<Option<Arc<Code>>>,
    pub(super) marker: Slot<bool>,
    pub(super) cells: HashMap<U256, Slot<CellValue>>,
    /// Nothing of the parent state is visible any more.
    pub(super) detached: bool,
    /// The parent state's account is to be deleted with all below it before anything of this is written.
    pub(super) deleted: bool,
}

impl Contents {
    /// An account without anything, of which nothing in the parent state is visible.
    pub(super) fn after_delete() -> Self {
        Self { detached: true, deleted: true, ..Self::default() }
    }

    /// The contents as a state on top of this one sees them.
    pub(super) fn as_parent(&self) -> Self {
        Self {
            record: self.record.as_parent(),
            code: self.code.as_parent(),
            marker: self.marker.as_parent(),
            cells: self.cells.iter().map(|(key, cell)| (*key, cell.as_parent())).collect(),
            detached: self.detached,
            deleted: false,
        }
    }

    pub(super) fn clear_accesses(&mut self) {
        self.record.clear_accesses();
        self.code.clear_accesses();
        self.marker.clear_accesses();
        self.cells.values_mut().for_each(Slot::clear_accesses);
    }
}

/// One account.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) location: Location,
    pub(super) keys: AccountKeys,
    pub(super) contents: Contents,
    /// The balance in the trie, once the record was read from there.
    pub(super) balance_before: Option<Balance>,
}

/// A balance, which rskj lets fall below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Wei.
    pub amount: U256,
    /// The amount is owed.
    pub negative: bool,
}

impl Balance {
    /// The balance of a record; zero without one.
    pub(super) fn of(record: Option<&AccountState>) -> Self {
        record.map_or_else(Self::default, |record| Self { amount: record.balance, negative: record.negative })
    }
}

impl Account {
    pub(super) fn new(location: Location) -> Self {
        Self { location, keys: location.keys(), contents: Contents::default(), balance_before: None }
    }
}

/// The word under which a cell's key is held.
#[inline]
pub(super) fn cell_word(key: &B256) -> U256 {
    U256::from_be_bytes(key.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_word_are_a_word() {
        for bytes in [&[1u8][..], &[0xff; 32], &[0x80, 0]] {
            let value = CellValue::bytes(Some(Bytes::copy_from_slice(bytes)));
            assert!(matches!(value, CellValue::Word(_)), "{bytes:?}");
            assert_eq!(value.to_bytes().as_ref().map(|stored| &stored[..]), Some(bytes));
        }
        for bytes in [&[0u8][..], &[0, 1], &[1; 33]] {
            let value = CellValue::bytes(Some(Bytes::copy_from_slice(bytes)));
            assert!(matches!(value, CellValue::Raw(_)), "{bytes:?}");
            assert_eq!(value.to_bytes().as_ref().map(|stored| &stored[..]), Some(bytes));
        }
        assert_eq!(CellValue::bytes(Some(Bytes::new())), CellValue::Absent);
        assert_eq!(CellValue::word(U256::ZERO), CellValue::Absent);
    }
}
