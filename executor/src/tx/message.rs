//! The inner part of a transaction: the call or the creation itself.

use std::sync::Arc;

use rhizome_primitives::{Address, Bytes, Sender, U256, gas};

use super::TransactionExecutor;
use super::outcome::{Exception, TxError};
use crate::error::Fault;
use crate::evm::{
    CODE_BYTE, CallKind, End, Ended, PrecompileCall, PrecompileError, PrecompileHost, Start, Tracer, refuses_code,
};
use crate::state::Code;

/// What a transaction, or a call over RPC, asks for.
pub(super) struct Message<'m> {
    pub(super) sender: Sender,
    /// The receiver; `None` for a creation.
    pub(super) to: Option<Address>,
    /// The address of a creation; there for that alone.
    pub(super) creates: Option<Address>,
    pub(super) value: U256,
    pub(super) data: &'m Bytes,
    pub(super) gas_limit: u64,
    /// Gas that is gone before anything runs; at most the limit, except in calls over RPC.
    pub(super) intrinsic: u64,
    /// A call over RPC.
    pub(super) local: bool,
}

/// What the inner part left, before gas is settled.
#[derive(Default)]
pub(super) struct Inner {
    /// Gas left before refunds; can be negative before RSKIP-136.
    pub(super) left: i128,
    /// rskj's result counts this much gas as used; refunds are capped by half of it.
    pub(super) counted: u64,
    pub(super) refund: u64,
    pub(super) output: Bytes,
    pub(super) exception: Option<Exception>,
    /// The receipt's status.
    pub(super) success: bool,
    pub(super) reverted: bool,
    /// The most gas that counted as used at a time.
    pub(super) peak: u64,
    /// A call from code got all gas that was left.
    pub(super) moved_all: bool,
    /// Code made a call with value.
    pub(super) value_call: bool,
}

impl Inner {
    /// A success that used this much gas.
    fn success(limit: u64, used: u64, counted: u64, output: Bytes) -> Self {
        let left = i128::from(limit) - i128::from(used);
        Self { left, counted, output, success: true, peak: counted, ..Self::default() }
    }

    /// All gas is lost.
    fn spent(limit: u64, exception: Option<Exception>) -> Self {
        Self { counted: limit, exception, peak: limit, ..Self::default() }
    }

    /// What code left.
    fn of_code(ended: Ended, message: &Message<'_>) -> Self {
        let limit = message.gas_limit;
        let inner = match ended.end {
            End::Success => Self {
                refund: ended.refund,
                ..Self::success(limit, limit - ended.gas, limit - ended.gas, ended.output)
            },
            End::Revert => Self {
                success: false,
                reverted: true,
                ..Self::success(limit, limit - ended.gas, limit - ended.gas, ended.output)
            },
            End::Exception { reason, silent } => Self::spent(limit, Some(Exception::Halt { reason, silent })),
        };
        let peak = ended.peak.saturating_add(message.intrinsic);
        Self { peak, moved_all: ended.moved_all, value_call: ended.value_call, ..inner }
    }
}

