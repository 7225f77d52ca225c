//! The commitment of a coinbase to the witnesses of its block (rskj's `BitcoinUtils.findWitnessCommitment`).

use super::hash::{BtcHash, sha256d};
use super::script::{ScriptError, op, parse_chunks};
use super::transaction::BtcTransaction;

/// What follows the opcode and the length in an output with a commitment.
const COMMITMENT_HEADER: [u8; 4] = [0xaa, 0x21, 0xa9, 0xed];

/// The commitment in the last output that has the form of one. Before RSKIP-460 every output that is looked at must parse.
///
/// # Errors
/// Illegal state if it is no coinbase.
pub fn find_witness_commitment(tx: &BtcTransaction, rskip460: bool) -> Result<Option<[u8; 32]>, ScriptError> {
    if !tx.is_coinbase() {
        return Err(ScriptError::IllegalState("expected a coinbase, got another transaction"));
    }
    for output in tx.outputs.iter().rev() {
        if !rskip460 {
            parse_chunks(&output.script)?;
        }
        if let [op::RETURN, 36, 0xaa, 0x21, 0xa9, 0xed, commitment @ ..] = output.script.as_slice()
            && let Some(commitment) = commitment.first_chunk::<32>()
        {
            return Ok(Some(*commitment));
        }
    }
    Ok(None)
}

/// The commitment to a tree of witness hashes and the coinbase's reserved value.
pub fn witness_commitment(witness_root: &BtcHash, reserved: &[u8; 32]) -> [u8; 32] {
    let mut data = [0; 64];
    data[..32].copy_from_slice(&witness_root.wire_bytes());
    data[32..].copy_from_slice(reserved);
    sha256d(&data)
}

/// The output script of a commitment.
pub fn commitment_script(commitment: &[u8; 32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(38);
    out.extend_from_slice(&[op::RETURN, 36]);
    out.extend_from_slice(&COMMITMENT_HEADER);
    out.extend_from_slice(commitment);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::bitcoin::script::Script;

    #[test]
    fn the_last_commitment_counts() {
        let mut tx = BtcTransaction::new(1);
        tx.add_input(BtcHash::ZERO, u32::MAX, vec![1, 2], None);
        assert_eq!(find_witness_commitment(&tx, true).unwrap(), None);
        tx.add_output(0, Script::new(commitment_script(&[1; 32]))).unwrap();
        tx.add_output(0, Script::new(commitment_script(&[2; 32]))).unwrap();
        tx.add_output(0, Script::new(&commitment_script(&[3; 32])[..37])).unwrap();
        tx.add_output(0, Script::new([5])).unwrap();
        assert_eq!(find_witness_commitment(&tx, true).unwrap(), Some([2; 32]));
        assert!(find_witness_commitment(&tx, false).is_err());
        tx.inputs[0].prev_index = 0;
        assert!(find_witness_commitment(&tx, true).unwrap_err().is_illegal_state());
    }
}
