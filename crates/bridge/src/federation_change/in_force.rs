//! The federations in force (`FederationSupportImpl`): active, retiring, and what belongs to them.
//!
//! Two cells hold federations, new and old. Without a new one the genesis federation is active. The new one takes over when it
//! is old enough, counted from its creation block; from then on the old one is retiring, until it is cleared.

use std::sync::Arc;

use rhizome_chainspec::Rskip;

use crate::bitcoin::{Script, Utxo};
use crate::failure::Result;
use crate::federation::Federation;
use crate::peg::Peg;

/// Where the active federation lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActiveCell {
    Genesis,
    New,
    Old,
}

impl Peg<'_> {
    fn active_cell(&mut self) -> Result<ActiveCell> {
        let Some(new) = self.new_federation()? else { return Ok(ActiveCell::Genesis) };
        if self.old_federation()?.is_none() || self.is_old_enough(&new) {
            return Ok(ActiveCell::New);
        }
        Ok(ActiveCell::Old)
    }

    /// Blocks between the creation of a federation and its activation.
    pub(crate) fn activation_age(&self) -> i64 {
        self.constants.federation.activation_age(self.call.activations) as i64
    }

    fn federation_age(&self, federation: &Federation) -> i64 {
        self.block_number().wrapping_sub(federation.creation_block())
    }

    fn is_old_enough(&self, federation: &Federation) -> bool {
        self.federation_age(federation) >= self.activation_age()
    }

    /// The federation that holds the funds and signs.
    pub(crate) fn active_federation(&mut self) -> Result<Arc<Federation>> {
        let stored = match self.active_cell()? {
            ActiveCell::Genesis => None,
            ActiveCell::New => self.new_federation()?,
            ActiveCell::Old => self.old_federation()?,
        };
        Ok(stored.unwrap_or_else(|| Arc::clone(self.genesis)))
    }

    /// The federation whose funds are migrated.
    pub(crate) fn retiring_federation(&mut self) -> Result<Option<Arc<Federation>>> {
        let new = self.new_federation()?;
        let old = self.old_federation()?;
        Ok(old.filter(|_| new.is_some_and(|new| self.is_old_enough(&new))))
    }

    /// Active, then retiring.
    pub(crate) fn live_federations(&mut self) -> Result<Vec<Arc<Federation>>> {
        let mut live = vec![self.active_federation()?];
        live.extend(self.retiring_federation()?);
        Ok(live)
    }

    /// Whether a committed federation waits for its activation.
    pub(crate) fn awaits_activation(&mut self) -> Result<bool> {
        let new = self.new_federation()?;
        let old = self.old_federation()?;
        Ok(old.is_some() && new.is_some_and(|new| !self.is_old_enough(&new)))
    }

    /// Unspent outputs of the active federation.
    pub(crate) fn active_utxos(&mut self) -> Result<&Vec<Utxo>> {
        if self.active_cell()? == ActiveCell::Old { self.old_utxos() } else { self.new_utxos() }
    }

    pub(crate) fn active_utxos_mut(&mut self) -> Result<&mut Vec<Utxo>> {
        if self.active_cell()? == ActiveCell::Old { self.old_utxos_mut() } else { self.new_utxos_mut() }
    }

    /// Whether the active federation is in the time of migration after its activation, both ends excluded.
    pub(crate) fn is_in_migration_age(&mut self) -> Result<bool> {
        let begin = self.activation_age() + self.constants.federation.migration_begin as i64;
        let active = self.active_federation()?;
        let age = self.federation_age(&active);
        Ok(begin < age && age < self.migration_end())
    }

    /// Whether the time of migration is over.
    pub(crate) fn is_past_migration_age(&mut self) -> Result<bool> {
        let active = self.active_federation()?;
        Ok(self.federation_age(&active) >= self.migration_end())
    }

    fn migration_end(&self) -> i64 {
        self.activation_age() + self.constants.federation.migration_end(self.call.activations) as i64
    }

    /// Creation block of the active federation as it was recorded, zero before RSKIP-186.
    pub(crate) fn active_federation_creation_height(&mut self) -> Result<i64> {
        if !self.is_active(Rskip::R186) {
            return Ok(0);
        }
        if let Some(next) = self.recorded_next_creation()?
            && self.block_number() >= next + self.activation_age()
        {
            return Ok(next);
        }
        Ok(self.recorded_active_creation()?.unwrap_or(0))
    }

    /// Makes the recorded next height the active one once its federation is active (`updateFederationCreationBlockHeights`).
    pub(crate) fn update_creation_heights(&mut self) -> Result<()> {
        let Some(next) = self.recorded_next_creation()? else { return Ok(()) };
        if self.block_number() >= next + self.activation_age() {
            self.set_active_creation(next);
            self.set_next_creation(None);
        }
        Ok(())
    }

    /// A federation's creation time as the getters give it: milliseconds, from RSKIP-419 seconds.
    pub(crate) fn creation_time_answer(&self, millis: i64) -> i64 {
        if self.is_active(Rskip::R419) { millis.div_euclid(1_000) } else { millis }
    }

    /// Output script of a federation's own members, without the emergency keys from RSKIP-377 on.
    pub(crate) fn members_output_script(&self, federation: &Federation) -> Result<Script> {
        if self.is_active(Rskip::R377) && federation.is_erp() {
            Ok(federation.default_output_script()?)
        } else {
            Ok(federation.output_script().clone())
        }
    }
}
