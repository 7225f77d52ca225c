//! Redeem scripts of each format (rskj's `ErpRedeemScriptBuilder` and its implementations, `ScriptValidations`).

use rhizome_chainspec::{Activations, Rskip};

use super::{FederationError, FederationFormat};
use crate::bitcoin::redeem::HARDCODED_TESTNET_ERP;
use crate::bitcoin::script::op;
use crate::bitcoin::{BtcKey, BtcNetwork, Script, ScriptBuilder, ScriptError};
use crate::constants::FederationConstants;

/// Longest relative time lock.
pub const MAX_CSV_DELAY: i64 = 65_535;
/// Bytes of a flyover prefix, for which room must be left.
const FLYOVER_PREFIX_SIZE: usize = 34;
/// Longest redeem script in an input script.
const MAX_P2SH_REDEEM_SIZE: usize = 520 - FLYOVER_PREFIX_SIZE;
/// Longest redeem script in a witness.
const MAX_P2WSH_REDEEM_SIZE: usize = 3_600 - FLYOVER_PREFIX_SIZE;

/// The redeem script of a majority of `keys` in a format. The emergency keys need a majority, too.
pub(super) fn build(
    format: FederationFormat,
    keys: &[BtcKey],
    constants: &FederationConstants,
    activations: Activations,
) -> Result<Script, FederationError> {
    let script = match format {
        FederationFormat::StandardMultisig => return Ok(Script::multisig(keys.len() / 2 + 1, keys)?),
        FederationFormat::NonStandardErp => {
            if constants.network == BtcNetwork::Testnet && !activations.is_active(Rskip::R284) {
                Script::new(HARDCODED_TESTNET_ERP)
            } else {
                let delay = if activations.is_active(Rskip::R293) { little_endian } else { big_endian };
                let (default, emergency) = parts(keys, constants)?;
                // Both parts without their final check, one check behind the condition.
                ScriptBuilder::new()
                    .op(op::NOTIF)
                    .chunks(without_check(&default))
                    .op(op::ELSE)
                    .data(&delay(constants.erp_delay))?
                    .op(op::CHECKSEQUENCEVERIFY)
                    .op(op::DROP)
                    .chunks(without_check(&emergency))
                    .op(op::ENDIF)
                    .op(op::CHECKMULTISIG)
                    .build()
            }
        }
        FederationFormat::P2shErp | FederationFormat::P2shP2wshErp => {
            let (default, emergency) = parts(keys, constants)?;
            ScriptBuilder::new()
                .op(op::NOTIF)
                .chunks(default.as_bytes())
                .op(op::ELSE)
                .data(&little_endian(constants.erp_delay))?
                .op(op::CHECKSEQUENCEVERIFY)
                .op(op::DROP)
                .chunks(emergency.as_bytes())
                .op(op::ENDIF)
                .build()
        }
    };
    let max = if format.is_segwit() { MAX_P2WSH_REDEEM_SIZE } else { MAX_P2SH_REDEEM_SIZE };
    if script.len() > max {
        return Err(FederationError::TooLong { size: script.len(), max });
    }
    Ok(script)
}

fn parts(keys: &[BtcKey], constants: &FederationConstants) -> Result<(Script, Script), ScriptError> {
    let default = Script::multisig(keys.len() / 2 + 1, keys)?;
    let emergency = Script::multisig(constants.erp_keys.len() / 2 + 1, constants.erp_keys)?;
    if !(1..=MAX_CSV_DELAY).contains(&constants.erp_delay) {
        return Err(ScriptError::Runtime("time lock out of range"));
    }
    Ok((default, emergency))
}

fn without_check(script: &Script) -> &[u8] {
    script.as_bytes().split_last().map_or(&[], |(_, rest)| rest)
}

/// A signed script number.
fn little_endian(delay: i64) -> Vec<u8> {
    let mut bytes = delay.to_le_bytes().to_vec();
    while bytes.len() > 1 && bytes[bytes.len() - 1] == 0 && bytes[bytes.len() - 2] & 0x80 == 0 {
        bytes.pop();
    }
    bytes
}

/// The first form, a number of two bytes in the wrong order.
fn big_endian(delay: i64) -> Vec<u8> {
    (delay as u16).to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_locks() {
        assert_eq!(little_endian(52_560), [0x50, 0xcd, 0]);
        assert_eq!(little_endian(500), [0xf4, 1]);
        assert_eq!(little_endian(127), [127]);
        assert_eq!(big_endian(52_560), [0xcd, 0x50]);
    }
}
