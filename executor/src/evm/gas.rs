//! Prices of instructions (`GasCost`), the same at all heights.

/// The greatest amount of gas: rskj counts in signed 64-bit numbers.
pub(super) use rhizome_primitives::gas::MAX_GAS;

pub(super) const SLOAD: u16 = 200;
pub(super) const BALANCE: u16 = 400;
pub(super) const EXT_CODE_HASH: u16 = 400;
pub(super) const EXT_CODE_SIZE: u16 = 700;
pub(super) const EXT_CODE_COPY: u16 = 700;
pub(super) const TRANSIENT: u16 = 100;
pub(super) const SHA3: u16 = 30;
pub(super) const SHA3_WORD: u64 = 6;
pub(super) const COPY_WORD: u64 = 3;
pub(super) const EXP: u16 = 10;
pub(super) const EXP_BYTE: u64 = 50;
pub(super) const LOG: u64 = 375;
pub(super) const LOG_TOPIC: u64 = 375;
pub(super) const LOG_BYTE: u64 = 8;
pub(super) const SSTORE_SET: u64 = 20_000;
pub(super) const SSTORE_RESET: u64 = 5_000;
pub(super) const SSTORE_CLEAR_REFUND: u64 = 15_000;
pub(super) const SELFDESTRUCT: u64 = 5_000;
pub(super) const SELFDESTRUCT_NEW_ACCOUNT: u64 = 25_000;
pub(super) const CREATE: u64 = 32_000;
pub(super) const INITCODE_WORD: u64 = 2;
pub(super) const CALL: u64 = 700;
pub(super) const CALL_VALUE: u64 = 9_000;
pub(super) const CALL_NEW_ACCOUNT: u64 = 25_000;
pub(super) const CALL_STIPEND: u64 = 2_300;

/// Each byte of deployed code.
pub(crate) const CODE_BYTE: u64 = 200;
/// For each contract that a transaction destroys.
pub(crate) const SELFDESTRUCT_REFUND: u64 = 24_000;

/// The longest code that can be deployed, in bytes.
pub(crate) const MAX_CODE: usize = 24_576;
/// The longest initcode from RSKIP-438 on, in bytes.
pub(crate) const MAX_INITCODE: usize = 2 * MAX_CODE;
