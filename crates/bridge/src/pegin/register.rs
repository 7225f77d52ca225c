//! Registering a Bitcoin transaction: proof, kind, and the way of each kind (`registerBtcTransaction`).

use rhizome_chainspec::Rskip;

use super::evaluation::{Evaluation, evaluate};
use super::information::PeginInformation;
use super::kind::TransactionKind;
use super::reasons::{RejectedPegin, UnrefundablePegin};
use crate::bitcoin::encode::Reader;
use crate::bitcoin::merkle::{has_expected_size, merkle_root_with};
use crate::bitcoin::{BtcHash, BtcTransaction, Satoshi, Utxo};
use crate::bitcoin_chain::coinbase::illegal_tree;
use crate::constants::MAX_RBTC;
use crate::failure::{Failure, Result, caught};
use crate::peg::{Peg, satoshi_from_wei, wei_from_satoshi};
use crate::pegout::wallets::{overflow, utxos_to, value_to};

impl Peg<'_> {
    /// Takes in a transaction that is proved to be in a block of the best chain. What is known, unproved or of no interest
    /// is passed over.
    pub(crate) fn register_btc_transaction(&mut self, bytes: &[u8], height: i32, tree: &[u8]) -> Result<()> {
        let hash = BtcHash::of_wire_data(bytes);
        if self.is_processed(hash)? || !self.is_proved(hash, height, tree, bytes)? {
            return Ok(());
        }
        let tx = BtcTransaction::decode(bytes)?;
        tx.verify()?;
        if self.is_processed(tx.txid())? {
            return Ok(());
        }
        match self.transaction_kind(&tx, height)? {
            TransactionKind::PegIn => self.register_pegin(&tx, height),
            TransactionKind::PegOutOrMigration => self.register_outputs(&tx),
            TransactionKind::ValidationFund => {
                self.register_outputs(&tx)?;
                self.note_fund_registered(&tx)
            }
            TransactionKind::ValidationSpend => {
                self.register_outputs(&tx)?;
                self.note_spend_registered()
            }
            TransactionKind::Unknown => Ok(()),
        }
    }

    fn is_processed(&mut self, hash: BtcHash) -> Result<bool> {
        Ok(self.processed_height(hash)?.is_some_and(|height| height > -1))
    }

    /// The height at which the transaction of a hash in text form was processed.
    pub(crate) fn processed_height_of_text(&mut self, text: &str) -> Result<Option<i64>> {
        self.processed_height(text.parse().map_err(|_| Failure::threw("not a hash"))?)
    }

    /// Whether a merkle tree proves the transaction to be in the best chain's block at a height, deep enough.
    pub(crate) fn is_proved(&mut self, hash: BtcHash, height: i32, tree: &[u8], bytes: &[u8]) -> Result<bool> {
        // Asked for first even if the height is none: the first question writes the start of the Bitcoin chain.
        let Some(best) = caught(self.btc_best_height())? else { return Ok(false) };
        if height < 0 {
            return Ok(false);
        }
        if best.wrapping_sub(height).wrapping_add(1) < self.constants.btc_confirmations {
            return Ok(false);
        }
        if !has_expected_size(tree) {
            return Err(Failure::illegal("partial merkle tree doesn't have expected size"));
        }
        let Some(root) = merkle_root_with(tree, &hash).map_err(illegal_tree)? else { return Ok(false) };
        self.check_inputs_count(bytes)?;
        let block = self.with_btc_chain(|chain, host| chain.block_at_main_chain_height(host, height))?;
        let header = block.ok_or_else(|| Failure::threw("no block at this height"))?.header;
        self.is_merkle_root_of(&header, root)
    }

    /// A transaction without inputs fails the call. From RSKIP-143 the count is looked for behind the segregated form's marker.
    fn check_inputs_count(&self, bytes: &[u8]) -> Result<()> {
        let count_at = |at: usize| -> Result<u64> {
            let rest = bytes.get(at..).ok_or_else(|| Failure::threw("transaction too short"))?;
            Ok(Reader::new(rest).var_int()?)
        };
        if count_at(4)? != 0 {
            return Ok(());
        }
        if self.is_active(Rskip::R143) && (count_at(5)? != 1 || count_at(6)? != 0) {
            return Ok(());
        }
        Err(Failure::threw("transaction without inputs"))
    }

    fn register_pegin(&mut self, tx: &BtcTransaction, height: i32) -> Result<()> {
        if !self.is_active(Rskip::R379) {
            return self.register_legacy_pegin(tx, height);
        }
        let total = self.value_to_federations(tx)?;
        let minimum = self.constants.minimum_pegin(self.call.activations);
        let live = self.live_federations()?;
        self.last_retired_script()?;
        let (evaluation, information) = evaluate(tx, &live, minimum, self.constants.network, self.call.activations)?;
        match evaluation {
            Evaluation::Register => self.execute_pegin(tx, &information, total),
            Evaluation::Refund(reason) => {
                self.log_rejected_pegin(tx, reason)?;
                let address = information.refund.ok_or_else(|| Failure::threw("refund without an address"))?;
                self.refund_pegin(tx, address, total)?;
                self.set_processed(tx.txid())
            }
            Evaluation::NoRefund(reason) => self.leave_unrefunded(tx, reason, information.version),
        }
    }

    fn leave_unrefunded(&mut self, tx: &BtcTransaction, reason: RejectedPegin, version: i32) -> Result<()> {
        self.log_rejected_pegin(tx, reason)?;
        let unrefundable = match reason {
            RejectedPegin::InvalidAmount => UnrefundablePegin::InvalidAmount,
            RejectedPegin::LegacyMultisigSender => UnrefundablePegin::DifferentFederations,
            _ if version == 1 => UnrefundablePegin::RefundAddressNotSet,
            _ => UnrefundablePegin::LegacyUndeterminedSender,
        };
        self.log_unrefundable_pegin(tx, unrefundable)?;
        if self.is_active(Rskip::R459) && !self.is_active(Rskip::R551) {
            self.set_processed(tx.txid())?;
        }
        Ok(())
    }

    /// Pays the receiver and takes the outputs in.
    pub(crate) fn execute_pegin(
        &mut self,
        tx: &BtcTransaction,
        information: &PeginInformation,
        total: Satoshi,
    ) -> Result<()> {
        let receiver = information.receiver.ok_or_else(|| Failure::threw("peg-in without a receiver"))?;
        self.pay(receiver, wei_from_satoshi(total))?;
        if self.is_active(Rskip::R170) && self.is_active(Rskip::R146) {
            self.log_pegin_btc(receiver, tx, total, information.version)?;
        } else if self.is_active(Rskip::R146) {
            let sender = information.sender.as_ref().ok_or_else(|| Failure::threw("peg-in without a sender"))?;
            self.log_lock_btc(receiver, tx, &sender.address, total)?;
        }
        self.register_outputs(tx)
    }

    /// What a transaction pays to the active and the retiring federation.
    pub(crate) fn value_to_federations(&mut self, tx: &BtcTransaction) -> Result<Satoshi> {
        self.active_utxos()?;
        let mut total = value_to(tx, &[self.active_federation()?.output_script()])?;
        if let Some(retiring) = self.retiring_federation()? {
            self.old_utxos()?;
            total = total.checked_add(value_to(tx, &[retiring.output_script()])?).ok_or_else(overflow)?;
        }
        Ok(total)
    }

    /// Adds a transaction's outputs to the federations' lists and marks it as processed.
    pub(crate) fn register_outputs(&mut self, tx: &BtcTransaction) -> Result<()> {
        let active = self.active_federation()?;
        self.add_active_utxos(utxos_to(tx, &[active.output_script()])?)?;
        if let Some(retiring) = self.retiring_federation()? {
            self.add_retiring_utxos(utxos_to(tx, &[retiring.output_script()])?)?;
        }
        self.set_processed(tx.txid())
    }

    /// Adds outputs to the active federation's list, which counts as read also if there is none to add.
    pub(crate) fn add_active_utxos(&mut self, utxos: Vec<Utxo>) -> Result<()> {
        if utxos.is_empty() {
            self.active_utxos().map(drop)
        } else {
            self.active_utxos_mut().map(|list| list.extend(utxos))
        }
    }

    /// Adds outputs to the retiring federation's list.
    pub(crate) fn add_retiring_utxos(&mut self, utxos: Vec<Utxo>) -> Result<()> {
        if utxos.is_empty() { self.old_utxos().map(drop) } else { self.old_utxos_mut().map(|list| list.extend(utxos)) }
    }

    /// Whether an amount fits under the locking cap.
    pub(crate) fn is_under_locking_cap(&mut self, amount: Satoshi) -> Result<bool> {
        let Some(cap) = self.locking_cap()? else { return Ok(true) };
        let balance = satoshi_from_wei(self.host.balance(&rhizome_primitives::BRIDGE_ADDRESS)?);
        let locked =
            MAX_RBTC.checked_sub(balance).and_then(|locked| locked.checked_add(amount)).ok_or_else(overflow)?;
        Ok(locked <= cap)
    }
}
