//! Releases that wait for confirmations (`PegoutsWaitingForConfirmations`).
//!
//! Two cells: releases from before RSKIP-146 have no hash of the Rootstock transaction. Both are read into one set. Stored
//! order is by the transactions' bytes; until RSKIP-559 the order of choice is that of a Java hash set, so the copies that
//! rskj makes while reading are made here too: each copy may change the order.

use std::cmp::Ordering;

use rhizome_primitives::{B256, rlp};

use super::java_set::{JavaSet, OrderUnknown};
use crate::bitcoin::{BtcHash, BtcTransaction};
use crate::failure::{Failure, Result};
use crate::host::HostFault;
use crate::storage::codec;

/// One release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingRelease {
    /// The transaction, not yet signed.
    pub tx: BtcTransaction,
    /// Number of the block that made it.
    pub block: i64,
    /// Rootstock transaction that made it, since RSKIP-146.
    pub rsk_tx: Option<B256>,
    txid: BtcHash,
    bytes: Vec<u8>,
}

impl WaitingRelease {
    /// A release made in a block.
    pub fn new(tx: BtcTransaction, block: i64, rsk_tx: Option<B256>) -> Self {
        let (txid, bytes) = (tx.txid(), tx.encode());
        Self { tx, block, rsk_tx, txid, bytes }
    }

    /// Java's `Objects.hash(transaction, block)`.
    fn java_hash(&self) -> i32 {
        let id = self.txid.display_bytes();
        let tx = i32::from_be_bytes([id[28], id[29], id[30], id[31]]);
        let block = (self.block ^ ((self.block as u64) >> 32) as i64) as i32;
        31i32.wrapping_add(tx).wrapping_mul(31).wrapping_add(block)
    }

    fn equals(&self, other: &Self) -> bool {
        self.txid == other.txid && self.block == other.block && self.rsk_tx == other.rsk_tx
    }

    fn by_bytes(&self, other: &Self) -> Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

/// The releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitingConfirmations {
    /// Every release ever added; `set` says which are in.
    releases: Vec<WaitingRelease>,
    set: JavaSet,
}

impl WaitingConfirmations {
    /// The set that rskj makes of releases given in this order.
    pub fn of(releases: Vec<WaitingRelease>) -> Result<Self, OrderUnknown> {
        Self::filled(releases, JavaSet::new(), false)
    }

    /// A copy of this set after it was filled with the releases.
    fn filled(releases: Vec<WaitingRelease>, set: JavaSet, sorted: bool) -> Result<Self, OrderUnknown> {
        let set = copy(&releases, 0..releases.len(), set);
        let order = walk(&set, sorted)?;
        let set = copy(&releases, order.iter().copied(), JavaSet::for_copy(order.len()));
        Ok(Self { releases, set })
    }

    /// Reads the cell of releases without hash, and the other if there is one.
    pub fn decode(without_hash: Option<&[u8]>, with_hash: Option<&[u8]>, sorted: bool) -> Result<Self> {
        let read = |stored, width| -> Result<Vec<WaitingRelease>> {
            let read = Self::filled(read_releases(stored, width)?, JavaSet::new(), sorted);
            read.and_then(|read| read.into_order(sorted)).map_err(unknown_order)
        };
        let mut releases = read(without_hash, 2)?;
        let set = JavaSet::for_copy(releases.len());
        if with_hash.is_some() {
            releases.extend(read(with_hash, 3)?);
        }
        Self::filled(releases, set, sorted).map_err(unknown_order)
    }

    fn into_order(self, sorted: bool) -> Result<Vec<WaitingRelease>, OrderUnknown> {
        let mut order = walk(&self.set, sorted)?;
        if sorted {
            order.sort_by(|a, b| self.releases[*a].by_bytes(&self.releases[*b]));
        }
        Ok(order.into_iter().map(|entry| self.releases[entry].clone()).collect())
    }

