//! Rootstock's EVM on revm's interpreter: instructions, frames and calls.
//!
//! revm gives the interpreter loop, the stack and the instructions without prices or surroundings of their own. The instruction
//! table, memory and its price, everything that touches state, calls and creations are here, because there the two protocols
//! differ in almost every detail.

mod calls;
mod env;
mod frame;
mod gas;
mod host;
mod instructions;
mod internal_tx;
mod invoke;
mod machine;
mod memory;
mod precompile;
mod rules;
mod table;
mod trace;

pub use env::{BlockEnv, TxEnv};
pub use precompile::{CallKind, PrecompileCall, PrecompileError, PrecompileHost, Precompiles};
pub use trace::{EnteredFrame, FrameStart, LeftFrame, Step, Tracer};

pub(crate) use frame::{End, Ended, Evm, Start};
pub(crate) use gas::{CODE_BYTE, MAX_INITCODE, SELFDESTRUCT_REFUND};
pub(crate) use host::Host;
pub(crate) use invoke::refuses_code;
