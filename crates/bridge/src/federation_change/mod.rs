//! Which federation is in force, and how it is replaced: election, validation, hand-over, migration of its funds.

pub mod election;
pub(crate) mod handover;
pub(crate) mod in_force;
pub(crate) mod migration;
pub(crate) mod validation;
