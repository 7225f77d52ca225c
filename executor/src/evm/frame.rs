//! Frames: how they start, run, pause for the frames they call, and end.
//!
//! Invariants:
//! - The frames in use are the first `active` ones of the pool; a frame's depth is its position. Idle frames keep their stacks
//!   and memories for the next call.
//! - A frame that fails has lost all its gas, its refunds, its logs and its destroyed contracts, and its changes are taken back;
//!   one that reverts keeps its gas only.
//! - Nothing is taken from Ethereum's rules for what happens around a frame: order, prices and omissions are those of rskj's
//!   `Program`.

use std::sync::Arc;

use revm_interpreter::interpreter_types::{Jumps, StackTr};
use revm_interpreter::{CallInput, Gas, InstructionResult};
use rhizome_primitives::transaction::create_address;
use rhizome_primitives::{Address, B256, Bytes, U256, keccak256};

use super::gas;
use super::host::Host;
use super::instructions::push;
use super::internal_tx::InternalTx;
use super::machine::{
    Area, CallRequest, CallScheme, CreateRequest, Cursor, Extra, Flags, Input, Machine, Pending, idle_machine,
};
use super::memory::MAX_MEMORY;
use super::precompile::{CallKind, PrecompileCall, PrecompileError, PrecompileHost};
use super::table::Table;
use super::trace::{EnteredFrame, FrameStart, LeftFrame, Step, Tracer};
use crate::error::Fault;
use crate::state::{Checkpoint, Code};

/// Frames kept between transactions; deeper ones are freed.
const KEPT_FRAMES: usize = 16;

/// How the outermost frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Normally.
    Success,
    /// With REVERT.
    Revert,
    /// With an exception.
    Exception {
        /// What failed.
        reason: InstructionResult,
        /// rskj's exception has no text, which it cannot make a receipt of.
        silent: bool,
    },
}

/// What the outermost frame left.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) end: End,
    /// Gas left; zero after an exception.
    pub(crate) gas: u64,
    /// Refunds earned; zero after an exception.
    pub(crate) refund: u64,
    pub(crate) output: Bytes,
    /// The most gas that counted as used at a time.
    pub(crate) peak: u64,
    /// A call got all gas that was left.
    pub(crate) moved_all: bool,
    /// A call with value was made.
    pub(crate) value_call: bool,
}

/// What the outermost frame starts with.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) code: Arc<Code>,
    pub(crate) address: Address,
    pub(crate) caller: Address,
    pub(crate) value: U256,
    pub(crate) data: Bytes,
    pub(crate) gas: u64,
}

/// Why a frame is there, and what its caller is to do at its end.
#[derive(Debug, Default)]
enum Purpose {
    /// The transaction calls or creates.
    #[default]
    Outermost,
    /// An instruction calls; the output goes to this area of the caller's memory.
    Call { output: Area, cost: u64 },
    /// An instruction creates a contract with this address.
    Create { address: Address, cost: u64 },
}

/// One frame.
#[derive(Debug)]
struct Frame {
    machine: Machine,
    purpose: Purpose,
    /// Taken before the frame's first change. The outermost frame's is the transaction's business.
    checkpoint: Option<Checkpoint>,
    /// How many logs, destroyed contracts and called precompiles there were before.
    logs: usize,
    destroyed: usize,
    precompiles_called: usize,
    internal_tx: InternalTx,
}

impl Frame {
    fn idle() -> Self {
        Self {
            machine: idle_machine(),
            purpose: Purpose::Outermost,
            checkpoint: None,
            logs: 0,
            destroyed: 0,
            precompiles_called: 0,
            internal_tx: InternalTx::default(),
        }
    }
}

/// Whether execution goes on in the frame that is now the deepest, or that frame ends.
type Next = Result<Option<InstructionResult>, Fault>;

