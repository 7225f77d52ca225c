//! The net effect of a state, and how a child's effect is laid over its parent's.

use rhizome_primitives::{B256, Bytes};
use rhizome_trie::{ChangeSet, TrieKey};

use super::account::{Balance, Contents, Slot};
use super::{WorldState, record_in};
use crate::error::Fault;

impl Contents {
    /// Keeps the marks of the accesses that `other` has.
    pub(super) fn inherit_accesses(&mut self, other: &Self) {
        fn inherit<T, U>(to: &mut Slot<T>, from: &Slot<U>) {
            if from.is_read() {
                to.mark_read();
            }
            if from.is_written() {
                to.mark_written();
            }
        }
        inherit(&mut self.record, &other.record);
        inherit(&mut self.code, &other.code);
        inherit(&mut self.marker, &other.marker);
        for (key, cell) in &other.cells {
            if cell.is_read() || cell.is_written() {
                inherit(self.cells.entry(*key).or_default(), cell);
            }
        }
    }

    /// Lays a child's changes over these.
    pub(super) fn merge(&mut self, child: Self) {
        if child.deleted {
            let mut empty = Self::after_delete();
            empty.inherit_accesses(self);
            *self = empty;
        }
        if child.record.is_dirty() {
            self.record.write(child.record.value);
        }
        if child.code.is_dirty() {
            self.code.write(child.code.value);
        }
        if child.marker.is_dirty() {
            self.marker.write(child.marker.value);
        }
        for (key, cell) in child.cells {
            if cell.is_dirty() {
                self.cells.entry(key).or_default().write(cell.value);
            }
        }
    }
}

impl WorldState {
    /// The net effect on the parent trie: first whole accounts that go, then the keys that get or lose a value, both sorted.
    pub fn changes(&self) -> ChangeSet {
        let mut deletes = Vec::new();
        let mut puts: Vec<(TrieKey, Option<Bytes>)> = Vec::new();
        for account in &self.accounts {
            let (keys, contents) = (&account.keys, &account.contents);
            if contents.deleted {
                deletes.push(keys.account().clone());
            }
            if contents.record.is_dirty() {
                let value = contents.record.value.as_ref().map(|record| record.encode().into());
                puts.push((keys.account().clone(), value));
            }
            if contents.code.is_dirty() {
                let value =
                    contents.code.value.as_ref().map(|code| code.bytes().clone()).filter(|code| !code.is_empty());
                puts.push((keys.code(), value));
            }
            if contents.marker.is_dirty() {
                let value = contents.marker.value.then(|| Bytes::from_static(&[1]));
                puts.push((keys.storage_marker(), value));
            }
            // The keys of an account's cells are hashed together.
            let (slots, values): (Vec<B256>, Vec<_>) = contents
                .cells
                .iter()
                .filter(|(_, cell)| cell.is_dirty())
                .map(|(key, cell)| (B256::from(*key), cell.value.to_bytes()))
                .unzip();
            puts.extend(keys.storage_many(&slots).into_iter().zip(values));
        }
        ChangeSet::from_parts(deletes, puts)
    }

    /// Balance in the trie and balance now of each account whose record changed or that was deleted, in no order.
    ///
    /// # Errors
    /// When the trie has to be read, for an account that was written over unseen, and cannot be.
    pub fn balance_changes(&self) -> impl Iterator<Item = Result<(Balance, Balance), Fault>> {
        let changed =
            self.accounts.iter().filter(|account| account.contents.deleted || account.contents.record.is_dirty());
        changed.map(|account| {
            let before = match account.balance_before {
                Some(before) => before,
                None => Balance::of(record_in(&self.parent, account.location, &account.keys)?.as_ref()),
            };
            Ok((before, Balance::of(account.contents.record.value.as_ref())))
        })
    }
}
