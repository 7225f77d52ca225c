//! A look at execution from outside, instruction by instruction. Without a tracer none of this costs anything.

use rhizome_primitives::{Address, Bytes, U256};

/// The state of a frame before an instruction.
#[derive(Debug)]
pub struct Step<'a> {
    /// Offset of the instruction in its code.
    pub pc: usize,
    /// The instruction.
    pub opcode: u8,
    /// Gas before it.
    pub gas: u64,
    /// Depth of the frame, zero for the code that the transaction calls.
    pub depth: usize,
    /// The stack, the top last.
    pub stack: &'a [U256],
    /// The memory.
    pub memory: &'a [u8],
    /// The account whose storage the code has.
    pub address: Address,
}

/// How a frame is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameStart {
    /// By CALL.
    Call,
    /// By CALLCODE.
    CallCode,
    /// By DELEGATECALL.
    DelegateCall,
    /// By STATICCALL.
    StaticCall,
    /// By CREATE.
    Create,
    /// By CREATE2.
    Create2,
}

/// A frame that begins.
#[derive(Debug)]
pub struct EnteredFrame<'a> {
    /// How.
    pub start: FrameStart,
    /// Who called.
    pub caller: Address,
    /// The account whose storage the code has.
    pub address: Address,
    /// The account whose code it is; a new contract's own address.
    pub code_address: Address,
    /// Wei sent.
    pub value: U256,
    /// Gas given.
    pub gas: u64,
    /// Call data, or initialisation code.
    pub input: &'a Bytes,
    /// Depth of the new frame.
    pub depth: usize,
}

/// A frame that ended.
#[derive(Debug)]
pub struct LeftFrame<'a> {
    /// It kept its changes.
    pub success: bool,
    /// It ended with REVERT.
    pub reverted: bool,
    /// Gas that it used.
    pub gas_used: u64,
    /// What it gave back.
    pub output: &'a Bytes,
    /// It was a constructor. rskj's own traces forget what one did.
    pub creation: bool,
}

/// Watches the execution of one transaction.
pub trait Tracer {
    /// An instruction begins.
    fn step(&mut self, step: &Step<'_>);

    /// The instruction begun last, at the depth of the running frame, ended and cost this much; the gas handed to a call is
    /// in, that for a constructor is not. An instruction that fails its frame has no cost. For calls this comes when the called
    /// frame has ended.
    fn cost(&mut self, cost: u64);

    /// A frame begins, below the one that the transaction itself starts.
    fn enter(&mut self, frame: &EnteredFrame<'_>) {
        let _ = frame;
    }

    /// The frame entered last ended.
    fn leave(&mut self, frame: &LeftFrame<'_>) {
        let _ = frame;
    }
}
