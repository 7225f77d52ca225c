//! The state of a running frame as the Bridge sees it.

use rhizome_bridge::{BridgeHost, HostFault};
use rhizome_primitives::{Address, B256, BRIDGE_ADDRESS, Bytes, Log, U256};

use crate::Fault;
use crate::state::WorldState;

/// The state of the running frame as the Bridge sees it: raw cells of its own account, balances, logs.
#[derive(Debug)]
pub(crate) struct BridgeState<'a> {
    pub(crate) state: &'a mut WorldState,
    pub(crate) public_key: Option<[u8; 33]>,
}

fn host<T>(result: Result<T, Fault>) -> Result<T, HostFault> {
    result.map_err(|fault| HostFault(Box::new(fault)))
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
        self.public_key
    }
}
