//! Cells of the Bridge's account: their keys, forms and reading habits (`BridgeStorageProvider`, `FederationStorageProviderImpl`
//! and the other storage providers).
//!
//! Everything is read when first asked for and written once, by `Cells::save`, at the end of a call that did not throw.

pub(crate) mod cell;
pub mod codec;
mod federations;
pub mod forms;
pub mod keys;
pub(crate) mod marks;

pub(crate) use federations::FederationCells;

use std::collections::{BTreeMap, BTreeSet};

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::B256;

use crate::bitcoin::{BtcHash, BtcTransaction, Satoshi};
use crate::constants::BridgeConstants;
use crate::failure::Result;
use crate::host::BridgeHost;
use crate::pegout::queue::RequestQueue;
use crate::pegout::signatures::WaitingSignatures;
use crate::pegout::waiting::WaitingConfirmations;
use crate::union::UnionCells;
use crate::votes::election::Election;
use crate::votes::whitelist::LockWhitelist;
use cell::Cell;
use marks::FlyoverMarks;

/// Everything a call has read or set.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// Processed transactions before RSKIP-134, with the block's height; frozen since, yet read at each check.
    pub(crate) processed: Cell<BTreeMap<BtcHash, i64>>,
    pub(crate) queue: Cell<RequestQueue>,
    pub(crate) waiting_confirmations: Cell<WaitingConfirmations>,
    pub(crate) waiting_signatures: Cell<WaitingSignatures>,
    /// Heights of processed transactions since RSKIP-134 that were set in this call.
    processed_heights: BTreeMap<BtcHash, i64>,
    /// Witness merkle roots set in this call.
    coinbases: BTreeMap<BtcHash, BtcHash>,
    flyover: FlyoverMarks,
    pub(crate) headers_timestamp: Option<i64>,
    pub(crate) next_pegout_height: Cell<i64>,
    sig_hashes: BTreeSet<BtcHash>,
    outpoint_values: BTreeMap<BtcHash, Vec<Satoshi>>,
    pub(crate) svp_fund_hash: Cell<Option<BtcHash>>,
    pub(crate) svp_fund_signed: Cell<Option<BtcTransaction>>,
    pub(crate) svp_spend_hash: Cell<Option<BtcHash>>,
    pub(crate) svp_spend_waiting: Cell<Option<(B256, BtcTransaction)>>,
    pub(crate) fee_per_kb: Cell<Option<Satoshi>>,
    pub(crate) fee_per_kb_election: Cell<Election>,
    pub(crate) whitelist: Cell<LockWhitelist>,
    pub(crate) federations: FederationCells,
    pub(crate) locking_cap: Cell<Option<Satoshi>>,
    pub(crate) union: UnionCells,
}

impl Cells {
    /// Writes what was set, and what rskj rewrites for having been read (`BridgeSupport.save`).
    pub(crate) fn save(
        &self,
        host: &mut dyn BridgeHost,
        constants: &BridgeConstants,
        activations: Activations,
    ) -> Result<()> {
        let since = |rule| activations.is_active(rule);
        self.processed.save(host, keys::PROCESSED_HASHES, |map| Ok(Some(forms::hashes_to_numbers(map))))?;
        self.save_queue(host, since(Rskip::R146))?;
        self.save_waiting_confirmations(host, since(Rskip::R146))?;
        self.waiting_signatures.save(host, keys::WAITING_SIGNATURES, |waiting| Ok(Some(waiting.encode())))?;
        self.save_marks(host)?;
        self.flyover.save(host)?;
        if let Some(timestamp) = self.headers_timestamp.filter(|timestamp| *timestamp > 0) {
            host.set_cell(keys::RECEIVE_HEADERS_TIMESTAMP, Some(codec::long(timestamp).into()))?;
        }
        if since(Rskip::R271) {
            self.next_pegout_height.save(host, keys::NEXT_PEGOUT_HEIGHT, |height| Ok(Some(codec::long(*height))))?;
        }
        if since(Rskip::R419) {
            self.save_svp(host)?;
        }
        self.fee_per_kb.save(host, keys::FEE_PER_KB, |fee| Ok(fee.map(codec::long)))?;
        self.fee_per_kb_election.save(host, keys::FEE_PER_KB_ELECTION, |election| Ok(Some(election.encode())))?;
        self.whitelist.save(host, keys::LOCK_WHITELIST, |whitelist| Ok(Some(whitelist.encode_one_off())))?;
        if since(Rskip::R87) {
            self.whitelist.save(host, keys::UNLIMITED_WHITELIST, |whitelist| Ok(Some(whitelist.encode_unlimited())))?;
        }
        self.federations.save(host, constants, activations)?;
        if since(Rskip::R134) {
            // rskj reads the cap again at the end of every call and writes the same value back.
            self.locking_cap.save(host, keys::LOCKING_CAP, |cap| Ok(cap.map(codec::long)))?;
        }
        self.union.save(host)
    }

    fn save_queue(&self, host: &mut dyn BridgeHost, with_hash: bool) -> Result<()> {
        let Some(queue) = self.queue.loaded() else { return Ok(()) };
        forms::put_if_changed(host, keys::RELEASE_QUEUE, queue.encode_without_hash())?;
        if with_hash {
            forms::put_if_changed(host, keys::RELEASE_QUEUE_WITH_HASH, queue.encode_with_hash())?;
        }
        Ok(())
    }

    fn save_waiting_confirmations(&self, host: &mut dyn BridgeHost, with_hash: bool) -> Result<()> {
        let Some(waiting) = self.waiting_confirmations.loaded() else { return Ok(()) };
        forms::put_if_changed(host, keys::WAITING_CONFIRMATIONS, waiting.encode_without_hash())?;
        if with_hash {
            forms::put_if_changed(host, keys::WAITING_CONFIRMATIONS_WITH_HASH, waiting.encode_with_hash())?;
        }
        Ok(())
    }

    fn save_svp(&self, host: &mut dyn BridgeHost) -> Result<()> {
        let hash = |hash: &Option<BtcHash>| Ok(hash.map(|hash| codec::element(hash.display_bytes())));
        self.svp_fund_hash.save(host, keys::SVP_FUND_HASH_UNSIGNED, hash)?;
        self.svp_fund_signed
            .save(host, keys::SVP_FUND_SIGNED, |tx| Ok(tx.as_ref().map(|tx| codec::element(&tx.encode()))))?;
        self.svp_spend_hash.save(host, keys::SVP_SPEND_HASH_UNSIGNED, hash)?;
        self.svp_spend_waiting.save(host, keys::SVP_SPEND_WAITING_SIGNATURES, |entry| {
            Ok(entry.as_ref().map(|(hash, tx)| forms::hash_and_transaction(hash, tx)))
        })
    }
}
