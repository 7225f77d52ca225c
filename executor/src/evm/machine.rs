//! The parts that revm's interpreter is put together from here.

use std::sync::Arc;

use revm_interpreter::interpreter::{ReturnDataImpl, Stack};
use revm_interpreter::interpreter_types::{
    Immediates, InputsTr, InterpreterTypes, Jumps, LegacyBytecode, LoopControl, RuntimeFlag,
};
use revm_interpreter::primitives::hardfork::SpecId;
use revm_interpreter::{CallInput, Gas, Interpreter, InterpreterAction};
use rhizome_primitives::{Address, Bytes, U256};

use super::memory::Memory;
use crate::state::{AccountRef, Code};

/// Rootstock's interpreter.
#[derive(Debug)]
pub(super) struct Rootstock;

impl InterpreterTypes for Rootstock {
    type Stack = Stack;
    type Memory = Memory;
    type Bytecode = Cursor;
    type ReturnData = ReturnDataImpl;
    type Input = Input;
    type RuntimeFlag = Flags;
    type Extend = Extra;
    type Output = ();
}

/// A frame's interpreter.
pub(super) type Machine = Interpreter<Rootstock>;

/// An interpreter with nothing in it, to be filled by [`Cursor`] and [`Input`] for each frame.
pub(super) fn idle_machine() -> Machine {
    Interpreter {
        bytecode: Cursor::new(Arc::new(Code::new(Bytes::new()))),
        gas: Gas::new(0),
        stack: Stack::new(),
        return_data: ReturnDataImpl::default(),
        memory: Memory::default(),
        input: Input::default(),
        runtime_flag: Flags { is_static: false },
        extend: Extra::default(),
    }
}

/// Where a frame stands in its code.
///
/// The position may run past the end, where every byte reads as STOP: no padding is needed, and the skips of DUPN and SWAPN are
/// harmless.
#[derive(Debug)]
pub(super) struct Cursor {
    code: Arc<Code>,
    bytes: Bytes,
    position: usize,
    action: Option<InterpreterAction>,
}

impl Cursor {
    pub(super) fn new(code: Arc<Code>) -> Self {
        let (bytes, position) = (code.bytes().clone(), code.start());
        Self { code, bytes, position, action: None }
    }

    /// The code.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Up to `len` bytes at the position.
    #[inline]
    pub(super) fn ahead(&self, len: usize) -> &[u8] {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        &rest[..len.min(rest.len())]
    }
}

impl Jumps for Cursor {
    #[inline]
    fn relative_jump(&mut self, offset: isize) {
        self.position = self.position.wrapping_add_signed(offset);
    }

    #[inline]
    fn absolute_jump(&mut self, offset: usize) {
        self.position = offset;
    }

    #[inline]
    fn is_valid_legacy_jump(&mut self, offset: usize) -> bool {
        self.code.jumps().contains(offset)
    }

    #[inline]
    fn pc(&self) -> usize {
        self.position
    }

    #[inline]
    fn opcode(&self) -> u8 {
        self.bytes.get(self.position).copied().unwrap_or_default()
    }
}

impl Immediates for Cursor {
    fn read_u16(&self) -> u16 {
        self.read_offset_u16(0)
    }

    fn read_u8(&self) -> u8 {
        self.opcode()
    }

    fn read_offset_u16(&self, offset: isize) -> u16 {
        let at = self.position.wrapping_add_signed(offset);
        let byte = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or_default());
        byte(at) << 8 | byte(at.wrapping_add(1))
    }

    fn read_slice(&self, len: usize) -> &[u8] {
        self.ahead(len)
    }
}

impl LegacyBytecode for Cursor {
    fn bytecode_len(&self) -> usize {
        self.bytes.len()
    }

    fn bytecode_slice(&self) -> &[u8] {
        &self.bytes
    }
}

impl LoopControl for Cursor {
    fn is_not_end(&self) -> bool {
        self.action.is_none()
    }

    fn reset_action(&mut self) {
        self.action = None;
    }

    fn set_action(&mut self, action: InterpreterAction) {
        self.action = Some(action);
    }

