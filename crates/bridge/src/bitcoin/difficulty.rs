//! Which target a block must claim (bitcoinj's `AbstractBitcoinNetParams`, `TestNet3Params`).

use super::hash::BtcHash;
use super::header::{BtcHeader, StoredBlock, decode_compact, encode_compact};
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
    let mut cursor = prev.clone();
    while cursor.header.hash() != network.genesis().hash()
        && cursor.height % network.interval() != 0
        && cursor.header.target(network) == Some(network.max_target())
    {
        match source.block(&cursor.header.prev_hash())? {
            Some(block) => cursor = block,
            None => return Ok(false),
        }
    }
    let expected = cursor.header.target(network);
    Ok(expected.is_some() && expected == next.target(network))
}
