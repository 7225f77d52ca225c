//! Spending from and signing for multi-signature outputs (rskj's `BitcoinUtils`, `BitcoinUtilsLegacy` and the parts of
//! `BridgeUtils` about signatures; bitcoinj-thin's `Script.createEmptyInputScript`, `ScriptBuilder.updateScriptWithSignature`,
//! `TransactionWitness.updateWitnessWithSignature`).
//!
//! A release leaves the Bridge with *base* input scripts, where every signature is an empty push. Signatures then take the
//! empty places in the order of the keys.

use super::Satoshi;
use super::hash::{BtcHash, sha256};
use super::key::BtcKey;
use super::redeem::RedeemScript;
use super::script::{Script, ScriptBuilder, ScriptError, op, parse_chunks};
use super::sighash::{legacy_sighash, segwit_sighash};
use super::signature::EcdsaSignature;
use super::transaction::{BtcTransaction, Witness};

/// Most signatures that bitcoinj puts into an input script.
const MAX_SIGNATURES: i32 = 16;

/// `extractRedeemScriptFromInput`: last push of the witness, or of the input script if there is no witness.
///
/// # Errors
/// If there is no such input or its script does not parse.
pub fn extract_redeem_script(tx: &BtcTransaction, index: usize) -> Result<Option<Script>, ScriptError> {
    if tx.input_has_witness(index) {
        return Ok(redeem_of_witness(tx.witness(index)));
    }
    redeem_of_input_script(tx, index)
}

fn redeem_of_witness(witness: &Witness) -> Option<Script> {
    witness.0.last().and_then(|program| Script::parsed(program.as_slice()).ok())
}

fn redeem_of_input_script(tx: &BtcTransaction, index: usize) -> Result<Option<Script>, ScriptError> {
    let input = tx.inputs.get(index).ok_or(ScriptError::NO_SUCH_INPUT)?;
    let chunks = parse_chunks(&input.script)?;
    Ok(chunks.last().and_then(|chunk| chunk.data).and_then(|program| Script::parsed(program).ok()))
}

/// `Script.getNumberOfSignaturesRequiredToSpend` of a redeem script.
pub fn required_signatures(redeem: &Script) -> Result<i32, ScriptError> {
    if redeem.is_sent_to_multisig()? {
        return Ok(RedeemScript::parse(redeem.as_bytes())?.required_signatures());
    }
    if redeem.is_sent_to_address()? || redeem.is_sent_to_raw_pub_key()? {
        return Ok(1);
    }
    Err(ScriptError::IllegalState("expected a redeem script with a number of signatures, got none"))
}

/// The base input script that spends a P2SH output of this redeem script.
pub fn base_input_script(redeem: &Script) -> Result<Script, ScriptError> {
    let signatures = required_signatures(redeem)?;
    if signatures > MAX_SIGNATURES {
        return Err(ScriptError::IllegalArgument("expected fewer signatures than fit a script, got more"));
    }
    let erp = match RedeemScript::parse(redeem.as_bytes()) {
        Ok(parsed) => parsed.has_erp_format(),
        Err(error) if error.is_script_exception() => false,
        Err(error) => return Err(error),
    };
    let mut builder = ScriptBuilder::new();
    for _ in 0..1 + signatures + i32::from(erp) {
        builder = builder.op(op::OP_0);
    }
    Ok(builder.data(redeem.as_bytes())?.build())
}

/// `createBaseWitnessThatSpendsFromErpRedeemScript`.
pub fn base_witness(redeem: &Script) -> Result<Witness, ScriptError> {
    let signatures = usize::try_from(required_signatures(redeem)?)
        .ok()
        .filter(|signatures| *signatures <= 1 << 16)
        .ok_or(ScriptError::IllegalArgument(
            "expected a number of signatures from zero on that fits a witness, got another",
        ))?;
    let mut pushes = vec![Vec::new(); signatures + 2];
    pushes.push(redeem.as_bytes().to_vec());
    Ok(Witness(pushes))
}

