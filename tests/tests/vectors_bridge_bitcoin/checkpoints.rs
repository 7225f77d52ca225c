//! The Bitcoin checkpoints of the reference's own files.

use std::io::Read;

use rhizome_bridge::bitcoin::BtcNetwork;
use rhizome_bridge::bitcoin::checkpoints::checkpoints;
use rhizome_tests::{Tally, data_file, open};

#[test]
fn vectors_node_data_checkpoints() {
    let Some(path) = data_file("rskj-suites/node-data.tar.gz") else { return };
    let mut archive = Vec::new();
    open(&path).read_to_end(&mut archive).unwrap();
    for (name, network) in [
        ("org.bitcoin.production.checkpoints", BtcNetwork::Mainnet),
        ("org.bitcoin.test.checkpoints", BtcNetwork::Testnet),
    ] {
        let mut tally = Tally::new(format!("node-data {name}"));
        let file = tar_member(&archive, name).unwrap_or_else(|| panic!("{name} is not in the archive"));
        let rest = file.strip_prefix(b"CHECKPOINTS 1").unwrap();
        let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
        let start = 4 + 65 * word(0);
        let count = word(start);
        let blocks = rest[start + 4..].chunks_exact(96);
        let table = checkpoints(network).unwrap();
        tally.equal("number of blocks", table.len(), count);
        tally.equal("length of the file", blocks.len() * 96, rest.len() - start - 4);
        for (ours, theirs) in table.iter().zip(blocks) {
            tally.equal("block", ours.encode_legacy().unwrap(), theirs.to_vec());
        }
        tally.finish();
    }
}

/// A file of a tar archive by the end of its name.
fn tar_member<'a>(archive: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut at = 0;
    while at + 512 <= archive.len() {
        let header = &archive[at..at + 512];
        let field = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&field(124..136), 8).unwrap_or(0);
        if field(0..100).ends_with(name) {
            return archive.get(at + 512..at + 512 + size);
        }
        at += 512 + size.div_ceil(512) * 512;
    }
    None
}