    fn action(&mut self) -> &mut Option<InterpreterAction> {
        &mut self.action
    }
}

/// What a frame was called with.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// The account whose storage the code has.
    pub(super) address: Address,
    /// The same account in the state.
    pub(super) account: AccountRef,
    /// Who called.
    pub(super) caller: Address,
    /// Wei that CALLVALUE gives.
    pub(super) value: U256,
    /// The call data.
    pub(super) data: CallInput,
}

impl InputsTr for Input {
    fn target_address(&self) -> Address {
        self.address
    }

    fn bytecode_address(&self) -> Option<&Address> {
        None
    }

    fn caller_address(&self) -> Address {
        self.caller
    }

    fn input(&self) -> &CallInput {
        &self.data
    }

    fn call_value(&self) -> U256 {
        self.value
    }

    fn depth(&self) -> usize {
        0
    }
}

/// Static or not. What is active is decided by the instruction table, so revm's own tests of a specification all pass here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags {
    pub(super) is_static: bool,
}

impl RuntimeFlag for Flags {
    fn is_static(&self) -> bool {
        self.is_static
    }

    fn spec_id(&self) -> SpecId {
        SpecId::PETERSBURG
    }
}

/// What an instruction leaves for the frame loop.
#[derive(Debug, Default)]
pub(super) struct Extra {
    /// Why the interpreter paused.
    pub(super) pending: Pending,
    /// Refunds earned in this frame and in the calls that it made and that succeeded.
    pub(super) refund: u64,
    /// The exception that ends the frame has no text in rskj.
    pub(super) silent: bool,
    /// rskj's internal transactions so far, those of the frame's calls included: the next one's index.
    pub(super) internal_txs: u32,
    /// The most gas that counted as used at a time: calls take all they hand over and give the rest back.
    pub(super) peak: u64,
    /// A call got all gas that was left; counts for calls that succeeded, too.
    pub(super) moved_all: bool,
    /// A call with value was made; counts for calls that succeeded, too.
    pub(super) value_call: bool,
}

/// What the frame loop is to do for a paused interpreter.
#[derive(Debug, Default)]
pub(super) enum Pending {
    /// Nothing.
    #[default]
    None,
    /// Run a call.
    Call(CallRequest),
    /// Make a contract.
    Create(CreateRequest),
    /// Give these bytes to the caller, with RETURN or REVERT.
    Output(Bytes),
}

/// Which instruction calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallScheme {
    Call,
    CallCode,
    DelegateCall,
    StaticCall,
}

impl CallScheme {
    /// Whether the code runs in the caller's account (`MsgType.isStateless`).
    pub(super) fn runs_in_caller(self) -> bool {
        matches!(self, Self::CallCode | Self::DelegateCall)
    }
}

/// A call whose own price and gas are paid.
#[derive(Debug)]
pub(super) struct CallRequest {
    pub(super) scheme: CallScheme,
    /// Gas for the callee, already taken from the caller.
    pub(super) gas: u64,
    /// What the instruction cost with that gas, for traces.
    pub(super) cost: u64,
    /// The last 20 bytes of the target.
    pub(super) target: Address,
    /// The target as a word has more than these 20 bytes, so it is no precompile.
    pub(super) wide: bool,
    pub(super) value: U256,
    pub(super) input: Area,
    pub(super) output: Area,
}

/// A creation whose own price is paid; the gas for the constructor is still the frame's.
#[derive(Debug)]
pub(super) struct CreateRequest {
    pub(super) value: U256,
    pub(super) code: Area,
    /// CREATE2's salt.
    pub(super) salt: Option<U256>,
    /// What the instruction cost, for traces.
    pub(super) cost: u64,
}

/// A piece of memory, inside of [`super::memory::MAX_MEMORY`] unless it is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Area {
    /// Where it begins. An empty area may begin anywhere.
    pub(super) offset: u64,
    pub(super) len: usize,
}

impl Area {
    /// Where it begins in memory; zero for an empty area.
    pub(super) fn start(self) -> usize {
        if self.len == 0 { 0 } else { usize::try_from(self.offset).unwrap_or(usize::MAX) }
    }
}
