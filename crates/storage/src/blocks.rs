//! Blocks, their receipts, and the indexes over them.
//!
//! Every executed block is kept, siblings included, each with its state root and total difficulty. Which of them are the main
//! chain is one small table (number to hash) and the head pointer; a reorganisation rewrites those and nothing else.
//! Invariants, checked at start by [`crate::invariants`]: the head has a record, a header, a body and receipts; each main
//! block's parent is the main block below it; no height above the head has a main block.

use std::sync::Arc;

use rhizome_primitives::{B256, Block, Bloom, Bytes, HeaderRules};

use crate::error::{Result, StorageError};
use crate::kv::{Column, KvStore, WriteBatch};
use crate::record::{self, BlockRecord};

/// How many blocks share one entry of the log index.
pub const BLOOM_GROUP: u64 = 16;

const HEAD: &[u8] = b"head";

/// An executed block on its way into the store.
#[derive(Debug)]
pub struct ExecutedBlock<'a> {
    /// Number, hash, state root, total difficulty.
    pub record: BlockRecord,
    /// The block's encoding, as rskj would write it.
    pub encoding: &'a [u8],
    /// The hashes of its transactions, in order.
    pub transactions: &'a [B256],
    /// The encodings of its receipts, in order.
    pub receipts: &'a [Vec<u8>],
    /// The union of its receipts' blooms.
    pub logs_bloom: Bloom,
}

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPlace {
    /// The block that contains it.
    pub block: B256,
    /// Its position there.
    pub index: u32,
}

/// One block of a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeightEntry {
    /// The block.
    pub record: BlockRecord,
    /// Whether it is on the main chain.
    pub main: bool,
}

/// Blocks and their indexes over a key/value engine.
#[derive(Clone, Debug)]
pub struct BlockStore {
    kv: Arc<dyn KvStore>,
}

impl BlockStore {
    /// A store over an engine.
    pub fn new(kv: Arc<dyn KvStore>) -> Self {
        Self { kv }
    }

    /// The best block; `None` before the genesis block was written.
    ///
    /// # Errors
    /// When the engine fails or the pointer's target has no record.
    pub fn head(&self) -> Result<Option<BlockRecord>> {
        let Some(hash) = self.kv.get(Column::Meta, HEAD)? else { return Ok(None) };
        let hash = hash_of(&hash, "head pointer")?;
        let record = self.record(&hash)?;
        record.map(Some).ok_or_else(|| StorageError::corrupt(format!("head block {hash} has no record")))
    }

    /// What is known of a block.
    ///
    /// # Errors
    /// When the engine fails or the record is damaged.
    pub fn record(&self, hash: &B256) -> Result<Option<BlockRecord>> {
        let bytes = self.kv.get(Column::Records, hash.as_slice())?;
        bytes.map(|bytes| BlockRecord::decode(*hash, &bytes)).transpose()
    }

