//! A header of any bytes, in its full and its compressed form: never a panic, hashes are stable under re-encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::BlockHeader;

fuzz_target!(init: { specs(); }, |input: &[u8]| {
    for spec in specs() {
        if let Ok(header) = BlockHeader::decode(input, spec) {
            let again = BlockHeader::decode(&header.encode_full(), spec).expect("a re-encoded header decodes");
            assert_eq!(again.hash(), header.hash());
            assert_eq!(again.hash_for_merged_mining().ok(), header.hash_for_merged_mining().ok());
        }
        if let Ok(header) = BlockHeader::decode_compressed(input, spec) {
            let again = BlockHeader::decode_compressed(&header.encode_compressed(), spec)
                .expect("a re-encoded compressed header decodes");
            assert_eq!(again.hash(), header.hash());
        }
    }
});

fn specs() -> &'static [ChainSpec] {
    static SPECS: std::sync::OnceLock<Vec<ChainSpec>> = std::sync::OnceLock::new();
    SPECS.get_or_init(|| vec![ChainSpec::mainnet(), ChainSpec::testnet(), ChainSpec::regtest()])
}
