//! Faults of our own storage stay faults: never a verdict on a block, never lost confirmed blocks, repaired at start.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rhizome_chain::{Chain, ChainError, ChainOptions, FlushPolicy, GenesisBlock, ImportOutcome};
use rhizome_chainspec::ChainSpec;
use rhizome_primitives::{B256, Bytes};
use rhizome_storage::{
    Column, Entry, KvStore, MemoryKv, Result, StartState, StorageError, Stores, TransactionPlace, WriteBatch,
};
use rhizome_tests::chains::{BlockLine, block_lines, chain_folder};
use rhizome_trie::{MemoryTrieStore, StoreError, StoreStats, TrieStore};

/// A node engine whose reads or writes fail on demand.
#[derive(Debug, Default)]
struct Nodes {
    inner: MemoryTrieStore,
    reads_fail: AtomicBool,
    writes_fail: AtomicBool,
    flushes_fail: AtomicBool,
}

fn failure(on: &AtomicBool) -> Result<(), StoreError> {
    if on.load(Ordering::SeqCst) { Err(StoreError::new("test", "the disk is on fire")) } else { Ok(()) }
}

impl TrieStore for Nodes {
    fn get(&self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        failure(&self.reads_fail)?;
        self.inner.get(hash)
    }

    fn put_batch(&self, nodes: &[(B256, Bytes)]) -> Result<(), StoreError> {
        failure(&self.writes_fail)?;
        self.inner.put_batch(nodes)
    }

    fn flush(&self) -> Result<(), StoreError> {
        failure(&self.flushes_fail)
    }

    fn stats(&self) -> StoreStats {
        self.inner.stats()
    }
}

/// A data engine that counts its writes.
#[derive(Debug, Default)]
struct Data {
    inner: MemoryKv,
    writes_fail: AtomicBool,
}

impl KvStore for Data {
    fn get(&self, column: Column, key: &[u8]) -> Result<Option<Bytes>> {
        self.inner.get(column, key)
    }

    fn range(&self, column: Column, from: &[u8], to: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        self.inner.range(column, from, to, limit)
    }

    fn write(&self, batch: WriteBatch) -> Result<()> {
        if self.writes_fail.load(Ordering::SeqCst) {
            return Err(StorageError::Corrupt { what: "the disk is on fire".into() });
        }
        self.inner.write(batch)
    }
}

struct Setting {
    spec: Arc<ChainSpec>,
    genesis: GenesisBlock,
    nodes: Arc<Nodes>,
    data: Arc<Data>,
    lines: Vec<BlockLine>,
}

impl Setting {
    fn new(chain: &str) -> Option<Self> {
        let folder = chain_folder(chain)?;
        let spec = Arc::new(ChainSpec::from_file(&folder.join("chain.json")).unwrap());
        let genesis = GenesisBlock::new(&spec).unwrap();
        let lines = block_lines(&folder.join("blocks.csv.gz")).collect();
        Some(Self { spec, genesis, nodes: Arc::default(), data: Arc::default(), lines })
    }

    fn stores(&self) -> Stores {
        Stores::new(Arc::clone(&self.nodes) as Arc<dyn TrieStore>, Arc::clone(&self.data) as Arc<dyn KvStore>)
    }

    /// A chain that keeps no node in memory and makes every block durable.
    fn open(&self) -> Chain {
        let options = ChainOptions { trie_budget: 0, flush: FlushPolicy::EACH_BLOCK, ..ChainOptions::default() };
        Chain::open(Arc::clone(&self.spec), &self.genesis, self.stores(), options).unwrap()
    }

    fn offer(&self, chain: &Chain, index: usize) -> Result<ImportOutcome, ChainError> {
        chain.import(chain.decode(&Bytes::from(self.lines[index].rlp.clone())).unwrap())
    }

    fn feed(&self, chain: &Chain, count: usize) {
        for index in 0..count {
            assert!(matches!(self.offer(chain, index), Ok(ImportOutcome::Best(_))));
        }
        chain.flush().unwrap();
    }
}

#[test]
fn bl_04_a_read_fault_is_no_verdict() {
    let Some(setting) = Setting::new("mixed") else { return };
    let chain = setting.open();
    setting.feed(&chain, 20);
    // A chain opened anew has no trie loaded.
    drop(chain);
    let chain = setting.open();
    setting.nodes.reads_fail.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        match setting.offer(&chain, 20) {
            Err(ChainError::Trie(error)) => assert!(error.to_string().contains("the disk is on fire")),
            other => panic!("{other:?}"),
        }
    }
    setting.nodes.reads_fail.store(false, Ordering::SeqCst);
    assert!(matches!(setting.offer(&chain, 20), Ok(ImportOutcome::Best(_))), "the fault was remembered");
}

