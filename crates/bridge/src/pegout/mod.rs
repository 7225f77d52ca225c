//! Peg-out: requests, the transactions that pay them, confirmations and signatures.

pub(crate) mod batch;
pub(crate) mod confirmed;
pub(crate) mod fees;
pub mod java_set;
pub mod queue;
pub mod reasons;
pub(crate) mod request;
pub(crate) mod settle;
pub mod signatures;
pub(crate) mod signing;
pub mod waiting;
pub(crate) mod wallets;
