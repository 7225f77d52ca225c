//! Blocks (`org.ethereum.core.Block`, `BlockFactory.decodeBlock`).
//!
//! A block is `RLP[header, transactions, uncle headers]`. rskj also compares the transactions root while it builds the object;
//! here that is a rule of the consensus crate, which knows the trie.

use crate::coin::Difficulty;
use crate::error::DecodeError;
use crate::header::{self, BlockHeader, HeaderRules};
use crate::rlp;
use crate::transaction::Transaction;
use crate::{Address, B256, Bytes};

/// A block with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The header.
    pub header: BlockHeader,
    /// Transactions in order; the last is the REMASC transaction.
    pub transactions: Vec<Transaction>,
    /// Full headers of the uncles.
    pub uncles: Vec<BlockHeader>,
}

impl Block {
    /// Reads a block, which must be all of the bytes.
    ///
    /// # Errors
    /// Whenever rskj refuses the bytes for another reason than the transactions root.
    pub fn decode(encoded: &[u8], rules: &(impl HeaderRules + ?Sized)) -> Result<Self, DecodeError> {
        Self::decode_bytes(&Bytes::copy_from_slice(encoded), rules)
    }

    /// Reads a block whose transactions share the given bytes.
    ///
    /// # Errors
    /// Whenever rskj refuses the bytes for another reason than the transactions root.
    pub fn decode_bytes(encoded: &Bytes, rules: &(impl HeaderRules + ?Sized)) -> Result<Self, DecodeError> {
        let [header, transactions, uncles] = rlp::decode_list(encoded)?
            .exactly::<3>()?
            .map_err(|got| DecodeError::ElementCount { what: "block", expected: "3".into(), got })?;
        Ok(Self {
            header: decode_header(header, rules)?,
            transactions: decode_transactions(encoded, transactions)?,
            uncles: decode_uncles(uncles, rules)?,
        })
    }

    /// Reads a body, `RLP[transactions, uncle headers]`, and joins it with its header. The lists may be followed by more
    /// elements, which are for the caller.
    ///
    /// # Errors
    /// When a list or one of its elements is broken.
    pub fn decode_body(
        header: BlockHeader,
        encoded: &Bytes,
        transactions: rlp::Item<'_>,
        uncles: rlp::Item<'_>,
        rules: &(impl HeaderRules + ?Sized),
    ) -> Result<Self, DecodeError> {
        let transactions = decode_transactions(encoded, transactions)?;
        Ok(Self { header, transactions, uncles: decode_uncles(uncles, rules)? })
    }

    /// The whole block.
    pub fn encode(&self) -> Vec<u8> {
        let size: usize = self.transactions.iter().map(|transaction| transaction.encoded().len() + 4).sum();
        let mut out = Vec::with_capacity(size + 1024 * (2 + self.uncles.len()));
        rlp::put_list(&mut out, |out| {
            self.header.put_full(out);
            rlp::put_list(out, |out| {
                self.transactions.iter().for_each(|transaction| out.extend_from_slice(transaction.encoded()));
            });
            rlp::put_list(out, |out| self.uncles.iter().for_each(|uncle| uncle.put_full(out)));
        });
        out
    }

    /// The hash of the header.
    pub fn hash(&self) -> B256 {
        self.header.hash()
    }

    /// The height.
    pub fn number(&self) -> u64 {
        self.header.number
    }

    /// The hash over the uncles, which the header must name.
    pub fn uncles_hash(&self) -> B256 {
        header::uncles_hash(&self.uncles)
    }

    /// The block's own difficulty and that of its uncles (`getCumulativeDifficulty`).
    pub fn cumulative_difficulty(&self) -> Difficulty {
        let uncles = self.uncles.iter().map(|uncle| uncle.difficulty());
        uncles.fold(self.header.difficulty(), Difficulty::saturating_add)
    }

