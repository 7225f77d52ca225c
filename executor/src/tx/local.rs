//! Runs that leave nothing behind in a chain: calls over RPC, and code by itself.

use std::sync::Arc;

use rhizome_primitives::transaction::create_address;
use rhizome_primitives::{Address, B256, Bytes, Log, Sender, U256};

use super::message::Message;
use super::outcome::{Exception, TxError};
use super::{TransactionExecutor, intrinsic_gas_of};
use crate::error::Fault;
use crate::evm::{End, SELFDESTRUCT_REFUND, Start, Tracer, TxEnv};
use crate::state::{Code, Location};

/// A call over RPC (`eth_call`, `eth_estimateGas`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalCall {
    /// Who calls. Needs no account, no balance and no signature.
    pub from: Address,
    /// The receiver; `None` creates.
    pub to: Option<Address>,
    /// Wei sent.
    pub value: U256,
    /// Call data, or initialisation code.
    pub data: Bytes,
    /// Gas limit.
    pub gas_limit: u64,
    /// What GASPRICE gives, in wei. Nobody pays.
    pub gas_price: U256,
}

/// What a call over RPC came to (rskj's `ProgramResult`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalOutcome {
    /// What the code gave back.
    pub output: Bytes,
    /// It ended with REVERT; the output is the reason.
    pub reverted: bool,
    /// What failed, if it was an exception.
    pub exception: Option<Exception>,
    /// Gas used after refunds.
    pub gas_used: u64,
    /// The refund in it.
    pub refund: u64,
    /// The most gas that counted as used at a time.
    pub max_gas_used: u64,
    /// A call from code got all gas that was left.
    pub moved_remaining_gas: bool,
    /// Code made a call with value.
    pub value_call: bool,
    /// Logs.
    pub logs: Vec<Log>,
}

impl LocalOutcome {
    /// What rskj estimates from it, before the node's cap (`EthModule.internalEstimateGas`).
    pub fn estimate(&self) -> u64 {
        const STIPEND: u64 = 2_300;
        let base = if self.moved_remaining_gas { self.gas_used.saturating_add(self.refund) } else { self.max_gas_used };
        if self.value_call { base.saturating_add(STIPEND) } else { base }
    }
}

/// Code to be run by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRun {
    /// The code.
    pub code: Bytes,
    /// The account whose storage it has.
    pub address: Address,
    /// What CALLER gives.
    pub caller: Address,
    /// What ORIGIN gives.
    pub origin: Address,
    /// What CALLVALUE gives; it is not moved.
    pub value: U256,
    /// Call data.
    pub data: Bytes,
    /// Gas, all of it for the code.
    pub gas: u64,
    /// What GASPRICE gives.
    pub gas_price: U256,
}

/// What code by itself came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeOutcome {
    /// What it gave back.
    pub output: Bytes,
    /// It ended with REVERT.
    pub reverted: bool,
    /// What failed, if it was an exception.
    pub exception: Option<Exception>,
    /// Gas used, no refund taken off.
    pub gas_used: u64,
    /// Refunds earned for cleared storage.
    pub refund: u64,
    /// Logs.
    pub logs: Vec<Log>,
    /// Contracts to be destroyed, which are still there.
    pub destroyed: Vec<Address>,
}

impl TransactionExecutor<'_> {
    /// Runs a call over RPC as a transaction would run, but without nonce, payment and checks. Its changes stay in this
    /// executor's state, which is for the caller to throw away.
    ///
    /// # Errors
    /// [`TxError::Unbuildable`] where rskj answers with an internal error; no call is inadmissible.
    pub fn call_locally(&mut self, call: &LocalCall, tracer: Option<&mut dyn Tracer>) -> Result<LocalOutcome, TxError> {
        let activations = self.evm.host.block.activations;
        let nonce = self.evm.host.state.nonce(call.from)?;
        self.begin(TxEnv {
            hash: B256::ZERO,
            index: 0,
            sender: Location::Account(call.from),
            gas_price: call.gas_price,
            gas_limit: call.gas_limit,
            is_remasc: false,
            local_call: true,
        });
        let message = Message {
            sender: Sender::Account(call.from),
            to: call.to,
            creates: call.to.is_none().then(|| create_address(call.from.as_slice(), nonce)),
            value: call.value,
            data: &call.data,
            gas_limit: call.gas_limit,
            intrinsic: intrinsic_gas_of(&call.data, call.to.is_none(), activations),
            local: true,
        };
        let inner = self.run(&message, tracer)?;
        let host = &mut self.evm.host;
        let future_refund = inner.refund + SELFDESTRUCT_REFUND * host.destroyed.len() as u64;
        let refund = if inner.exception.is_some() { 0 } else { future_refund.min(inner.counted / 2) };
        let gas_used = i128::from(call.gas_limit) - inner.left - i128::from(refund);
        Ok(LocalOutcome {
            output: inner.output,
            reverted: inner.reverted,
            exception: inner.exception,
            gas_used: u64::try_from(gas_used).unwrap_or(call.gas_limit),
            refund,
            max_gas_used: inner.peak,
            moved_remaining_gas: inner.moved_all,
            value_call: inner.value_call,
            logs: host.state.take_logs(),
        })
    }

    /// Runs code as a frame with no transaction around it: nothing is charged or moved before, and nothing is destroyed after.
    ///
    /// # Errors
    /// When the node is in trouble.
    pub fn run_alone(&mut self, run: &CodeRun, tracer: Option<&mut dyn Tracer>) -> Result<CodeOutcome, Fault> {
        self.begin(TxEnv {
            hash: B256::ZERO,
            index: 0,
            sender: Location::Account(run.origin),
            gas_price: run.gas_price,
            gas_limit: run.gas,
            is_remasc: false,
            local_call: false,
        });
        let checkpoint = self.evm.host.state.checkpoint();
        let ended = self.evm.run(
            Start {
                code: Arc::new(Code::new(run.code.clone())),
                address: run.address,
                caller: run.caller,
                value: run.value,
                data: run.data.clone(),
                gas: run.gas,
            },
            tracer,
        )?;
        let host = &mut self.evm.host;
        if ended.end == End::Success {
            host.state.commit(checkpoint)
        } else {
            host.state.revert(checkpoint)
        }
        Ok(CodeOutcome {
            output: ended.output,
            reverted: ended.end == End::Revert,
            exception: match ended.end {
                End::Exception { reason, silent } => Some(Exception::Halt { reason, silent }),
                End::Success | End::Revert => None,
            },
            gas_used: run.gas - ended.gas,
            refund: ended.refund,
            logs: host.state.take_logs(),
            destroyed: std::mem::take(&mut host.destroyed),
        })
    }
}
