//! Registering a block's coinbase, which proves the root of the block's witnesses (`registerBtcCoinbaseTransaction`).

use rhizome_chainspec::Rskip;
use rhizome_primitives::B256;

use crate::bitcoin::coinbase::{find_witness_commitment, witness_commitment};
use crate::bitcoin::merkle::{has_expected_size, merkle_root_with};
use crate::bitcoin::{BtcHash, BtcTransaction, MerkleError};
use crate::failure::{Failure, Result};
use crate::peg::Peg;

impl Peg<'_> {
    /// Stores the witness root of a block if its coinbase commits to it. A coinbase that is not in the tree, or a tree of
    /// another block, is passed over.
    pub(crate) fn register_coinbase(
        &mut self,
        tx: &[u8],
        block: BtcHash,
        tree: &[u8],
        witness_root: BtcHash,
        reserved: &B256,
    ) -> Result<()> {
        self.open_btc_chain()?;
        let tx_hash = BtcHash::of_wire_data(tx);
        if !has_expected_size(tree) {
            return Err(Failure::illegal("partial merkle tree doesn't have expected size"));
        }
        let root = merkle_root_with(tree, &tx_hash).map_err(illegal_tree)?;
        let Some(root) = root else { return Ok(()) };
        let stored = self.btc_block(&block)?;
        let header = stored.ok_or_else(|| Failure::illegal(format!("block {block} not yet registered")))?.header;
        if header.merkle_root() != root {
            return Ok(());
        }
        let tx = BtcTransaction::decode(tx)?;
        tx.verify()?;
        let expected = find_witness_commitment(&tx, self.is_active(Rskip::R460))?;
        if expected != Some(witness_commitment(&witness_root, &reserved.0)) {
            return Err(Failure::illegal("witness commitment does not match"));
        }
        self.set_coinbase_witness_root(header.hash(), witness_root);
        Ok(())
    }
}

/// Trees that do not verify are illegal arguments; anything else that goes wrong inside them is not.
pub(crate) fn illegal_tree(error: MerkleError) -> Failure {
    match error {
        MerkleError::Decode(_) | MerkleError::Verification(_) => Failure::illegal(error.to_string()),
        other => Failure::from(other),
    }
}
