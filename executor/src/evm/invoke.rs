//! What happens when an instruction calls or creates, before and after the frame that it may start.
//!
//! Order, prices and omissions are those of rskj's `Program`: `callToAddress`, `callToPrecompiledAddress`, `createContract`.

use std::sync::Arc;

use revm_interpreter::{CallInput, InstructionResult};
use rhizome_primitives::transaction::create_address;
use rhizome_primitives::{Address, B256, Bytes, U256, keccak256};

use super::frame::{Evm, Next, Purpose};
use super::gas;
use super::instructions::push;
use super::internal_tx::InternalTx;
use super::machine::{CallRequest, CallScheme, CreateRequest, Input, Machine};
use super::memory::MAX_MEMORY;
use super::precompile::{CallKind, PrecompileCall, PrecompileError, PrecompileHost};
use super::trace::{EnteredFrame, FrameStart, LeftFrame, Tracer};
use crate::error::Fault;
use crate::state::{Checkpoint, Code};

impl Evm<'_> {
    /// Ends a call that starts no frame: a flag for the caller, gas back, and the return buffer as the rules of the block say.
    fn settle(
        &mut self,
        success: bool,
        gas_back: u64,
        request_cost: u64,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Next {
        let machine = self.machine();
        machine.gas.erase_cost(gas_back);
        if let Err(reason) = push(machine, U256::from(u8::from(success))) {
            return Ok(Some(reason));
        }
        if let Some(tracer) = tracer {
            tracer.cost(request_cost);
        }
        Ok(None)
    }

    /// A call that opens no frame clears the return buffer from RSKIP-171 on.
    fn clear_return_buffer(&mut self) {
        if self.host.rules.r171 {
            self.machine().return_data.0 = Bytes::new();
        }
    }

    /// `Program.callToAddress` and, for precompiles, `Program.callToPrecompiledAddress`.
    pub(super) fn call(&mut self, request: CallRequest, tracer: &mut Option<&mut dyn Tracer>) -> Next {
        let depth = self.active - 1;
        if !request.wide && self.host.precompiles.is_active(&request.target, self.host.block) {
            return self.call_precompile(request, tracer);
        }
        if depth == self.host.rules.max_depth() {
            return self.settle(false, request.gas, request.cost, tracer);
        }
        let machine = &mut self.frames[depth].machine;
        machine.memory.extend(request.input.start(), request.input.len);
        let sender = machine.input.address;
        let receiver = if request.scheme.runs_in_caller() { sender } else { request.target };
        let state = &mut self.host.state;
        if !state.covers(sender, request.value)? {
            self.clear_return_buffer();
            return self.settle(false, request.gas, request.cost, tracer);
        }
        let code = state.code(request.target)?;
        let checkpoint = state.checkpoint();
        state.sub_balance(sender, request.value)?;
        state.add_balance(receiver, request.value)?;
        let internal_tx = InternalTx {
            nonce: state.nonce(sender)?,
            sender,
            receiver: Some(receiver),
            value: request.value,
            depth,
            index: machine.extend.internal_txs,
        };
        machine.extend.internal_txs += 1;
        let Some(code) = code else {
            state.commit(checkpoint);
            self.clear_return_buffer();
            return self.settle(true, request.gas, request.cost, tracer);
        };

        machine.return_data.0 = Bytes::new();
        let data = Bytes::copy_from_slice(machine.memory.read(request.input.start(), request.input.len));
        let (caller, value) = match request.scheme {
            CallScheme::DelegateCall => (machine.input.caller, machine.input.value),
            _ => (sender, request.value),
        };
        let is_static = machine.runtime_flag.is_static || request.scheme == CallScheme::StaticCall;
        if let Some(tracer) = tracer {
            tracer.enter(&EnteredFrame {
                start: match request.scheme {
                    CallScheme::Call => FrameStart::Call,
                    CallScheme::CallCode => FrameStart::CallCode,
                    CallScheme::DelegateCall => FrameStart::DelegateCall,
                    CallScheme::StaticCall => FrameStart::StaticCall,
                },
                caller,
                address: receiver,
                code_address: request.target,
                value,
                gas: request.gas,
                input: &data,
                depth: depth + 1,
            });
        }
        let account = state.locate(receiver);
        let input = Input { address: receiver, account, caller, value, data: CallInput::Bytes(data) };
        let purpose = Purpose::Call { output: request.output, cost: request.cost };
        Ok(self.open(&code, input, is_static, request.gas, purpose, Some(checkpoint), internal_tx))
    }

    fn call_precompile(&mut self, request: CallRequest, tracer: &mut Option<&mut dyn Tracer>) -> Next {
        let depth = self.active - 1;
        self.host.precompiles_called.push(request.target);
        if depth == self.host.rules.max_depth() {
            return self.settle(false, request.gas, request.cost, tracer);
        }
        let rules = self.host.rules;
        let machine = &mut self.frames[depth].machine;
        let sender = machine.input.address;
        let receiver = if request.scheme.runs_in_caller() { sender } else { request.target };
        let state = &mut self.host.state;
        if !state.covers(sender, request.value)? {
            self.clear_return_buffer();
            return self.settle(false, request.gas, request.cost, tracer);
        }
        let mut len = request.input.len;
        if rules.r516
            && let Some(max) = self.host.precompiles.max_input(&request.target)
        {
            len = len.min(max);
        }
        machine.memory.extend(request.input.start(), len);
        let checkpoint = state.checkpoint();
        state.transfer(sender, receiver, request.value)?;
        if !state.is_contract(request.target)? {
            state.setup_contract(request.target);
        }

        let tx_hash = if self.host.precompiles.sees_transaction(&request.target) {
            let internal_tx = InternalTx {
                nonce: self.host.state.nonce(sender)?,
                sender,
                receiver: Some(receiver),
                value: request.value,
                depth,
                index: self.frames[depth].machine.extend.internal_txs,
            };
            self.frames[depth].machine.extend.internal_txs += 1;
            internal_tx.hash(&self.tx_hash(depth), self.host.tx.gas_price, self.host.block.gas_limit, &[])
        } else {
            B256::ZERO
        };

        let machine = &mut self.frames[depth].machine;
        let host = &mut self.host;
        let call = PrecompileCall {
            address: request.target,
            input: Some(machine.memory.read(request.input.start(), len)),
            kind: match request.scheme {
                CallScheme::Call => CallKind::Call,
                CallScheme::CallCode => CallKind::CallCode,
                CallScheme::DelegateCall => CallKind::DelegateCall,
                CallScheme::StaticCall => CallKind::StaticCall,
            },
            caller: sender,
            value: request.value,
            depth,
            tx_hash,
            tx: &host.tx,
            transaction: host.transaction,
            block: host.block,
        };
        let mut gas_left = request.gas;
        let mut charge = |price: u64| match request.gas.checked_sub(price) {
            Some(left) => {
                gas_left = left;
                true
            }
            None => false,
        };
        let result = host.precompiles.call(
            &call,
            &mut PrecompileHost { state: &mut host.state, ancestors: host.ancestors },
            &mut charge,
        );
        let output = match result {
            Err(PrecompileError::Fault(fault)) => return Err(fault),
            Err(PrecompileError::PriceThrew { message }) => {
                machine.extend.silent = message.is_none();
                host.state.revert(checkpoint);
                return Ok(Some(InstructionResult::PrecompileError));
            }
            Err(PrecompileError::OutOfGas) => {
                host.state.revert(checkpoint);
                self.clear_return_buffer();
                return self.settle(false, 0, request.cost, tracer);
            }
            Err(PrecompileError::Threw { message }) if !rules.r197 => {
                machine.extend.silent = message.is_none();
                host.state.revert(checkpoint);
                return Ok(Some(InstructionResult::PrecompileError));
            }
            Err(PrecompileError::Threw { .. }) => None,
            Ok(output) if rules.r197 => output,
            Ok(output) => {
                return self.settle_old_precompile(output, gas_left, request, checkpoint, tracer);
            }
        };
        // From RSKIP-197 on Java's null fails the call too: saving it to memory throws.
        let success = output.is_some();
        match output {
            Some(output) => {
                machine.memory.write_limited(request.output.start(), &output, request.output.len);
                machine.return_data.0 = output;
                host.state.commit(checkpoint);
            }
            None => {
                machine.return_data.0 = Bytes::new();
                host.state.revert(checkpoint);
            }
        }
        self.settle(success, gas_left, request.cost, tracer)
    }

    /// A precompile's output before RSKIP-197 (`Program.executePrecompiled`).
    fn settle_old_precompile(
        &mut self,
        output: Option<Bytes>,
        gas_left: u64,
        request: CallRequest,
        checkpoint: Checkpoint,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Next {
        let rules = self.host.rules;
        let machine = self.machine();
        if rules.r90 {
            machine.return_data.0 = output.clone().unwrap_or_default();
        }
        let written = match (&output, rules.r150) {
            (Some(output), true) => {
                machine.memory.write_limited(request.output.start(), output, request.output.len);
                true
            }
            (None, true) => true,
            // Before RSKIP-150 the whole output is written, whatever was asked for, and memory grows for nothing; null throws.
            (Some(output), false) => write_whole(machine, request.output.offset, output),
            (None, false) => false,
        };
        if !written {
            self.host.state.revert(checkpoint);
            return Ok(Some(InstructionResult::PrecompileError));
        }
        self.host.state.commit(checkpoint);
        self.settle(true, gas_left, request.cost, tracer)
    }

    /// `Program.createContract`.
    pub(super) fn create(&mut self, request: CreateRequest, tracer: &mut Option<&mut dyn Tracer>) -> Next {
        let depth = self.active - 1;
        let rules = self.host.rules;
        let machine = &mut self.frames[depth].machine;
        let state = &mut self.host.state;
        let sender = machine.input.address;
        let initcode = Bytes::copy_from_slice(machine.memory.read(request.code.start(), request.code.len));
        let nonce = state.nonce(sender)?;
        let address = match request.salt {
            None => create_address(sender.as_slice(), nonce),
            Some(salt) => sender.create2(salt.to_be_bytes::<32>(), keccak256(&initcode)),
        };
        if rules.r438 && initcode.len() > gas::MAX_INITCODE {
            return Ok(Some(InstructionResult::CreateInitCodeSizeLimit));
        }
        // Neither of these two refusals touches the return buffer.
        if depth == rules.max_depth() || !state.covers(sender, request.value)? {
            return self.settle(false, 0, request.cost, tracer);
        }
        let gas = machine.gas.remaining();
        machine.gas.set_remaining(0);
        machine.extend.peak = machine.gas.limit();
        state.increase_nonce(sender)?;
        // Collisions take all the gas and leave the return buffer.
        if rules.r125 && state.was_destroyed(&address) {
            return self.settle(false, 0, request.cost, tracer);
        }
        let exists = state.exists(address)?;
        if exists {
            let has_code = state.code(address)?.is_some();
            let has_nonce = state.nonce(address)?.as_limbs()[0] != 0;
            if rules.r125 && (has_code || has_nonce) {
                return self.settle(false, 0, request.cost, tracer);
            }
        }
        let checkpoint = state.checkpoint();
        state.create_account(address, exists)?;
        state.setup_contract(address);
        if rules.r125 {
            state.increase_nonce(address)?;
        }
        state.sub_balance(sender, request.value)?;
        state.add_balance(address, request.value)?;
        let internal_tx = InternalTx {
            nonce,
            sender,
            receiver: None,
            value: request.value,
            depth,
            index: machine.extend.internal_txs,
        };
        machine.extend.internal_txs += 1;
        machine.return_data.0 = Bytes::new();
        if let Some(tracer) = tracer {
            tracer.enter(&EnteredFrame {
                start: if request.salt.is_some() { FrameStart::Create2 } else { FrameStart::Create },
                caller: sender,
                address,
                code_address: address,
                value: request.value,
                gas,
                input: &initcode,
                depth: depth + 1,
            });
        }
        if initcode.is_empty() {
            // No frame, but the rest of a creation, with a deposit of nothing.
            state.save_code(address, Bytes::new())?;
            state.commit(checkpoint);
            if let Some(tracer) = tracer {
                let output = Bytes::new();
                tracer.leave(&LeftFrame {
                    success: true,
                    reverted: false,
                    gas_used: 0,
                    output: &output,
                    creation: true,
                });
                tracer.cost(request.cost);
            }
            let machine = self.machine();
            machine.gas.set_remaining(gas);
            return Ok(push(machine, address.into_word().into()).err());
        }
        let is_static = false;
        let account = state.locate(address);
        let input = Input { address, account, caller: sender, value: request.value, data: CallInput::default() };
        let purpose = Purpose::Create { address, cost: request.cost };
        let code = Arc::new(Code::new(initcode));
        Ok(self.open(&code, input, is_static, gas, purpose, Some(checkpoint), internal_tx))
    }

    /// Stores the code of a contract that an instruction created. Answers whether the creation stands, and the gas left.
    ///
    /// Until RSKIP-453 a deposit that is too dear, too long or begins wrongly leaves a contract without code and costs nothing.
    pub(super) fn deposit(&mut self, address: &Address, code: Bytes, gas: u64) -> Result<(bool, u64), Fault> {
        let rules = self.host.rules;
        let price = gas::CODE_BYTE * code.len() as u64;
        if refuses_code(&code, rules.r544) || gas < price {
            return Ok((!rules.r453, gas));
        }
        self.host.state.save_code(*address, code)?;
        Ok((true, gas - price))
    }
}

/// Whether code can never be deployed, whatever the gas: RSKIP-544's first byte, or its length.
pub(crate) fn refuses_code(code: &[u8], prefix_checked: bool) -> bool {
    (prefix_checked && code.first() == Some(&0xef)) || code.len() > gas::MAX_CODE
}

/// Writes at the offset's low 32 bits, as Java's `intValue` has it; a negative or too high place throws there.
fn write_whole(machine: &mut Machine, offset: u64, output: &[u8]) -> bool {
    if output.is_empty() {
        return true;
    }
    let offset = u64::from(offset as u32);
    if offset + output.len() as u64 > MAX_MEMORY {
        return false;
    }
    machine.memory.write_padded(offset as usize, output, 0, output.len());
    true
}
