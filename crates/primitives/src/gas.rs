//! Reading amounts of gas from bytes by rskj's law (`GasCost.toGas`).

/// The greatest amount of gas: rskj counts in signed 64-bit numbers.
pub const MAX_GAS: u64 = i64::MAX as u64;

/// An eight-byte gas amount with its top bit set, which rskj reads as negative and refuses (`InvalidGasException`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("gas amount {0:#x} is negative as a signed 64-bit number")]
pub struct InvalidGas(pub u64);

/// Reads an amount of gas: more than eight bytes, leading zeros included, count as [`MAX_GAS`].
///
/// # Errors
/// When eight bytes make a negative number.
pub fn to_gas(bytes: &[u8]) -> Result<u64, InvalidGas> {
    if bytes.len() > 8 {
        return Ok(MAX_GAS);
    }
    let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    if value > MAX_GAS { Err(InvalidGas(value)) } else { Ok(value) }
}

/// The sum, at most [`MAX_GAS`] (`GasCost.add`).
pub fn add(x: u64, y: u64) -> u64 {
    x.saturating_add(y).min(MAX_GAS)
}

/// The product, at most [`MAX_GAS`] (`GasCost.multiply`).
pub fn multiply(x: u64, y: u64) -> u64 {
    x.saturating_mul(y).min(MAX_GAS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_law() {
        assert_eq!(to_gas(&[]), Ok(0));
        assert_eq!(to_gas(&[0, 1, 0]), Ok(256));
        assert_eq!(to_gas(&[0x7f, 255, 255, 255, 255, 255, 255, 255]), Ok(MAX_GAS));
        assert_eq!(to_gas(&[0x80, 0, 0, 0, 0, 0, 0, 0]), Err(InvalidGas(1 << 63)));
        assert_eq!(to_gas(&[0, 0, 0, 0, 0, 0, 0, 0, 1]), Ok(MAX_GAS));
        assert_eq!(add(MAX_GAS, 1), MAX_GAS);
        assert_eq!(multiply(1 << 40, 1 << 40), MAX_GAS);
    }
}