/// `buildSegwitScriptSig`: one push of the witness program.
pub fn segwit_input_script(redeem: &Script) -> Script {
    let mut out = Vec::with_capacity(35);
    out.extend_from_slice(&[34, op::OP_0, 32]);
    out.extend_from_slice(&sha256(redeem.as_bytes()));
    Script::new(out)
}

/// `addSpendingFederationBaseScript`: the base form for a federation of the legacy or of the segregated kind.
pub fn add_spending_base_script(
    tx: &mut BtcTransaction,
    index: usize,
    redeem: &Script,
    segwit: bool,
) -> Result<(), ScriptError> {
    let script = if segwit {
        let witness = base_witness(redeem)?;
        tx.set_witness(index, witness);
        segwit_input_script(redeem)
    } else {
        base_input_script(redeem)?
    };
    tx.inputs.get_mut(index).ok_or(ScriptError::NO_SUCH_INPUT)?.script = script.into_bytes();
    Ok(())
}

/// `removeSignaturesFromMultiSigTransaction`: every input back to its base form. Illegal argument for an input that does
/// not spend a multi-signature script.
pub fn remove_signatures(tx: &mut BtcTransaction) -> Result<(), ScriptError> {
    remove_signatures_of(tx, true)
}

fn remove_signatures_of(tx: &mut BtcTransaction, only_multisig: bool) -> Result<(), ScriptError> {
    for index in 0..tx.inputs.len() {
        let redeem = match extract_redeem_script(tx, index)? {
            Some(redeem) if !only_multisig || redeem.is_sent_to_multisig()? => redeem,
            _ => {
                return Err(ScriptError::IllegalArgument("expected an input of a multi-signature script, got another"));
            }
        };
        let segwit = tx.input_has_witness(index);
        add_spending_base_script(tx, index, &redeem, segwit)?;
    }
    Ok(())
}

/// `getMultiSigTransactionWithoutSignatures`.
pub fn without_signatures(tx: &BtcTransaction) -> Result<BtcTransaction, ScriptError> {
    let mut copy = tx.clone();
    remove_signatures(&mut copy)?;
    Ok(copy)
}

/// `getMultiSigTransactionHashWithoutSignatures`. A transaction with a witness keeps its id when it is signed.
pub fn hash_without_signatures(tx: &BtcTransaction) -> Result<BtcHash, ScriptError> {
    if tx.has_witness() { Ok(tx.txid()) } else { Ok(without_signatures(tx)?.txid()) }
}

/// `getMultiSigTransactionHashWithoutSignaturesBeforeRSKIP305`: any redeem script that asks for a known number of
/// signatures will do.
pub fn hash_without_signatures_before_rskip305(tx: &BtcTransaction) -> Result<BtcHash, ScriptError> {
    if tx.has_witness() {
        return Ok(tx.txid());
    }
    let mut copy = tx.clone();
    remove_signatures_of(&mut copy, false)?;
    Ok(copy.txid())
}

/// `getSigHashForPegoutIndex`: the name under which a release is found again, with or without its signatures. `None` if
/// the first input shows no redeem script or some input is not of a multi-signature script.
pub fn sighash_for_pegout_index(tx: &BtcTransaction) -> Result<Option<BtcHash>, ScriptError> {
    if tx.inputs.is_empty() {
        return Ok(None);
    }
    let Some(redeem) = extract_redeem_script(tx, 0)? else { return Ok(None) };
    let digest = without_signatures(tx).and_then(|base| legacy_sighash(&base, 0, redeem.as_bytes()));
    match digest {
        Ok(digest) => Ok(Some(BtcHash::from_display(digest))),
        Err(error) if error.is_illegal_argument() => Ok(None),
        Err(error) => Err(error),
    }
}

/// `generateSigHashForLegacyTransactionInput`.
pub fn sighash_of_legacy_input(tx: &BtcTransaction, index: usize) -> Result<[u8; 32], ScriptError> {
    let redeem =
        redeem_of_input_script(tx, index)?.ok_or(ScriptError::IllegalArgument("expected a redeem script, got none"))?;
    legacy_sighash(tx, index, redeem.as_bytes())
}

