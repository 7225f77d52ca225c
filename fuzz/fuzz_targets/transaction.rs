//! A transaction of any bytes: never a panic, whatever is asked of what decodes.
//!
//! A re-encoding need not be read back to the same transaction (a signature's zero is written as nothing), so only the hash
//! of the transaction's own encoding is compared.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_primitives::{Transaction, keccak256};

fuzz_target!(|input: &[u8]| {
    let Ok(transaction) = Transaction::decode(input) else { return };
    assert_eq!(transaction.hash(), keccak256(transaction.encoded()));
    assert_eq!(transaction.signing_hash(), keccak256(transaction.encode_for_signing()));
    let sender = transaction.recover_sender();
    transaction.has_valid_fields(sender.is_ok());
    transaction.accepts_signature(33);
    let _ = transaction.gas_limit();
});
