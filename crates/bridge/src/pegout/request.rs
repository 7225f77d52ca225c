//! Asking for bitcoin: `releaseBtc`, the contract's default method.

use rhizome_chainspec::Rskip;

use crate::bitcoin::BtcKey;
use crate::bitcoin::size::regular_pegout_tx_size;
use crate::failure::{Failure, Result};
use crate::peg::{Peg, satoshi_from_wei, wei_from_satoshi};
use crate::pegout::queue::Request;
use crate::pegout::reasons::RejectedRequest;
use crate::pegout::wallets::overflow;

impl Peg<'_> {
    /// Queues a request for the call's value, to be paid to the address of the sender's key.
    pub(crate) fn release_btc(&mut self) -> Result<()> {
        if self.call.is_from_contract() {
            // No Bitcoin address can be derived from a contract.
            if self.is_active(Rskip::R185) {
                return self.log_release_request_rejected(RejectedRequest::CallerContract);
            }
            return Err(Failure::threw("contract calling releaseBtc"));
        }
        let key = self.host.sender_public_key().ok_or_else(|| Failure::threw("transaction without a signature"))?;
        let destination = BtcKey::from_checked(key).address(self.constants.network);
        let amount = satoshi_from_wei(self.call.value);
        if let Some(reason) = self.refusal(amount)? {
            if self.is_active(Rskip::R185) {
                let exact = self.is_active(Rskip::R427);
                let refund = if exact { self.call.value } else { wei_from_satoshi(amount) };
                self.pay(self.call.sender, refund)?;
                self.log_release_request_rejected(reason)?;
            }
            return Ok(());
        }
        let rsk_tx = self.is_active(Rskip::R146).then_some(self.call.tx_hash);
        self.request_queue()?.push(Request { destination, amount, rsk_tx });
        if self.is_active(Rskip::R185) {
            self.log_release_request_received(&destination)?;
        }
        Ok(())
    }

    /// Why a request of this amount is refused.
    fn refusal(&mut self, amount: i64) -> Result<Option<RejectedRequest>> {
        if !self.is_active(Rskip::R219) {
            let enough = amount > self.constants.legacy_minimum_pegout;
            return Ok((!enough).then_some(RejectedRequest::LowAmount));
        }
        let federation = self.active_federation()?;
        let size = regular_pegout_tx_size(self.is_active(Rskip::R271), &federation);
        let fee = self.fee_per_kb()?.checked_mul(size).ok_or_else(overflow)? / 1_000;
        let gap = fee.checked_mul(self.constants.minimum_pegout_fee_percentage).ok_or_else(overflow)? / 100;
        let for_fee = fee.checked_add(gap).ok_or_else(overflow)?;
        let minimum = for_fee.max(self.constants.minimum_pegout);
        Ok(match amount < minimum {
            false => None,
            true if minimum == for_fee => Some(RejectedRequest::FeeAboveValue),
            true => Some(RejectedRequest::LowAmount),
        })
    }
}