/// Runs code in the surroundings of a block.
pub(crate) struct Evm<'b> {
    pub(crate) host: Host<'b>,
    table: Table<'b>,
    frames: Vec<Box<Frame>>,
    active: usize,
}

impl std::fmt::Debug for Evm<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evm").field("host", &self.host).field("active", &self.active).finish_non_exhaustive()
    }
}

impl<'b> Evm<'b> {
    pub(crate) fn new(host: Host<'b>) -> Self {
        let table = Table::new(host.block.activations);
        Self { host, table, frames: Vec::new(), active: 0 }
    }

    /// Runs the outermost frame to its end.
    pub(crate) fn run(&mut self, start: Start, tracer: Option<&mut dyn Tracer>) -> Result<Ended, Fault> {
        let input = Input {
            address: start.address,
            account: self.host.state.locate(start.address),
            caller: start.caller,
            value: start.value,
            data: CallInput::Bytes(start.data),
        };
        let tx = InternalTx::default();
        let failing = self.open(&start.code, input, false, start.gas, Purpose::Outermost, None, tx);
        let ended = self.run_frames(failing, tracer);
        self.active = 0;
        self.frames.truncate(KEPT_FRAMES);
        ended
    }

    fn run_frames(
        &mut self,
        mut failing: Option<InstructionResult>,
        mut tracer: Option<&mut dyn Tracer>,
    ) -> Result<Ended, Fault> {
        loop {
            let paused = match failing.take() {
                Some(reason) => reason,
                None => match &mut tracer {
                    None => self.run_frame(),
                    Some(tracer) => self.run_frame_traced(&mut **tracer),
                },
            };
            if let Some(fault) = self.host.fault.take() {
                return Err(fault);
            }
            let frame = &mut self.frames[self.active - 1];
            failing = match (paused, std::mem::take(&mut frame.machine.extend.pending)) {
                (InstructionResult::Suspend, Pending::Call(request)) => self.call(request, &mut tracer)?,
                (InstructionResult::Suspend, Pending::Create(request)) => self.create(request, &mut tracer)?,
                (InstructionResult::Suspend, _) => {
                    return Err(Fault::Internal("the interpreter paused without a request".into()));
                }
                (end, pending) => {
                    let output = if let Pending::Output(output) = pending { output } else { Bytes::new() };
                    match self.end_frame(end, output, &mut tracer)? {
                        Some(ended) => return Ok(ended),
                        None => None,
                    }
                }
            };
        }
    }

    /// Runs the deepest frame until it pauses or ends.
    fn run_frame(&mut self) -> InstructionResult {
        let machine = &mut self.frames[self.active - 1].machine;
        loop {
            if let Err(result) = machine.step(&self.table.instructions, &self.table.prices, &mut self.host) {
                return result;
            }
        }
    }

    fn run_frame_traced(&mut self, tracer: &mut dyn Tracer) -> InstructionResult {
        let depth = self.active - 1;
        let machine = &mut self.frames[depth].machine;
        loop {
            let before = machine.gas.remaining();
            let pc = machine.bytecode.pc();
            let inside = pc < machine.bytecode.bytes().len();
            if inside {
                let len = machine.memory.len();
                tracer.step(&Step {
                    pc,
                    opcode: machine.bytecode.opcode(),
                    gas: before,
                    depth,
                    stack: machine.stack.data(),
                    memory: machine.memory.read(0, len),
                    address: machine.input.address,
                });
            }
            let result = machine.step(&self.table.instructions, &self.table.prices, &mut self.host);
            let ended = match result {
                Ok(()) => true,
                Err(result) => outcome(result) != Outcome::Exception && result != InstructionResult::Suspend,
            };
            if inside && ended {
                tracer.cost(before - machine.gas.remaining());
            }
            if let Err(result) = result {
                return result;
            }
        }
    }

