//! Bitcoin blocks from which a Bridge may start its header chain (bitcoinj's `CheckpointManager` over rskj's tables).
//!
//! Part of consensus: the first call that needs the header chain writes one of these blocks into the state. The tables
//! hold one block a line: height, chain work in hexadecimal digits, the 80 bytes of the header.

use std::sync::OnceLock;

use rhizome_primitives::{U256, hex};

use super::header::{BtcHeader, HEADER_SIZE, StoredBlock};
use super::params::BtcNetwork;

const MAINNET: &str = include_str!("checkpoints_mainnet.txt");
const TESTNET: &str = include_str!("checkpoints_testnet.txt");

/// The checkpoints of a network by time; `None` on regtest, which has none.
pub fn checkpoints(network: BtcNetwork) -> Option<&'static [StoredBlock]> {
    static TABLES: [OnceLock<Vec<StoredBlock>>; 2] = [OnceLock::new(), OnceLock::new()];
    let (slot, text) = match network {
        BtcNetwork::Mainnet => (&TABLES[0], MAINNET),
        BtcNetwork::Testnet => (&TABLES[1], TESTNET),
        BtcNetwork::Regtest => return None,
    };
    Some(slot.get_or_init(|| {
        let mut blocks: Vec<_> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| parse_line(line).expect("the tables are well-formed"))
            .collect();
        // The reference keeps them in a map by time, where the last of equal times stays.
        blocks.sort_by_key(|block| block.header.time());
        blocks.reverse();
        blocks.dedup_by_key(|block| block.header.time());
        blocks.reverse();
        blocks
    }))
}

fn parse_line(line: &str) -> Option<StoredBlock> {
    let mut fields = line.split(' ');
    let height = fields.next()?.parse().ok()?;
    let chain_work = U256::from_str_radix(fields.next()?, 16).ok()?;
    let mut raw = [0; HEADER_SIZE];
    hex::decode_to_slice(fields.next()?, &mut raw).ok()?;
    Some(StoredBlock { header: BtcHeader::from_bytes(raw), chain_work, height })
}

/// `getCheckpointBefore`: the last checkpoint not after the time, else the first block of the network. `None` for a
/// time not after the first block's, which is an illegal argument, and for networks without checkpoints.
pub fn checkpoint_before(network: BtcNetwork, time: i64) -> Option<StoredBlock> {
    let blocks = checkpoints(network)?;
    if time <= i64::from(network.genesis().time()) {
        return None;
    }
    let after = blocks.partition_point(|block| i64::from(block.header.time()) <= time);
    Some(match after.checked_sub(1) {
        Some(last) => blocks[last].clone(),
        None => StoredBlock::genesis(network),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_checkpoint_has_its_work() {
        for network in [BtcNetwork::Mainnet, BtcNetwork::Testnet] {
            let blocks = checkpoints(network).unwrap();
            for pair in blocks.windows(2) {
                assert!(pair[0].header.time() < pair[1].header.time());
                assert!(pair[0].height < pair[1].height);
                assert!(pair[0].chain_work < pair[1].chain_work);
            }
            assert!(blocks.iter().all(|block| block.header.has_valid_work(network)));
        }
        assert!(checkpoints(BtcNetwork::Regtest).is_none());
    }

    #[test]
    fn floor_by_time() {
        let network = BtcNetwork::Mainnet;
        let blocks = checkpoints(network).unwrap();
        let time = i64::from(blocks[3].header.time());
        assert_eq!(checkpoint_before(network, time).unwrap(), blocks[3]);
        assert_eq!(checkpoint_before(network, time - 1).unwrap(), blocks[2]);
        assert_eq!(checkpoint_before(network, i64::MAX).as_ref(), blocks.last());
        let genesis = i64::from(network.genesis().time());
        assert_eq!(checkpoint_before(network, genesis + 1).unwrap(), StoredBlock::genesis(network));
        assert!(checkpoint_before(network, genesis).is_none());
    }
}
