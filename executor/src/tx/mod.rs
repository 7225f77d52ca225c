//! Executes transactions one after another on the state of a block or of one of its lists.
//!
//! The order of effects is that of rskj's `TransactionExecutor`: nonce and the whole gas on the outer state, then the call or
//! creation on an inner one that a failure takes back, then the refund, the fee, and the destroyed contracts.

mod admission;
mod local;
mod message;
mod outcome;

use std::fmt;

use rhizome_primitives::transaction::create_address;
use rhizome_primitives::{AncestorProvider, REMASC_ADDRESS, Sender, Transaction, U256};

use crate::error::Fault;
use crate::evm::{BlockEnv, Evm, Host, Precompiles, SELFDESTRUCT_REFUND, Tracer, TxEnv};
use crate::state::{Location, WorldState};
use message::{Inner, Message};

use admission::intrinsic_gas_of;

pub use admission::{Inadmissible, intrinsic_gas};
pub use local::{CodeOutcome, CodeRun, LocalCall, LocalOutcome};
pub use outcome::{Exception, TxError, TxOutcome};

/// When the fee of a transaction reaches the reward contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeePayment {
    /// At the transaction's end.
    AtOnce,
    /// Not here: the block adds all fees before its reward transaction.
    Postponed,
}

/// Executes the transactions of one list in order.
///
/// Owns the list's state while it runs. After an error the state holds a part of the failed transaction and is good for
/// nothing.
pub struct TransactionExecutor<'b> {
    evm: Evm<'b>,
    gas_limit: u64,
    gas_used: u64,
    fees: FeePayment,
}

impl fmt::Debug for TransactionExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionExecutor")
            .field("gas_limit", &self.gas_limit)
            .field("gas_used", &self.gas_used)
            .field("fees", &self.fees)
            .finish_non_exhaustive()
    }
}

impl<'b> TransactionExecutor<'b> {
    /// An executor over a state. `gas_limit` is that of the list: each transaction's limit and the gas used before it must fit.
    pub fn new(
        state: WorldState,
        block: &'b BlockEnv,
        precompiles: &'b dyn Precompiles,
        ancestors: &'b dyn AncestorProvider,
        gas_limit: u64,
        fees: FeePayment,
    ) -> Self {
        let tx = TxEnv {
            hash: Default::default(),
            index: 0,
            sender: Location::RemascSender,
            gas_price: U256::ZERO,
            gas_limit: 0,
            is_remasc: false,
            local_call: false,
        };
        let evm = Evm::new(Host::new(state, block, tx, precompiles, ancestors));
        Self { evm, gas_limit, gas_used: 0, fees }
    }

    /// The state after the transactions so far.
    pub fn state(&self) -> &WorldState {
        &self.evm.host.state
    }

    /// The state, to be changed between two transactions.
    pub fn state_mut(&mut self) -> &mut WorldState {
        &mut self.evm.host.state
    }

    /// Ends the list.
    pub fn into_state(self) -> WorldState {
        self.evm.host.state
    }

    /// Gas used by the list so far: the cumulative gas of its last receipt.
    pub fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// Executes the next transaction, which stands at `index` in the block.
    ///
    /// # Errors
    /// See [`TxError`].
    pub fn execute(&mut self, tx: &'b Transaction, sender: Sender, index: u32) -> Result<TxOutcome, TxError> {
        self.execute_traced(tx, sender, index, None)
    }

    /// [`Self::execute`], watched by a tracer.
    ///
    /// # Errors
    /// See [`TxError`].
    pub fn execute_traced(
        &mut self,
        tx: &'b Transaction,
        sender: Sender,
        index: u32,
        tracer: Option<&mut dyn Tracer>,
    ) -> Result<TxOutcome, TxError> {
        let location = Location::from(sender);
        let admitted = self.admit(tx, sender)?;
        let price = tx.gas_price();
        self.begin(TxEnv {
            hash: tx.hash(),
            index,
            sender: location,
            gas_price: price,
            gas_limit: admitted.gas_limit,
            is_remasc: sender == Sender::Remasc,
            local_call: false,
        });
        let host = &mut self.evm.host;
        host.transaction = Some(tx);
        host.state.increase_nonce(location)?;
        // Nobody checked this for a free transaction: its sender may be in debt until the gas comes back.
        host.state.sub_balance(location, price.saturating_mul(U256::from(admitted.gas_limit)))?;
        let message = Message {
            sender,
            to: tx.to,
            creates: tx.is_contract_creation().then(|| create_address(sender.as_bytes(), tx.nonce())),
            value: tx.value,
            data: &tx.data,
            gas_limit: admitted.gas_limit,
            intrinsic: admitted.intrinsic,
            local: false,
        };
        let inner = self.run(&message, tracer)?;
        self.settle(&message, price, inner)
    }

    /// Forgets what the transaction before left.
    fn begin(&mut self, tx: TxEnv) {
        let host = &mut self.evm.host;
        host.tx = tx;
        host.transaction = None;
        host.destroyed.clear();
        host.precompiles_called.clear();
        host.state.truncate_logs(0);
    }

    /// Refund, fee, destroyed contracts (`TransactionExecutor.finalization`).
    fn settle(&mut self, message: &Message<'_>, price: U256, inner: Inner) -> Result<TxOutcome, TxError> {
        if let Some(Exception::Halt { silent: true, .. }) = inner.exception {
            return Err(TxError::Unbuildable("an exception without a text".into()));
        }
        let host = &mut self.evm.host;
        let future_refund = inner.refund + SELFDESTRUCT_REFUND * host.destroyed.len() as u64;
        let refund = future_refund.min(inner.counted / 2);
        let gas_used = i128::from(message.gas_limit) - inner.left - i128::from(refund);
        let gas_used = u64::try_from(gas_used)
            .map_err(|_| Fault::Internal(format!("transaction {:#x} used {gas_used} gas", host.tx.hash)))?;

        let limit_cost = price.saturating_mul(U256::from(message.gas_limit));
        let fee = if inner.exception.is_some() { limit_cost } else { price.saturating_mul(U256::from(gas_used)) };
        match limit_cost.checked_sub(fee) {
            Some(rest) => host.state.add_balance(message.sender, rest)?,
            // Before RSKIP-136 more gas than the limit can be used.
            None => host.state.sub_balance(message.sender, fee - limit_cost)?,
        }
        if self.fees == FeePayment::AtOnce {
            host.state.add_balance(REMASC_ADDRESS, fee)?;
        }
        let destroyed = std::mem::take(&mut host.destroyed);
        for address in &destroyed {
            host.state.delete(*address);
            host.state.note_destroyed(*address);
        }
        host.state.clear_transient();
        host.transaction = None;
        self.gas_used = self.gas_used.saturating_add(gas_used);
        Ok(TxOutcome {
            success: inner.success,
            gas_used,
            cumulative_gas: self.gas_used,
            logs: host.state.take_logs(),
            paid_fee: fee,
            output: inner.output,
            created: message.creates,
            reverted: inner.reverted,
            exception: inner.exception,
            refund,
            future_refund,
            destroyed,
            precompiles_called: std::mem::take(&mut host.precompiles_called),
        })
    }
}