    /// Adds a release unless its transaction is there.
    pub fn add(&mut self, release: WaitingRelease) {
        if self.set.unordered().any(|entry| self.releases[entry].txid == release.txid) {
            return;
        }
        self.set.insert(release.java_hash(), self.releases.len());
        self.releases.push(release);
    }

    /// Takes out the first release with enough confirmations: in the order of transactions if `sorted`, else in that of the
    /// hash set.
    pub fn take_confirmed(
        &mut self,
        block: i64,
        confirmations: i64,
        sorted: bool,
    ) -> Result<Option<WaitingRelease>, OrderUnknown> {
        let Some(entry) = self.first_confirmed(block, confirmations, sorted)? else { return Ok(None) };
        self.set.remove(self.releases[entry].java_hash(), entry);
        Ok(Some(self.releases[entry].clone()))
    }

    fn first_confirmed(&self, block: i64, confirmations: i64, sorted: bool) -> Result<Option<usize>, OrderUnknown> {
        let confirmed = |entry: &usize| block - self.releases[*entry].block >= confirmations;
        if sorted {
            let entries = self.set.unordered().filter(confirmed);
            return Ok(entries.min_by(|a, b| self.releases[*a].by_bytes(&self.releases[*b])));
        }
        if !self.set.unordered().any(|entry| confirmed(&entry)) {
            return Ok(None);
        }
        self.set.order().find(|entry| entry.as_ref().map_or(true, confirmed)).transpose()
    }

    fn sorted(&self, with_hash: bool) -> Vec<&WaitingRelease> {
        let mut releases: Vec<_> = self.set.unordered().map(|entry| &self.releases[entry]).collect();
        releases.retain(|release| release.rsk_tx.is_some() == with_hash);
        releases.sort_by(|a, b| a.by_bytes(b));
        releases
    }

    /// `transaction, block, …` of the releases without hash.
    pub fn encode_without_hash(&self) -> Vec<u8> {
        codec::list(|out| {
            for release in self.sorted(false) {
                rlp::put_bytes(out, &release.bytes);
                codec::put_long(out, release.block);
            }
        })
    }

    /// `transaction, block, hash, …` of the releases with hash.
    pub fn encode_with_hash(&self) -> Vec<u8> {
        codec::list(|out| {
            for release in self.sorted(true) {
                rlp::put_bytes(out, &release.bytes);
                codec::put_long(out, release.block);
                rlp::put_bytes(out, release.rsk_tx.unwrap_or_default().as_slice());
            }
        })
    }
}

/// A set filled in this order; entries that equal one in it are left out.
fn copy(releases: &[WaitingRelease], order: impl Iterator<Item = usize>, mut set: JavaSet) -> JavaSet {
    for entry in order {
        let release = &releases[entry];
        let hash = release.java_hash();
        let known = set.with_hash(hash).any(|other| releases[other].equals(release));
        if !known {
            set.insert(hash, entry);
        }
    }
    set
}

/// The entries of a set in the order of a walk; in any order that may be if they are sorted afterwards.
fn walk(set: &JavaSet, sorted: bool) -> Result<Vec<usize>, OrderUnknown> {
    if sorted { Ok(set.unordered().collect()) } else { set.order().collect() }
}

fn unknown_order(error: OrderUnknown) -> Failure {
    Failure::Host(HostFault(Box::new(error)))
}

fn read_releases(stored: Option<&[u8]>, width: usize) -> Result<Vec<WaitingRelease>> {
    let elements = codec::read_list(stored)?;
    if elements.len() % width != 0 {
        return Err(Failure::threw(format!("set of releases is no multiple of {width} elements")));
    }
    let read = |entry: &[&[u8]]| {
        let tx = BtcTransaction::decode(entry[0])?;
        let rsk_tx = entry.get(2).map(|hash| codec::hash(hash)).transpose()?;
        Ok(WaitingRelease::new(tx, codec::long_from_bytes(entry[1]), rsk_tx))
    };
    elements.chunks_exact(width).map(read).collect()
}
