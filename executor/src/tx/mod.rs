//! Executes transactions one after another on the state of a block or of one of its lists.
//!
//! The order of effects is that of rskj's `TransactionExecutor`: nonce and the whole gas on the outer state, then the call or
//! creation on an inner one that a failure takes back, then the refund, the fee, and the destroyed contracts.

mod admission;
mod outcome;

use std::fmt;

use rhizome_primitives::transaction::create_address;
use rhizome_primitives::{Address, AncestorProvider, Bytes, REMASC_ADDRESS, Sender, Transaction, U256};

use crate::error::Fault;
use crate::evm::{
    BlockEnv, CODE_BYTE, CallKind, End, Evm, Host, PrecompileCall, PrecompileError, PrecompileHost, Precompiles,
    SELFDESTRUCT_REFUND, Start, Tracer, TxEnv, refuses_code,
};
use crate::state::{Location, WorldState};

pub use admission::{Inadmissible, intrinsic_gas};
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

/// What the inner part of a transaction left, before gas is settled.
struct Inner {
    /// Gas left before refunds; can be negative before RSKIP-136.
    left: i128,
    /// rskj's result counts this much gas as used; refunds are capped by half of it.
    counted: u64,
    refund: u64,
    output: Bytes,
    exception: Option<Exception>,
    /// The receipt's status.
    success: bool,
    reverted: bool,
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
        let host = &mut self.evm.host;
        host.tx = TxEnv {
            hash: tx.hash(),
            index,
            sender: location,
            gas_price: tx.gas_price(),
            gas_limit: admitted.gas_limit,
            is_remasc: sender == Sender::Remasc,
            local_call: false,
        };
        host.transaction = Some(tx);
        host.destroyed.clear();
        host.precompiles_called.clear();
        host.state.truncate_logs(0);

        let price = tx.gas_price();
        let cost_of = |gas: u64| price.wrapping_mul(U256::from(gas));
        host.state.increase_nonce(location)?;
        host.state.sub_balance(location, cost_of(admitted.gas_limit))?;

