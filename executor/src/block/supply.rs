//! The supply never rises: an assertion about our own code, checked after every block.
//!
//! It falls where coins are destroyed (a contract that pays itself as it dies, an account that is written anew). rskj has no
//! such rule, so a breach stops the node and is never the verdict "invalid block".

use rhizome_primitives::U256;
use rhizome_primitives::account::AccountState;

use crate::Fault;
use crate::state::{Location, WorldState};

/// Sums the balances of all changed accounts before and after.
pub(super) fn check(block: u64, state: &mut WorldState) -> Result<(), Fault> {
    let (mut before, mut after) = (U256::ZERO, U256::ZERO);
    for location in state.changed_accounts() {
        before = sum(block, before, balance_before(state, location)?)?;
        after = sum(block, after, state.balance(location)?)?;
    }
    if after > before {
        return Err(Fault::Internal(format!("block {block} would raise the supply by {} wei", after - before)));
    }
    Ok(())
}

fn sum(block: u64, total: U256, balance: U256) -> Result<U256, Fault> {
    total.checked_add(balance).ok_or_else(|| Fault::Internal(format!("balances of block {block} pass 2^256")))
}

fn balance_before(state: &WorldState, location: Location) -> Result<U256, Fault> {
    let Some(record) = state.parent().get(location.keys().account())? else { return Ok(U256::ZERO) };
    let record = AccountState::decode(&record)
        .map_err(|_| Fault::CorruptState { what: "record", account: location.to_string() })?;
    Ok(record.balance)
}
