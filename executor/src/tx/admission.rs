//! What a transaction must fulfil before it runs (`TransactionExecutor.init`).

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{Address, BRIDGE_ADDRESS, Coin, Sender, Transaction, U256, gas};

use super::{TransactionExecutor, TxError};
use crate::evm::MAX_INITCODE;
use crate::state::Location;

/// Why a transaction may not stand in its place in a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inadmissible {
    /// The initcode is too long (RSKIP-438).
    #[error("initcode of {len} bytes, at most {max} are allowed")]
    InitcodeSize {
        /// Its length in bytes.
        len: usize,
        /// The greatest length.
        max: usize,
    },
    /// The gas limit does not fit what is left in the block or list.
    #[error("gas limit {asked} with {used} used before, the list has {limit}")]
    GasLimit {
        /// The transaction's limit.
        asked: u64,
        /// Gas used before in the list.
        used: u64,
        /// The list's limit.
        limit: u64,
    },
    /// The gas limit is below the price of the transaction itself.
    #[error("gas limit {asked} is below the intrinsic {needed}")]
    IntrinsicGas {
        /// The transaction's limit.
        asked: u64,
        /// Its intrinsic gas.
        needed: u64,
    },
    /// The gas limit is negative as a signed number.
    #[error("{0}")]
    InvalidGas(#[from] gas::InvalidGas),
    /// The nonce is not the sender's next one.
    #[error("nonce {got}, the sender's is {expected}")]
    Nonce {
        /// The sender's.
        expected: U256,
        /// The transaction's.
        got: U256,
    },
    /// The sender cannot pay for value and gas.
    #[error("balance {balance} does not cover {needed}")]
    Balance {
        /// The sender's.
        balance: Coin,
        /// Value and gas; the greatest number where it is beyond 256 bits.
        needed: Coin,
    },
    /// The signature is out of range, malleable or for another network.
    #[error("the signature is not accepted")]
    Signature,
}

/// A transaction that may run.
pub(super) struct Admitted {
    pub(super) gas_limit: u64,
    /// What it costs before anything runs.
    pub(super) intrinsic: u64,
}

/// The gas that a transaction costs before anything runs (`Transaction.transactionCost`), free ones aside.
pub fn intrinsic_gas(tx: &Transaction, activations: Activations) -> u64 {
    intrinsic_gas_of(&tx.data, tx.is_contract_creation(), activations)
}

/// The same for these data.
pub(super) fn intrinsic_gas_of(data: &[u8], creates: bool, activations: Activations) -> u64 {
    let len = data.len() as u64;
    let zeros = data.iter().filter(|byte| **byte == 0).count() as u64;
    let other_price = if activations.is_active(Rskip::R400) { 16 } else { 68 };
    let base = match (creates, activations.is_active(Rskip::R438)) {
        (false, _) => 21_000,
        (true, false) => 53_000,
        (true, true) => 53_000 + 2 * len.div_ceil(32),
    };
    base + 4 * zeros + other_price * (len - zeros)
}

impl TransactionExecutor<'_> {
    /// The intrinsic gas of a transaction of this block: none for the reward transaction and for the federators' transactions
    /// to the Bridge while those are free.
    fn intrinsic(&self, tx: &Transaction, sender: Sender) -> Result<u64, TxError> {
        let host = &self.evm.host;
        let free = match sender {
            Sender::Remasc => true,
            Sender::Account(sender) => {
                tx.to == Some(BRIDGE_ADDRESS)
                    && !host.block.activations.is_active(Rskip::BridgeTxsPaid)
                    && tx.accepts_signature(host.block.chain_id)
                    && self.is_free_sender(&sender)?
            }
        };
        Ok(if free { 0 } else { intrinsic_gas(tx, host.block.activations) })
    }

    fn is_free_sender(&self, sender: &Address) -> Result<bool, TxError> {
        let host = &self.evm.host;
        let free = host.precompiles.is_free_bridge_tx(sender, &BRIDGE_ADDRESS, host.block);
        free.map_err(|missing| TxError::Unbuildable(missing.to_string()))
    }

    /// Checks in rskj's order.
    pub(super) fn admit(&mut self, tx: &Transaction, sender: Sender) -> Result<Admitted, TxError> {
        let intrinsic = self.intrinsic(tx, sender)?;
        let host = &mut self.evm.host;
        if host.rules.r438 && tx.is_contract_creation() && tx.data.len() > MAX_INITCODE {
            return Err(Inadmissible::InitcodeSize { len: tx.data.len(), max: MAX_INITCODE }.into());
        }
        let gas_limit = tx.gas_limit().map_err(Inadmissible::from)?;
        let sum = gas::add(gas_limit, self.gas_used);
        if sum > self.gas_limit || sum == gas::MAX_GAS {
            let (used, limit) = (self.gas_used, self.gas_limit);
            return Err(Inadmissible::GasLimit { asked: gas_limit, used, limit }.into());
        }
        if gas_limit < intrinsic {
            return Err(Inadmissible::IntrinsicGas { asked: gas_limit, needed: intrinsic }.into());
        }
        let location = Location::from(sender);
        let (expected, got) = (host.state.nonce(location)?, tx.nonce());
        if expected != got {
            return Err(Inadmissible::Nonce { expected, got }.into());
        }
        // Gas counts only where the transaction has a price at all.
        let gas_cost = if intrinsic > 0 { tx.gas_price().checked_mul(U256::from(gas_limit)) } else { Some(U256::ZERO) };
        let needed = gas_cost.and_then(|cost| cost.checked_add(tx.value));
        let covered = match needed {
            Some(needed) => host.state.covers(location, needed)?,
            None => false,
        };
        if !covered {
            let balance = host.state.balance(location)?;
            return Err(Inadmissible::Balance { balance, needed: needed.unwrap_or(U256::MAX) }.into());
        }
        if sender != Sender::Remasc && !tx.accepts_signature(host.block.chain_id) {
            return Err(Inadmissible::Signature.into());
        }
        Ok(Admitted { gas_limit, intrinsic })
    }
}
