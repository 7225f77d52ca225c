//! What a transaction is, by the coins it spends (`PegUtilsLegacy`): before RSKIP-379, and for old Bitcoin blocks for ever.

use std::sync::Arc;

use rhizome_chainspec::Rskip;

use super::kind::TransactionKind;
use super::spends::correctly_spends;
use crate::bitcoin::multisig::extract_redeem_script;
use crate::bitcoin::{Address, BtcTransaction, RedeemScript, Satoshi, Script, ScriptError};
use crate::failure::{Failure, Result};
use crate::federation::Federation;
use crate::peg::Peg;
use crate::pegout::wallets::{outputs_to, value_to};

impl Peg<'_> {
    /// The kind of a transaction.
    pub(crate) fn legacy_transaction_kind(
        &self,
        tx: &BtcTransaction,
        live: &[Arc<Federation>],
        last_retired: Option<&Script>,
    ) -> Result<TransactionKind> {
        if self.is_active(Rskip::R199) && self.is_from_old_federation(tx)? {
            return Ok(TransactionKind::PegOutOrMigration);
        }
        if self.is_pegin(tx, live, last_retired)? {
            return Ok(TransactionKind::PegIn);
        }
        if self.is_migration(tx, live, last_retired)? {
            return Ok(TransactionKind::PegOutOrMigration);
        }
        let scripts = live.iter().map(|federation| standard_output(federation)).collect::<Result<Vec<_>>>()?;
        if self.is_pegout(tx, &scripts)? {
            return Ok(TransactionKind::PegOutOrMigration);
        }
        Ok(TransactionKind::Unknown)
    }

    /// Whether an input spends the federation of the first days.
    fn is_from_old_federation(&self, tx: &BtcTransaction) -> Result<bool> {
        let address = Address::from_base58(self.constants.network, self.constants.federation.old_federation_address)
            .map_err(|_| Failure::threw("address of the old federation"))?;
        let script = Script::p2sh(&address.hash);
        for index in 0..tx.inputs.len() {
            if correctly_spends(tx, index, &script)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether no input spends one of these federations, or the last retired one, and the amounts reach the minimum.
    fn is_pegin(&self, tx: &BtcTransaction, federations: &[Arc<Federation>], retired: Option<&Script>) -> Result<bool> {
        for index in 0..tx.inputs.len() {
            for federation in federations {
                if correctly_spends(tx, index, federation.output_script())? {
                    return Ok(false);
                }
            }
            if let Some(retired) = retired
                && correctly_spends(tx, index, retired)?
            {
                return Ok(false);
            }
            // Change of a flyover or emergency form of such a federation. An input script that does not parse fails the call
            // also when the rule is not in force.
            let redeem = extract_redeem_script(tx, index)?;
            if self.is_active(Rskip::R201)
                && let Some(redeem) = redeem
                && not_script_exception(belongs_to(&redeem, federations, retired))?
            {
                return Ok(false);
            }
        }
        self.reaches_minimum(tx, federations)
    }

    fn reaches_minimum(&self, tx: &BtcTransaction, federations: &[Arc<Federation>]) -> Result<bool> {
        let minimum: Satoshi = self.constants.minimum_pegin(self.call.activations);
        let scripts: Vec<_> = federations.iter().map(|federation| federation.output_script()).collect();
        if self.is_active(Rskip::R293) {
            return Ok(outputs_to(tx, &scripts)?.iter().all(|(_, output)| output.value >= minimum));
        }
        Ok(value_to(tx, &scripts)? >= minimum)
    }

    /// Whether coins go from the retiring or the retired federation to the active one.
    fn is_migration(&self, tx: &BtcTransaction, live: &[Arc<Federation>], retired: Option<&Script>) -> Result<bool> {
        let mut scripts: Vec<_> = retired.cloned().into_iter().collect();
        if let [_, retiring] = live {
            scripts.push(standard_output(retiring)?);
        }
        if scripts.is_empty() {
            return Ok(false);
        }
        let leaves = self.is_pegout(tx, &scripts)?;
        let arrives = self.is_pegin(tx, &live[..1], None)?;
        Ok(leaves && arrives)
    }

    /// Whether an input's redeem script makes one of these outputs.
    fn is_pegout(&self, tx: &BtcTransaction, scripts: &[Script]) -> Result<bool> {
        for index in 0..tx.inputs.len() {
            let Some(mut redeem) = extract_redeem_script(tx, index)? else { continue };
            if self.is_active(Rskip::R201) {
                redeem = match standard_part(&redeem) {
                    Ok(standard) => standard,
                    Err(error) if error.is_script_exception() => continue,
                    Err(error) => return Err(error.into()),
                };
            }
            let segregated = self.is_active(Rskip::R305).then(|| Script::p2sh_p2wsh_of(&redeem));
            if scripts.contains(&Script::p2sh_of(&redeem)) || segregated.is_some_and(|script| scripts.contains(&script))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether the standard part of a redeem script is that of one of the federations or of the retired one.
fn belongs_to(redeem: &Script, federations: &[Arc<Federation>], retired: Option<&Script>) -> Result<bool, ScriptError> {
    let standard = standard_part(redeem)?;
    for federation in federations {
        let own = match federation.is_erp() {
            true => federation.default_redeem_script()?,
            false => federation.redeem_script().clone(),
        };
        if own == standard {
            return Ok(true);
        }
    }
    Ok(retired == Some(&Script::p2sh_of(&standard)))
}

fn standard_part(redeem: &Script) -> Result<Script, ScriptError> {
    RedeemScript::parse(redeem.as_bytes())?.standard_part()
}

/// Java's `catch (ScriptException e)` around a question: then the answer is no.
fn not_script_exception(answer: Result<bool, ScriptError>) -> Result<bool> {
    match answer {
        Err(error) if error.is_script_exception() => Ok(false),
        other => Ok(other?),
    }
}

/// Output of a federation's own members.
fn standard_output(federation: &Federation) -> Result<Script> {
    Ok(if federation.is_erp() { federation.default_output_script()? } else { federation.output_script().clone() })
}
