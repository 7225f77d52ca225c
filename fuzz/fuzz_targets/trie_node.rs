//! A trie node of any bytes, alone and as the root of a tree: an error or an answer, never a panic.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use rhizome_primitives::{Bytes, keccak256};
use rhizome_trie::codec::NodeView;
use rhizome_trie::{ChangeSet, MemoryTrieStore, Trie, TrieKey, TrieError, TrieStore, orchid};

fuzz_target!(|input: &[u8]| {
    if let Ok(node) = NodeView::parse(input) {
        let _ = node.reencode();
    }
    let _ = orchid::OrchidView::parse(input);

    let root = keccak256(input);
    let store = Arc::new(MemoryTrieStore::default());
    store.put_batch(&[(root, Bytes::copy_from_slice(input))]).expect("memory does not fail");
    let Ok(trie) = Trie::open(root, store) else { return };
    for key in [&[][..], &[0], &[0xff; 32], &root[..]] {
        let _ = trie.get(key);
        let _ = trie.proof(key);
        let mut changes = ChangeSet::builder();
        changes.put(TrieKey::from(key), Some(Bytes::from_static(b"value")));
        if let Ok(changed) = trie.apply(&changes.build()) {
            assert_eq!(changed.get(key).expect("a written key is loaded"), Some(Bytes::from_static(b"value")));
        }
        let mut changes = ChangeSet::builder();
        changes.delete_recursive(TrieKey::from(key));
        let _ = trie.apply(&changes.build());
    }
    let _ = trie.export_lines(|_| Ok::<(), TrieError>(()));
});
