//! All that a peg-in says about itself (`PeginInformation`): its sender, overridden by its instructions.

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::Address as RskAddress;

use super::instructions::find_instructions;
use super::sender::{Sender, find_sender};
use crate::bitcoin::{Address, BtcNetwork, BtcTransaction};
use crate::failure::Result;

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PeginInformation {
    /// 1 with valid instructions, else 0.
    pub(crate) version: i32,
    /// Who receives the coins.
    pub(crate) receiver: Option<RskAddress>,
    /// Where they go if they are refused.
    pub(crate) refund: Option<Address>,
    /// Who sent them.
    pub(crate) sender: Option<Sender>,
    /// False if the instructions are invalid, or, before RSKIP-379, if there is neither sender nor instruction.
    pub(crate) is_valid: bool,
}

impl PeginInformation {
    /// Reads a transaction.
    pub(crate) fn of(tx: &BtcTransaction, network: BtcNetwork, activations: Activations) -> Result<Self> {
        let sender = find_sender(tx, network)?;
        let mut information = PeginInformation {
            version: 0,
            receiver: sender.as_ref().and_then(|sender| sender.rsk_address),
            refund: sender.as_ref().map(|sender| sender.address),
            sender,
            is_valid: true,
        };
        let mut has_instructions = false;
        if activations.is_active(Rskip::R170) {
            match find_instructions(tx, network) {
                Err(_) => {
                    information.is_valid = false;
                    return Ok(information);
                }
                Ok(None) => {}
                Ok(Some(instructions)) => {
                    has_instructions = true;
                    information.version = 1;
                    information.receiver = Some(instructions.receiver);
                    information.refund = instructions.refund.or(information.refund);
                }
            }
        }
        if !activations.is_active(Rskip::R379) && information.sender.is_none() && !has_instructions {
            information.is_valid = false;
        }
        Ok(information)
    }
}
