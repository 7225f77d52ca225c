//! Validation of a proposed federation by a spend (SVP), since RSKIP-419.
//!
//! A fund transaction pays the proposed federation and its flyover variant; when that is registered, a spend transaction
//! sends the money back, signed by the proposed federation; when that is registered, the federation takes over.

use std::sync::Arc;

use rhizome_chainspec::Rskip;
use rhizome_primitives::B256;

use crate::bitcoin::multisig::add_spending_base_script;
use crate::bitcoin::size::pegout_tx_size;
use crate::bitcoin::{BtcHash, BtcTransaction, Satoshi, Script, TxOutput};
use crate::failure::{Failure, Result};
use crate::federation::{
    Federation, PROPOSED_FEDERATION_FLYOVER_PREFIX, flyover_address, flyover_output_script, flyover_redeem_script,
};
use crate::peg::Peg;
use crate::pegout::settle::UtxoList;
use crate::pegout::wallets::overflow;
use crate::storage::{forms, keys};

impl Peg<'_> {
    /// The step of the validation that is due, at the end of each `updateCollections`.
    pub(crate) fn process_validation(&mut self) -> Result<()> {
        let Some(proposed) = self.proposed_federation()? else { return Ok(()) };
        if !self.is_validation_ongoing()? {
            return self.fail_validation(&proposed);
        }
        let nothing_done =
            self.svp_fund_hash()?.is_none() && self.svp_fund_signed()?.is_none() && self.svp_spend_hash()?.is_none();
        if nothing_done {
            self.fund_validation(&proposed)?;
        }
        if let Some(fund) = self.svp_fund_signed()? {
            self.spend_validation(&proposed, &fund)?;
        }
        Ok(())
    }

    /// Whether there is a proposed federation within its time.
    pub(crate) fn is_validation_ongoing(&mut self) -> Result<bool> {
        let period = self.constants.federation.validation_period as i64;
        let block = self.block_number();
        Ok(self.proposed_federation()?.is_some_and(|proposed| block < proposed.creation_block().wrapping_add(period)))
    }

    fn fail_validation(&mut self, proposed: &Federation) -> Result<()> {
        self.log_commit_federation_failed(proposed)?;
        self.set_proposed_federation(None);
        self.cells.svp_fund_hash.set(None);
        self.cells.svp_fund_signed.set(None);
        self.cells.svp_spend_waiting.set(None);
        self.cells.svp_spend_hash.set(None);
        Ok(())
    }

    fn fund_validation(&mut self, proposed: &Federation) -> Result<()> {
        let wallet = self.active_wallet()?;
        let change = *self.active_federation()?.address();
        let address = *proposed.address();
        let flyover = flyover_address(&PROPOSED_FEDERATION_FLYOVER_PREFIX, proposed)?;
        let value = self.constants.svp_fund_output();
        let result = self.build_release(&wallet, change, |builder, source| {
            builder.build_svp_fund(source, address, flyover, value)
        })?;
        let Ok(release) = result else { return Ok(()) };
        self.cells.svp_fund_hash.set(Some(release.tx.txid()));
        self.settle_release(UtxoList::Active, &release, Some(self.call.tx_hash), 2 * value)
    }

    /// Makes the spend transaction. A fund transaction without the expected outputs leaves everything as it is.
    fn spend_validation(&mut self, proposed: &Arc<Federation>, fund: &BtcTransaction) -> Result<()> {
        let Some(tx) = self.build_spend(proposed, fund)? else { return Ok(()) };
        let hash = self.call.tx_hash;
        self.cells.svp_spend_hash.set(Some(tx.txid()));
        self.cells.svp_spend_waiting.set(Some((hash, tx.clone())));
        self.cells.svp_fund_signed.set(None);
        let value = tx.outputs.first().map_or(0, |output| output.value);
        self.announce_release(&tx, Some(hash), value)?;
        self.record_outpoints(&tx)
    }

    fn build_spend(&mut self, proposed: &Federation, fund: &BtcTransaction) -> Result<Option<BtcTransaction>> {
        let mut tx = BtcTransaction::new(2);
        let segwit = proposed.format().is_segwit();
        let redeem = proposed.redeem_script();
        let Some(first) = output_to(fund, proposed.output_script()) else { return Ok(None) };
        add_input(&mut tx, fund, first, redeem, segwit)?;
        let flyover_redeem = flyover_redeem_script(&PROPOSED_FEDERATION_FLYOVER_PREFIX, redeem)?;
        let flyover_output = flyover_output_script(&flyover_redeem, proposed.format());
        let Some(second) = output_to(fund, &flyover_output) else { return Ok(None) };
        add_input(&mut tx, fund, second, &flyover_redeem, segwit)?;
        let size = pegout_tx_size(self.is_active(Rskip::R271), proposed, 2, 1)?;
        let fees = self.fee_per_kb()?.checked_mul(size * 12 / 10).ok_or_else(overflow)? / 1_000;
        let value = first.1.value.checked_add(second.1.value).and_then(|sum| sum.checked_sub(fees));
        tx.add_output(value.ok_or_else(overflow)?, self.active_federation()?.address().output_script())?;
        Ok(Some(tx))
    }

    /// The fund transaction was registered: from now on it can be spent, if there is still time.
    pub(crate) fn note_fund_registered(&mut self, tx: &BtcTransaction) -> Result<()> {
        if self.is_validation_ongoing()? {
            self.cells.svp_fund_signed.set(Some(tx.clone()));
            self.cells.svp_fund_hash.set(None);
        }
        Ok(())
    }

    /// The spend transaction was registered: hand over.
    pub(crate) fn note_spend_registered(&mut self) -> Result<()> {
        self.cells.svp_spend_hash.set(None);
        self.commit_proposed_federation()
    }

    /// Hash of the fund transaction without signatures, until it is registered.
    pub(crate) fn svp_fund_hash(&mut self) -> Result<Option<BtcHash>> {
        if !self.is_active(Rskip::R419) {
            return Ok(None);
        }
        let cell = &mut self.cells.svp_fund_hash;
        Ok(*cell.read(self.host, keys::SVP_FUND_HASH_UNSIGNED, forms::read_btc_hash)?)
    }

    /// Hash of the spend transaction without signatures, until it is registered.
    pub(crate) fn svp_spend_hash(&mut self) -> Result<Option<BtcHash>> {
        if !self.is_active(Rskip::R419) {
            return Ok(None);
        }
        let cell = &mut self.cells.svp_spend_hash;
        Ok(*cell.read(self.host, keys::SVP_SPEND_HASH_UNSIGNED, forms::read_btc_hash)?)
    }

    fn svp_fund_signed(&mut self) -> Result<Option<BtcTransaction>> {
        if !self.is_active(Rskip::R419) {
            return Ok(None);
        }
        let cell = &mut self.cells.svp_fund_signed;
        Ok(cell.read(self.host, keys::SVP_FUND_SIGNED, forms::read_transaction)?.clone())
    }

    /// The spend transaction that waits for signatures, with the hash that stands for it.
    pub(crate) fn svp_spend_waiting(&mut self) -> Result<Option<&(B256, BtcTransaction)>> {
        if !self.is_active(Rskip::R419) {
            return Ok(None);
        }
        let cell = &mut self.cells.svp_spend_waiting;
        let entry = cell.read(self.host, keys::SVP_SPEND_WAITING_SIGNATURES, forms::read_hash_and_transaction)?;
        Ok(entry.as_ref())
    }

    /// The spend transaction if it stands under this hash.
    pub(crate) fn validation_spend_of(&mut self, hash: &B256) -> Result<Option<BtcTransaction>> {
        Ok(self.svp_spend_waiting()?.filter(|(known, _)| known == hash).map(|(_, tx)| tx.clone()))
    }
}

fn output_to<'t>(tx: &'t BtcTransaction, script: &Script) -> Option<(u32, &'t TxOutput)> {
    (0u32..).zip(&tx.outputs).find(|(_, output)| output.script == script.as_bytes())
}

fn add_input(
    tx: &mut BtcTransaction,
    fund: &BtcTransaction,
    (index, output): (u32, &TxOutput),
    redeem: &Script,
    segwit: bool,
) -> Result<()> {
    let place = tx.inputs.len();
    let value: Satoshi = output.value;
    tx.add_input(fund.txid(), index, Vec::new(), Some(value));
    add_spending_base_script(tx, place, redeem, segwit).map_err(Failure::from)
}