    /// True when the transaction at this place is the REMASC transaction.
    pub fn is_remasc(&self, index: usize) -> bool {
        self.transactions.get(index).is_some_and(|transaction| transaction.is_remasc(index, self.transactions.len()))
    }
}

fn decode_header(item: rlp::Item<'_>, rules: &(impl HeaderRules + ?Sized)) -> Result<BlockHeader, DecodeError> {
    item.list()?;
    BlockHeader::decode(item.data(), rules)
}

/// A transaction may be wrapped into a byte string.
fn decode_transactions(owner: &Bytes, list: rlp::Item<'_>) -> Result<Vec<Transaction>, DecodeError> {
    let items = list.list()?.collect_all()?;
    items.iter().map(|item| Transaction::decode_within(owner, item.data())).collect()
}

fn decode_uncles(list: rlp::Item<'_>, rules: &(impl HeaderRules + ?Sized)) -> Result<Vec<BlockHeader>, DecodeError> {
    let items = list.list()?.collect_all()?;
    items.iter().map(|item| decode_header(*item, rules)).collect()
}

/// Who sends a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sender {
    /// An account with a key.
    Account(Address),
    /// The pseudo-account of the REMASC transaction, whose address is one zero byte (`RemascTransaction.REMASC_ADDRESS`).
    Remasc,
}

impl Sender {
    /// The bytes of the address, as they go into state keys.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Account(address) => address.as_slice(),
            Self::Remasc => &[0],
        }
    }

    /// The address as the EVM sees it: twenty zero bytes for the REMASC transaction.
    pub const fn address(&self) -> Address {
        match self {
            Self::Account(address) => *address,
            Self::Remasc => Address::ZERO,
        }
    }
}

/// A block with the senders of its transactions, in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredBlock {
    /// The block.
    pub block: Block,
    /// One sender for each transaction.
    pub senders: Vec<Sender>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::header::{HeaderFields, HeaderLayout};
    use crate::transaction::remasc_transaction;

    fn block(layout: HeaderLayout) -> Block {
        let uncle = BlockHeader::new(HeaderFields::new(6, layout));
        let mut fields = HeaderFields::new(7, layout);
        fields.difficulty = Some(Difficulty::from(128));
        fields.uncle_count = 1;
        Block { header: fields.into(), transactions: vec![remasc_transaction(7)], uncles: vec![uncle] }
    }

    #[test]
    fn blocks_survive() {
        for layout in
            [HeaderLayout::default(), HeaderLayout { umm: true, rskip144: true, rskip351: true, ..Default::default() }]
        {
            let block = block(layout);
            let encoded = block.encode();
            let decoded = Block::decode(&encoded, &layout).unwrap();
            assert_eq!(decoded, block);
            assert_eq!(decoded.encode(), encoded);
            assert!(decoded.is_remasc(0));
            assert_eq!(decoded.cumulative_difficulty(), Difficulty::from(128));
            assert!(Block::decode(&[&encoded[..], &[0x80]].concat(), &layout).is_err());
        }
    }

    #[test]
    fn wrapped_transactions_are_unwrapped() {
        let layout = HeaderLayout::default();
        let block = block(layout);
        let mut encoded = Vec::new();
        rlp::put_list(&mut encoded, |out| {
            block.header.put_full(out);
            rlp::put_list(out, |out| rlp::put_bytes(out, block.transactions[0].encoded()));
            rlp::put_list(out, |out| block.uncles[0].put_full(out));
        });
        assert_eq!(Block::decode(&encoded, &layout), Ok(block));
    }

    proptest! {
        #[test]
        fn damaged_blocks(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let layout = HeaderLayout::default();
            let mut encoded = block(layout).encode();
            let place = place.index(encoded.len());
            encoded[place] = byte;
            if let Ok(block) = Block::decode(&encoded, &layout) {
                // What is accepted has a normal form.
                prop_assert_eq!(Block::decode(&block.encode(), &layout), Ok(block));
            }
        }
    }
}
