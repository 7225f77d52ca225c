//! The shape of a network's headers by height, and the header of block 0.

use rhizome_primitives::coin;
use rhizome_primitives::{B256, BlockHeader, Bytes, Difficulty, HeaderFields, HeaderLayout, HeaderRules, MiningFields};

use crate::activations::Activations;
use crate::network::Network;
use crate::rskip::Rskip;
use crate::spec::ChainSpec;

/// Up to here testnet's headers may lack their base event (`BlockFactory.BASE_EVENT_RECOVERY_UPPER_BOUND`).
const BASE_EVENT_RECOVERY_END: u64 = 7_800_000;

impl HeaderRules for ChainSpec {
    fn header_layout(&self, number: u64) -> HeaderLayout {
        let active = self.activations(number);
        let mut layout = layout_of(active);
        // Chain id 31 only: the second testnet has no such window.
        layout.short_event_window =
            self.network == Network::Testnet && layout.has_base_event() && number < BASE_EVENT_RECOVERY_END;
        layout
    }
}

fn layout_of(active: Activations) -> HeaderLayout {
    HeaderLayout {
        umm: active.is_active(Rskip::Umm),
        rskip92: active.is_active(Rskip::R92),
        rskip98: active.is_active(Rskip::R98),
        rskip110: active.is_active(Rskip::R110),
        rskip144: active.is_active(Rskip::R144),
        rskip351: active.is_active(Rskip::R351),
        rskip535: active.is_active(Rskip::R535),
        ..HeaderLayout::default()
    }
}

impl ChainSpec {
    /// The header of block 0, whose accounts have this root as a unitrie; a root that the genesis states itself comes first.
    ///
    /// It is always of the plain form; of the rules at height 0 only RSKIP92 matters, which decides what the hash covers.
    pub fn genesis_header(&self, unitrie_root: B256) -> BlockHeader {
        let genesis = &self.genesis;
        let layout = HeaderLayout { rskip92: self.is_active(Rskip::R92, 0), ..HeaderLayout::default() };
        let mut fields = HeaderFields::new(0, layout);
        fields.parent_hash = genesis.parent_hash;
        fields.coinbase = genesis.coinbase;
        fields.state_root = genesis.state_root.unwrap_or(unitrie_root);
        fields.difficulty = coin::unsigned(&genesis.difficulty).map(Difficulty);
        fields.set_difficulty_bytes(genesis.difficulty.clone());
        fields.gas_limit = minimal_gas_limit(genesis.gas_limit);
        fields.timestamp = genesis.timestamp;
        fields.extra_data = genesis.extra_data.clone();
        fields.minimum_gas_price = coin::signed(&genesis.minimum_gas_price);
        fields.mining = MiningFields {
            btc_header: genesis.btc_header.clone(),
            merkle_proof: genesis.merkle_proof.clone(),
            coinbase: genesis.btc_coinbase.clone(),
        };
        BlockHeader::new(fields)
    }
}

/// The number without leading zeros; zero is one zero byte (`ByteUtil.stripLeadingZeroes`).
fn minimal_gas_limit(limit: u64) -> Bytes {
    let bytes = limit.to_be_bytes();
    let start = (limit.leading_zeros() / 8).min(7) as usize;
    Bytes::copy_from_slice(&bytes[start..])
}
