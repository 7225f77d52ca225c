//! Keccak-256 of many inputs at once.
