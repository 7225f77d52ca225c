//! The peg contract that holds the bitcoin locked on Rootstock.

pub mod bitcoin;
pub mod chain_store;
pub mod constants;
pub mod federation;
pub mod host;
