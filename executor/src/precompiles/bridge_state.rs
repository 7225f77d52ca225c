//! The state of a running frame as the Bridge sees it: its own raw cells, balances, logs.

use rhizome_bridge::{BridgeHost, HostFault};
use rhizome_primitives::signature::RecoveredKey;
use rhizome_primitives::{Address, B256, BRIDGE_ADDRESS, Bytes, Log, Transaction, U256};

use crate::Fault;
use crate::state::WorldState;

/// The state and the transaction that a call of the Bridge runs on.
#[derive(Debug)]
pub struct BridgeState<'a> {
    state: &'a mut WorldState,
    transaction: Option<&'a Transaction>,
}

impl<'a> BridgeState<'a> {
    /// A view of the state of the running frame. The transaction is the outermost one.
    pub fn new(state: &'a mut WorldState, transaction: Option<&'a Transaction>) -> Self {
        Self { state, transaction }
    }
}

fn host<T>(result: Result<T, Fault>) -> Result<T, HostFault> {
    result.map_err(|fault| HostFault(Box::new(fault)))
}

/// Brings a fault back that went through the Bridge.
impl From<HostFault> for Fault {
    fn from(fault: HostFault) -> Self {
        match fault.0.downcast::<Fault>() {
            Ok(own) => *own,
            Err(other) => Self::Bridge(other),
        }
    }
}

impl BridgeHost for BridgeState<'_> {
    fn cell(&mut self, key: &B256) -> Result<Option<Bytes>, HostFault> {
        host(self.state.cell(BRIDGE_ADDRESS, key))
    }

    fn set_cell(&mut self, key: B256, value: Option<Bytes>) -> Result<(), HostFault> {
        host(self.state.set_cell(BRIDGE_ADDRESS, &key, value))
    }

    fn balance(&mut self, address: &Address) -> Result<U256, HostFault> {
        host(self.state.balance(address))
    }

    fn transfer(&mut self, from: Address, to: Address, amount: U256) -> Result<(), HostFault> {
        host(self.state.transfer(from, to, amount))
    }

    fn is_contract(&mut self, address: &Address) -> Result<bool, HostFault> {
        host(self.state.is_contract(address))
    }

    fn log(&mut self, topics: Vec<B256>, data: Bytes) {
        self.state.log(Log { address: BRIDGE_ADDRESS, topics, data });
    }

    fn sender_public_key(&mut self) -> Option<[u8; 33]> {
        let transaction = self.transaction?;
        match transaction.signature.as_ref()?.recover(&transaction.signing_hash()).ok()? {
            RecoveredKey::Point(key) => Some(key.serialize()),
            RecoveredKey::Infinity => None,
        }
    }
}
