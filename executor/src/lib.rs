//! Executes Rootstock blocks on revm's interpreter.
//!
//! [`state`] holds what a block changes, [`evm`] runs code on it, [`tx`] executes transactions.

pub mod block;
pub mod error;
pub mod evm;
pub mod genesis;
pub mod precompiles;
pub mod remasc;
pub mod state;
pub mod tx;

pub use block::{BlockExecutor, BlockViolation, ExecutionError, ExecutionOutcome};
pub use error::Fault;
