//! The seam between execution and the precompiled contracts.
//!
//! Execution finds out whether an address is a precompile, describes the call, and runs it on the state of the running frame;
//! it alone moves the value, writes the contract marker, and decides what a failing call leaves behind.

use std::fmt;

use rhizome_bridge::NoFederation;
use rhizome_primitives::{Address, AncestorProvider, B256, Bytes, Transaction, U256};

use super::env::{BlockEnv, TxEnv};
use crate::error::Fault;
use crate::state::WorldState;

/// How a precompile is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// A transaction, or a call over RPC, straight to it.
    Direct,
    /// The CALL instruction.
    Call,
    /// The CALLCODE instruction.
    CallCode,
    /// The DELEGATECALL instruction.
    DelegateCall,
    /// The STATICCALL instruction.
    StaticCall,
}

/// One call of a precompile.
#[derive(Debug)]
pub struct PrecompileCall<'a> {
    /// The called contract.
    pub address: Address,
    /// The input; `None` is rskj's null, which only a transaction without data gives. In calls from code it is cut to the
    /// contract's maximum (RSKIP-516).
    pub input: Option<&'a [u8]>,
    /// How it is reached.
    pub kind: CallKind,
    /// Sender of this very call: the transaction's sender, or the contract whose storage the calling code has.
    pub caller: Address,
    /// Wei sent with the call; zero for DELEGATECALL.
    pub value: U256,
    /// Depth of the calling frame: zero for code that a transaction calls, and for a direct call.
    pub depth: usize,
    /// The hash of this call's transaction: of the outermost one in a direct call, else of rskj's `InternalTransaction`, which
    /// is only made for the contracts of [`Precompiles::sees_transaction`] and is zero for all others.
    pub tx_hash: B256,
    /// The outermost transaction as execution sees it.
    pub tx: &'a TxEnv,
    /// The outermost transaction itself; `None` in calls over RPC. Whoever wants its signer's key recovers it from here.
    pub transaction: Option<&'a Transaction>,
    /// The block under execution.
    pub block: &'a BlockEnv,
}

impl PrecompileCall<'_> {
    /// The input, null as no bytes.
    pub fn input_or_empty(&self) -> &[u8] {
        self.input.unwrap_or_default()
    }
}

/// What a precompile works on.
pub struct PrecompileHost<'a> {
    /// The state of the calling frame, the value moved already (in a direct call it moves afterwards).
    pub state: &'a mut WorldState,
    /// Ancestors of the block under execution.
    pub ancestors: &'a dyn AncestorProvider,
}

impl fmt::Debug for PrecompileHost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrecompileHost").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Why a precompile gave no result.
#[derive(Debug)]
pub enum PrecompileError {
    /// `charge` refused the price. Nothing was done.
    OutOfGas,
    /// rskj's code threw while it ran. Writes and logs made before stay as far as the caller keeps them.
    Threw {
        /// The exception's text, for people. `None` where Java's is null: a transaction that ends so cannot be in a block.
        message: Option<String>,
    },
    /// rskj's code threw while it computed the price, where nothing catches it: in a direct call no block can hold the
    /// transaction, in a call from code the calling frame fails.
    PriceThrew {
        /// The exception's text; `None` where Java's is null.
        message: Option<String>,
    },
    /// Trouble of the node.
    Fault(Fault),
}

impl PrecompileError {
    /// An exception with a text.
    pub fn threw(message: impl Into<String>) -> Self {
        Self::Threw { message: Some(message.into()) }
    }
}

impl<E: Into<Fault>> From<E> for PrecompileError {
    fn from(fault: E) -> Self {
        Self::Fault(fault.into())
    }
}

/// The precompiled contracts of a network.
pub trait Precompiles: fmt::Debug + Send + Sync {
    /// Whether a contract is active at this address under the rules of the block.
    fn is_active(&self, address: &Address, block: &BlockEnv) -> bool;

    /// The greatest input length in calls from code (RSKIP-516); `None` for no limit.
    fn max_input(&self, address: &Address) -> Option<usize>;

    /// Whether the contract is told of its call's transaction (the Bridge, REMASC and the native contracts).
    fn sees_transaction(&self, address: &Address) -> bool;

    /// Whether a direct transaction to the Bridge costs nothing (`BridgeUtils.isFreeBridgeTx`).
    ///
    /// # Errors
    /// Where rskj throws, which no block can hold then.
    fn is_free_bridge_tx(&self, sender: &Address, to: &Address, block: &BlockEnv) -> Result<bool, NoFederation>;

    /// Runs a call: computes the price, hands it to `charge`, and goes on only if that answers `true`.
    ///
    /// `Ok(None)` is Java's null, which calls from code do not take as success after RSKIP-197.
    ///
    /// # Errors
    /// See [`PrecompileError`].
    fn call(
        &self,
        call: &PrecompileCall<'_>,
        host: &mut PrecompileHost<'_>,
        charge: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Bytes>, PrecompileError>;
}
