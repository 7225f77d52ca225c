//! Peg-in: what a registered Bitcoin transaction is, who sent it, and what becomes of it.

pub(crate) mod evaluation;
pub mod flyover;
pub(crate) mod information;
pub mod instructions;
pub(crate) mod kind;
pub(crate) mod kind_legacy;
pub mod reasons;
pub(crate) mod refund;
pub(crate) mod register;
pub(crate) mod register_legacy;
pub mod sender;
pub(crate) mod spends;
