//! Which trie keys a list of transactions read and wrote, and whether two lists are in each other's way (RSKIP-144).

use rhizome_primitives::U256;

use super::WorldState;
use super::account::{Contents, Location, Slot};

/// A trie key as a place in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessedKey {
    /// The account's record.
    Record,
    /// The code.
    Code,
    /// The contract marker.
    Marker,
    /// A storage cell.
    Cell(U256),
}

/// A key that one list wrote and another one read or wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessConflict {
    /// The account.
    pub location: Location,
    /// The place in it.
    pub key: AccessedKey,
    /// Both lists wrote it.
    pub both_wrote: bool,
}

/// The keys that a list read and wrote, each sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Read, by anything that looks at a value, its length, its hash or its existence.
    pub reads: Vec<(Location, AccessedKey)>,
    /// Written, also with the value that was there.
    pub writes: Vec<(Location, AccessedKey)>,
}

/// `(read, written)` of a key; `None` where it was not touched.
type Access = (bool, bool);

fn access<T>(slot: &Slot<T>) -> Access {
    (slot.is_read(), slot.is_written())
}

impl Contents {
    fn accesses(&self) -> impl Iterator<Item = (AccessedKey, Access)> {
        [
            (AccessedKey::Record, access(&self.record)),
            (AccessedKey::Code, access(&self.code)),
            (AccessedKey::Marker, access(&self.marker)),
        ]
        .into_iter()
        .chain(self.cells.iter().map(|(key, cell)| (AccessedKey::Cell(*key), access(cell))))
        .filter(|(_, (read, written))| *read || *written)
    }

    fn access_of(&self, key: AccessedKey) -> Access {
        match key {
            AccessedKey::Record => access(&self.record),
            AccessedKey::Code => access(&self.code),
            AccessedKey::Marker => access(&self.marker),
            AccessedKey::Cell(key) => self.cells.get(&key).map_or((false, false), access),
        }
    }
}

impl WorldState {
    /// Forgets all accesses so far, as after the bookkeeping at an activation block, which no list answers for.
    pub fn clear_accesses(&mut self) {
        self.accounts.iter_mut().for_each(|account| account.contents.clear_accesses());
    }

    /// The keys read and the keys written.
    pub fn accesses(&self) -> Accesses {
        let mut accesses = Accesses::default();
        for account in &self.accounts {
            for (key, (read, written)) in account.contents.accesses() {
                if read {
                    accesses.reads.push((account.location, key));
                }
                if written {
                    accesses.writes.push((account.location, key));
                }
            }
        }
        accesses.reads.sort_unstable();
        accesses.writes.sort_unstable();
        accesses
    }

    /// The first key, in the order of places, that one of two lists wrote and the other one read or wrote.
    pub fn conflict_with(&self, other: &Self) -> Option<AccessConflict> {
        self.accounts
            .iter()
            .filter_map(|account| Some((account, &other.accounts[*other.index.get(&account.location)? as usize])))
            .flat_map(|(mine, theirs)| {
                mine.contents.accesses().filter_map(|(key, (read, written))| {
                    let (other_read, other_written) = theirs.contents.access_of(key);
                    let conflict = (written && (other_read || other_written)) || (read && other_written);
                    conflict.then_some(AccessConflict {
                        location: mine.location,
                        key,
                        both_wrote: written && other_written,
                    })
                })
            })
            .min()
    }
}
