//! What the Bridge does with a transaction it has made: spent outputs leave the list, the release waits for confirmations, is
//! marked for recognition and announced.

use rhizome_chainspec::Rskip;
use rhizome_primitives::{Address, B256, address};

use crate::bitcoin::multisig::sighash_for_pegout_index;
use crate::bitcoin::release::BuiltRelease;
use crate::bitcoin::wallet::spends;
use crate::bitcoin::{BtcTransaction, Satoshi, Script};
use crate::failure::{Failure, Result};
use crate::peg::{Peg, wei_from_satoshi};
use crate::pegout::queue::RequestQueue;
use crate::pegout::signatures::WaitingSignatures;
use crate::pegout::waiting::{WaitingConfirmations, WaitingRelease};
use crate::pegout::wallets::{overflow, value_to};
use crate::storage::cell::Raw;
use crate::storage::{keys, marks};

/// Where coins go that the federation got for nothing.
const BURN_ADDRESS: Address = address!("ffffffffffffffffffffffffffffffffffffffff");

/// A UTXO list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UtxoList {
    /// That of the active federation.
    Active,
    /// That of the retiring federation.
    Retiring,
}

impl Peg<'_> {
    /// Requests that wait for a transaction.
    pub(crate) fn request_queue(&mut self) -> Result<&mut RequestQueue> {
        if self.cells.queue.loaded().is_none() {
            let without_hash = self.host.cell(&keys::RELEASE_QUEUE)?;
            let with_hash = match self.is_active(Rskip::R146) {
                true => self.host.cell(&keys::RELEASE_QUEUE_WITH_HASH)?,
                false => None,
            };
            let network = self.constants.network;
            self.cells.queue.set(RequestQueue::decode(network, without_hash.raw(), with_hash.raw())?);
        }
        self.cells.queue.loaded_mut().ok_or_else(|| Failure::threw("queue not read"))
    }

    /// Releases that wait for confirmations.
    pub(crate) fn waiting_confirmations(&mut self) -> Result<&mut WaitingConfirmations> {
        if self.cells.waiting_confirmations.loaded().is_none() {
            let without_hash = self.host.cell(&keys::WAITING_CONFIRMATIONS)?;
            let with_hash = match self.is_active(Rskip::R146) {
                true => self.host.cell(&keys::WAITING_CONFIRMATIONS_WITH_HASH)?,
                false => None,
            };
            let sorted = self.is_active(Rskip::R559);
            let waiting = WaitingConfirmations::decode(without_hash.raw(), with_hash.raw(), sorted)?;
            self.cells.waiting_confirmations.set(waiting);
        }
        self.cells.waiting_confirmations.loaded_mut().ok_or_else(|| Failure::threw("releases not read"))
    }

    /// Releases that wait for signatures.
    pub(crate) fn waiting_signatures(&mut self) -> Result<&WaitingSignatures> {
        self.cells.waiting_signatures.read(self.host, keys::WAITING_SIGNATURES, WaitingSignatures::decode)
    }

    pub(crate) fn waiting_signatures_mut(&mut self) -> Result<&mut WaitingSignatures> {
        self.cells.waiting_signatures.change(self.host, keys::WAITING_SIGNATURES, WaitingSignatures::decode)
    }

    /// Settles a release: peg-out, migration or validation fund.
    pub(crate) fn settle_release(
        &mut self,
        list: UtxoList,
        release: &BuiltRelease,
        creation: Option<B256>,
        requested: Satoshi,
    ) -> Result<()> {
        let tx = &release.tx;
        let utxos = match list {
            UtxoList::Active => self.active_utxos_mut()?,
            UtxoList::Retiring => self.old_utxos_mut()?,
        };
        utxos.retain(|utxo| !spends(tx, &utxo.tx_hash, utxo.index));
        self.await_confirmations(tx, creation)?;
        if self.is_active(Rskip::R379) {
            let hash = sighash_for_pegout_index(tx)?.ok_or_else(|| Failure::threw("release without a digest"))?;
            self.set_pegout_sig_hash(hash)?;
        }
        self.announce_release(tx, creation, requested)?;
        self.record_outpoints(tx)
    }

    /// Settles a refund: nothing leaves a list and it is not marked for recognition.
    pub(crate) fn settle_refund(&mut self, tx: &BtcTransaction, creation: B256, requested: Satoshi) -> Result<()> {
        self.await_confirmations(tx, Some(creation))?;
        self.announce_release(tx, Some(creation), requested)?;
        self.record_outpoints(tx)
    }

    fn await_confirmations(&mut self, tx: &BtcTransaction, creation: Option<B256>) -> Result<()> {
        let creation = creation.filter(|_| self.is_active(Rskip::R146));
        let release = WaitingRelease::new(tx.clone(), self.block_number(), creation);
        self.waiting_confirmations()?.add(release);
        Ok(())
    }

    /// Announces a release. Requests from before RSKIP-146 have no hash to announce it by.
    pub(crate) fn announce_release(&mut self, tx: &BtcTransaction, creation: Option<B256>, sum: Satoshi) -> Result<()> {
        match creation {
            Some(creation) if self.is_active(Rskip::R146) => self.log_release_requested(creation, tx, sum),
            _ => Ok(()),
        }
    }

    /// Announces and stores the values of a release's inputs, which its signers need.
    pub(crate) fn record_outpoints(&mut self, tx: &BtcTransaction) -> Result<()> {
        if !self.is_active(Rskip::R428) {
            return Ok(());
        }
        let values = tx.inputs.iter().map(|input| input.value).collect::<Option<Vec<_>>>();
        let values = values.ok_or_else(|| Failure::threw("input without a value"))?;
        let txid = tx.txid();
        self.log_pegout_transaction_created(&txid, marks::encode_outpoints(&values)?)?;
        self.set_outpoint_values(txid, values)
    }

    /// Burns what the federation has too much because dust change was raised (`adjustBalancesIfChangeOutputWasDust`).
    pub(crate) fn burn_raised_change(
        &mut self,
        tx: &BtcTransaction,
        requested: Satoshi,
        change: &Script,
    ) -> Result<()> {
        if tx.outputs.len() <= 1 {
            return Ok(());
        }
        let inputs =
            tx.inputs.iter().try_fold(0i64, |sum, input| sum.checked_add(input.value?)).ok_or_else(overflow)?;
        let spent = inputs.checked_sub(value_to(tx, &[change])?).ok_or_else(overflow)?;
        if spent < requested {
            self.pay(BURN_ADDRESS, wei_from_satoshi(requested - spent))?;
        }
        Ok(())
    }
}
