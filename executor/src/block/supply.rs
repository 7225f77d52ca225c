//! The supply never rises: an assertion about our own code, checked after every block.
//!
//! It falls where coins are destroyed (a contract that pays itself as it dies, an account that is written anew). rskj has no
//! such rule, so a breach stops the node and is never the verdict "invalid block".

use rhizome_primitives::U256;
use rhizome_primitives::account::AccountState;

use crate::Fault;
use crate::state::{Location, WorldState};

/// Compares the balances of all changed accounts before and after.
pub(super) fn check(block: u64, state: &mut WorldState) -> Result<(), Fault> {
    let (mut given, mut owned) = (U256::ZERO, U256::ZERO);
    for location in state.changed_accounts() {
        // A debt before is something owned now, and the other way round.
        let before = record_before(state, location)?;
        let after = state.account(location)?;
        add(block, if is_debt(&before) { &mut owned } else { &mut given }, before)?;
        add(block, if is_debt(&after) { &mut given } else { &mut owned }, after)?;
    }
    if owned > given {
        return Err(Fault::Internal(format!("block {block} would raise the supply by {} wei", owned - given)));
    }
    Ok(())
}

fn is_debt(record: &Option<AccountState>) -> bool {
    record.as_ref().is_some_and(|record| record.negative)
}

fn add(block: u64, total: &mut U256, record: Option<AccountState>) -> Result<(), Fault> {
    let balance = record.map_or(U256::ZERO, |record| record.balance);
    *total =
        total.checked_add(balance).ok_or_else(|| Fault::Internal(format!("balances of block {block} pass 2^256")))?;
    Ok(())
}

fn record_before(state: &WorldState, location: Location) -> Result<Option<AccountState>, Fault> {
    let Some(record) = state.parent().get(location.keys().account())? else { return Ok(None) };
    let record = AccountState::decode(&record)
        .map_err(|_| Fault::CorruptState { what: "record", account: location.to_string() })?;
    Ok(Some(record))
}
