//! Peg-ins before RSKIP-379: whitelist and locking cap decide (`BridgeSupport.legacyRegisterPegin`).

use rhizome_chainspec::Rskip;

use super::information::PeginInformation;
use super::reasons::{RejectedPegin, UnrefundablePegin};
use super::sender::SenderKind;
use crate::bitcoin::{BtcTransaction, Satoshi};
use crate::failure::Result;
use crate::peg::Peg;

impl Peg<'_> {
    /// Judges and executes a peg-in found at a Bitcoin height.
    pub(crate) fn register_legacy_pegin(&mut self, tx: &BtcTransaction, height: i32) -> Result<()> {
        let total = self.value_to_federations(tx)?;
        let information = PeginInformation::of(tx, self.constants.network, self.call.activations)?;
        if !information.is_valid {
            if self.is_active(Rskip::R170) {
                self.reject_legacy(tx, RejectedPegin::InvalidPayload)?;
                self.refund_if_possible(tx, &information, total)?;
                self.set_processed(tx.txid())?;
            }
            return Ok(());
        }
        if information.version == 0 {
            self.register_version_0(tx, height, &information, total)
        } else {
            self.register_version_1(tx, &information, total)
        }
    }

    fn register_version_0(
        &mut self,
        tx: &BtcTransaction,
        height: i32,
        information: &PeginInformation,
        total: Satoshi,
    ) -> Result<()> {
        let segregated = self.is_active(Rskip::R143);
        let sender = information.sender.as_ref().filter(|sender| segregated || sender.kind == SenderKind::P2pkh);
        let Some(sender) = sender else { return self.reject_legacy(tx, RejectedPegin::LegacyUndeterminedSender) };
        let lockable = match sender.kind {
            SenderKind::P2pkh => true,
            SenderKind::P2shP2wpkh => segregated,
            SenderKind::P2shMultisig | SenderKind::P2shP2wsh => false,
        };
        // The whitelist entry is used up even if the cap refuses the peg-in.
        let accepted = lockable
            && self.consume_whitelisted(&sender.address, total, height)?
            && self.is_under_locking_cap(total)?;
        if accepted {
            return self.execute_pegin(tx, information, total);
        }
        if self.is_active(Rskip::R181) {
            if !lockable {
                self.log_rejected_pegin(tx, RejectedPegin::LegacyMultisigSender)?;
            } else if !self.is_under_locking_cap(total)? {
                self.log_rejected_pegin(tx, RejectedPegin::CapSurpassed)?;
            }
        }
        self.refund_pegin(tx, sender.address, total)?;
        self.set_processed(tx.txid())
    }

    fn register_version_1(
        &mut self,
        tx: &BtcTransaction,
        information: &PeginInformation,
        total: Satoshi,
    ) -> Result<()> {
        if self.is_under_locking_cap(total)? {
            return self.execute_pegin(tx, information, total);
        }
        self.reject_legacy(tx, RejectedPegin::CapSurpassed)?;
        self.refund_if_possible(tx, information, total)?;
        self.set_processed(tx.txid())
    }

    fn reject_legacy(&mut self, tx: &BtcTransaction, reason: RejectedPegin) -> Result<()> {
        if self.is_active(Rskip::R181) { self.log_rejected_pegin(tx, reason) } else { Ok(()) }
    }

    fn refund_if_possible(
        &mut self,
        tx: &BtcTransaction,
        information: &PeginInformation,
        total: Satoshi,
    ) -> Result<()> {
        if let Some(address) = information.refund {
            return self.refund_pegin(tx, address, total);
        }
        if !self.is_active(Rskip::R181) {
            return Ok(());
        }
        let reason = match information.version {
            1 => UnrefundablePegin::RefundAddressNotSet,
            _ => UnrefundablePegin::LegacyUndeterminedSender,
        };
        self.log_unrefundable_pegin(tx, reason)
    }
}
