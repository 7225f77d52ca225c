//! The 2048-bit log filter of receipts and headers (`org.ethereum.core.Bloom`), the same as Ethereum's.

use crate::receipt::Log;
use crate::{B256, Bloom};

/// The filter of one item, given by its Keccak-256 hash.
pub fn of_hash(hash: &B256) -> Bloom {
    let mut bloom = Bloom::ZERO;
    bloom.m3_2048_hashed(hash);
    bloom
}

/// The filter over the addresses and topics of logs.
pub fn of_logs<'a>(logs: impl IntoIterator<Item = &'a Log>) -> Bloom {
    let mut bloom = Bloom::ZERO;
    for log in logs {
        bloom.accrue_raw_log(log.address, &log.topics);
    }
    bloom
}