#[test]
fn a_missing_node_is_a_fault_and_never_an_absent_account() {
    let Some(setting) = Setting::new("mixed") else { return };
    let chain = setting.open();
    setting.feed(&chain, 20);
    let root = chain.head().record.state_root;
    drop(chain);
    let chain = setting.open();
    setting.nodes.inner.remove(&root).unwrap();
    match setting.offer(&chain, 20) {
        Err(ChainError::Trie(error)) => assert!(error.to_string().contains(&root.to_string())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failed_write_stops_everything_and_loses_nothing_confirmed() {
    let Some(setting) = Setting::new("uncles") else { return };
    for broken in 0..3 {
        let setting = Setting::new("uncles").unwrap();
        let switch = [&setting.nodes.writes_fail, &setting.nodes.flushes_fail, &setting.data.writes_fail][broken];
        let chain = setting.open();
        setting.feed(&chain, 10);
        let confirmed = chain.head().record;
        switch.store(true, Ordering::SeqCst);
        // The write is behind the execution: at the latest the flush tells.
        let told =
            (10..14).map(|index| setting.offer(&chain, index).map(drop)).chain([chain.flush()]).find(Result::is_err);
        assert!(matches!(told, Some(Err(ChainError::Storage(_)))), "{told:?}");
        assert!(matches!(setting.offer(&chain, 14), Err(ChainError::Storage(StorageError::Poisoned { .. }))));
        assert!(chain.flush().is_err());
        switch.store(false, Ordering::SeqCst);
        assert!(chain.flush().is_err(), "what is in memory may rest on what was lost");
        drop(chain);
        let stores = setting.stores();
        assert_eq!(stores.check_at_start(&*setting.spec).unwrap(), StartState::Sound(confirmed));
        // The same blocks again end on the same head.
        let chain = setting.open();
        for index in 10..setting.lines.len() {
            assert!(matches!(setting.offer(&chain, index), Ok(ImportOutcome::Best(_))));
        }
        assert_eq!(chain.head().record.hash, setting.lines.last().unwrap().hash);
        chain.check().unwrap();
    }
    drop(setting);
}

#[test]
fn a_head_that_is_not_whole_is_repaired_at_start() {
    // What a disk that lost confirmed writes may leave: part by part.
    for part in 0..5 {
        let Some(setting) = Setting::new("mixed") else { return };
        let chain = setting.open();
        setting.feed(&chain, 30);
        let head = chain.head().record;
        let below = chain.stores().blocks().canonical_hash(29).unwrap().unwrap();
        let below = chain.stores().blocks().record(&below).unwrap().unwrap();
        drop(chain);
        let mut damage = WriteBatch::new();
        match part {
            0 => drop(setting.nodes.inner.remove(&head.state_root).unwrap()),
            1 => damage.delete(Column::Headers, head.hash.as_slice()),
            2 => damage.delete(Column::Bodies, head.hash.as_slice()),
            3 => damage.delete(Column::Receipts, head.hash.as_slice()),
            _ => damage.delete(Column::Canonical, head.number.to_be_bytes()),
        }
        setting.data.inner.write(damage).unwrap();
        let stores = setting.stores();
        match stores.check_at_start(&*setting.spec).unwrap() {
            StartState::Rewound { head, from, .. } => assert_eq!((head, from), (below, 30), "part {part}"),
            other => panic!("part {part}: {other:?}"),
        }
        assert_eq!(stores.check_at_start(&*setting.spec).unwrap(), StartState::Sound(below));
        drop(stores);
        let chain = setting.open();
        for index in 29..40 {
            assert!(matches!(setting.offer(&chain, index), Ok(ImportOutcome::Best(_))), "part {part}");
        }
        chain.check().unwrap();
    }
}

#[test]
fn what_cannot_be_repaired_is_refused_and_left_alone() {
    let Some(setting) = Setting::new("uncles") else { return };
    let chain = setting.open();
    setting.feed(&chain, 10);
    let head = chain.head().record;
    drop(chain);
    for (hash, _) in setting.nodes.inner.records() {
        setting.nodes.inner.remove(&hash);
    }
    let error = setting.stores().check_at_start(&*setting.spec).unwrap_err();
    assert!(matches!(error, StorageError::Corrupt { .. }) && !error.to_string().contains('\n'), "{error}");
    assert_eq!(setting.stores().blocks().head().unwrap(), Some(head));
}

#[test]
fn db_check_finds_damage() {
    let Some(setting) = Setting::new("mixed") else { return };
    let chain = setting.open();
    setting.feed(&chain, 30);
    chain.check().unwrap();
    let blocks = chain.stores().blocks();
    let at = |number| blocks.canonical_hash(number).unwrap().unwrap();
    let (ten, eleven) = (at(10), at(11));
    let expect = |column: Column, key: &[u8], value: Option<Bytes>, words: &str| {
        let before = setting.data.inner.get(column, key).unwrap();
        let change = |value: Option<Bytes>| {
            let mut batch = WriteBatch::new();
            match value {
                Some(value) => batch.put(column, key, value),
                None => batch.delete(column, key),
            }
            setting.data.inner.write(batch).unwrap();
        };
        change(value);
        let error = chain.check().unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
        change(before);
    };
    let other = |column: Column, hash: B256| setting.data.inner.get(column, hash.as_slice()).unwrap();
    expect(Column::Headers, ten.as_slice(), other(Column::Headers, eleven), "another block");
    expect(Column::Receipts, ten.as_slice(), other(Column::Receipts, eleven), "receipt");
    expect(Column::Records, ten.as_slice(), None, "no record");
    expect(Column::Canonical, &10u64.to_be_bytes(), None, "no block 10");
    let transaction = chain.ancestors();
    let block = rhizome_primitives::AncestorProvider::block(&**transaction, &ten).unwrap().unwrap();
    let hash = block.transactions[0].hash();
    assert_eq!(blocks.transaction(&hash).unwrap(), Some(TransactionPlace { block: ten, index: 0 }));
    expect(Column::Transactions, &[hash.as_slice(), ten.as_slice()].concat(), None, "index");
    chain.check().unwrap();
    // A node of the head's state, then one deep in it.
    let mut records = setting.nodes.inner.records();
    records.sort();
    let root = chain.head().record.state_root;
    let node = setting.nodes.inner.remove(&root).unwrap();
    assert!(chain.check().is_err());
    setting.nodes.inner.put_batch(&[(root, node)]).unwrap();
    chain.check().unwrap();
}
