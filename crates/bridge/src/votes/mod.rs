//! What authorised addresses vote on: fee per kilobyte, locking cap, whitelist. (Federation change has its own directory.)

pub mod election;
pub mod fee_per_kb;
pub mod locking_cap;
pub mod whitelist;
pub mod whitelist_methods;
