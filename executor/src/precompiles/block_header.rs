//! The block header contract (RSKIP-119, RSKIP-536): fields of the last 4,000 ancestors (rskj `co/rsk/pcc/blockheader`).
//!
//! Depth 0 is the parent of the executing block. Ancestors are those by parent links, whatever the best chain is. A depth
//! that is too large answers empty bytes, a negative one throws.

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::coin::MinimalBytes;
use rhizome_primitives::header::RSK_TAG;
use rhizome_primitives::{B256, Block, Bytes, Difficulty};

use super::abi::{Arguments, BadArguments, encode_bytes, exact_short};
use super::native::Selector;
use crate::Fault;
use crate::evm::PrecompileError;
use crate::precompiles::Ancestors;

/// `BlockHeaderContract.MAX_DEPTH`, the maturity of fees on the main network.
const MAX_DEPTH: u64 = 4000;
const BASE_PRICE: u64 = 4000;
const PRICE_PER_BYTE: u64 = 2;
/// Bytes of the hash that follows the tag in a merge-mined coinbase.
const TAGGED_HASH: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Coinbase,
    Hash,
    MergedMiningTags,
    MinimumGasPrice,
    GasLimit,
    GasUsed,
    Difficulty,
    BitcoinHeader,
    UncleCoinbase,
    DifficultyWithUncles,
    CumulativeWork,
}

/// The methods: selector of the signature, and what it reads. Only `getUncleCoinbaseAddress` takes a second argument.
const METHODS: [(Selector, &str, Field); 11] = [
    ([0x24, 0x3e, 0x7d, 0x36], "getCoinbaseAddress(int256)", Field::Coinbase),
    ([0x2c, 0xce, 0x81, 0xaa], "getBlockHash(int256)", Field::Hash),
    ([0x5c, 0xa0, 0x53, 0xdd], "getMergedMiningTags(int256)", Field::MergedMiningTags),
    ([0x1f, 0x1d, 0xb3, 0xba], "getMinGasPrice(int256)", Field::MinimumGasPrice),
    ([0x08, 0xa0, 0x63, 0x64], "getGasLimit(int256)", Field::GasLimit),
    ([0x06, 0xac, 0x70, 0x2b], "getGasUsed(int256)", Field::GasUsed),
    ([0x93, 0x19, 0xa3, 0x5b], "getDifficulty(int256)", Field::Difficulty),
    ([0x30, 0x73, 0xc6, 0xeb], "getBitcoinHeader(int256)", Field::BitcoinHeader),
    ([0xab, 0xcd, 0x89, 0x84], "getUncleCoinbaseAddress(int256,int256)", Field::UncleCoinbase),
    ([0x57, 0x9e, 0xe5, 0x93], "getDifficultyWithUncles(int256)", Field::DifficultyWithUncles),
    ([0x09, 0x6c, 0x81, 0x96], "getCumulativeWork(int256)", Field::CumulativeWork),
];

/// A decoded call.
#[derive(Debug)]
pub(super) struct Call {
    field: Field,
    depth: Option<i16>,
    uncle: Option<i16>,
    input_len: usize,
}

impl Call {
    pub(super) fn decode(
        selector: Selector,
        arguments: Arguments<'_>,
        input_len: usize,
        activations: Activations,
    ) -> Result<Option<Self>, BadArguments> {
        let Some(&(_, _, field)) = METHODS.iter().find(|(known, _, _)| *known == selector) else { return Ok(None) };
        if matches!(field, Field::DifficultyWithUncles | Field::CumulativeWork) && !activations.is_active(Rskip::R536) {
            return Ok(None);
        }
        let depth = exact_short(&arguments.int256(0)?);
        let uncle = if field == Field::UncleCoinbase { exact_short(&arguments.int256(1)?) } else { None };
        Ok(Some(Self { field, depth, uncle, input_len }))
    }

    pub(super) fn price(&self) -> u64 {
        BASE_PRICE + PRICE_PER_BYTE * self.input_len as u64
    }

    pub(super) fn run(&self, ancestors: &Ancestors<'_>) -> Result<Option<Bytes>, PrecompileError> {
        let Some(depth) = self.depth else { return Ok(Some(encode_bytes(&[]))) };
        let depth = u64::try_from(depth).map_err(|_| PrecompileError::threw("negative block depth"))?;
        match ancestor_at(ancestors, depth)? {
            Some(hash) => self.read(ancestors, &hash),
            None => Ok(Some(encode_bytes(&[]))),
        }
    }

