//! Digests that signatures cover (`BtcTransaction.hashForSignature`, `hashForWitnessSignature`), for `SIGHASH_ALL`.

use super::Satoshi;
use super::encode::{put_var_bytes, unsigned_le};
use super::hash::{BtcHash, sha256d};
use super::script::{ScriptError, op};
use super::signature::SIGHASH_ALL;
use super::transaction::BtcTransaction;

/// The legacy digest of an input. bitcoinj writes the transaction with its witnesses here, if it has any; for such a
/// transaction the digest is not Bitcoin's, and only serves as a name (the peg-out index).
///
/// The result is in the order in which it was computed, ready for verification; as a hash object of bitcoinj it is
/// [`BtcHash::from_display`] of these bytes.
pub fn legacy_sighash(tx: &BtcTransaction, index: usize, script: &[u8]) -> Result<[u8; 32], ScriptError> {
    let script = without_code_separators(script)?;
    let mut copy = BtcTransaction {
        version: tx.version,
        inputs: Vec::with_capacity(tx.inputs.len()),
        outputs: tx.outputs.clone(),
        witnesses: tx.witnesses.clone(),
        lock_time: tx.lock_time,
    };
    for input in &tx.inputs {
        copy.add_input(input.prev_hash, input.prev_index, Vec::new(), None);
        if let Some(last) = copy.inputs.last_mut() {
            last.sequence = input.sequence;
        }
    }
    copy.inputs.get_mut(index).ok_or(ScriptError::NO_SUCH_INPUT)?.script = script;
    let mut data = copy.encode();
    data.extend_from_slice(&u32::from(SIGHASH_ALL).to_le_bytes());
    Ok(sha256d(&data))
}

/// The digest of an input of the segregated form (BIP-143) with the amount of the spent output.
pub fn segwit_sighash(
    tx: &BtcTransaction,
    index: usize,
    script: &[u8],
    value: Satoshi,
) -> Result<[u8; 32], ScriptError> {
    let input = tx.inputs.get(index).ok_or(ScriptError::NO_SUCH_INPUT)?;
    let mut prevouts = Vec::with_capacity(36 * tx.inputs.len());
    let mut sequences = Vec::with_capacity(4 * tx.inputs.len());
    for input in &tx.inputs {
        prevouts.extend_from_slice(&input.prev_hash.wire_bytes());
        prevouts.extend_from_slice(&input.prev_index.to_le_bytes());
        sequences.extend_from_slice(&input.sequence.to_le_bytes());
    }
    let mut outputs = Vec::with_capacity(34 * tx.outputs.len());
    for output in &tx.outputs {
        outputs.extend_from_slice(&unsigned_le(output.value));
        put_var_bytes(&mut outputs, &output.script);
    }
    let mut data = Vec::with_capacity(160 + script.len());
    data.extend_from_slice(&tx.version.to_le_bytes());
    data.extend_from_slice(&sha256d(&prevouts));
    data.extend_from_slice(&sha256d(&sequences));
    data.extend_from_slice(&input.prev_hash.wire_bytes());
    data.extend_from_slice(&input.prev_index.to_le_bytes());
    put_var_bytes(&mut data, script);
    data.extend_from_slice(&unsigned_le(value));
    data.extend_from_slice(&input.sequence.to_le_bytes());
    data.extend_from_slice(&sha256d(&outputs));
    data.extend_from_slice(&tx.lock_time.to_le_bytes());
    data.extend_from_slice(&u32::from(SIGHASH_ALL).to_le_bytes());
    Ok(sha256d(&data))
}

/// A digest as bitcoinj's hash object, the form in which the Bridge stores it.
pub fn as_hash(digest: [u8; 32]) -> BtcHash {
    BtcHash::from_display(digest)
}

/// `Script.removeAllInstancesOfOp(script, OP_CODESEPARATOR)`. Pushes are stepped over; of a four-byte length the
/// reference reads the second byte three times, and a push beyond the end is filled up with zeros.
fn without_code_separators(script: &[u8]) -> Result<Vec<u8>, ScriptError> {
    const BOUNDS: ScriptError = ScriptError::Runtime("expected an index within the script, got one beyond");
    let mut out = Vec::with_capacity(script.len());
    let mut pos = 0;
    while let Some(&opcode) = script.get(pos) {
        pos += 1;
        let byte = |offset: usize| script.get(pos + offset).copied().map(usize::from).ok_or(BOUNDS);
        let more = match opcode {
            op::PUSHDATA1 => byte(0)? + 1,
            op::PUSHDATA2 => (byte(0)? | byte(1)? << 8) + 2,
            op::PUSHDATA4 => {
                let second = byte(1)?;
                if second > 0 {
                    // 16 MiB at least, half of the time negative: the reference does not get through this either.
                    return Err(ScriptError::IllegalArgument("expected a push below 64 KiB, got a longer one"));
                }
                byte(0)? + 4
            }
            small if small < op::PUSHDATA1 => usize::from(small),
            _ => 0,
        };
        if opcode != op::CODESEPARATOR {
            out.push(opcode);
            if pos > script.len() {
                return Err(BOUNDS);
            }
            let available = &script[pos..script.len().min(pos + more)];
            out.extend_from_slice(available);
            out.resize(out.len() + more - available.len(), 0);
        }
        pos += more;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn code_separators_go_but_not_inside_pushes() {
        let script = [0x51, 0xab, 2, 0xab, 0xab, 0x4c, 1, 0xab, 0xab, 0xac];
        assert_eq!(without_code_separators(&script).unwrap(), [0x51, 2, 0xab, 0xab, 0x4c, 1, 0xab, 0xac]);
        assert_eq!(without_code_separators(&[3, 1]).unwrap(), [3, 1, 0, 0]);
        assert!(without_code_separators(&[0x4d, 1]).is_err());
    }
}
