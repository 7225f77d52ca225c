//! The Bridge's place among the precompiled contracts.

use std::sync::Arc;

use rhizome_bridge::{Bridge, BridgeCall, BridgeOutcome, GasError, NoFederation, RemascError};
use rhizome_chainspec::{Activations, ChainSpec};
use rhizome_primitives::{Address, Bytes};

use super::BridgeState;
use super::watch::{self, Stopwatch};
use crate::Fault;
use crate::evm::{BlockEnv, CallKind, PrecompileCall, PrecompileError};
use crate::state::WorldState;

/// The peg contract of a network.
#[derive(Debug, Clone)]
pub(crate) struct BridgeContract {
    bridge: Arc<Bridge>,
    watch: Option<Arc<dyn Stopwatch>>,
}

impl BridgeContract {
    pub(super) fn new(spec: &ChainSpec) -> Self {
        Self { bridge: Arc::new(Bridge::for_spec(spec)), watch: None }
    }

    pub(super) fn with_stopwatch(self, watch: Arc<dyn Stopwatch>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Whether a transaction to the Bridge costs nothing. One whose signature the network does not accept is refused anyway.
    pub(super) fn is_free_tx(&self, sender: &Address, block: &BlockEnv) -> Result<bool, NoFederation> {
        self.bridge.is_free_tx(sender, true, block.activations)
    }

    /// The federators whom REMASC pays for a block, in member order.
    pub(crate) fn remasc_federation(
        &self,
        state: &mut WorldState,
        candidate_number: u64,
        activations: Activations,
    ) -> Result<Vec<Address>, PrecompileError> {
        let host = &mut BridgeState::new(state, None);
        let work = || self.bridge.remasc_federation(host, candidate_number, activations);
        watch::bridge(self.watch.as_ref(), work).map_err(|error| match error {
            RemascError::Host(fault) => Fault::from(fault).into(),
            threw => PrecompileError::threw(threw.to_string()),
        })
    }

    pub(super) fn call(
        &self,
        call: &PrecompileCall<'_>,
        state: &mut WorldState,
        pay: &mut dyn FnMut(u64) -> Result<(), PrecompileError>,
    ) -> Result<Option<Bytes>, PrecompileError> {
        watch::bridge(self.watch.as_ref(), || self.run(call, state, pay))
    }

    fn run(
        &self,
        call: &PrecompileCall<'_>,
        state: &mut WorldState,
        pay: &mut dyn FnMut(u64) -> Result<(), PrecompileError>,
    ) -> Result<Option<Bytes>, PrecompileError> {
        let mut session = self.bridge.session(BridgeCall {
            sender: call.caller,
            value: call.value,
            data: call.input_or_empty(),
            kind: kind(call.kind),
            tx_hash: call.tx_hash,
            origin_tx_hash: call.tx.hash,
            block: rhizome_bridge::BlockView { number: call.block.number, timestamp: call.block.timestamp },
            local_call: call.tx.local_call,
            activations: call.block.activations,
        });
        let mut host = BridgeState::new(state, call.transaction);
        let price = session.required_gas(&mut host).map_err(|error| match error {
            GasError::Host(fault) => Fault::from(fault).into(),
            GasError::NoFederation(missing) => PrecompileError::PriceThrew { message: Some(missing.to_string()) },
            _ => PrecompileError::PriceThrew { message: None },
        })?;
        pay(price)?;
        match session.execute(&mut host).map_err(Fault::from)? {
            BridgeOutcome::Returned(output) => Ok(output),
            BridgeOutcome::Threw { message } => Err(PrecompileError::threw(message)),
        }
    }
}

fn kind(kind: CallKind) -> rhizome_bridge::CallKind {
    match kind {
        CallKind::Direct => rhizome_bridge::CallKind::Direct,
        CallKind::Call => rhizome_bridge::CallKind::Call,
        CallKind::CallCode => rhizome_bridge::CallKind::CallCode,
        CallKind::DelegateCall => rhizome_bridge::CallKind::DelegateCall,
        CallKind::StaticCall => rhizome_bridge::CallKind::StaticCall,
    }
}
