//! A Bitcoin header of any bytes, and a stored block: never a panic, the stored forms read as what was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_bridge::bitcoin::header::encode_compact;
use rhizome_bridge::bitcoin::{BtcHeader, BtcNetwork, StoredBlock};

fuzz_target!(|input: &[u8]| {
    if let Ok(header) = BtcHeader::decode(input) {
        assert_eq!(header.bytes(), &input[..80]);
        for network in [BtcNetwork::Mainnet, BtcNetwork::Testnet, BtcNetwork::Regtest] {
            header.has_valid_work(network);
            if let Some(target) = header.target(network) {
                encode_compact(target);
                assert!(header.work(network).is_some_and(|work| !work.is_zero()));
            }
        }
    }
    if let Ok(block) = StoredBlock::decode(input) {
        assert_eq!(StoredBlock::decode(&block.encode_v2()).as_ref(), Ok(&block));
        if let Some(legacy) = block.encode_legacy() {
            assert_eq!(StoredBlock::decode(&legacy).as_ref(), Ok(&block));
        }
    }
});
