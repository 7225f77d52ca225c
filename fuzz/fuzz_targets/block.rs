//! A block of any bytes: never a panic, and where the re-encoding can be read again it is the same block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::Block;

fuzz_target!(init: { specs(); }, |input: &[u8]| {
    for spec in specs() {
        let Ok(block) = Block::decode(input, spec) else { continue };
        let encoded = block.encode();
        if let Ok(again) = Block::decode(&encoded, spec) {
            assert_eq!(again.header.hash(), block.header.hash());
            assert_eq!(again.encode(), encoded);
        }
    }
});

/// Networks whose layouts differ at the heights that a short input reaches.
fn specs() -> &'static [ChainSpec] {
    static SPECS: std::sync::OnceLock<Vec<ChainSpec>> = std::sync::OnceLock::new();
    SPECS.get_or_init(|| vec![ChainSpec::mainnet(), ChainSpec::testnet(), ChainSpec::regtest()])
}
