//! What a registered transaction is to the Bridge (`PegUtils.getTransactionType`).

use rhizome_chainspec::Rskip;

use crate::bitcoin::multisig::{
    hash_without_signatures, hash_without_signatures_before_rskip305, sighash_for_pegout_index,
};
use crate::bitcoin::{BtcHash, BtcTransaction};
use crate::failure::Result;
use crate::peg::Peg;
use crate::pegout::wallets::outputs_to;

/// Kinds of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionKind {
    /// Pays to the federation from outside.
    PegIn,
    /// Made by the Bridge: its outputs to the federations come in.
    PegOutOrMigration,
    /// Pays to a proposed federation.
    ValidationFund,
    /// Spends what a proposed federation was paid.
    ValidationSpend,
    /// Of no interest.
    Unknown,
}

impl Peg<'_> {
    /// The kind of a transaction at a Bitcoin height. From the index height on the Bridge's own transactions are recognised
    /// by their marks, before by whose coins they spend.
    pub(crate) fn transaction_kind(&mut self, tx: &BtcTransaction, height: i32) -> Result<TransactionKind> {
        let live = self.live_federations()?;
        let last_retired = self.last_retired_script()?;
        let start = self.constants.pegout_index_height + self.constants.pegout_index_grace;
        if !self.is_active(Rskip::R379) || height < start {
            return self.legacy_transaction_kind(tx, &live, last_retired.as_ref());
        }
        if let Some(hash) = self.svp_fund_hash()?
            && self.has_unsigned_hash(tx, hash)?
        {
            return Ok(TransactionKind::ValidationFund);
        }
        if let Some(hash) = self.svp_spend_hash()?
            && self.has_unsigned_hash(tx, hash)?
        {
            return Ok(TransactionKind::ValidationSpend);
        }
        let scripts: Vec<_> = live.iter().map(|federation| federation.output_script()).collect();
        let pays = !outputs_to(tx, &scripts)?.is_empty();
        if let Some(hash) = sighash_for_pegout_index(tx)?
            && self.is_pegout_sig_hash(&hash)?
        {
            return Ok(TransactionKind::PegOutOrMigration);
        }
        Ok(if pays { TransactionKind::PegIn } else { TransactionKind::Unknown })
    }

    /// Whether a transaction has this hash when its signatures are taken out. One that has no multisig inputs has none.
    fn has_unsigned_hash(&self, tx: &BtcTransaction, hash: BtcHash) -> Result<bool> {
        let unsigned = if self.is_active(Rskip::R305) {
            hash_without_signatures(tx)
        } else {
            hash_without_signatures_before_rskip305(tx)
        };
        match unsigned {
            Ok(unsigned) => Ok(unsigned == hash),
            Err(error) if error.is_illegal_argument() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
