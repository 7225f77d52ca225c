//! Which target a block must claim (bitcoinj's `AbstractBitcoinNetParams`, `TestNet3Params`).

use super::hash::BtcHash;
use super::header::{BtcHeader, StoredBlock, decode_compact, encode_compact};
use super::lap::Lap;
use super::params::{BtcNetwork, TARGET_SPACING, TARGET_TIMESPAN};
use rhizome_primitives::U256;

/// From this time on testnet takes the easiest target after 20 minutes without a block.
const TESTNET_EASY_BLOCKS_SINCE: u32 = 1_329_264_000;

/// Where earlier blocks of a chain come from.
pub trait BlockSource {
    /// Trouble of the source itself.
    type Error;
    /// The block of this hash, if it is known.
    fn block(&mut self, hash: &BtcHash) -> Result<Option<StoredBlock>, Self::Error>;
    /// What to say when blocks are each other's ancestors.
    fn circle(&self) -> Self::Error;
}

/// Whether `next`, a child of `prev`, claims the right target. A chain that breaks off during the look back is a no.
pub fn has_right_target<S: BlockSource>(
    network: BtcNetwork,
    prev: &StoredBlock,
    next: &BtcHeader,
    source: &mut S,
) -> Result<bool, S::Error> {
    let transition = prev.height.wrapping_add(1) % network.interval() == 0;
    if network == BtcNetwork::Testnet && !transition && next.time() > TESTNET_EASY_BLOCKS_SINCE {
        return testnet_target(prev, next, source);
    }
    if !transition {
        return Ok(next.bits() == prev.header.bits());
    }
    // 2,015 steps back; the loop of the reference starts with the block itself.
    let mut first = prev.clone();
    for _ in 0..network.interval() - 1 {
        match source.block(&first.header.prev_hash())? {
            Some(block) => first = block,
            None => return Ok(false),
        }
    }
    let timespan = (i64::from(prev.header.time()) - i64::from(first.header.time())) as i32;
    let timespan = timespan.clamp(TARGET_TIMESPAN / 4, TARGET_TIMESPAN * 4);
    let Some(old) = decode_compact(prev.header.bits()) else { return Ok(false) };
    // A stored block's target is in range: at most 224 bits, so that the product fits.
    let product = old.saturating_mul(U256::from(timespan as u32));
    let target = (product / U256::from(TARGET_TIMESPAN as u32)).min(network.max_target());
    // The claim has fewer digits than the calculated target.
    let accuracy = (next.bits() >> 24) as i32 - 3;
    let mask = U256::from(0x00ff_ffff);
    let mask = if accuracy < 0 { mask >> (8 * accuracy.unsigned_abs()) } else { mask << (8 * accuracy.unsigned_abs()) };
    Ok(encode_compact(target & mask) == next.bits())
}

