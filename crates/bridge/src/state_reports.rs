//! What federators ask the contract for over RPC: the releases to sign, and everything at once for debugging
//! (`StateForFederator`, `StateForProposedFederator`, `BridgeState`).

use rhizome_chainspec::Rskip;
use rhizome_primitives::{B256, rlp};

use crate::bitcoin::BtcTransaction;
use crate::failure::Result;
use crate::peg::Peg;
use crate::pegout::signatures::WaitingSignatures;
use crate::storage::{codec, forms};

/// List of one element, the list of releases that wait for signatures.
pub fn for_release_client(waiting: &WaitingSignatures) -> Vec<u8> {
    codec::list(|out| out.extend_from_slice(&waiting.encode()))
}

/// List of one element, the validation's spend transaction with its hash; an empty list without one.
pub fn for_svp_client(entry: Option<&(B256, BtcTransaction)>) -> Vec<u8> {
    let entry = match entry {
        Some((hash, tx)) => forms::hash_and_transaction(hash, tx),
        None => codec::list(|_| {}),
    };
    codec::list(|out| out.extend_from_slice(&entry))
}

impl Peg<'_> {
    pub(crate) fn state_for_release_client(&mut self) -> Result<Vec<u8>> {
        Ok(for_release_client(self.waiting_signatures()?))
    }

    pub(crate) fn state_for_svp_client(&mut self) -> Result<Vec<u8>> {
        Ok(for_svp_client(self.svp_spend_waiting()?))
    }

    /// Best Bitcoin height, unspent outputs, releases and requests. Of the latter only one of the two forms is shown.
    pub(crate) fn state_for_debugging(&mut self) -> Result<Vec<u8>> {
        let height = self.btc_best_height()?;
        let next_pegout = self.next_pegout_height()?;
        let utxos = forms::utxos(self.new_utxos()?);
        let signatures = self.waiting_signatures()?.encode();
        let with_hash = self.is_active(Rskip::R146);
        let queue = self.request_queue()?;
        let queue = if with_hash { queue.encode_with_hash() } else { queue.encode_without_hash() };
        let confirmations = self.waiting_confirmations()?;
        let confirmations =
            if with_hash { confirmations.encode_with_hash() } else { confirmations.encode_without_hash() };
        Ok(codec::list(|out| {
            codec::put_long(out, i64::from(height));
            for part in [&utxos, &signatures, &queue, &confirmations, &codec::long(next_pegout)] {
                rlp::put_bytes(out, part);
            }
        }))
    }
}
