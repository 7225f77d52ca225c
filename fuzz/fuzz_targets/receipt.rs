//! A receipt of any bytes: never a panic, and what decodes is encoded as the very bytes it came from, which its trie hashes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_primitives::{Log, Receipt};

fuzz_target!(|input: &[u8]| {
    let Ok(receipt) = Receipt::decode(input) else { return };
    assert_eq!(receipt.encode(), input);
    assert_eq!(Receipt::decode(input), Ok(receipt.clone()));
    receipt.is_successful();
    receipt.has_slot_status();
    receipt.gas_used_value();
    receipt.cumulative_gas_value();
    for log in &receipt.logs {
        log.bloom();
        // A log alone has one form only.
        assert_eq!(Log::decode(&log.encode()).as_ref(), Ok(log));
    }
});
