//! A header of any bytes, in its full and its compressed form: never a panic, whatever is asked of what decodes.
//!
//! A re-encoding need not be read back to the same header (an odd version byte is read as version 0, whose form has fewer
//! elements), so only the hash of the header's own encoding is compared.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{BlockHeader, keccak256};

fuzz_target!(init: { specs(); }, |input: &[u8]| {
    for spec in specs() {
        if let Ok(header) = BlockHeader::decode(input, spec) {
            header.encode_full();
            header.encode_compressed();
            assert_eq!(header.hash(), keccak256(header.encode_for_hash()));
            let _ = header.hash_for_merged_mining();
            let _ = header.mining_fork_detection_data();
            let _ = header.gas_limit_value();
        }
        if let Ok(header) = BlockHeader::decode_compressed(input, spec) {
            assert_eq!(header.hash(), keccak256(header.encode_for_hash()));
        }
    }
});

fn specs() -> &'static [ChainSpec] {
    static SPECS: std::sync::OnceLock<Vec<ChainSpec>> = std::sync::OnceLock::new();
    SPECS.get_or_init(|| vec![ChainSpec::mainnet(), ChainSpec::testnet(), ChainSpec::regtest()])
}
