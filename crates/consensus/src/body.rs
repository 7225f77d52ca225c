//! Rules about what is in a block.

use rhizome_chainspec::constants::{MAX_EXTRA_DATA_SIZE, TRANSACTION_EXECUTION_THREADS};
use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::{B256, Block, BlockHeader, EMPTY_LIST_HASH, Transaction};

use crate::error::RuleError;
use crate::rule::{BlockRule, ParentRule, Rule};

/// The root over a block's transactions: of the unitrie since RSKIP126, of the old trie form before it
/// (`BlockHashesHelper.getTxTrieRoot`).
pub fn transactions_root(transactions: &[Transaction], rskip126: bool) -> B256 {
    rhizome_trie::ordered_root(transactions.iter().map(|transaction| transaction.encoded().as_ref()), !rskip126)
}

/// The header's root is the one over the transactions. In rskj a block with another one does not even decode.
#[derive(Clone, Copy, Debug)]
pub struct BlockRootValidationRule<'a> {
    /// The network.
    pub spec: &'a ChainSpec,
}

impl Rule for BlockRootValidationRule<'_> {
    const NAME: &'static str = "BlockRootValidationRule";
}

impl BlockRule for BlockRootValidationRule<'_> {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        let root = transactions_root(&block.transactions, self.spec.is_active(Rskip::R126, block.number()));
        if root == block.header.transactions_root {
            return Ok(());
        }
        Err(RuleError::broken(root, block.header.transactions_root))
    }
}

/// The header's hash is the one over the uncles.
#[derive(Clone, Copy, Debug)]
pub struct BlockUnclesHashValidationRule;

impl Rule for BlockUnclesHashValidationRule {
    const NAME: &'static str = "BlockUnclesHashValidationRule";
}

impl BlockRule for BlockUnclesHashValidationRule {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        let hash = if block.uncles.is_empty() { EMPTY_LIST_HASH } else { block.uncles_hash() };
        if hash == block.header.uncles_hash {
            return Ok(());
        }
        Err(RuleError::broken(hash, block.header.uncles_hash))
    }
}

/// The last transaction is REMASC's.
#[derive(Clone, Copy, Debug)]
pub struct RemascValidationRule;

impl Rule for RemascValidationRule {
    const NAME: &'static str = "RemascValidationRule";
}

impl BlockRule for RemascValidationRule {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        match block.transactions.len().checked_sub(1) {
            Some(last) if block.is_remasc(last) => Ok(()),
            Some(last) => Err(RuleError::broken("the REMASC transaction at the end", block.transactions[last].hash())),
            None => Err(RuleError::broken("the REMASC transaction at the end", "no transactions")),
        }
    }
}

/// No field of a transaction is longer than a word.
///
/// rskj also recovers the sender here; that is done apart, in parallel, and a transaction without a sender is refused there.
#[derive(Clone, Copy, Debug)]
pub struct BlockTxsFieldsValidationRule;

impl Rule for BlockTxsFieldsValidationRule {
    const NAME: &'static str = "BlockTxsFieldsValidationRule";
}

impl BlockRule for BlockTxsFieldsValidationRule {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        let bad = |transaction: &&Transaction| !transaction.has_valid_fields(true);
        match block.transactions.iter().find(bad) {
            None => Ok(()),
            Some(transaction) => Err(RuleError::broken("fields of at most 32 bytes", transaction.hash())),
        }
    }
}

/// Extra data is short.
#[derive(Clone, Copy, Debug)]
pub struct ExtraDataRule;

impl Rule for ExtraDataRule {
    const NAME: &'static str = "ExtraDataRule";
}

impl crate::rule::HeaderRule for ExtraDataRule {
    fn check(&self, header: &BlockHeader) -> Result<(), RuleError> {
        let length = header.extra_data.len();
        if length <= MAX_EXTRA_DATA_SIZE {
            return Ok(());
        }
        Err(RuleError::broken(format_args!("extra data of at most {MAX_EXTRA_DATA_SIZE} bytes"), length))
    }
}

/// The number is the parent's and one.
#[derive(Clone, Copy, Debug)]
pub struct BlockParentNumberRule;

impl Rule for BlockParentNumberRule {
    const NAME: &'static str = "BlockParentNumberRule";
}

impl ParentRule for BlockParentNumberRule {
    fn check(&self, header: &BlockHeader, parent: &BlockHeader) -> Result<(), RuleError> {
        let expected = parent.number.saturating_add(1);
        if header.number == expected { Ok(()) } else { Err(RuleError::broken(expected, header.number)) }
    }
}

/// Where RSKIP144 and RSKIP351 are active, the header's edges divide the transactions into lists (none of them empty) and leave
/// the last transaction, REMASC's, to the sequential list.
#[derive(Clone, Copy, Debug)]
pub struct ValidTxExecutionSublistsEdgesRule<'a> {
    /// The network.
    pub spec: &'a ChainSpec,
}

impl ValidTxExecutionSublistsEdgesRule<'_> {
    /// Whether edges divide a block of this many transactions.
    pub fn accepts(edges: &[i16], transactions: usize) -> bool {
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
            return true;
        };
        edges.len() <= TRANSACTION_EXECUTION_THREADS
            && *first > 0
            && edges.is_sorted_by(|edge, next| edge < next)
            && usize::try_from(*last).is_ok_and(|last| last < transactions)
    }
}

impl Rule for ValidTxExecutionSublistsEdgesRule<'_> {
    const NAME: &'static str = "ValidTxExecutionSublistsEdgesRule";
}

impl BlockRule for ValidTxExecutionSublistsEdgesRule<'_> {
    fn check(&self, block: &Block) -> Result<(), RuleError> {
        let number = block.number();
        if !self.spec.is_active(Rskip::R351, number) || !self.spec.is_active(Rskip::R144, number) {
            return Ok(());
        }
        let transactions = block.transactions.len();
        match block.header.edges() {
            Some(edges) if Self::accepts(edges, transactions) => Ok(()),
            edges => {
                let expected = format_args!(
                    "at most {TRANSACTION_EXECUTION_THREADS} ascending edges from 1 to below {transactions}"
                );
                Err(RuleError::broken(expected, format_args!("{edges:?}")))
            }
        }
    }
}