/// `generateSigHashForSegwitTransactionInput`, with the amount of the spent output.
pub fn sighash_of_segwit_input(tx: &BtcTransaction, index: usize, value: Satoshi) -> Result<[u8; 32], ScriptError> {
    let redeem = redeem_of_witness(tx.witness(index))
        .ok_or(ScriptError::IllegalArgument("expected a redeem script, got none"))?;
    segwit_sighash(tx, index, redeem.as_bytes(), value)
}

/// `countMissingSignatures` of one input.
pub fn count_missing_signatures(tx: &BtcTransaction, index: usize) -> Result<usize, ScriptError> {
    let redeem =
        extract_redeem_script(tx, index)?.ok_or(ScriptError::IllegalArgument("expected a redeem script, got none"))?;
    let tail = if RedeemScript::parse(redeem.as_bytes())?.has_erp_format() { 2 } else { 1 };
    if tx.input_has_witness(index) {
        let pushes = &tx.witness(index).0;
        return Ok(pushes.iter().take(pushes.len() - tail.min(pushes.len())).skip(1).filter(|p| p.is_empty()).count());
    }
    let chunks = parse_chunks(&tx.inputs[index].script)?;
    let slots = chunks.iter().take(chunks.len() - tail.min(chunks.len())).skip(1);
    Ok(slots.filter(|chunk| chunk.data.is_some_and(<[u8]>::is_empty)).count())
}

