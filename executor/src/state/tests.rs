//! Undo, deletion, conflicts and merging of the state.

use rhizome_primitives::{B256, Bytes, KECCAK_EMPTY};
use rhizome_trie::MemoryTrieStore;

use super::*;

const A: Address = Address::repeat_byte(0xaa);
const B: Address = Address::repeat_byte(0xbb);

fn empty() -> WorldState {
    WorldState::new(Trie::empty(Arc::new(MemoryTrieStore::default())), Arc::default())
}

/// The same state after its changes went through the trie.
fn settled(state: &WorldState) -> WorldState {
    WorldState::new(state.parent().apply(&state.changes()).unwrap(), Arc::default())
}

fn word(value: u64) -> U256 {
    U256::from(value)
}

#[test]
fn a_revert_leaves_nothing_but_accesses() {
    let mut state = empty();
    state.add_balance(A, word(5)).unwrap();
    state.set_storage(A, word(1), word(7)).unwrap();
    let before = state.changes();
    let outer = state.checkpoint();
    state.sub_balance(A, word(3)).unwrap();
    let inner = state.checkpoint();
    state.set_storage(A, word(1), U256::ZERO).unwrap();
    state.set_storage(B, word(2), word(9)).unwrap();
    state.save_code(B, Bytes::from_static(&[1, 2])).unwrap();
    state.set_transient(A, word(1), word(1));
    state.delete(A);
    state.add_balance(A, word(1)).unwrap();
    state.commit(inner);
    state.revert(outer);
    assert_eq!(state.changes(), before);
    assert_eq!(state.transient(A, word(1)), U256::ZERO);
    assert_eq!(state.balance(A).unwrap(), word(5));
    assert_eq!(state.storage(A, word(1)).unwrap(), &CellValue::Word(word(7)));
    assert!(!state.exists(B).unwrap() && !state.is_contract(B).unwrap());
    let written = state.accesses().writes;
    for key in [AccessedKey::Record, AccessedKey::Code, AccessedKey::Marker, AccessedKey::Cell(word(2))] {
        assert!(written.contains(&(Location::Account(B), key)), "{key:?}");
    }
}

#[test]
fn a_deleted_account_comes_back_without_its_past() {
    let mut state = empty();
    state.add_balance(A, word(5)).unwrap();
    state.set_storage(A, word(1), word(7)).unwrap();
    state.save_code(A, Bytes::from_static(&[1])).unwrap();
    let mut state = settled(&state);
    assert_eq!(state.balance(A).unwrap(), word(5));
    state.delete(A);
    assert!(!state.exists(A).unwrap());
    assert!(state.code(A).unwrap().is_none());
    assert!(state.storage(A, word(1)).unwrap().is_absent());
    state.set_storage(A, word(2), word(8)).unwrap();
    let mut state = settled(&state);
    assert_eq!(state.balance(A).unwrap(), U256::ZERO);
    assert!(state.storage(A, word(1)).unwrap().is_absent());
    assert_eq!(state.storage(A, word(2)).unwrap(), &CellValue::Word(word(8)));
    assert!(state.code(A).unwrap().is_none());
}

#[test]
fn balances_go_below_zero_and_come_back() {
    let mut state = empty();
    state.add_balance(A, word(5)).unwrap();
    state.sub_balance(A, word(7)).unwrap();
    assert!(!state.covers(A, U256::ZERO).unwrap());
    let mut state = settled(&state);
    assert_eq!(state.balance(A).unwrap(), U256::ZERO);
    state.sub_balance(A, word(1)).unwrap();
    state.add_balance(A, word(3)).unwrap();
    assert!(state.covers(A, U256::ZERO).unwrap());
    state.add_balance(A, word(4)).unwrap();
    assert_eq!(state.balance(A).unwrap(), word(4));
    assert!(state.covers(A, word(4)).unwrap() && !state.covers(A, word(5)).unwrap());
}

