//! What becomes of a peg-in since RSKIP-379 (`PegUtils.evaluatePegin`).

use std::sync::Arc;

use rhizome_chainspec::Activations;

use super::information::PeginInformation;
use super::reasons::RejectedPegin;
use super::sender::SenderKind;
use crate::bitcoin::{BtcNetwork, BtcTransaction, Satoshi};
use crate::failure::Result;
use crate::federation::Federation;
use crate::pegout::wallets::outputs_to;

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evaluation {
    /// Pay the receiver.
    Register,
    /// Send the coins back.
    Refund(RejectedPegin),
    /// Keep the coins, pay nobody.
    NoRefund(RejectedPegin),
}

/// Judges a transaction that pays to a live federation.
pub(crate) fn evaluate(
    tx: &BtcTransaction,
    live: &[Arc<Federation>],
    minimum: Satoshi,
    network: BtcNetwork,
    activations: Activations,
) -> Result<(Evaluation, PeginInformation)> {
    if !all_outputs_reach(tx, live, minimum)? {
        return Ok((Evaluation::NoRefund(RejectedPegin::InvalidAmount), PeginInformation::default()));
    }
    let information = PeginInformation::of(tx, network, activations)?;
    let evaluation = if !information.is_valid {
        match information.refund {
            Some(_) => Evaluation::Refund(RejectedPegin::InvalidPayload),
            None => Evaluation::NoRefund(RejectedPegin::InvalidPayload),
        }
    } else if information.version == 1 {
        Evaluation::Register
    } else {
        match information.sender.as_ref().map(|sender| sender.kind) {
            Some(SenderKind::P2pkh | SenderKind::P2shP2wpkh) => Evaluation::Register,
            Some(SenderKind::P2shMultisig | SenderKind::P2shP2wsh) => {
                if pays_different_formats(tx, live)? {
                    Evaluation::NoRefund(RejectedPegin::LegacyMultisigSender)
                } else {
                    Evaluation::Refund(RejectedPegin::LegacyMultisigSender)
                }
            }
            None => Evaluation::NoRefund(RejectedPegin::LegacyUndeterminedSender),
        }
    };
    Ok((evaluation, information))
}

/// Whether there are outputs to these federations and each of them reaches the minimum.
fn all_outputs_reach(tx: &BtcTransaction, live: &[Arc<Federation>], minimum: Satoshi) -> Result<bool> {
    let scripts: Vec<_> = live.iter().map(|federation| federation.output_script()).collect();
    let outputs = outputs_to(tx, &scripts)?;
    Ok(!outputs.is_empty() && outputs.iter().all(|(_, output)| output.value >= minimum))
}

/// Whether outputs go to two federations whose formats differ. An output script without a hash fails the call.
fn pays_different_formats(tx: &BtcTransaction, live: &[Arc<Federation>]) -> Result<bool> {
    let mut formats = Vec::new();
    for output in &tx.outputs {
        let hash = output.script().pub_key_hash()?;
        formats.extend(live.iter().find(|federation| federation.address().hash == hash).map(|f| f.format()));
    }
    Ok(formats.windows(2).any(|pair| pair[0] != pair[1]))
}
