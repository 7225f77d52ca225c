//! Estimated sizes of peg-outs (rskj's `BridgeUtils.calculatePegoutTxSize`, `BridgeUtilsLegacy.calculatePegoutTxSize`).

use super::encode::var_int_len;
use super::script::ScriptError;
use crate::federation::Federation;

/// Bytes of a signature.
const SIGNATURE_SIZE: i64 = 72;
/// Bytes of an output to a script.
const P2SH_OUTPUT_SIZE: i64 = 32;
/// Bytes of an input script of the segregated form.
const SEGWIT_INPUT_SCRIPT_SIZE: i64 = 36;

/// Bytes of a peg-out with this many inputs and outputs; virtual bytes for the segregated form.
///
/// # Errors
/// If one of the numbers is below 1.
pub fn pegout_tx_size(
    rskip271: bool,
    federation: &Federation,
    inputs: usize,
    outputs: usize,
) -> Result<i64, ScriptError> {
    if inputs < 1 || outputs < 1 {
        return Err(ScriptError::IllegalArgument("expected at least 1 input and 1 output, got none"));
    }
    let signatures = federation.signatures_required() as i64;
    let redeem = federation.redeem_script().len() as i64;
    let (inputs, outputs) = (inputs as i64, outputs as i64);
    if !rskip271 {
        return Ok(4 + inputs * (signatures * SIGNATURE_SIZE + redeem + 1 + 40) + outputs * 35);
    }
    let output_bytes = var_int_len(outputs as u64) as i64 + outputs * P2SH_OUTPUT_SIZE;
    let signing = signatures * SIGNATURE_SIZE * inputs;
    if federation.format().is_segwit() {
        let base = 8 + 1 + output_bytes + inputs * SEGWIT_INPUT_SCRIPT_SIZE;
        let total = base + signing + inputs * redeem;
        return Ok((total + 3 * base) / 4);
    }
    let input = 40 + var_int_len(redeem as u64) as i64 + redeem;
    Ok(8 + var_int_len(inputs as u64) as i64 + inputs * input + output_bytes + signing)
}

/// `getRegularPegoutTxSize`: two inputs and two outputs.
pub fn regular_pegout_tx_size(rskip271: bool, federation: &Federation) -> i64 {
    pegout_tx_size(rskip271, federation, 2, 2).expect("two is at least 1")
}