#[test]
fn empty_code_has_a_hash_until_its_block_ends() {
    let mut state = empty();
    state.create_account(A, false).unwrap();
    state.setup_contract(A);
    assert_eq!(state.code_hash(A, false).unwrap(), B256::ZERO);
    let checkpoint = state.checkpoint();
    state.save_code(A, Bytes::new()).unwrap();
    assert_eq!(state.code_hash(A, false).unwrap(), KECCAK_EMPTY);
    state.revert(checkpoint);
    assert_eq!(state.code_hash(A, false).unwrap(), B256::ZERO);
    state.save_code(A, Bytes::new()).unwrap();
    assert!(state.code(A).unwrap().is_none() && state.code_len(A).unwrap() == 0);
    // The lists of a split block, and what comes after them, are in the same block.
    let mut child = state.child();
    assert_eq!(child.code_hash(A, false).unwrap(), KECCAK_EMPTY);
    child.save_code(B, Bytes::new()).unwrap();
    child.create_account(B, false).unwrap();
    child.setup_contract(B);
    state.merge(child);
    assert_eq!(state.code_hash(B, false).unwrap(), KECCAK_EMPTY);
    let mut state = settled(&state);
    for address in [A, B] {
        assert_eq!(state.code_hash(address, false).unwrap(), B256::ZERO);
        assert_eq!(state.code_hash(address, true).unwrap(), KECCAK_EMPTY);
    }
}

#[test]
fn raw_cells_keep_their_bytes() {
    let mut state = empty();
    let key = B256::with_last_byte(1);
    for bytes in [&[0u8][..], &[0xc0], &[7; 40], &[0, 0, 1]] {
        state.set_cell(A, &key, Some(Bytes::copy_from_slice(bytes))).unwrap();
        let stored = Some(Bytes::copy_from_slice(bytes));
        assert_eq!(state.cell(A, &key).unwrap(), stored);
        assert_eq!(settled(&state).cell(A, &key).unwrap(), stored);
    }
    state.set_cell(A, &key, Some(Bytes::new())).unwrap();
    assert_eq!(settled(&state).cell(A, &key).unwrap(), None);
}

#[test]
fn lists_conflict_over_keys_and_not_over_accounts() {
    let mut base = empty();
    base.add_balance(A, word(50)).unwrap();
    base.set_storage(B, word(1), word(1)).unwrap();
    let mut base = settled(&base);
    base.clear_accesses();
    let child = || {
        let mut child = base.child();
        child.add_balance(Address::repeat_byte(1), word(1)).unwrap();
        child
    };
    let mut reader = base.child();
    reader.storage(B, word(1)).unwrap();
    let mut other_cell = base.child();
    other_cell.set_storage(B, word(2), word(2)).unwrap();
    // Both read B's record, which stands in nobody's way.
    assert_eq!(reader.conflict_with(&other_cell), None);
    let mut same_cell = base.child();
    same_cell.set_storage(B, word(1), word(2)).unwrap();
    let conflict = AccessConflict { location: B.into(), key: AccessedKey::Cell(word(1)), both_wrote: false };
    assert_eq!(reader.conflict_with(&same_cell), Some(conflict));
    assert_eq!(same_cell.conflict_with(&reader), Some(conflict));
    let both = child().conflict_with(&child()).unwrap();
    assert!(both.both_wrote && both.key == AccessedKey::Record);
    let mut touched = base.child();
    let checkpoint = touched.checkpoint();
    touched.set_storage(B, word(1), word(3)).unwrap();
    touched.revert(checkpoint);
    assert!(reader.conflict_with(&touched).is_some());
}

#[test]
fn merged_children_are_one_after_the_other() {
    let mut base = empty();
    base.add_balance(A, word(5)).unwrap();
    base.set_storage(A, word(1), word(7)).unwrap();
    let mut first = base.child();
    first.delete(A);
    first.note_destroyed(A);
    first.add_balance(B, word(1)).unwrap();
    let mut second = base.child();
    second.set_storage(B, word(3), word(3)).unwrap();
    assert!(!second.was_destroyed(&A));
    base.merge(first);
    base.merge(second);
    assert!(base.was_destroyed(&A));
    let mut state = settled(&base);
    assert!(!state.exists(A).unwrap());
    assert!(state.storage(A, word(1)).unwrap().is_absent());
    assert_eq!(state.storage(B, word(3)).unwrap(), &CellValue::Word(word(3)));
}
