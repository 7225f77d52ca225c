//! What authorised addresses vote on: fee per kilobyte, locking cap, whitelist. (Federation change has its own directory.)

pub(crate) mod election;
pub(crate) mod fee_per_kb;
pub(crate) mod locking_cap;
pub(crate) mod whitelist;
pub(crate) mod whitelist_methods;
