//! Who sent a Bitcoin transaction, by its first input (`BtcLockSenderProvider` and its senders).
//!
//! The four forms are tried in order. Where rskj's code fails outside of its own handlers, the whole call fails here too.

use rhizome_primitives::Address as RskAddress;

use crate::bitcoin::hash::{hash160, sha256};
use crate::bitcoin::script::parse_chunks;
use crate::bitcoin::{Address, BtcKey, BtcNetwork, BtcTransaction, Script};
use crate::failure::{Failure, Result};

/// How the sender's coins were locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderKind {
    /// To a key's hash.
    P2pkh,
    /// To a key's hash in a witness, behind a script's hash.
    P2shP2wpkh,
    /// To several keys, behind a script's hash.
    P2shMultisig,
    /// To several keys in a witness, behind a script's hash.
    P2shP2wsh,
}

/// The sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// Form of the input.
    pub kind: SenderKind,
    /// Bitcoin address that was spent from.
    pub address: Address,
    /// Rootstock address of the key, where there is just one.
    pub rsk_address: Option<RskAddress>,
}

/// The sender of a transaction, if its first input has one of the four forms.
pub fn find_sender(tx: &BtcTransaction, network: BtcNetwork) -> Result<Option<Sender>> {
    if tx.inputs.is_empty() {
        return Ok(None);
    }
    if let Some(sender) = p2pkh(tx, network)? {
        return Ok(Some(sender));
    }
    if let Some(sender) = p2sh_p2wpkh(tx, network)? {
        return Ok(Some(sender));
    }
    if let Some(sender) = p2sh_multisig(tx, network)? {
        return Ok(Some(sender));
    }
    p2sh_p2wsh(tx, network)
}

/// Two chunks, the second a public key in any form.
fn p2pkh(tx: &BtcTransaction, network: BtcNetwork) -> Result<Option<Sender>> {
    let chunks = parse_chunks(&tx.inputs[0].script)?;
    let [_, key] = chunks.as_slice() else { return Ok(None) };
    let Some(key) = key.data.and_then(|data| BtcKey::decode(data).ok()) else { return Ok(None) };
    Ok(Some(Sender {
        kind: SenderKind::P2pkh,
        address: Address::p2pkh(network, key.hash160()),
        rsk_address: Some(key.rsk_address()),
    }))
}

/// One chunk, and a witness of two pushes whose second is a compressed public key. Anything that is no key fails the call.
fn p2sh_p2wpkh(tx: &BtcTransaction, network: BtcNetwork) -> Result<Option<Sender>> {
    if !tx.has_witness() || parse_chunks(&tx.inputs[0].script)?.len() != 1 {
        return Ok(None);
    }
    let [_, key] = tx.witness(0).0.as_slice() else { return Ok(None) };
    let key = BtcKey::decode(key).map_err(|_| Failure::threw("witness without a public key"))?;
    if key.bytes().len() != 33 {
        return Ok(None);
    }
    let mut program = vec![0x00, 0x14];
    program.extend_from_slice(&key.hash160());
    Ok(Some(Sender {
        kind: SenderKind::P2shP2wpkh,
        address: Address::p2sh(network, hash160(&program)),
        rsk_address: Some(key.rsk_address()),
    }))
}

/// Three chunks at least, the last a multisig script.
fn p2sh_multisig(tx: &BtcTransaction, network: BtcNetwork) -> Result<Option<Sender>> {
    let chunks = parse_chunks(&tx.inputs[0].script)?;
    let [_, _, .., last] = chunks.as_slice() else { return Ok(None) };
    let redeem = last.data.ok_or_else(|| Failure::threw("input script ends with an opcode"))?;
    if !Script::parsed(redeem)?.is_sent_to_multisig()? {
        return Ok(None);
    }
    Ok(Some(Sender {
        kind: SenderKind::P2shMultisig,
        address: Address::p2sh(network, hash160(redeem)),
        rsk_address: None,
    }))
}

/// One chunk, and a witness of three pushes at least whose last is a multisig script.
fn p2sh_p2wsh(tx: &BtcTransaction, network: BtcNetwork) -> Result<Option<Sender>> {
    if !tx.has_witness() || parse_chunks(&tx.inputs[0].script)?.len() != 1 {
        return Ok(None);
    }
    let [_, _, .., redeem] = tx.witness(0).0.as_slice() else { return Ok(None) };
    if !Script::parsed(redeem.as_slice())?.is_sent_to_multisig()? {
        return Ok(None);
    }
    let mut program = vec![0x00, 0x20];
    program.extend_from_slice(&sha256(redeem));
    Ok(Some(Sender {
        kind: SenderKind::P2shP2wsh,
        address: Address::p2sh(network, hash160(&program)),
        rsk_address: None,
    }))
}
