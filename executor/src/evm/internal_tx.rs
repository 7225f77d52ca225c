//! The hashes of rskj's internal transactions, which the Bridge writes into its events (`InternalTransaction`).

use rhizome_primitives::coin::MinimalBytes;
use rhizome_primitives::{Address, B256, U256, keccak256, rlp};

/// The transaction that stands for a call or a creation from code.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InternalTx {
    /// The caller's nonce.
    pub(super) nonce: U256,
    /// Who calls.
    pub(super) sender: Address,
    /// The account whose storage is used; `None` for a creation.
    pub(super) receiver: Option<Address>,
    /// Wei sent.
    pub(super) value: U256,
    /// Depth of the calling frame.
    pub(super) depth: usize,
    /// How many internal transactions the calling frame had made before.
    pub(super) index: u32,
}

impl InternalTx {
    /// The hash; `parent` is that of the calling frame's transaction, `data` the code that is called (none for precompiles).
    pub(super) fn hash(&self, parent: &B256, gas_price: U256, block_gas_limit: u64, data: &[u8]) -> B256 {
        let mut encoded = Vec::with_capacity(256 + data.len());
        let note: &[u8] = if self.receiver.is_some() { b"call" } else { b"create" };
        rlp::put_list(&mut encoded, |out| {
            let nonce = MinimalBytes::twos_complement(self.nonce);
            rlp::put_bytes(out, if self.nonce.is_zero() { &[] } else { &nonce });
            rlp::put_bytes(out, parent.as_slice());
            rlp::put_bytes(out, self.sender.as_slice());
            rlp::put_address(out, self.receiver.as_ref());
            rlp::put_coin(out, self.value);
            rlp::put_coin(out, gas_price);
            rlp::put_bytes(out, &U256::from(block_gas_limit).to_be_bytes::<32>());
            rlp::put_bytes(out, data);
            rlp::put_bytes(out, note);
            rlp::put_u64(out, self.depth as u64);
            rlp::put_u64(out, u64::from(self.index));
            rlp::put_u64(out, 0);
        });
        keccak256(&encoded)
    }
}