    fn read(&self, ancestors: &Ancestors<'_>, hash: &B256) -> Result<Option<Bytes>, PrecompileError> {
        let bytes = match self.field {
            Field::Hash => encode_bytes(hash.as_slice()),
            Field::UncleCoinbase => self.uncle_coinbase(&*ancestors.block(hash)?)?,
            Field::DifficultyWithUncles => {
                let block = ancestors.block(hash)?;
                let sum = block
                    .uncles
                    .iter()
                    .fold(block.header.difficulty(), |sum, uncle| sum.saturating_add(uncle.difficulty()));
                encode_bytes(&sum.to_signed_bytes())
            }
            Field::CumulativeWork => encode_bytes(&ancestors.total_difficulty(hash)?.to_signed_bytes()),
            _ => {
                let header = ancestors.header(hash)?;
                match self.field {
                    Field::Coinbase => {
                        encode_bytes(header.coinbase.as_ref().map_or(&[][..], |address| address.as_slice()))
                    }
                    // Only block 0 can lack mining fields; Java's null there fails or is the answer itself.
                    Field::MergedMiningTags if header.mining.coinbase.is_empty() => {
                        return Err(PrecompileError::threw("header without a merge-mining coinbase"));
                    }
                    Field::MergedMiningTags => encode_bytes(merged_mining_tags(&header.mining.coinbase)?),
                    Field::BitcoinHeader if header.mining.btc_header.is_empty() => return Ok(None),
                    Field::BitcoinHeader => encode_bytes(&header.mining.btc_header),
                    Field::MinimumGasPrice => match header.minimum_gas_price {
                        Some(price) => encode_bytes(&MinimalBytes::signed(price)),
                        None => encode_bytes(&[]),
                    },
                    Field::GasLimit => encode_bytes(&header.gas_limit),
                    Field::GasUsed => encode_bytes(&Difficulty::from(header.gas_used).to_signed_bytes()),
                    _ => encode_bytes(&header.difficulty().to_signed_bytes()),
                }
            }
        };
        Ok(Some(bytes))
    }

    fn uncle_coinbase(&self, ancestor: &Block) -> Result<Bytes, PrecompileError> {
        let Some(index) = self.uncle else { return Ok(encode_bytes(&[])) };
        let index = usize::try_from(index).map_err(|_| PrecompileError::threw("negative uncle index"))?;
        let coinbase = ancestor.uncles.get(index).and_then(|uncle| uncle.coinbase);
        Ok(encode_bytes(coinbase.as_ref().map_or(&[][..], |address| address.as_slice())))
    }
}

/// The ancestor `depth` below the parent, within 4,000. Block 0 is only found as the parent itself
/// (`IndexedBlockStore.getBlockAtDepthStartingAt`).
fn ancestor_at(ancestors: &Ancestors<'_>, depth: u64) -> Result<Option<B256>, Fault> {
    let Some(parent) = ancestors.parent_number() else { return Ok(None) };
    if depth >= MAX_DEPTH || (depth > 0 && parent <= depth) {
        return Ok(None);
    }
    ancestors.hash_at(parent - depth)
}

/// What follows the last RSK tag and its hash; empty without a tag.
fn merged_mining_tags(coinbase: &[u8]) -> Result<&[u8], PrecompileError> {
    let Some(tag) = coinbase.windows(RSK_TAG.len()).rposition(|window| window == RSK_TAG) else { return Ok(&[]) };
    coinbase
        .get(tag + RSK_TAG.len() + TAGGED_HASH..)
        .ok_or_else(|| PrecompileError::threw("the tag's hash is cut short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhizome_primitives::keccak256;

    #[test]
    fn selectors_are_those_of_the_signatures() {
        for (selector, signature, _) in METHODS {
            assert_eq!(selector, keccak256(signature)[..4], "{signature}");
        }
    }

    #[test]
    fn tags_behind_the_last_mark() {
        let hash = [7; TAGGED_HASH];
        let coinbase = [b"xRSKBLOCK:".as_slice(), &hash, b"RSKBLOCK:", &hash, b"more"].concat();
        assert_eq!(merged_mining_tags(&coinbase).unwrap(), b"more");
        assert_eq!(merged_mining_tags(b"none").unwrap(), b"");
        assert!(merged_mining_tags(b"RSKBLOCK:short").is_err());
    }
}
