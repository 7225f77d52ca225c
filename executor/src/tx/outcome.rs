//! What a transaction leaves, or why it cannot stand in a block.

use revm_interpreter::InstructionResult;
use rhizome_primitives::{Address, Bytes, Coin, Log};

use super::admission::Inadmissible;
use crate::error::Fault;

/// What an executed transaction left beside its changes of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxOutcome {
    /// The receipt's status. A call straight to a precompile that throws has a success here.
    pub success: bool,
    /// The receipt's gas used.
    pub gas_used: u64,
    /// Gas used in the list up to and with this transaction: the receipt's cumulative gas.
    pub cumulative_gas: u64,
    /// The receipt's logs.
    pub logs: Vec<Log>,
    /// What the sender paid for gas. Not always the gas used times the price.
    pub paid_fee: Coin,
    /// What the code gave back; a created contract's code.
    pub output: Bytes,
    /// The address of a creation, also of one that failed.
    pub created: Option<Address>,
    /// The code ended with REVERT.
    pub reverted: bool,
    /// What failed, if it was an exception.
    pub exception: Option<Exception>,
    /// Gas given back for cleared storage and destroyed contracts.
    pub refund: u64,
    /// The same before it was capped.
    pub future_refund: u64,
    /// Contracts destroyed.
    pub destroyed: Vec<Address>,
    /// Precompiles called, directly or from code, in frames that failed too; with repetitions.
    pub precompiles_called: Vec<Address>,
}

/// An exception of rskj that ended a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exception {
    /// In code.
    Halt {
        /// What failed.
        reason: InstructionResult,
        /// The exception has no text.
        silent: bool,
    },
    /// In a precompile called straight; its text.
    Precompile(String),
    /// The code of a new contract is too long, too dear or begins wrongly.
    CodeRefused,
}

/// Why a transaction has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TxError {
    /// It may not stand in its place in the block.
    #[error(transparent)]
    Inadmissible(#[from] Inadmissible),
    /// rskj itself fails on it outside of any handler, so that no block can hold it.
    #[error("no block can hold this transaction: {0}")]
    Unbuildable(String),
    /// Trouble of the node.
    #[error(transparent)]
    Fault(#[from] Fault),
}
