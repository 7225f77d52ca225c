//! A transaction of any bytes: never a panic, the hash is that of the re-encoding, the sender can be asked for.
//!
//! Not every re-encoding can be read again: a signature's zero is written as nothing, which is refused beside a V.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_primitives::Transaction;

fuzz_target!(|input: &[u8]| {
    let Ok(transaction) = Transaction::decode(input) else { return };
    if let Ok(again) = Transaction::decode(transaction.encoded()) {
        assert_eq!(again.hash(), transaction.hash());
        assert_eq!(again.signing_hash(), transaction.signing_hash());
    }
    let _ = transaction.recover_sender();
    let _ = transaction.gas_limit();
});