    /// Whether a block was executed and kept.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn contains(&self, hash: &B256) -> Result<bool> {
        Ok(self.kv.get(Column::Records, hash.as_slice())?.is_some())
    }

    /// A header's full encoding.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn header(&self, hash: &B256) -> Result<Option<Bytes>> {
        self.kv.get(Column::Headers, hash.as_slice())
    }

    /// A block's encoding.
    ///
    /// # Errors
    /// When the engine fails or a header has no body.
    pub fn block(&self, hash: &B256) -> Result<Option<Vec<u8>>> {
        let Some(header) = self.header(hash)? else { return Ok(None) };
        let body = self.kv.get(Column::Bodies, hash.as_slice())?;
        let body = body.ok_or_else(|| StorageError::corrupt(format!("block {hash} has a header and no body")))?;
        Ok(Some(record::join_block(&header, &body)))
    }

    /// The encodings of a block's receipts, in order.
    ///
    /// # Errors
    /// When the engine fails or the list is damaged.
    pub fn receipts(&self, hash: &B256) -> Result<Option<Vec<Bytes>>> {
        let Some(list) = self.kv.get(Column::Receipts, hash.as_slice())? else { return Ok(None) };
        let items =
            record::split_list(&list).ok_or_else(|| StorageError::corrupt(format!("receipts of block {hash}")))?;
        Ok(Some(items.into_iter().map(|item| list.slice_ref(item)).collect()))
    }

    /// The main chain's block at a height.
    ///
    /// # Errors
    /// When the engine fails or the entry is damaged.
    pub fn canonical_hash(&self, number: u64) -> Result<Option<B256>> {
        let hash = self.kv.get(Column::Canonical, &number.to_be_bytes())?;
        hash.map(|hash| hash_of(&hash, "main chain entry")).transpose()
    }

    /// Every block of a height, ordered by hash.
    ///
    /// # Errors
    /// When the engine fails or a record is missing.
    pub fn at_height(&self, number: u64) -> Result<Vec<HeightEntry>> {
        let main = self.canonical_hash(number)?;
        let prefix = number.to_be_bytes();
        let keys = self.kv.range(Column::Heights, &prefix, record::end_of_prefix(&prefix).as_deref(), usize::MAX)?;
        keys.iter()
            .map(|(key, _)| {
                let hash = hash_of(key.get(8..).unwrap_or_default(), "height entry")?;
                let record = self.record(&hash)?;
                let record = record
                    .ok_or_else(|| StorageError::corrupt(format!("block {hash} is indexed and has no record")))?;
                Ok(HeightEntry { record, main: main == Some(hash) })
            })
            .collect()
    }

    /// Every block that contains a transaction.
    ///
    /// # Errors
    /// When the engine fails or an entry is damaged.
    pub fn transaction_places(&self, transaction: &B256) -> Result<Vec<TransactionPlace>> {
        let prefix = transaction.as_slice();
        let found =
            self.kv.range(Column::Transactions, prefix, record::end_of_prefix(prefix).as_deref(), usize::MAX)?;
        found
            .iter()
            .map(|(key, value)| {
                let block = hash_of(key.get(32..).unwrap_or_default(), "transaction entry")?;
                let index = u32::try_from(record::u64_of(value)).unwrap_or(u32::MAX);
                Ok(TransactionPlace { block, index })
            })
            .collect()
    }

    /// Where a transaction stands on the main chain.
    ///
    /// # Errors
    /// When the engine fails or an entry is damaged.
    pub fn transaction(&self, transaction: &B256) -> Result<Option<TransactionPlace>> {
        for place in self.transaction_places(transaction)? {
            let record = self.record(&place.block)?;
            if let Some(record) = record
                && self.canonical_hash(record.number)? == Some(place.block)
            {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// The log bloom over the group of [`BLOOM_GROUP`] heights that a height belongs to.
    ///
    /// It covers every block seen at those heights, so a reorganisation never makes it wrong: it can name a group in vain, it
    /// never misses one.
    ///
    /// # Errors
    /// When the engine fails or the entry is damaged.
    pub fn group_bloom(&self, number: u64) -> Result<Bloom> {
        let bytes = self.kv.get(Column::Blooms, &(number / BLOOM_GROUP).to_be_bytes())?;
        let Some(bytes) = bytes else { return Ok(Bloom::ZERO) };
        Bloom::try_from(&bytes[..]).map_err(|_| StorageError::corrupt(format!("log index of block {number}")))
    }

    /// Adds an executed block with its indexes to a batch. It is on no chain yet.
    ///
    /// # Errors
    /// When the engine fails, or the encoding is not one of a block.
    pub fn add(&self, batch: &mut WriteBatch, block: &ExecutedBlock<'_>) -> Result<()> {
        let hash = block.record.hash;
        let (header, body) = record::split_block(block.encoding)
            .ok_or_else(|| StorageError::corrupt(format!("block {hash} has an encoding that is none")))?;
        batch.put(Column::Headers, hash.as_slice(), header.to_vec());
        batch.put(Column::Bodies, hash.as_slice(), body.to_vec());
        batch.put(Column::Receipts, hash.as_slice(), record::join_list(block.receipts.iter().map(Vec::as_slice)));
        batch.put(Column::Records, hash.as_slice(), block.record.encode());
        batch.put(Column::Heights, record::height_key(block.record.number, &hash), Bytes::new());
        for (index, transaction) in block.transactions.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            batch.put(Column::Transactions, record::transaction_key(transaction, &hash), index.to_be_bytes().to_vec());
        }
        if block.logs_bloom != Bloom::ZERO {
            let group = self.group_bloom(block.record.number)? | block.logs_bloom;
            batch.put(Column::Blooms, (block.record.number / BLOOM_GROUP).to_be_bytes(), group.to_vec());
        }
        Ok(())
    }

    /// Adds the move of the head to a batch. `adopted` are the blocks that become main, `retracted` those that were and no
    /// longer are.
    pub fn set_head(&self, batch: &mut WriteBatch, head: &B256, adopted: &[(u64, B256)], retracted: &[(u64, B256)]) {
        for (number, _) in retracted {
            batch.delete(Column::Canonical, number.to_be_bytes());
        }
        for (number, hash) in adopted {
            batch.put(Column::Canonical, number.to_be_bytes(), hash.to_vec());
        }
        batch.put(Column::Meta, HEAD, head.to_vec());
    }

    /// Applies a batch.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn write(&self, batch: WriteBatch) -> Result<()> {
        self.kv.write(batch)
    }

    /// Whether one part of a block is there.
    pub(crate) fn has(&self, column: Column, hash: &B256) -> Result<bool> {
        Ok(self.kv.get(column, hash.as_slice())?.is_some())
    }

    /// The highest height that has a block, when it is at or above `from`.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn highest(&self, from: u64) -> Result<Option<u64>> {
        let mut next = from;
        let mut highest = None;
        loop {
            let page = self.kv.range(Column::Heights, &next.to_be_bytes(), None, 1024)?;
            let Some((key, _)) = page.last() else { return Ok(highest) };
            let number = record::u64_of(key);
            highest = Some(number);
            let Some(after) = number.checked_add(1) else { return Ok(highest) };
            next = after;
        }
    }

    /// The hashes of a block's transactions. A damaged block has none: what is left of it in the index leads to a block that is
    /// not there, which look-ups pass over.
    fn transactions_of(&self, hash: &B256, rules: &dyn HeaderRules) -> Result<Vec<B256>> {
        let encoded = match self.block(hash) {
            Err(StorageError::Corrupt { .. }) | Ok(None) => return Ok(Vec::new()),
            Ok(Some(encoded)) => encoded,
            Err(fault) => return Err(fault),
        };
        let block = Block::decode(&encoded, rules).ok();
        Ok(block
            .map_or_else(Vec::new, |block| block.transactions.iter().map(|transaction| transaction.hash()).collect()))
    }

    /// Adds the removal of every block of a height to a batch.
    pub(crate) fn remove_height(&self, batch: &mut WriteBatch, number: u64, rules: &dyn HeaderRules) -> Result<()> {
        let prefix = number.to_be_bytes();
        for (key, _) in
            self.kv.range(Column::Heights, &prefix, record::end_of_prefix(&prefix).as_deref(), usize::MAX)?
        {
            let hash = hash_of(key.get(8..).unwrap_or_default(), "height entry")?;
            for transaction in self.transactions_of(&hash, rules)? {
                batch.delete(Column::Transactions, record::transaction_key(&transaction, &hash));
            }
            for column in [Column::Headers, Column::Bodies, Column::Receipts, Column::Records] {
                batch.delete(column, hash.as_slice());
            }
            batch.delete(Column::Heights, key);
        }
        batch.delete(Column::Canonical, prefix);
        Ok(())
    }
}

fn hash_of(bytes: &[u8], what: &str) -> Result<B256> {
    B256::try_from(bytes).map_err(|_| StorageError::corrupt(format!("{what} has {} bytes", bytes.len())))
}