/// Testnet off the transition points: after 20 minutes, or a step back in time, any target is taken; else the target of
/// the last block that was not made under that exception.
fn testnet_target<S: BlockSource>(prev: &StoredBlock, next: &BtcHeader, source: &mut S) -> Result<bool, S::Error> {
    let network = BtcNetwork::Testnet;
    let gap = i64::from(next.time()) - i64::from(prev.header.time());
    if !(0..=2 * TARGET_SPACING).contains(&gap) {
        return Ok(true);
    }
    let (mut cursor, mut lap) = (prev.clone(), Lap::new());
    while cursor.header.hash() != network.genesis().hash()
        && cursor.height % network.interval() != 0
        && cursor.header.target(network) == Some(network.max_target())
    {
        match source.block(&cursor.header.prev_hash())? {
            Some(block) => cursor = block,
            None => return Ok(false),
        }
        if lap.is_closed(cursor.header.hash()) {
            return Err(source.circle());
        }
    }
    let expected = cursor.header.target(network);
    Ok(expected.is_some() && expected == next.target(network))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::HashMap;

    use super::*;

    #[derive(Default)]
    struct Blocks(HashMap<BtcHash, StoredBlock>);

    impl BlockSource for Blocks {
        type Error = &'static str;
        fn block(&mut self, hash: &BtcHash) -> Result<Option<StoredBlock>, &'static str> {
            Ok(self.0.get(hash).cloned())
        }
        fn circle(&self) -> &'static str {
            "circle"
        }
    }

    fn header(prev: BtcHash, time: u32, bits: u32) -> BtcHeader {
        let mut raw = [0; 80];
        raw[4..36].copy_from_slice(&prev.wire_bytes());
        raw[68..72].copy_from_slice(&time.to_le_bytes());
        raw[72..76].copy_from_slice(&bits.to_le_bytes());
        BtcHeader::from_bytes(raw)
    }

    /// Blocks of heights `from` on, `spacing` seconds apart; the last one comes back.
    fn chain(blocks: &mut Blocks, from: i32, count: i32, spacing: u32, bits: u32) -> StoredBlock {
        let mut last =
            StoredBlock { header: header(BtcHash::ZERO, 1_400_000_000, bits), chain_work: U256::ZERO, height: from };
        blocks.0.insert(last.header.hash(), last.clone());
        for height in from + 1..from + count {
            let next = header(last.header.hash(), last.header.time() + spacing, bits);
            last = StoredBlock { header: next, chain_work: U256::ZERO, height };
            blocks.0.insert(last.header.hash(), last.clone());
        }
        last
    }

    fn check(network: BtcNetwork, prev: &StoredBlock, after: u32, bits: u32, blocks: &mut Blocks) -> bool {
        let next = header(prev.header.hash(), prev.header.time() + after, bits);
        has_right_target(network, prev, &next, blocks).unwrap()
    }

    #[test]
    fn retarget_after_two_weeks() {
        let bits = 0x1b04_04cb;
        for (spacing, expected) in [(600, 0x1b04_0448), (1_200, 0x1b08_0890), (100_000, 0x1b10_132c), (1, 0x1b01_0132)]
        {
            let mut blocks = Blocks::default();
            let prev = chain(&mut blocks, 2_016, 2_016, spacing, bits);
            let right: Vec<_> =
                [bits, expected].map(|bits| check(BtcNetwork::Mainnet, &prev, 600, bits, &mut blocks)).to_vec();
            assert_eq!(right, [false, true], "spacing {spacing}");
        }
        // A block short of the look back, the chain breaks off.
        let mut blocks = Blocks::default();
        let prev = chain(&mut blocks, 2_017, 2_015, 600, bits);
        assert!(!check(BtcNetwork::Mainnet, &prev, 600, 0x1b04_0448, &mut blocks));
        // Off the transition the target stays.
        let prev = chain(&mut blocks, 5_000, 3, 600, bits);
        assert!(check(BtcNetwork::Mainnet, &prev, 600, bits, &mut blocks));
        assert!(!check(BtcNetwork::Mainnet, &prev, 600, bits + 1, &mut blocks));
    }

    #[test]
    fn testnet_takes_easy_blocks_after_a_pause() {
        let network = BtcNetwork::Testnet;
        let mut blocks = Blocks::default();
        let hard = chain(&mut blocks, 5_000, 3, 600, 0x1b04_04cb);
        let easy = header(hard.header.hash(), hard.header.time() + 1_201, 0x1d00_ffff);
        let right = has_right_target(network, &hard, &easy, &mut blocks).unwrap();
        assert!(right);
        assert!(!check(network, &hard, 1_200, 0x1d00_ffff, &mut blocks));
        // After an easy block the last hard target counts again.
        let easy = StoredBlock { header: easy, chain_work: U256::ZERO, height: hard.height + 1 };
        blocks.0.insert(easy.header.hash(), easy.clone());
        assert!(check(network, &easy, 600, 0x1b04_04cb, &mut blocks));
        assert!(!check(network, &easy, 600, 0x1d00_ffff, &mut blocks));
        // A step back in time is a pause, too, whatever the target.
        let back = header(easy.header.hash(), easy.header.time() - 1, 0x1c00_ffff);
        let right = has_right_target(network, &easy, &back, &mut blocks).unwrap();
        assert!(right);
    }
}
