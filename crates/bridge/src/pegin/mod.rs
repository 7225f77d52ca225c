//! Peg-in: what a registered Bitcoin transaction is, who sent it, and what becomes of it.

pub(crate) mod evaluation;
pub(crate) mod flyover;
pub(crate) mod information;
pub(crate) mod instructions;
pub(crate) mod kind;
pub(crate) mod kind_legacy;
pub(crate) mod reasons;
pub(crate) mod refund;
pub(crate) mod register;
pub(crate) mod register_legacy;
pub(crate) mod sender;
pub(crate) mod spends;