impl TransactionExecutor<'_> {
    /// Runs the call or creation. Of one that failed, logs and destroyed contracts are gone already.
    pub(super) fn run(&mut self, message: &Message<'_>, tracer: Option<&mut dyn Tracer>) -> Result<Inner, TxError> {
        let inner = match (message.creates, message.to) {
            (Some(address), _) => self.create(message, address, tracer)?,
            (None, Some(to)) => self.call(message, to, tracer)?,
            (None, None) => return Err(Fault::Internal("a transaction neither calls nor creates".into()).into()),
        };
        if !inner.success {
            let host = &mut self.evm.host;
            host.state.truncate_logs(0);
            host.destroyed.clear();
        }
        Ok(inner)
    }

    /// A call, to code, to a precompile, or to neither (`TransactionExecutor.call`).
    fn call(&mut self, message: &Message<'_>, to: Address, tracer: Option<&mut dyn Tracer>) -> Result<Inner, TxError> {
        let host = &mut self.evm.host;
        if host.precompiles.is_active(&to, host.block) {
            return self.call_precompile(message, to);
        }
        let Some(code) = host.state.code(to)? else {
            refuse_shortage(message)?;
            host.state.transfer(message.sender, to, message.value)?;
            let (limit, used) = (message.gas_limit, message.intrinsic);
            return Ok(Inner::success(limit, used, used, Bytes::new()));
        };
        let checkpoint = host.state.checkpoint();
        host.state.transfer(message.sender, to, message.value)?;
        let inner = self.run_code(message, code, to, message.data.clone(), tracer)?;
        let state = &mut self.evm.host.state;
        if inner.success {
            state.commit(checkpoint)
        } else {
            state.revert(checkpoint)
        }
        Ok(inner)
    }

    fn run_code(
        &mut self,
        message: &Message<'_>,
        code: Arc<Code>,
        address: Address,
        data: Bytes,
        tracer: Option<&mut dyn Tracer>,
    ) -> Result<Inner, TxError> {
        let Some(gas) = message.gas_limit.checked_sub(message.intrinsic) else {
            let reason = revm_interpreter::InstructionResult::OutOfGas;
            return Ok(Inner::spent(message.gas_limit, Some(Exception::Halt { reason, silent: false })));
        };
        let (caller, value) = (message.sender.address(), message.value);
        let ended = self.evm.run(Start { code, address, caller, value, data, gas }, tracer)?;
        Ok(Inner::of_code(ended, message))
    }

    /// A call straight to a precompile.
    ///
    /// Frozen: when it throws, the receipt says success and counts the price as used, but the sender pays the whole limit, and
    /// what the contract wrote and logged stays; only value, account and marker are left out.
    fn call_precompile(&mut self, message: &Message<'_>, to: Address) -> Result<Inner, TxError> {
        let host = &mut self.evm.host;
        host.precompiles_called.push(to);
        let (limit, intrinsic, r136) = (message.gas_limit, message.intrinsic, host.rules.r136);
        let call = PrecompileCall {
            address: to,
            input: (!message.data.is_empty()).then_some(&message.data[..]),
            kind: CallKind::Direct,
            caller: message.sender.address(),
            value: message.value,
            depth: 0,
            tx_hash: host.tx.hash,
            tx: &host.tx,
            transaction: host.transaction,
            block: host.block,
        };
        let mut used = intrinsic;
        let mut charge = |price: u64| {
            used = gas::add(price, intrinsic);
            // Until RSKIP-136 only the contract's own price has to fit the limit. Calls over RPC fail outright instead.
            limit >= if r136 || message.local { used } else { price }
        };
        let result = host.precompiles.call(
            &call,
            &mut PrecompileHost { state: &mut host.state, ancestors: host.ancestors },
            &mut charge,
        );
        match result {
            Err(PrecompileError::Fault(fault)) => Err(fault.into()),
            Err(PrecompileError::PriceThrew { message }) => {
                Err(TxError::Unbuildable(message.unwrap_or_else(|| "the price of a precompile has none".into())))
            }
            Err(PrecompileError::OutOfGas) if message.local => Err(shortage(limit, used)),
            Err(PrecompileError::OutOfGas) => Ok(Inner::spent(limit, None)),
            Err(PrecompileError::Threw { message }) => {
                let exception = Some(Exception::Precompile(message.unwrap_or_default()));
                Ok(Inner { exception, ..Inner::success(limit, used, used, Bytes::new()) })
            }
            Ok(output) => {
                let state = &mut host.state;
                if !state.exists(to)? {
                    state.create_account(to, false)?;
                    state.setup_contract(to);
                } else if !state.is_contract(to)? {
                    state.setup_contract(to);
                }
                state.transfer(message.sender, to, message.value)?;
                Ok(Inner::success(limit, used, used, output.unwrap_or_default()))
            }
        }
    }

    /// A creation (`TransactionExecutor.create`). No collision is looked for: what was at the address is overwritten.
    fn create(
        &mut self,
        message: &Message<'_>,
        address: Address,
        tracer: Option<&mut dyn Tracer>,
    ) -> Result<Inner, TxError> {
        let host = &mut self.evm.host;
        let checkpoint = host.state.checkpoint();
        let keep_balance = host.rules.r174 && host.state.exists(address)?;
        host.state.create_account(address, keep_balance)?;
        if message.data.is_empty() {
            // An account without code or marker; rskj counts no gas as used here, which only caps refunds.
            refuse_shortage(message)?;
            host.state.transfer(message.sender, address, message.value)?;
            host.state.commit(checkpoint);
            return Ok(Inner::success(message.gas_limit, message.intrinsic, 0, Bytes::new()));
        }
        host.state.setup_contract(address);
        host.state.transfer(message.sender, address, message.value)?;
        let code = Arc::new(Code::new(message.data.clone()));
        let mut inner = self.run_code(message, code, address, Bytes::new(), tracer)?;
        let host = &mut self.evm.host;
        if inner.success {
            let price = CODE_BYTE * inner.output.len() as u64;
            if refuses_code(&inner.output, host.rules.r544) || inner.left < i128::from(price) {
                inner = Inner::spent(message.gas_limit, Some(Exception::CodeRefused));
            } else {
                inner.left -= i128::from(price);
                inner.counted += price;
                inner.peak = inner.peak.max(inner.counted);
                host.state.save_code(address, inner.output.clone())?;
            }
        } else if inner.exception.is_some() {
            // rskj stores the code of a failed constructor, which is empty, before it takes everything back.
            host.state.save_code(address, Bytes::new())?;
        }
        if inner.success {
            host.state.commit(checkpoint)
        } else {
            host.state.revert(checkpoint)
        }
        Ok(inner)
    }
}

/// What a call over RPC with less gas than its intrinsic price ends with in rskj: an error that nothing catches.
fn shortage(limit: u64, used: u64) -> TxError {
    TxError::Unbuildable(format!("{used} gas needed, {limit} given"))
}

fn refuse_shortage(message: &Message<'_>) -> Result<(), TxError> {
    if message.gas_limit < message.intrinsic { Err(shortage(message.gas_limit, message.intrinsic)) } else { Ok(()) }
}
