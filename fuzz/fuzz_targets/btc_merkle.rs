//! A partial merkle tree of any bytes: never a panic, and no more leaves than hashes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_bridge::bitcoin::PartialMerkleTree;
use rhizome_bridge::bitcoin::merkle::{has_expected_size, merkle_root_with};

fuzz_target!(|input: &[u8]| {
    has_expected_size(input);
    let Ok(tree) = PartialMerkleTree::decode(input) else { return };
    assert!(tree.hashes().len() * 32 <= input.len());
    if let Ok((matched, root)) = tree.matched_and_root() {
        assert!(matched.len() <= tree.hashes().len());
        for leaf in matched {
            assert_eq!(merkle_root_with(input, &leaf), Ok(Some(root)));
        }
    }
});