/// `hasEnoughSignatures`: no input misses any.
pub fn has_enough_signatures(tx: &BtcTransaction) -> Result<bool, ScriptError> {
    for index in 0..tx.inputs.len() {
        if count_missing_signatures(tx, index)? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `isInputSignedByThisFederator`.
pub fn is_input_signed_by(
    tx: &BtcTransaction,
    index: usize,
    key: &BtcKey,
    digest: &[u8; 32],
) -> Result<bool, ScriptError> {
    let signed = |data: &[u8]| {
        let signature = EcdsaSignature::decode_der(data)
            .map_err(|_| ScriptError::Verification("expected a signature in DER, got other bytes"))?;
        Ok(key.verify(digest, &signature))
    };
    if tx.input_has_witness(index) {
        let pushes = &tx.witness(index).0;
        for push in pushes.iter().take(pushes.len() - 1).skip(1).filter(|push| !push.is_empty()) {
            if signed(push)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let input = tx.inputs.get(index).ok_or(ScriptError::NO_SUCH_INPUT)?;
    let chunks = parse_chunks(&input.script)?;
    for chunk in chunks.iter().take(chunks.len().saturating_sub(1)).skip(1) {
        let data = chunk.data.ok_or(ScriptError::Runtime("expected a signature, got an opcode"))?;
        if !data.is_empty() && signed(data)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `getSigInsertionIndex`: the place for a key's signature among the signatures that are there, by the order of keys in
/// the redeem script. Illegal state if the key is not in it.
pub fn signature_insertion_index(
    tx: &BtcTransaction,
    index: usize,
    digest: &[u8; 32],
    key: &BtcKey,
) -> Result<usize, ScriptError> {
    let (signatures, redeem): (Vec<Option<&[u8]>>, &[u8]) = if tx.input_has_witness(index) {
        let pushes = &tx.witness(index).0;
        let (redeem, rest) = pushes.split_last().ok_or(ScriptError::NO_REDEEM_SCRIPT)?;
        (rest.iter().skip(1).filter(|push| !push.is_empty()).map(|push| Some(push.as_slice())).collect(), redeem)
    } else {
        let input = tx.inputs.get(index).ok_or(ScriptError::NO_SUCH_INPUT)?;
        let chunks = parse_chunks(&input.script)?;
        let (redeem, rest) = chunks.split_last().ok_or(ScriptError::NO_REDEEM_SCRIPT)?;
        let redeem = redeem.data.ok_or(ScriptError::NO_REDEEM_SCRIPT)?;
        if rest.is_empty() {
            return Err(ScriptError::IllegalArgument("expected two chunks or more, got fewer"));
        }
        (rest.iter().skip(1).filter(|chunk| chunk.opcode != op::OP_0).map(|chunk| chunk.data).collect(), redeem)
    };
    let redeem = RedeemScript::parse(redeem)?;
    let own = redeem.find_key(key)?;
    for (position, signature) in signatures.iter().enumerate() {
        let signature = signature.ok_or(ScriptError::Runtime("expected a signature, got an opcode"))?;
        if own < redeem.find_signature(signature, digest)? {
            return Ok(position);
        }
    }
    Ok(signatures.len())
}

/// `signInput`: puts a signature at its place, moving later ones on; the number of pushes stays.
pub fn sign_input(
    tx: &mut BtcTransaction,
    index: usize,
    signature: &EcdsaSignature,
    place: usize,
) -> Result<(), ScriptError> {
    let signature = signature.encode_bitcoin();
    if tx.input_has_witness(index) {
        let pushes = &tx.witness(index).0;
        let pushes: Vec<_> = pushes.iter().map(|push| (!push.is_empty()).then(|| push.clone())).collect();
        let placed = place_signature(pushes, signature, place)?;
        tx.set_witness(index, Witness(placed.into_iter().map(Option::unwrap_or_default).collect()));
        return Ok(());
    }
    let input = tx.inputs.get_mut(index).ok_or(ScriptError::NO_SUCH_INPUT)?;
    let chunks = parse_chunks(&input.script)?;
    let ends: Vec<_> = chunks.iter().skip(1).map(|chunk| chunk.start).chain([input.script.len()]).collect();
    let pushes = chunks
        .iter()
        .zip(ends)
        .map(|(chunk, end)| (chunk.opcode != op::OP_0).then(|| input.script[chunk.start..end].to_vec()))
        .collect();
    let signature = ScriptBuilder::new().data(&signature)?.build().into_bytes();
    let placed = place_signature(pushes, signature, place)?;
    input.script = placed.into_iter().flat_map(|chunk| chunk.unwrap_or_else(|| vec![op::OP_0])).collect();
    Ok(())
}

/// Slots between the first and the last element: `None` is an empty one.
fn place_signature(
    slots: Vec<Option<Vec<u8>>>,
    signature: Vec<u8>,
    place: usize,
) -> Result<Vec<Option<Vec<u8>>>, ScriptError> {
    let total = slots.len();
    if total < 2 {
        return Err(ScriptError::Runtime("expected at least two pushes, got fewer"));
    }
    if slots[total - 2].is_some() {
        return Err(ScriptError::IllegalArgument("expected an empty place for a signature, got none"));
    }
    let mut out = Vec::with_capacity(total);
    let mut signature = Some(signature);
    let mut position = 0;
    let mut slots = slots.into_iter();
    out.extend(slots.next());
    let last = slots.next_back();
    for slot in slots {
        if position == place && signature.is_some() {
            out.push(signature.take());
            position += 1;
        }
        if slot.is_some() {
            out.push(slot);
            position += 1;
        }
    }
    while position < total - 2 {
        out.push(if position == place { signature.take() } else { None });
        position += 1;
    }
    if signature.is_some() {
        return Err(ScriptError::IllegalState("expected a place among the signatures, got one beyond"));
    }
    out.extend(last);
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn signatures_take_empty_places_in_order() {
        let slots = |texts: &[&str]| -> Vec<Option<Vec<u8>>> {
            texts.iter().map(|t| (!t.is_empty()).then(|| t.as_bytes().to_vec())).collect()
        };
        let place = |from: &[&str], at| place_signature(slots(from), b"s".to_vec(), at);
        assert_eq!(place(&["", "", "", "r"], 0).unwrap(), slots(&["", "s", "", "r"]));
        assert_eq!(place(&["", "a", "", "r"], 0).unwrap(), slots(&["", "s", "a", "r"]));
        assert_eq!(place(&["", "a", "", "r"], 1).unwrap(), slots(&["", "a", "s", "r"]));
        assert_eq!(place(&["", "a", "b", "", "r"], 1).unwrap(), slots(&["", "a", "s", "b", "r"]));
        assert!(place(&["", "a", "b", "r"], 1).unwrap_err().is_illegal_argument());
        assert!(place(&["", "", "r"], 4).unwrap_err().is_illegal_state());
    }
}
