//! Releases with enough confirmations go on to be signed, one in each `updateCollections`.

use rhizome_chainspec::Rskip;
use rhizome_primitives::B256;

use crate::failure::{Failure, Result};
use crate::host::HostFault;
use crate::peg::Peg;
use crate::pegout::waiting::WaitingRelease;

impl Peg<'_> {
    /// Moves the first confirmed release.
    pub(crate) fn process_confirmed(&mut self) -> Result<()> {
        self.waiting_signatures()?;
        let block = self.block_number();
        let confirmations = i64::from(self.constants.rsk_confirmations);
        let sorted = self.is_active(Rskip::R559);
        let waiting = self.waiting_confirmations()?;
        let confirmed = waiting.take_confirmed(block, confirmations, sorted);
        let Some(release) = confirmed.map_err(|error| Failure::Host(HostFault(Box::new(error))))? else {
            return Ok(());
        };
        let key = self.signature_key(&release)?;
        if self.is_active(Rskip::R375) && self.waiting_signatures()?.get(&key).is_some() {
            return Err(Failure::threw(format!("a release waits for signatures under {key}")));
        }
        let txid = release.tx.txid();
        self.waiting_signatures_mut()?.insert(key, release.tx);
        if self.is_active(Rskip::R326) {
            self.log_pegout_confirmed(&txid, release.block)?;
        }
        Ok(())
    }

    /// Hash under which a release waits: of the confirming transaction, or of the creating one. It changed back and forth.
    fn signature_key(&self, release: &WaitingRelease) -> Result<B256> {
        if self.is_active(Rskip::R375) {
            return release.rsk_tx.ok_or_else(|| Failure::threw("release without a creating transaction"));
        }
        if self.is_active(Rskip::R146) && !self.is_active(Rskip::R176) {
            return Ok(release.rsk_tx.unwrap_or(self.call.tx_hash));
        }
        Ok(self.call.tx_hash)
    }
}
