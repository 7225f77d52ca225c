//! Confirmations of a Bitcoin transaction by its merkle branch (`getBtcTransactionConfirmations`), and what the question costs.

use rhizome_primitives::{B256, U256, uint};

use crate::bitcoin::{BtcHash, BtcHeader, BtcNetwork, MerkleBranch, MerkleError, StoredBlock};
use crate::failure::{Failure, Result};
use crate::peg::Peg;

/// Deepest block that is looked at: about a month.
const MAX_DEPTH: i32 = 4_320;

const BASE_GAS: u64 = 27_000;
const GAS_PER_BLOCK: u64 = 315;
const GAS_PER_HASH: u64 = 144;

/// Answers below zero.
mod code {
    pub(super) const NO_BLOCK: i64 = -1;
    pub(super) const NOT_IN_BEST_CHAIN: i64 = -2;
    pub(super) const INCONSISTENT: i64 = -3;
    pub(super) const TOO_OLD: i64 = -4;
    pub(super) const WRONG_BRANCH: i64 = -5;
}

/// A block that rskj once had in its cache and not in its store, when Rootstock's testnet asked for it. **Frozen.**
mod testnet_exception {
    use super::{U256, uint};

    pub(super) const RSK_BLOCK: u64 = 5_148_285;
    pub(super) const HEIGHT: i32 = 2_817_125;
    pub(super) const CHAIN_WORK: U256 = uint!(0xddeb5fbcd969312a77c_U256);
    pub(super) const HASH: &str = "00000000e8e7b540df01a7067e020fd7e2026bf86289def2283a35120c1af379";
    pub(super) const HEADER: &str = "000000203b5d178405c4e6e7dc07d63d6de5db1342044791721654760c00000000000000796cf6743a036300b43fb3abe6703d04a7999751b6d5744f20327d1175320bd37b954e66ffff001d56dc11ce";
}

impl From<MerkleError> for Failure {
    fn from(error: MerkleError) -> Self {
        Failure::threw(error.to_string())
    }
}

impl Peg<'_> {
    /// Price of the question before the charge for the input's length.
    pub(crate) fn btc_confirmations_gas(&mut self, block: BtcHash, branch_hashes: usize) -> Result<u64> {
        self.open_btc_chain()?;
        let Some(block) = self.btc_block_of_question(&block)? else { return Ok(BASE_GAS) };
        let depth = self.btc_best_height()?.wrapping_sub(block.height).max(0);
        if depth > MAX_DEPTH {
            return Ok(BASE_GAS);
        }
        Ok(BASE_GAS + depth as u64 * GAS_PER_BLOCK + branch_hashes as u64 * GAS_PER_HASH)
    }

    /// Confirmations of the transaction in the block, or a code below zero.
    pub(crate) fn btc_confirmations(&mut self, tx: BtcHash, block: BtcHash, path: i32, branch: &[B256]) -> Result<i64> {
        let hashes = branch.iter().map(|hash| BtcHash::from_display(hash.0)).collect();
        let branch = MerkleBranch::new(hashes, path)?;
        self.open_btc_chain()?;
        let Some(block) = self.btc_block_of_question(&block)? else { return Ok(code::NO_BLOCK) };
        let best = self.btc_best_height()?;
        if best.wrapping_sub(block.height).max(0) > MAX_DEPTH {
            return Ok(code::TOO_OLD);
        }
        let height = block.height;
        match self.with_btc_chain(|chain, host| chain.block_at_main_chain_height(host, height)) {
            Ok(Some(in_chain)) if in_chain == block => {}
            Ok(_) => return Ok(code::NOT_IN_BEST_CHAIN),
            Err(Failure::Host(fault)) => return Err(Failure::Host(fault)),
            Err(_) => return Ok(code::INCONSISTENT),
        }
        let root = branch.reduce_from(&tx)?;
        if !self.is_merkle_root_of(&block.header, root)? {
            return Ok(code::WRONG_BRANCH);
        }
        Ok(i64::from(best.wrapping_sub(height).wrapping_add(1)))
    }

    /// Whether this is the root of a block's transactions, or the registered root of their witnesses.
    pub(crate) fn is_merkle_root_of(&mut self, header: &BtcHeader, root: BtcHash) -> Result<bool> {
        Ok(header.merkle_root() == root || self.coinbase_witness_root(header.hash())? == Some(root))
    }

    fn btc_block_of_question(&mut self, hash: &BtcHash) -> Result<Option<StoredBlock>> {
        use testnet_exception::{CHAIN_WORK, HASH, HEADER, HEIGHT, RSK_BLOCK};
        let is_exception = self.call.block.number == RSK_BLOCK
            && self.constants.network == BtcNetwork::Testnet
            && hash.to_string() == HASH;
        if !is_exception {
            return self.btc_block(hash);
        }
        let raw = rhizome_primitives::hex::decode(HEADER).map_err(|_| Failure::threw("header of the exception"))?;
        Ok(Some(StoredBlock { header: BtcHeader::decode(&raw)?, chain_work: CHAIN_WORK, height: HEIGHT }))
    }
}
