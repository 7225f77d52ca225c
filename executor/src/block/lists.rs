//! The transactions of a block in one list, or in the lists that its header splits them into (RSKIP-144, rskj `BlockExecutor`,
//! `TransactionListExecutor`).
//!
//! Each list has its own gas limit, its own running total of gas, and its own set of destroyed contracts. The parallel lists
//! see the parent's state and nothing of each other; the sequential one comes after their merge.

use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::{Address, AncestorProvider, REMASC_ADDRESS, Receipt, RecoveredBlock, U256};

use super::error::ExecutionError;
use super::{violation, violation_at};
use crate::Fault;
use crate::evm::BlockEnv;
use crate::precompiles::{Precompile, RskPrecompiles};
use crate::state::WorldState;
use crate::tx::{FeePayment, Inadmissible, TransactionExecutor, TxError};

/// What the lists of a block run on.
pub(super) struct Run<'a> {
    pub(super) block: &'a RecoveredBlock,
    pub(super) env: &'a BlockEnv,
    pub(super) spec: &'a ChainSpec,
    pub(super) precompiles: &'a RskPrecompiles,
    pub(super) ancestors: &'a dyn AncestorProvider,
}

/// All lists of a block, done.
pub(super) struct Done {
    pub(super) state: WorldState,
    pub(super) receipts: Vec<Receipt>,
    pub(super) gas_used: u64,
    pub(super) paid_fees: U256,
}

/// One list, done.
struct List {
    state: WorldState,
    receipts: Vec<Receipt>,
    gas_used: u64,
    paid_fees: U256,
}

/// A range of transactions with its rules.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    end: usize,
    gas_limit: u64,
    fees: FeePayment,
    /// Runs beside other lists, where the Bridge and REMASC must not be called.
    parallel: bool,
    /// Fees of earlier lists, which the reward transaction finds on REMASC's account.
    fees_before: U256,
}

