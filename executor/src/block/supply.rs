//! The supply never rises: an assertion about our own code, checked after every block.
//!
//! It falls where coins are destroyed (a contract that pays itself as it dies, an account that is written anew). rskj has no
//! such rule, so a breach stops the node and is never the verdict "invalid block".

use rhizome_primitives::U256;

use crate::Fault;
use crate::state::{Balance, WorldState};

/// Compares the balances of all changed accounts before and after.
pub(super) fn check(block: u64, state: &WorldState) -> Result<(), Fault> {
    // Both sides of "what is owned afterwards was owned before": a debt stands on the other side.
    let (mut before, mut after) = (Sum::default(), Sum::default());
    for change in state.balance_changes() {
        let (old, new) = change?;
        if old != new {
            before.add(old, &mut after);
            after.add(new, &mut before);
        }
    }
    match (before.total, after.total) {
        (Some(before), Some(after)) if after <= before => Ok(()),
        (Some(before), Some(after)) => {
            Err(Fault::Internal(format!("block {block} would raise the supply by {} wei", after - before)))
        }
        _ => Err(Fault::Internal(format!("the balances of block {block} pass 2^256 wei"))),
    }
}

/// A sum that is lost when it passes 256 bits.
struct Sum {
    total: Option<U256>,
}

impl Default for Sum {
    fn default() -> Self {
        Self { total: Some(U256::ZERO) }
    }
}

impl Sum {
    fn add(&mut self, balance: Balance, other_side: &mut Self) {
        let side = if balance.negative { other_side } else { self };
        side.total = side.total.and_then(|total| total.checked_add(balance.amount));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rhizome_primitives::Address;
    use rhizome_trie::{MemoryTrieStore, Trie};

    use super::*;
    use crate::state::CodeCache;

    const RICH: Address = Address::repeat_byte(1);
    const POOR: Address = Address::repeat_byte(2);

    /// A state in which one account owns ten wei.
    fn state() -> WorldState {
        let empty = Trie::empty(Arc::new(MemoryTrieStore::default()));
        let mut state = WorldState::new(empty.clone(), Arc::new(CodeCache::default()));
        state.add_balance(RICH, U256::from(10)).unwrap();
        WorldState::new(empty.apply(&state.changes()).unwrap(), Arc::new(CodeCache::default()))
    }

    #[test]
    fn moving_and_destroying_is_fine() {
        let mut moved = state();
        moved.transfer(RICH, POOR, U256::from(4)).unwrap();
        assert!(check(1, &moved).is_ok());
        let mut owing = state();
        owing.transfer(RICH, POOR, U256::from(14)).unwrap();
        assert!(check(1, &owing).is_ok());
        let mut destroyed = state();
        destroyed.delete(RICH);
        destroyed.add_balance(POOR, U256::from(10)).unwrap();
        assert!(check(1, &destroyed).is_ok());
        let mut overwritten = state();
        overwritten.create_account(RICH, false).unwrap();
        assert!(check(1, &overwritten).is_ok());
    }

    #[test]
    fn coins_from_nothing_are_a_fault() {
        let mut state = state();
        state.add_balance(POOR, U256::from(1)).unwrap();
        assert!(matches!(check(1, &state), Err(Fault::Internal(_))));
    }
}
