//! The border between the Bridge and the state it runs on.
//!
//! The Bridge knows nothing of tries or journals: an executor implements [`BridgeHost`] for the state of the running
//! transaction, describes the call with a [`BridgeCall`], opens a [`crate::BridgeSession`], asks it for the gas and then
//! runs it. A [`HostFault`] is trouble of the node itself (a missing trie node, a failed read) and never a verdict on the
//! transaction; what rskj answers with an exception is [`BridgeOutcome::Threw`].

use rhizome_chainspec::Activations;
use rhizome_primitives::{Address, B256, Bytes, U256};

/// A failure of the state below the Bridge. It stops the node's work on the block and says nothing about the block.
#[derive(Debug, thiserror::Error)]
#[error("state of the Bridge not available: {0}")]
pub struct HostFault(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// The state of the running transaction as the Bridge sees it.
///
/// Every write takes effect at once. The caller alone decides what a failing call leaves behind: the Bridge never rolls
/// back anything itself, so what was written before [`BridgeOutcome::Threw`] is still there.
pub trait BridgeHost {
    /// Raw value of a storage cell of the Bridge's account. `None` where the cell does not exist.
    fn cell(&mut self, key: &B256) -> Result<Option<Bytes>, HostFault>;
    /// Sets a raw cell of the Bridge's account; `None` and an empty value delete it. The account is created if it is absent.
    fn set_cell(&mut self, key: B256, value: Option<Bytes>) -> Result<(), HostFault>;
    /// Balance in wei; zero for an absent account.
    fn balance(&mut self, address: &Address) -> Result<U256, HostFault>;
    /// Moves `amount` wei; creates the receiver, also for an amount of zero. Nobody has checked the balance
    /// of `from`, which may fall below zero until a direct call's value arrives.
    fn transfer(&mut self, from: Address, to: Address, amount: U256) -> Result<(), HostFault>;
    /// Whether the address is marked as a contract (rskj's `Repository.isContract`).
    fn is_contract(&mut self, address: &Address) -> Result<bool, HostFault>;
    /// Adds a log of the Bridge's address.
    fn log(&mut self, topics: Vec<B256>, data: Bytes);
    /// Compressed public key that signed the transaction; `None` where there is no signature (calls over RPC).
    /// Asked for only by peg-out requests of direct transactions.
    fn sender_public_key(&mut self) -> Option<[u8; 33]>;
}

/// How the Bridge is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A transaction (or a call over RPC) straight to the Bridge.
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

/// The block under execution. In a nested call rskj rebuilds it from just these fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockView {
    /// Number of the block under execution.
    pub number: u64,
    /// Its timestamp in seconds.
    pub timestamp: u64,
}

/// One call of the Bridge.
#[derive(Debug, Clone, Copy)]
pub struct BridgeCall<'a> {
    /// Sender of this very call: the transaction's sender, or the calling contract.
    pub sender: Address,
    /// Wei sent with the call.
    pub value: U256,
    /// Whole input, selector included.
    pub data: &'a [u8],
    /// How the Bridge is reached.
    pub kind: CallKind,
    /// Hash of the transaction, in nested calls that of rskj's `InternalTransaction`.
    pub tx_hash: B256,
    /// Hash of the outermost transaction; equals `tx_hash` in a direct call.
    pub origin_tx_hash: B256,
    /// The block under execution.
    pub block: BlockView,
    /// A call over RPC (`eth_call`, `eth_estimateGas`), nested calls of one included.
    pub local_call: bool,
    /// Rules active at the block under execution.
    pub activations: Activations,
}

impl BridgeCall<'_> {
    /// Whether the call comes from code (rskj's `BridgeUtils.isContractTx`).
    pub fn is_from_contract(&self) -> bool {
        self.kind != CallKind::Direct
    }
}

/// How a call of the Bridge ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeOutcome {
    /// Ended normally. `None` is Java's null, which differs from empty bytes only in traces and, before RSKIP-150, in code.
    Returned(Option<Bytes>),
    /// rskj's code threw. Writes and logs made before stay; deferred cells were not written.
    Threw {
        /// What failed, for people.
        message: String,
    },
}

/// The network's constants name no federation (rskj's `BridgeDevNetConstants`; fee, whitelist and cap are missing, too).
///
/// In rskj that is a null pointer wherever the Bridge is met:
/// - a direct transaction to it throws where nothing catches it (`BridgeUtils.isFreeBridgeTx`, or `Bridge.init` once such
///   transactions are paid): no block can hold it;
/// - a call from code throws in `Bridge.init` (`WhitelistSupportImpl`), so the calling frame fails with all its gas;
/// - REMASC's payment throws inside the contract, after the labs were paid and before the rest: the block is valid, the
///   receipt says success, and nothing of REMASC's own cells is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the network's constants name no federation for the Bridge")]
pub struct NoFederation;

/// Why nobody can tell the federators whom REMASC pays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemascError {
    /// rskj's code threw; its text, for people.
    #[error("{0}")]
    Threw(String),
    /// The state is not available.
    #[error(transparent)]
    Host(#[from] HostFault),
}

impl From<NoFederation> for RemascError {
    fn from(missing: NoFederation) -> Self {
        Self::Threw(missing.to_string())
    }
}

/// Why the price of a call cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GasError {
    /// rskj fails here outside of any handler, so that no block with such a call can be built or accepted.
    #[error("no block can hold this call of the Bridge: {0}")]
    Unbuildable(&'static str),
    /// rskj cannot even set its Bridge up for the call. Unlike the other, the exception has a text.
    #[error(transparent)]
    NoFederation(#[from] NoFederation),
    /// The state is not available.
    #[error(transparent)]
    Host(#[from] HostFault),
}
