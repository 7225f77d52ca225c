//! Moving the retiring federation's coins to the active one.

use rhizome_chainspec::Rskip;

use crate::bitcoin::Satoshi;
use crate::bitcoin::release::BuiltRelease;
use crate::bitcoin::wallet::{CompletionFailure, balance};
use crate::failure::{Failure, Result, caught};
use crate::peg::Peg;
use crate::pegout::settle::UtxoList;
use crate::pegout::wallets::{Flyover, SpendWallet, overflow};

impl Peg<'_> {
    /// Makes a migration while it is the time for it, and a last one when that is over; then the retiring federation is
    /// dropped, whatever is left.
    pub(crate) fn process_migration(&mut self) -> Result<()> {
        let Some(retiring) = self.retiring_federation()? else { return Ok(()) };
        let limit = if self.is_active(Rskip::R294) { self.constants.max_inputs_per_pegout } else { usize::MAX };
        let utxos = self.old_utxos()?;
        let utxos = utxos[..utxos.len().min(limit)].to_vec();
        let funds = balance(&utxos)?;
        let segwit = retiring.format().is_segwit();
        let wallet = SpendWallet { federations: vec![retiring], utxos, flyover: Flyover::Stored, segwit };
        if self.is_in_migration_age()? && funds > self.fee_per_kb()? / 2 {
            self.migrate(&wallet, funds)?;
        }
        if self.is_past_migration_age()? {
            if funds > 0 {
                caught(self.migrate(&wallet, funds))?;
            }
            self.set_old_federation(None);
        }
        Ok(())
    }

    fn migrate(&mut self, wallet: &SpendWallet, funds: Satoshi) -> Result<()> {
        self.waiting_confirmations()?;
        let release = self.build_migration(wallet, funds)?;
        let migrated = release.selected.iter().try_fold(0i64, |sum, utxo| sum.checked_add(utxo.value));
        let migrated = migrated.ok_or_else(overflow)?;
        self.settle_release(UtxoList::Retiring, &release, Some(self.call.tx_hash), migrated)
    }

    /// Tries the whole balance, then half of it, and so on.
    fn build_migration(&mut self, wallet: &SpendWallet, funds: Satoshi) -> Result<BuiltRelease> {
        let destination = *self.active_federation()?.address();
        let mut amount = funds;
        loop {
            let result = self.build_release(wallet, destination, |builder, source| {
                builder.build_migration(source, amount, destination)
            })?;
            match result {
                Ok(release) => return Ok(release),
                Err(CompletionFailure::DustySendRequested) => {
                    return Err(Failure::threw("retiring federation's wallet cannot be emptied"));
                }
                Err(_) => amount /= 2,
            }
        }
    }
}
