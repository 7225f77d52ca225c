//! The Bridge: the contract that holds the bitcoin locked on Rootstock (rskj's `co.rsk.peg`).
//!
//! The contract proper is arranged as its domain is:
//!
//! - [`dispatch`]: the table of methods, each once with selector, price, gate, restrictions and handler;
//! - `pegin`, `pegout`: the two ways of the coins;
//! - [`federation`], `federation_change`: who holds the coins, and how that changes;
//! - [`votes`]: fee rate, locking cap, whitelist; [`union`]: the Union Bridge;
//! - [`bitcoin`], [`chain_store`], `bitcoin_chain`: Bitcoin as rskj's library understands it, and its chain of headers;
//! - `storage`: the cells, read when needed and written once; [`events`]: the logs; [`abi`]: arguments and results.
//!
//! An executor gives a call's state as a [`BridgeHost`] and opens a [`BridgeSession`]:
//!
//! ```no_run
//! # use rhizome_bridge::{Bridge, BridgeCall, BridgeHost, BridgeOutcome};
//! # fn run(call: BridgeCall<'_>, host: &mut dyn BridgeHost) -> Result<(), Box<dyn std::error::Error>> {
//! let bridge = Bridge::mainnet();
//! let mut session = bridge.session(call);
//! let gas = session.required_gas(host)?;
//! if let BridgeOutcome::Threw { message } = session.execute(host)? {
//!     println!("{gas} gas for nothing: {message}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Every rule that was ever changed is asked of the block's [`rhizome_chainspec::Activations`].

pub mod abi;
pub mod bitcoin;
mod bitcoin_chain;
pub mod chain_store;
pub mod constants;
pub mod dispatch;
pub mod events;
pub mod failure;
pub mod federation;
pub mod federation_change;
pub mod host;
mod peg;
pub mod pegin;
pub mod pegout;
mod session;
pub mod state_reports;
pub mod storage;
#[cfg(test)]
mod tests;
pub mod union;
mod update_collections;
pub mod votes;

use std::sync::Arc;

use rhizome_chainspec::{Activations, ChainSpec, Network, Rskip};
use rhizome_primitives::{Address, B256, U256};

pub use host::{
    BlockView, BridgeCall, BridgeHost, BridgeOutcome, CallKind, GasError, HostFault, NoFederation, RemascError,
};
pub use session::BridgeSession;

use constants::BridgeConstants;
use failure::Failure;
use federation::{Federation, FederationCache};
use peg::{CallState, Peg};

/// The contract of one network.
#[derive(Debug)]
pub struct Bridge {
    constants: &'static BridgeConstants,
    /// The federation that everything starts from; no call gets anywhere without.
    genesis: Result<Arc<Federation>, NoFederation>,
    federations: FederationCache,
}

impl Bridge {
    fn new(constants: &'static BridgeConstants) -> Self {
        let genesis = Ok(Arc::new(Federation::genesis(&constants.federation)));
        Self { constants, genesis, federations: FederationCache::new() }
    }

    /// Rootstock's main network.
    pub fn mainnet() -> Self {
        Self::new(BridgeConstants::mainnet())
    }

    /// Rootstock's test networks.
    pub fn testnet() -> Self {
        Self::new(BridgeConstants::testnet())
    }

    /// Local networks.
    pub fn regtest() -> Self {
        Self::new(BridgeConstants::regtest())
    }

    /// The development network's, which cannot run: see [`NoFederation`].
    pub fn devnet() -> Self {
        // No call comes as far as a constant.
        Self { genesis: Err(NoFederation), ..Self::testnet() }
    }

    /// The network of a specification.
    pub fn for_spec(spec: &ChainSpec) -> Self {
        match spec.network {
            Network::Mainnet => Self::mainnet(),
            Network::Testnet | Network::Testnet2 => Self::testnet(),
            Network::Regtest => Self::regtest(),
            // Devnet, and what is not known here.
            _ => Self::devnet(),
        }
    }

    /// The network's constants.
    pub fn constants(&self) -> &'static BridgeConstants {
        self.constants
    }

    pub(crate) fn genesis(&self) -> Result<&Arc<Federation>, NoFederation> {
        self.genesis.as_ref().map_err(|missing| *missing)
    }

    pub(crate) fn federations(&self) -> &FederationCache {
        &self.federations
    }

    /// Opens a call.
    pub fn session<'a>(&'a self, call: BridgeCall<'a>) -> BridgeSession<'a> {
        BridgeSession::new(self, call)
    }

    /// Whether a transaction to the Bridge costs nothing (`BridgeUtils.isFreeBridgeTx`): those of the first federation's
    /// members and of some voters, until the rule that such transactions are paid. `is_signed` says whether the signature is
    /// one that the network accepts; internal transactions have none.
    ///
    /// # Errors
    /// While some are free, a network without federation cannot tell; in rskj nothing catches that.
    pub fn is_free_tx(
        &self,
        sender: &Address,
        is_signed: bool,
        activations: Activations,
    ) -> Result<bool, NoFederation> {
        if activations.is_active(Rskip::BridgeTxsPaid) || !is_signed {
            return Ok(false);
        }
        let constants = self.constants;
        Ok(self.genesis()?.has_member_with_rsk_address(sender)
            || constants.federation.change_authorizer.is_authorized(sender)
            || constants.whitelist.change_authorizer.is_authorized(sender)
            || constants.fee_per_kb.change_authorizer.is_authorized(sender))
    }

    /// The federators that get a part of the miners' fees of a block (`RemascFederationProvider`): the federation active at
    /// that block's number by the cells as they are now, in the order of its members. Reads cells, writes none.
    ///
    /// # Errors
    /// [`RemascError::Threw`] without a federation, or where a cell holds what no federation is.
    pub fn remasc_federation(
        &self,
        host: &mut dyn BridgeHost,
        candidate_number: u64,
        activations: Activations,
    ) -> Result<Vec<Address>, RemascError> {
        let genesis = self.genesis()?;
        let call = BridgeCall {
            sender: Address::ZERO,
            value: U256::ZERO,
            data: &[],
            kind: CallKind::Direct,
            tx_hash: B256::ZERO,
            origin_tx_hash: B256::ZERO,
            block: BlockView { number: candidate_number, timestamp: 0 },
            local_call: true,
            activations,
        };
        let mut state = CallState::default();
        let mut peg = Peg {
            constants: self.constants,
            genesis,
            federations: &self.federations,
            call: &call,
            host,
            cells: &mut state.cells,
            chain: &mut state.chain,
        };
        let federation = match peg.active_federation() {
            Ok(federation) => federation,
            Err(Failure::Host(fault)) => return Err(fault.into()),
            Err(other) => return Err(RemascError::Threw(other.to_string())),
        };
        let by_rsk_key = activations.is_active(Rskip::R415);
        let address = |member: &federation::FederationMember| match by_rsk_key {
            true => member.rsk_address(),
            false => member.btc_key().rsk_address(),
        };
        Ok(federation.members().iter().map(address).collect())
    }
}
