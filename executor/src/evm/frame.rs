//! Frames: how they start, run, pause for the frames they call, and end.
//!
//! Invariants:
//! - The frames in use are the first `active` ones of the pool; a frame's depth is its position. Idle frames keep their stacks
//!   and memories for the next call.
//! - A frame that fails has lost all its gas, its refunds, its logs and its destroyed contracts, and its changes are taken back;
//!   one that reverts keeps its gas only.
//! - Nothing is taken from Ethereum's rules for what happens around a frame: order, prices and omissions are those of rskj's
//!   `Program`. What comes before a frame is in `invoke`, what comes after it is here.

use std::sync::Arc;

use revm_interpreter::interpreter_types::{Jumps, StackTr};
use revm_interpreter::{Gas, InstructionResult};
use rhizome_primitives::{Address, B256, Bytes, U256};

use super::host::Host;
use super::instructions::push;
use super::internal_tx::InternalTx;
use super::machine::{Area, Cursor, Extra, Flags, Input, Machine, Pending, idle_machine};
use super::table::Table;
use super::trace::{LeftFrame, Step, Tracer};
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
pub(super) enum Purpose {
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
pub(super) struct Frame {
    pub(super) machine: Machine,
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
pub(super) type Next = Result<Option<InstructionResult>, Fault>;

/// Runs code in the surroundings of a block.
pub(crate) struct Evm<'b> {
    pub(crate) host: Host<'b>,
    table: Table<'b>,
    pub(super) frames: Vec<Frame>,
    pub(super) active: usize,
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
            data: revm_interpreter::CallInput::Bytes(start.data),
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
    pub(super) fn open(
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
            self.frames.push(Frame::idle());
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
    pub(super) fn machine(&mut self) -> &mut Machine {
        &mut self.frames[self.active - 1].machine
    }

    /// The hash of the transaction that the frame at a depth runs for.
    pub(super) fn tx_hash(&self, depth: usize) -> B256 {
        let host = &self.host;
        self.frames[1..=depth].iter().fold(host.tx.hash, |parent, frame| {
            let code = frame.machine.bytecode.bytes();
            frame.internal_tx.hash(&parent, host.tx.gas_price, host.block.gas_limit, code)
        })
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
}

/// There is room on the caller's stack: its instruction took at least three words.
fn push_result(machine: &mut Machine, word: U256) -> Result<(), Fault> {
    push(machine, word).map_err(|_| Fault::Internal("no room on the stack for the result of a call".into()))
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
