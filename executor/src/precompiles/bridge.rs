//! The Bridge's place among the precompiled contracts.

use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{Address, BRIDGE_ADDRESS, Bytes, hex};

use crate::Fault;
use crate::evm::{BlockEnv, PrecompileCall, PrecompileError};
use crate::state::WorldState;

/// The peg contract. Its methods are not part of this build: a call stops execution with [`Fault::NotBuilt`].
#[derive(Debug, Clone)]
pub(crate) struct BridgeContract;

impl BridgeContract {
    pub(crate) fn new(_spec: &ChainSpec) -> Self {
        Self
    }

    pub(super) fn is_free_tx(&self, _sender: &Address, _block: &BlockEnv) -> bool {
        false
    }

    pub(super) fn call(
        &self,
        call: &PrecompileCall<'_>,
        _state: &mut WorldState,
        _pay: &mut dyn FnMut(u64) -> Result<(), PrecompileError>,
    ) -> Result<Option<Bytes>, PrecompileError> {
        let input = call.input_or_empty();
        let selector = hex::encode(&input[..input.len().min(4)]);
        let fault = Fault::NotBuilt { to: BRIDGE_ADDRESS, selector, tx: call.tx.hash, block: call.block.number };
        Err(PrecompileError::Fault(fault))
    }
}
