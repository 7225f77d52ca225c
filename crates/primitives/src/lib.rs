//! 
pub use alloy_primitives::*;
