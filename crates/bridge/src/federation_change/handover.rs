//! Hand-over from the active federation to the next.

use std::sync::Arc;

use rhizome_chainspec::Rskip;

use crate::failure::{Failure, Result};
use crate::federation::Federation;
use crate::peg::Peg;

impl Peg<'_> {
    /// Makes the active federation the old one and this one the new one. The old UTXO list is replaced by the new one's,
    /// whatever was left in it.
    pub(crate) fn hand_over_to(&mut self, next: Arc<Federation>) -> Result<()> {
        let utxos = std::mem::take(self.new_utxos_mut()?);
        *self.old_utxos_mut()? = utxos;
        let active = self.active_federation()?;
        let creation_block = next.creation_block();
        self.set_old_federation(Some(active));
        self.set_new_federation(next);
        if self.is_active(Rskip::R186) {
            // Asked after the swap: the outgoing federation as long as the new one is too young.
            let active = self.active_federation()?;
            let script = self.members_output_script(&active)?;
            self.set_last_retired_script(script);
            self.set_next_creation(Some(creation_block));
        }
        Ok(())
    }

    /// Hands over to the federation that was validated.
    pub(crate) fn commit_proposed_federation(&mut self) -> Result<()> {
        let proposed = self.proposed_federation()?.ok_or_else(|| Failure::threw("no proposed federation"))?;
        self.hand_over_to(proposed)?;
        self.set_proposed_federation(None);
        Ok(())
    }
}
