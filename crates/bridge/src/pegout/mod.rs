//! Peg-out: requests, the transactions that pay them, confirmations and signatures.

pub(crate) mod batch;
pub(crate) mod confirmed;
pub(crate) mod fees;
pub(crate) mod java_set;
pub(crate) mod queue;
pub(crate) mod reasons;
pub(crate) mod request;
pub(crate) mod settle;
pub(crate) mod signatures;
pub(crate) mod signing;
pub(crate) mod waiting;
pub(crate) mod wallets;