    /// Puts a frame on top. A code header that reaches to the end of its code or beyond fails the frame at once.
    #[allow(clippy::too_many_arguments)]
    fn open(
        &mut self,
        code: &Arc<Code>,
        input: Input,
        is_static: bool,
        gas: u64,
        purpose: Purpose,
        checkpoint: Option<Checkpoint>,
        internal_tx: InternalTx,
    ) -> Option<InstructionResult> {
        if self.active == self.frames.len() {
            self.frames.push(Box::new(Frame::idle()));
        }
        let frame = &mut self.frames[self.active];
        self.active += 1;
        let machine = &mut frame.machine;
        machine.bytecode = Cursor::new(Arc::clone(code));
        machine.gas = Gas::new(gas);
        machine.stack.clear();
        machine.return_data.0 = Bytes::new();
        machine.memory.reset();
        machine.input = input;
        machine.runtime_flag = Flags { is_static };
        machine.extend = Extra::default();
        frame.purpose = purpose;
        frame.checkpoint = checkpoint;
        frame.logs = self.host.state.logs().len();
        frame.destroyed = self.host.destroyed.len();
        frame.precompiles_called = self.host.precompiles_called.len();
        frame.internal_tx = internal_tx;
        (code.start() >= code.len()).then_some(InstructionResult::OutOfOffset)
    }

    /// The deepest frame's machine.
    fn machine(&mut self) -> &mut Machine {
        &mut self.frames[self.active - 1].machine
    }

    /// The hash of the transaction that the frame at a depth runs for.
    fn tx_hash(&self, depth: usize) -> B256 {
        let host = &self.host;
        self.frames[1..=depth].iter().fold(host.tx.hash, |parent, frame| {
            let code = frame.machine.bytecode.bytes();
            frame.internal_tx.hash(&parent, host.tx.gas_price, host.block.gas_limit, code)
        })
    }

