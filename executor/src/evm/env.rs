//! What the code of a transaction can ask about its block and its transaction.

use rhizome_chainspec::Activations;
use rhizome_primitives::{Address, B256, U256};

use crate::state::Location;

/// The block under execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEnv {
    /// Its number.
    pub number: u64,
    /// Hash of its parent.
    pub parent_hash: B256,
    /// Its timestamp in seconds.
    pub timestamp: u64,
    /// Its miner's address.
    pub coinbase: Address,
    /// Its difficulty.
    pub difficulty: U256,
    /// Its gas limit.
    pub gas_limit: u64,
    /// Its minimum gas price, in wei; what BASEFEE gives.
    pub minimum_gas_price: U256,
    /// The network's chain id.
    pub chain_id: u8,
    /// The rules that are active in it.
    pub activations: Activations,
}

/// The outermost transaction under execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxEnv {
    /// Its hash.
    pub hash: B256,
    /// Its position in the block.
    pub index: u32,
    /// Its sender.
    pub sender: Location,
    /// Its gas price in wei.
    pub gas_price: U256,
    /// Its gas limit.
    pub gas_limit: u64,
    /// It is the block's reward transaction.
    pub is_remasc: bool,
    /// It is a call over RPC, of which nothing remains.
    pub local_call: bool,
}

impl TxEnv {
    /// The sender as ORIGIN and CALLER give it: the reward transaction's one-byte address is the zero address.
    pub fn origin(&self) -> Address {
        match self.sender {
            Location::Account(address) => address,
            Location::RemascSender | Location::NoAddress => Address::ZERO,
        }
    }
}
