//! What the next batch would cost (`getEstimatedFeesForNextPegOutEvent`, `getEstimatedFeesForPegOutAmount`).

use rhizome_chainspec::Rskip;
use rhizome_primitives::hex;

use crate::abi::Word;
use crate::bitcoin::size::pegout_tx_size;
use crate::bitcoin::{BtcKey, Satoshi};
use crate::failure::{Failure, Result};
use crate::peg::{Peg, satoshi_from_wei};
use crate::pegout::queue::Request;
use crate::pegout::wallets::overflow;

/// Key whose address is paid in the simulation.
const SIMULATED_RECIPIENT: BtcKey =
    BtcKey::from_checked(hex!("0329f519f8d13a7e3dd35fa5c2480c6bf6c0489da40081e8311a91813492083953"));

/// Amount of the simulated request before RSKIP-540: one bitcoin.
const SIMULATED_AMOUNT: Satoshi = 100_000_000;

impl Peg<'_> {
    /// Fee of the next batch with one request more.
    pub(crate) fn estimated_fees_for_next_pegout(&mut self) -> Result<Satoshi> {
        let queued = self.queued_requests()?;
        if !self.is_active(Rskip::R385) && (!self.is_active(Rskip::R271) || queued == 0) {
            return Ok(0);
        }
        if !self.is_active(Rskip::R305) {
            return self.estimated_fees_by_size();
        }
        let amount = if self.is_active(Rskip::R540) { self.constants.minimum_pegout } else { SIMULATED_AMOUNT };
        match self.simulated_fees(amount)? {
            Some(fees) => Ok(fees),
            None => self.estimated_fees_by_size(),
        }
    }

    /// Fee of the next batch with a request of this amount of wei. Throws below the minimum or where none can be made.
    pub(crate) fn estimated_fees_for_amount(&mut self, wei: Word) -> Result<Satoshi> {
        let amount = wei.non_negative().map_or(-1, satoshi_from_wei);
        if amount < self.constants.minimum_pegout {
            return Err(Failure::illegal("peg-out amount below the minimum"));
        }
        self.simulated_fees(amount)?.ok_or_else(|| Failure::illegal("cannot simulate peg-out"))
    }

    /// By the size of a transaction with two inputs and an output for each request and two more.
    fn estimated_fees_by_size(&mut self) -> Result<Satoshi> {
        let outputs = self.queued_requests()? + 2;
        let federation = self.active_federation()?;
        let size = pegout_tx_size(self.is_active(Rskip::R271), &federation, 2, outputs)?;
        Ok(self.fee_per_kb()?.checked_mul(size).ok_or_else(overflow)? / 1_000)
    }

    /// By building the batch, or nothing if it cannot be built.
    fn simulated_fees(&mut self, amount: Satoshi) -> Result<Option<Satoshi>> {
        let mut requests = self.request_queue()?.requests().to_vec();
        let destination = SIMULATED_RECIPIENT.address(self.constants.network);
        requests.push(Request { destination, amount, rsk_tx: None });
        let wallet = self.active_wallet()?;
        let Ok(release) = self.build_batch(&wallet, &requests)? else { return Ok(None) };
        let tx = &release.tx;
        let inputs = tx.inputs.iter().try_fold(0i64, |sum, input| sum.checked_add(input.value.unwrap_or(0)));
        let fees = inputs.zip(tx.output_sum()).and_then(|(inputs, outputs)| inputs.checked_sub(outputs));
        fees.map(Some).ok_or_else(overflow)
    }
}
