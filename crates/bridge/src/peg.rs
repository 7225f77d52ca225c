//! What every part of the contract works with: the call, the network's constants, the state and the cells read so far.

use std::sync::Arc;

use rhizome_chainspec::Rskip;
use rhizome_primitives::{Address, BRIDGE_ADDRESS, U256};

use crate::bitcoin::{BtcNetwork, Satoshi};
use crate::chain_store::BtcChain;
use crate::constants::BridgeConstants;
use crate::failure::Result;
use crate::federation::{Federation, FederationCache};
use crate::host::{BridgeCall, BridgeHost};
use crate::storage::Cells;

/// Wei in a satoshi.
pub(crate) const WEI_PER_SATOSHI: u64 = 10_000_000_000;

/// What a call has read and not yet written. Outlives the question for the gas, dropped when the call throws.
#[derive(Debug, Default)]
pub(crate) struct CallState {
    pub(crate) cells: Cells,
    pub(crate) chain: Option<BtcChain>,
}

/// A call in progress.
pub(crate) struct Peg<'r> {
    pub(crate) constants: &'static BridgeConstants,
    /// The network's first federation.
    pub(crate) genesis: &'r Arc<Federation>,
    /// Memo of decoded federations.
    pub(crate) federations: &'r FederationCache,
    pub(crate) call: &'r BridgeCall<'r>,
    pub(crate) host: &'r mut dyn BridgeHost,
    pub(crate) cells: &'r mut Cells,
    pub(crate) chain: &'r mut Option<BtcChain>,
}

impl Peg<'_> {
    /// Whether a rule is active at the block under execution.
    pub(crate) fn is_active(&self, rule: Rskip) -> bool {
        self.call.activations.is_active(rule)
    }

    /// Writes what the call has read and set (`BridgeSupport.save`).
    pub(crate) fn save(&mut self) -> Result<()> {
        if let Some(chain) = self.chain {
            chain.save_index(self.host)?;
        }
        self.cells.save(self.host, self.constants, self.call.activations)
    }

    /// Whether this is Rootstock's main network.
    pub(crate) fn is_mainnet(&self) -> bool {
        self.constants.network == BtcNetwork::Mainnet
    }

    /// Number of the block under execution, as Java's signed number.
    pub(crate) fn block_number(&self) -> i64 {
        self.call.block.number as i64
    }

    /// Pays from the Bridge's balance, at once.
    ///
    /// rskj does not look at the balance, which may fall below zero: a direct call gives back a value that only moves to the
    /// Bridge after the call.
    pub(crate) fn pay(&mut self, receiver: Address, wei: U256) -> Result<()> {
        self.host.transfer(BRIDGE_ADDRESS, receiver, wei)?;
        Ok(())
    }
}

/// Satoshi as wei (`Coin.fromBitcoin`). Amounts of outputs are never negative here.
pub(crate) fn wei_from_satoshi(satoshi: Satoshi) -> U256 {
    U256::from(satoshi.max(0) as u64) * U256::from(WEI_PER_SATOSHI)
}

/// Wei as satoshi, rounded down and cut to 64 bits (`Coin.toBitcoin`).
pub(crate) fn satoshi_from_wei(wei: U256) -> Satoshi {
    (wei / U256::from(WEI_PER_SATOSHI)).as_limbs()[0] as i64
}
