//! The Bitcoin networks under Rootstock's networks (bitcoinj's `NetworkParameters` and its subclasses).

use std::sync::OnceLock;

use rhizome_primitives::U256;
use rhizome_primitives::hex;

use super::hash::BtcHash;
use super::header::BtcHeader;

/// A Bitcoin network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BtcNetwork {
    /// Bitcoin itself.
    Mainnet,
    /// The third test network.
    Testnet,
    /// Local regression tests.
    Regtest,
}

/// Blocks between two changes of difficulty.
pub const RETARGET_INTERVAL: i32 = 2_016;
/// Seconds that [`RETARGET_INTERVAL`] blocks should take.
pub const TARGET_TIMESPAN: i32 = 14 * 24 * 60 * 60;
/// Seconds between two blocks.
pub const TARGET_SPACING: i64 = 10 * 60;

/// Version, previous hash and merkle root of the first block, the same on all networks.
const GENESIS_START: &str = "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a";

/// Main chain blocks that `MainNetParams` fixes by hash.
const MAINNET_LOCKED: [(i32, &str); 5] = [
    (91_722, "00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e"),
    (91_812, "00000000000af0aed4792b1acee3d966af36cf5def14935db8de83d6f9306f2f"),
    (91_842, "00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec"),
    (91_880, "00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721"),
    (200_000, "000000000000034a7dedef4a161fa058a2d67a173a90155f3a2fe6fc132e0ebf"),
];

impl BtcNetwork {
    /// bitcoinj's name of the network.
    pub const fn id(self) -> &'static str {
        match self {
            BtcNetwork::Mainnet => "org.bitcoin.production",
            BtcNetwork::Testnet => "org.bitcoin.test",
            BtcNetwork::Regtest => "org.bitcoin.regtest",
        }
    }

    /// First byte of an address that is the hash of a key.
    pub const fn address_header(self) -> u8 {
        match self {
            BtcNetwork::Mainnet => 0,
            BtcNetwork::Testnet | BtcNetwork::Regtest => 111,
        }
    }

    /// First byte of an address that is the hash of a script.
    pub const fn p2sh_header(self) -> u8 {
        match self {
            BtcNetwork::Mainnet => 5,
            BtcNetwork::Testnet | BtcNetwork::Regtest => 196,
        }
    }

    /// The easiest target.
    pub fn max_target(self) -> U256 {
        match self {
            BtcNetwork::Mainnet | BtcNetwork::Testnet => U256::from(0xffffu32) << 208,
            BtcNetwork::Regtest => U256::MAX >> 1,
        }
    }

    /// Blocks between two changes of difficulty; never reached on regtest.
    pub const fn interval(self) -> i32 {
        match self {
            BtcNetwork::Mainnet | BtcNetwork::Testnet => RETARGET_INTERVAL,
            BtcNetwork::Regtest => i32::MAX,
        }
    }

    /// Header of block 0.
    pub fn genesis(self) -> &'static BtcHeader {
        static GENESIS: OnceLock<[BtcHeader; 3]> = OnceLock::new();
        let all = GENESIS.get_or_init(|| {
            [
                genesis_header(1_231_006_505, 0x1d00_ffff, 2_083_236_893),
                genesis_header(1_296_688_602, 0x1d00_ffff, 414_098_458),
                genesis_header(1_296_688_602, 0x207f_ffff, 2),
            ]
        });
        match self {
            BtcNetwork::Mainnet => &all[0],
            BtcNetwork::Testnet => &all[1],
            BtcNetwork::Regtest => &all[2],
        }
    }

    /// Whether a block may stand at this height (`NetworkParameters.passesCheckpoint`).
    pub fn passes_lock_in(self, height: i32, hash: &BtcHash) -> bool {
        match self {
            BtcNetwork::Mainnet => {
                MAINNET_LOCKED.iter().all(|(locked, expected)| *locked != height || hash.to_string() == *expected)
            }
            BtcNetwork::Testnet | BtcNetwork::Regtest => true,
        }
    }
}

fn genesis_header(time: u32, bits: u32, nonce: u32) -> BtcHeader {
    let mut raw = [0; 80];
    hex::decode_to_slice(GENESIS_START, &mut raw[..68]).expect("the constant is 68 bytes of hexadecimal digits");
    raw[68..72].copy_from_slice(&time.to_le_bytes());
    raw[72..76].copy_from_slice(&bits.to_le_bytes());
    raw[76..].copy_from_slice(&nonce.to_le_bytes());
    BtcHeader::from_bytes(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_blocks_have_their_known_hashes() {
        let hash = |network: BtcNetwork| network.genesis().hash().to_string();
        assert_eq!(hash(BtcNetwork::Mainnet), "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");
        assert_eq!(hash(BtcNetwork::Testnet), "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943");
        assert_eq!(hash(BtcNetwork::Regtest), "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206");
    }
}
