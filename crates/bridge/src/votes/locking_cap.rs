//! The limit of bitcoin that may be locked (`LockingCapSupportImpl`), since RSKIP-134.

use rhizome_chainspec::Rskip;

use crate::failure::{Failure, Result};
use crate::peg::Peg;
use crate::storage::codec::{self, Satoshi};
use crate::storage::keys;

impl Peg<'_> {
    /// The cap. Asking for it sets the network's initial value where there is none.
    pub(crate) fn locking_cap(&mut self) -> Result<Option<Satoshi>> {
        if !self.is_active(Rskip::R134) {
            return Ok(None);
        }
        let cap = *self.cells.locking_cap.read(self.host, keys::LOCKING_CAP, codec::read_coin)?;
        if cap.is_some() {
            return Ok(cap);
        }
        let initial = Some(self.constants.locking_cap.initial);
        self.cells.locking_cap.set(initial);
        Ok(initial)
    }

    /// Raises the cap, at most by the network's factor; keeping it is allowed. False if it was refused.
    pub(crate) fn increase_locking_cap(&mut self, new_cap: Satoshi) -> Result<bool> {
        if new_cap <= 0 {
            return Err(Failure::illegal(format!("locking cap must be greater than zero: {new_cap}")));
        }
        if !self.constants.locking_cap.increase_authorizer.is_authorized(&self.call.sender) {
            return Ok(false);
        }
        let Some(current) = self.locking_cap()? else { return Ok(false) };
        let highest = current
            .checked_mul(self.constants.locking_cap.increments_multiplier)
            .ok_or_else(|| Failure::threw("locking cap overflow"))?;
        if new_cap < current || new_cap > highest {
            return Ok(false);
        }
        self.cells.locking_cap.set(Some(new_cap));
        Ok(true)
    }
}