    /// Ends a call that starts no frame: a flag for the caller, gas back, and the return buffer as the rules of the block say.
    fn settle(&mut self, success: bool, gas_back: u64, request_cost: u64, tracer: &mut Option<&mut dyn Tracer>) -> Next {
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
    fn call(&mut self, request: CallRequest, tracer: &mut Option<&mut dyn Tracer>) -> Next {
        let depth = self.active - 1;
        if !request.wide && self.host.precompiles.is_active(&request.target, self.host.block) {
            return self.call_precompile(request, tracer);
        }
        if depth == self.host.rules.max_depth() {
            return self.settle(false, request.gas, request.cost, tracer);
        }
        let machine = &mut self.frames[depth].machine;
        let data = Bytes::copy_from_slice(machine.memory.read(request.input.start(), request.input.len));
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
        if rules.r516 && let Some(max) = self.host.precompiles.max_input(&request.target) {
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
    fn create(&mut self, request: CreateRequest, tracer: &mut Option<&mut dyn Tracer>) -> Next {
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
                tracer.leave(&LeftFrame { success: true, reverted: false, gas_used: 0, output: &output, creation: true });
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

    /// Ends the deepest frame; answers what the outermost one left.
    fn end_frame(
        &mut self,
        end: InstructionResult,
        output: Bytes,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Result<Option<Ended>, Fault> {
        let outcome = outcome(end);
        let depth = self.active - 1;
        let frame = &mut self.frames[depth];
        let (gas, refund) = match outcome {
            Outcome::Exception => (0, 0),
            _ => (frame.machine.gas.remaining(), frame.machine.extend.refund),
        };
        let purpose = std::mem::take(&mut frame.purpose);
        let checkpoint = frame.checkpoint.take();
        let internal_txs = frame.machine.extend.internal_txs;
        let given = frame.machine.gas.limit();
        let peak = frame.machine.extend.peak.max(given - gas);
        let (moved_all, value_call) = (frame.machine.extend.moved_all, frame.machine.extend.value_call);
        let (logs, destroyed, precompiles) = (frame.logs, frame.destroyed, frame.precompiles_called);
        if outcome != Outcome::Success {
            self.host.state.truncate_logs(logs);
            self.host.destroyed.truncate(destroyed);
        }
        let Some(checkpoint) = checkpoint else {
            let end = match outcome {
                Outcome::Success => End::Success,
                Outcome::Revert => End::Revert,
                Outcome::Exception => End::Exception { reason: end, silent: frame.machine.extend.silent },
            };
            return Ok(Some(Ended { end, gas, refund, output, peak, moved_all, value_call }));
        };
        self.active -= 1;

        if let Some(tracer) = tracer {
            tracer.leave(&LeftFrame {
                success: outcome == Outcome::Success,
                reverted: outcome == Outcome::Revert,
                gas_used: given - gas,
                output: &output,
                creation: matches!(purpose, Purpose::Create { .. }),
            });
        }
        let caller = &mut self.frames[depth - 1].machine;
        let cost = match purpose {
            Purpose::Call { output: area, cost } => {
                caller.extend.internal_txs += internal_txs;
                match outcome {
                    Outcome::Success => {
                        self.host.state.commit(checkpoint);
                        caller.extend.refund += refund;
                        caller.extend.moved_all |= moved_all;
                        caller.extend.value_call |= value_call;
                    }
                    Outcome::Revert | Outcome::Exception => self.host.state.revert(checkpoint),
                }
                if outcome != Outcome::Exception {
                    caller.memory.write_limited(area.start(), &output, area.len);
                    caller.return_data.0 = output;
                    caller.gas.erase_cost(gas);
                }
                push_result(caller, U256::from(u8::from(outcome == Outcome::Success)))?;
                cost
            }
            Purpose::Create { address, cost } => {
                // What a constructor calls is not remembered (`Program.getProgramResult`), and its refunds are lost.
                self.host.precompiles_called.truncate(precompiles);
                let pushed = match outcome {
                    Outcome::Success => {
                        let (created, back) = self.deposit(&address, output, gas)?;
                        let caller = &mut self.frames[depth - 1].machine;
                        if created {
                            self.host.state.commit(checkpoint);
                            caller.gas.set_remaining(back);
                            address.into_word().into()
                        } else {
                            self.host.state.truncate_logs(logs);
                            self.host.destroyed.truncate(destroyed);
                            self.host.state.revert(checkpoint);
                            U256::ZERO
                        }
                    }
                    Outcome::Revert => {
                        // The return buffer takes the caller's own output so far, which is none.
                        self.host.state.revert(checkpoint);
                        caller.gas.set_remaining(gas);
                        U256::ZERO
                    }
                    Outcome::Exception => {
                        self.host.state.revert(checkpoint);
                        U256::ZERO
                    }
                };
                push_result(&mut self.frames[depth - 1].machine, pushed)?;
                cost
            }
            Purpose::Outermost => return Err(Fault::Internal("the outermost frame has a checkpoint".into())),
        };
        if let Some(tracer) = tracer {
            tracer.cost(cost);
        }
        Ok(None)
    }

    /// Stores the code of a contract that an instruction created. Answers whether the creation stands, and the gas left.
    ///
    /// Until RSKIP-453 a deposit that is too dear, too long or begins wrongly leaves a contract without code and costs nothing.
    fn deposit(&mut self, address: &Address, code: Bytes, gas: u64) -> Result<(bool, u64), Fault> {
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

/// There is room on the caller's stack: its instruction took at least three words.
fn push_result(machine: &mut Machine, word: U256) -> Result<(), Fault> {
    push(machine, word).map_err(|_| Fault::Internal("no room on the stack for the result of a call".into()))
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

/// The three ways in which a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Success,
    Revert,
    Exception,
}

fn outcome(result: InstructionResult) -> Outcome {
    match result {
        InstructionResult::Stop | InstructionResult::Return | InstructionResult::SelfDestruct => Outcome::Success,
        InstructionResult::Revert => Outcome::Revert,
        _ => Outcome::Exception,
    }
}