        let created = tx.is_contract_creation().then(|| create_address(sender.as_bytes(), tx.nonce()));
        let inner = match (tx.to, created) {
            (_, Some(address)) => self.create(tx, sender, address, &admitted, tracer)?,
            (Some(to), None) => self.call(tx, sender, to, &admitted, tracer)?,
            (None, None) => return Err(Fault::Internal("a transaction neither calls nor creates".into()).into()),
        };
        self.settle(tx, location, &admitted, created, inner)
    }

    /// A call, to code, to a precompile, or to neither (`TransactionExecutor.call`).
    fn call(
        &mut self,
        tx: &'b Transaction,
        sender: Sender,
        to: Address,
        admitted: &admission::Admitted,
        tracer: Option<&mut dyn Tracer>,
    ) -> Result<Inner, TxError> {
        let host = &mut self.evm.host;
        if host.precompiles.is_active(&to, host.block) {
            return self.call_precompile(tx, sender, to, admitted);
        }
        let Some(code) = host.state.code(to)? else {
            host.state.transfer(sender, to, tx.value)?;
            return Ok(Inner::plain(admitted.gas_limit, admitted.intrinsic, admitted.intrinsic));
        };
        let checkpoint = host.state.checkpoint();
        host.state.transfer(sender, to, tx.value)?;
        let start = Start {
            code,
            address: to,
            caller: sender.address(),
            value: tx.value,
            data: tx.data.clone(),
            gas: admitted.gas_limit - admitted.intrinsic,
        };
        let ended = self.evm.run(start, tracer)?;
        let inner = Inner::of_code(ended.end, ended.gas, ended.refund, ended.output, admitted.gas_limit);
        let state = &mut self.evm.host.state;
        if inner.success { state.commit(checkpoint) } else { state.revert(checkpoint) }
        Ok(inner)
    }

    /// A call straight to a precompile.
    ///
    /// Frozen: when it throws, the receipt says success and counts the price as used, but the sender pays the whole limit, and
    /// what the contract wrote and logged stays; only value, account and marker are left out.
    fn call_precompile(
        &mut self,
        tx: &'b Transaction,
        sender: Sender,
        to: Address,
        admitted: &admission::Admitted,
    ) -> Result<Inner, TxError> {
        let host = &mut self.evm.host;
        host.precompiles_called.push(to);
        let (limit, intrinsic, r136) = (admitted.gas_limit, admitted.intrinsic, host.rules.r136);
        let call = PrecompileCall {
            address: to,
            input: (!tx.data.is_empty()).then_some(&tx.data[..]),
            kind: CallKind::Direct,
            caller: sender.address(),
            value: tx.value,
            depth: 0,
            tx_hash: host.tx.hash,
            tx: &host.tx,
            transaction: host.transaction,
            block: host.block,
        };
        let mut used = intrinsic;
        let mut charge = |price: u64| {
            used = rhizome_primitives::gas::add(price, intrinsic);
            // Until RSKIP-136 only the contract's own price has to fit the limit.
            limit >= if r136 { used } else { price }
        };
        let result = host.precompiles.call(
            &call,
            &mut PrecompileHost { state: &mut host.state, ancestors: host.ancestors },
            &mut charge,
        );
        let left = i128::from(limit) - i128::from(used);
        let inner = match result {
            Err(PrecompileError::Fault(fault)) => return Err(fault.into()),
            Err(PrecompileError::PriceThrew { message }) => {
                return Err(TxError::Unbuildable(message.unwrap_or_else(|| "the price of a precompile".into())));
            }
            Err(PrecompileError::OutOfGas) => Inner { success: false, ..Inner::spent(limit) },
            Err(PrecompileError::Threw { message }) => Inner {
                left,
                counted: used,
                refund: 0,
                output: Bytes::new(),
                exception: Some(Exception::Precompile(message.unwrap_or_default())),
                success: true,
                reverted: false,
            },
            Ok(output) => {
                let state = &mut host.state;
                if !state.exists(to)? {
                    state.create_account(to, false)?;
                    state.setup_contract(to);
                } else if !state.is_contract(to)? {
                    state.setup_contract(to);
                }
                state.transfer(sender, to, tx.value)?;
                Inner {
                    left,
                    counted: used,
                    refund: 0,
                    output: output.unwrap_or_default(),
                    exception: None,
                    success: true,
                    reverted: false,
                }
            }
        };
        Ok(inner)
    }

    /// A creation (`TransactionExecutor.create`). No collision is looked for: what was at the address is overwritten.
    fn create(
        &mut self,
        tx: &'b Transaction,
        sender: Sender,
        address: Address,
        admitted: &admission::Admitted,
        tracer: Option<&mut dyn Tracer>,
    ) -> Result<Inner, TxError> {
        let host = &mut self.evm.host;
        let checkpoint = host.state.checkpoint();
        let keep_balance = host.rules.r174 && host.state.exists(address)?;
        host.state.create_account(address, keep_balance)?;
        if tx.data.is_empty() {
            // An account without code or marker; rskj counts no gas as used here, which only caps refunds.
            host.state.transfer(sender, address, tx.value)?;
            host.state.commit(checkpoint);
            return Ok(Inner::plain(admitted.gas_limit, admitted.intrinsic, 0));
        }
        host.state.setup_contract(address);
        host.state.transfer(sender, address, tx.value)?;
        let start = Start {
            code: std::sync::Arc::new(crate::state::Code::new(tx.data.clone())),
            address,
            caller: sender.address(),
            value: tx.value,
            data: Bytes::new(),
            gas: admitted.gas_limit - admitted.intrinsic,
        };
        let ended = self.evm.run(start, tracer)?;
        let mut inner = Inner::of_code(ended.end, ended.gas, ended.refund, ended.output, admitted.gas_limit);
        let host = &mut self.evm.host;
        if inner.success {
            let price = CODE_BYTE * inner.output.len() as u64;
            if refuses_code(&inner.output, host.rules.r544) || inner.left < i128::from(price) {
                let reason = Exception::CodeRefused;
                inner = Inner { exception: Some(reason), success: false, ..Inner::spent(admitted.gas_limit) };
            } else {
                inner.left -= i128::from(price);
                inner.counted += price;
                host.state.save_code(address, inner.output.clone())?;
            }
        } else if inner.exception.is_some() {
            // rskj stores the code of a failed constructor, which is empty, before it takes everything back.
            host.state.save_code(address, Bytes::new())?;
        }
        if inner.success { host.state.commit(checkpoint) } else { host.state.revert(checkpoint) }
        Ok(inner)
    }

    /// Refund, fee, destroyed contracts (`TransactionExecutor.finalization`).
    fn settle(
        &mut self,
        tx: &Transaction,
        sender: Location,
        admitted: &admission::Admitted,
        created: Option<Address>,
        inner: Inner,
    ) -> Result<TxOutcome, TxError> {
        if let Some(Exception::Halt { silent: true, .. }) = inner.exception {
            return Err(TxError::Unbuildable("an exception without a text".into()));
        }
        let host = &mut self.evm.host;
        if !inner.success {
            host.state.truncate_logs(0);
            host.destroyed.clear();
        }
        let future_refund = inner.refund + SELFDESTRUCT_REFUND * host.destroyed.len() as u64;
        let refund = future_refund.min(inner.counted / 2);
        let gas_used = i128::from(admitted.gas_limit) - inner.left - i128::from(refund);
        let gas_used = u64::try_from(gas_used)
            .map_err(|_| Fault::Internal(format!("transaction {:#x} used {gas_used} gas", host.tx.hash)))?;

        let price = tx.gas_price();
        let limit_cost = price.wrapping_mul(U256::from(admitted.gas_limit));
        let fee = if inner.exception.is_some() { limit_cost } else { price.wrapping_mul(U256::from(gas_used)) };
        host.state.add_balance(sender, limit_cost.wrapping_sub(fee))?;
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
            created,
            reverted: inner.reverted,
            exception: inner.exception,
            refund,
            future_refund,
            destroyed,
            precompiles_called: std::mem::take(&mut host.precompiles_called),
        })
    }
}

impl Inner {
    /// A transaction that runs no code.
    fn plain(limit: u64, used: u64, counted: u64) -> Self {
        Self {
            left: i128::from(limit) - i128::from(used),
            counted,
            refund: 0,
            output: Bytes::new(),
            exception: None,
            success: true,
            reverted: false,
        }
    }

    /// A transaction that lost all its gas.
    fn spent(limit: u64) -> Self {
        Self {
            left: 0,
            counted: limit,
            refund: 0,
            output: Bytes::new(),
            exception: None,
            success: false,
            reverted: false,
        }
    }

    fn of_code(end: End, left: u64, refund: u64, output: Bytes, limit: u64) -> Self {
        match end {
            End::Success => Self {
                left: i128::from(left),
                counted: limit - left,
                refund,
                output,
                exception: None,
                success: true,
                reverted: false,
            },
            End::Revert => Self {
                left: i128::from(left),
                counted: limit - left,
                refund: 0,
                output,
                exception: None,
                success: false,
                reverted: true,
            },
            End::Exception { reason, silent } => {
                Self { exception: Some(Exception::Halt { reason, silent }), ..Self::spent(limit) }
            }
        }
    }
}