impl Run<'_> {
    /// Runs all lists from the state after the bookkeeping of an activation block.
    pub(super) fn execute(&self, state: WorldState) -> Result<Done, ExecutionError> {
        let count = self.block.block.transactions.len();
        if !(self.env.activations.is_active(Rskip::R144) && self.env.activations.is_active(Rskip::R351)) {
            let list = self.list(
                state,
                Range {
                    start: 0,
                    end: count,
                    gas_limit: self.env.gas_limit,
                    fees: FeePayment::AtOnce,
                    parallel: false,
                    fees_before: U256::ZERO,
                },
            )?;
            return Ok(Done {
                state: list.state,
                receipts: list.receipts,
                gas_used: list.gas_used,
                paid_fees: list.paid_fees,
            });
        }
        self.split(state, count)
    }

    fn split(&self, mut state: WorldState, count: usize) -> Result<Done, ExecutionError> {
        state.clear_accesses();
        let limits = self.spec.sublist_gas_limits(self.env.gas_limit);
        let mut lists = Vec::new();
        let mut start = 0;
        for end in self.edges(count)? {
            let range = Range {
                start,
                end,
                gas_limit: limits.parallel,
                fees: FeePayment::Postponed,
                parallel: true,
                fees_before: U256::ZERO,
            };
            lists.push(self.list(state.child(), range)?);
            start = end;
        }
        self.check_conflicts(&lists)?;

        let (mut receipts, mut gas_used, mut paid_fees) = (Vec::with_capacity(count), 0u64, U256::ZERO);
        for list in lists {
            state.merge(list.state);
            receipts.extend(list.receipts);
            gas_used = gas_used.saturating_add(list.gas_used);
            paid_fees = paid_fees.saturating_add(list.paid_fees);
        }
        let range = Range {
            start,
            end: count,
            gas_limit: limits.sequential,
            fees: FeePayment::Postponed,
            parallel: false,
            fees_before: paid_fees,
        };
        let list = self.list(state, range)?;
        receipts.extend(list.receipts);
        Ok(Done {
            state: list.state,
            receipts,
            gas_used: gas_used.saturating_add(list.gas_used),
            paid_fees: paid_fees.saturating_add(list.paid_fees),
        })
    }

    /// Where the parallel lists end. The header's rule was checked before; here it keeps the ranges inside the block.
    fn edges(&self, count: usize) -> Result<Vec<usize>, ExecutionError> {
        let header = &self.block.block.header;
        let mut ends = Vec::new();
        for &edge in header.edges().unwrap_or_default() {
            let last = ends.last().copied().unwrap_or(0);
            match usize::try_from(edge).ok().filter(|&end| end > last && end < count) {
                Some(end) => ends.push(end),
                None => {
                    let expected = format!("ascending edges below {count}");
                    let got = format!("{:?}", header.edges().unwrap_or_default());
                    return Err(violation(header, "ValidTxExecutionSublistsEdgesRule", expected, got).into());
                }
            }
        }
        Ok(ends)
    }

    fn check_conflicts(&self, lists: &[List]) -> Result<(), ExecutionError> {
        for (index, list) in lists.iter().enumerate() {
            for other in &lists[index + 1..] {
                if let Some(conflict) = list.state.conflict_with(&other.state) {
                    return Err(violation(
                        &self.block.block.header,
                        "ReadWrittenKeysTracker",
                        "lists that share no written key".to_owned(),
                        format!("{conflict:?}"),
                    )
                    .into());
                }
            }
        }
        Ok(())
    }

    fn list(&self, state: WorldState, range: Range) -> Result<List, ExecutionError> {
        let block = &self.block.block;
        let mut executor =
            TransactionExecutor::new(state, self.env, self.precompiles, self.ancestors, range.gas_limit, range.fees);
        let mut receipts = Vec::with_capacity(range.end - range.start);
        let mut paid_fees = U256::ZERO;
        for index in range.start..range.end {
            let transaction = &block.transactions[index];
            let sender = *self.block.senders.get(index).ok_or_else(|| {
                Fault::Internal(format!("block {} has no sender for transaction {index}", block.number()))
            })?;
            let is_remasc = block.is_remasc(index);
            let postponed = range.fees_before.saturating_add(paid_fees);
            if is_remasc && range.fees == FeePayment::Postponed && !postponed.is_zero() {
                executor.state_mut().add_balance(REMASC_ADDRESS, postponed)?;
            }
            let outcome =
                executor.execute(transaction, sender, index as u32).map_err(|error| self.refuse(index, error))?;
            if range.parallel {
                self.check_calls(index, &outcome.precompiles_called)?;
            }
            paid_fees = paid_fees.saturating_add(outcome.paid_fee);
            receipts.push(Receipt::new(outcome.success, outcome.cumulative_gas, outcome.gas_used, outcome.logs));
        }
        let gas_used = executor.gas_used();
        Ok(List { state: executor.into_state(), receipts, gas_used, paid_fees })
    }

    /// The Bridge and REMASC may only be called in the sequential list.
    fn check_calls(&self, index: usize, called: &[Address]) -> Result<(), ExecutionError> {
        let sequential_only =
            |address: &&_| Precompile::at(address, self.env.activations).is_some_and(Precompile::is_sequential_only);
        match called.iter().find(sequential_only) {
            None => Ok(()),
            Some(address) => Err(violation_at(
                &self.block.block,
                index,
                "TransactionListExecutor",
                "no call of the Bridge or REMASC in a parallel list".to_owned(),
                format!("a call of {address}"),
            )
            .into()),
        }
    }

    fn refuse(&self, index: usize, error: TxError) -> ExecutionError {
        match error {
            TxError::Fault(fault) => fault.into(),
            other => violation_at(
                &self.block.block,
                index,
                rule_of(&other),
                "a transaction that may be in the block".to_owned(),
                other.to_string(),
            )
            .into(),
        }
    }
}

/// The rule that refuses a transaction: nonces have a rule of their own in rskj, the rest is the executor's.
fn rule_of(error: &TxError) -> &'static str {
    match error {
        TxError::Inadmissible(Inadmissible::Nonce { .. }) => "BlockTxsValidationRule",
        _ => "TransactionExecutor",
    }
}
