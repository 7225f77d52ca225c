//! Instructions in a transaction's data output (`PeginInstructionsProvider`, `PeginInstructionsVersion1`), since RSKIP-170.
//!
//! `RSKT`, the version 1, the 20 bytes of a Rootstock address; optionally the type of a Bitcoin address and its hash.

use rhizome_primitives::Address as RskAddress;

use crate::bitcoin::script::{op, parse_chunks};
use crate::bitcoin::{Address, BtcNetwork, BtcTransaction, ScriptError};

const PREFIX: &[u8] = b"RSKT";
const VERSION: u8 = 1;
const LENGTH: usize = 25;
const LENGTH_WITH_REFUND: usize = 46;

/// What the sender wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instructions {
    /// Who receives the coins.
    pub receiver: RskAddress,
    /// Where they go if they are refused.
    pub refund: Option<Address>,
}

/// A data output for Rootstock that says nothing valid, or an output script that does not parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid peg-in instructions")]
pub struct InvalidPayload;

impl From<ScriptError> for InvalidPayload {
    fn from(_: ScriptError) -> Self {
        InvalidPayload
    }
}

/// The instructions of a transaction, if it has a data output for Rootstock. Two of them are invalid.
pub fn find_instructions(tx: &BtcTransaction, network: BtcNetwork) -> Result<Option<Instructions>, InvalidPayload> {
    let mut payloads = Vec::new();
    for output in &tx.outputs {
        let chunks = parse_chunks(&output.script)?;
        if let [first, second, ..] = chunks.as_slice()
            && first.opcode == op::RETURN
            && let Some(data) = second.data
            && data.starts_with(PREFIX)
        {
            payloads.push(data);
        }
    }
    match payloads.as_slice() {
        [] => Ok(None),
        [payload] => parse(payload, network).map(Some),
        _ => Err(InvalidPayload),
    }
}

fn parse(payload: &[u8], network: BtcNetwork) -> Result<Instructions, InvalidPayload> {
    if payload.get(4) != Some(&VERSION) || ![LENGTH, LENGTH_WITH_REFUND].contains(&payload.len()) {
        return Err(InvalidPayload);
    }
    let receiver = RskAddress::from_slice(&payload[5..LENGTH]);
    let refund = match &payload[LENGTH..] {
        [] => None,
        [kind, hash @ ..] => {
            let hash = hash.try_into().map_err(|_| InvalidPayload)?;
            Some(match kind {
                1 => Address::p2pkh(network, hash),
                2 => Address::p2sh(network, hash),
                _ => return Err(InvalidPayload),
            })
        }
    };
    Ok(Instructions { receiver, refund })
}
