//! A block of any bytes: never a panic, neither in decoding nor in the rules that need the block alone.
#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use rhizome_chainspec::ChainSpec;
use rhizome_consensus::BlockValidator;
use rhizome_primitives::Block;

fuzz_target!(init: { networks(); }, |input: &[u8]| {
    for (spec, validator) in networks() {
        let Ok(block) = Block::decode(input, &**spec) else { continue };
        block.encode();
        block.header.hash();
        block.cumulative_difficulty();
        let _ = validator.validate_alone(&block, Some(1_800_000_000));
    }
});

/// Networks whose layouts differ at the heights that a short input reaches.
fn networks() -> &'static [(Arc<ChainSpec>, BlockValidator)] {
    static NETWORKS: OnceLock<Vec<(Arc<ChainSpec>, BlockValidator)>> = OnceLock::new();
    NETWORKS.get_or_init(|| {
        [ChainSpec::mainnet(), ChainSpec::testnet(), ChainSpec::regtest()]
            .map(Arc::new)
            .map(|spec| (Arc::clone(&spec), BlockValidator::new(spec)))
            .into()
    })
}
