//! A header of any bytes, in its full and its compressed form: never a panic, hashes are stable under re-encoding.
//!
//! Not every re-encoding can be read again: an odd version byte is read as version 0, whose form has fewer elements.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::BlockHeader;

fuzz_target!(init: { specs(); }, |input: &[u8]| {
    for spec in specs() {
        if let Ok(header) = BlockHeader::decode(input, spec) {
            header.hash();
            let merged = header.hash_for_merged_mining().ok();
            if let Ok(again) = BlockHeader::decode(&header.encode_full(), spec) {
                assert_eq!(again.hash(), header.hash());
                assert_eq!(again.hash_for_merged_mining().ok(), merged);
            }
        }
        if let Ok(header) = BlockHeader::decode_compressed(input, spec) {
            header.hash();
            if let Ok(again) = BlockHeader::decode_compressed(&header.encode_compressed(), spec) {
                assert_eq!(again.hash(), header.hash());
            }
        }
    }
});

fn specs() -> &'static [ChainSpec] {
    static SPECS: std::sync::OnceLock<Vec<ChainSpec>> = std::sync::OnceLock::new();
    SPECS.get_or_init(|| vec![ChainSpec::mainnet(), ChainSpec::testnet(), ChainSpec::regtest()])
}
