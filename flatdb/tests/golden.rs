//! A directory that version 3 wrote, and its bytes read by the tables of `docs/formats/flatdb.md` alone.
//!
//! `FLATDB_WRITE_GOLDEN=1` writes the directory anew, for a new version of the format.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Clustered, Sha, keyed, put};
use rhizome_flatdb::{Digest, FlatDb, Options};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v3").join(name)
}

/// Two checkpoints; the index file has slots of both, of which only the first's count.
fn write<D: Digest>(path: &Path, expected: u64) {
    let db: FlatDb<D> = Options::default().expected_records(expected).resident_index(0).open(path).unwrap();
    put(&db, &keyed::<D>(0..60)).unwrap();
    db.seal().unwrap();
    put(&db, &keyed::<D>(60..90)).unwrap();
    put(&db, &[(D::digest(&[]), Vec::new())]).unwrap();
    db.flush().unwrap();
}

fn copy_of(name: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in ["heap", "index.0"] {
        fs::copy(golden(name).join(file), directory.path().join(file)).unwrap();
    }
    directory
}

fn check<D: Digest>(name: &str, expected: u64) {
    if std::env::var_os("FLATDB_WRITE_GOLDEN").is_some() {
        fs::remove_dir_all(golden(name)).ok();
        write::<D>(&golden(name), expected);
        fs::remove_file(golden(name).join("LOCK")).unwrap();
    }
    let directory = copy_of(name);
    let reader = Options::default().open_read_only::<D>(directory.path()).unwrap();
    let writer: FlatDb<D> = Options::default().create(false).open(directory.path()).unwrap();
    for db in [&reader, &writer] {
        assert_eq!((db.recovery().replayed, db.recovery().index_rebuilt), (31, false));
        for (key, record) in keyed::<D>(0..90) {
            assert_eq!(db.get(&key).unwrap(), Some(record.as_slice()));
        }
        assert_eq!(db.get(&D::digest(&[])).unwrap(), Some(&[][..]));
        assert_eq!(db.verify(|_, _| ()).unwrap().records, 91);
    }
    by_the_tables::<D>(directory.path());

    // The same steps today give the same bytes, apart from the number that each store draws.
    let today = tempfile::tempdir().unwrap();
    write::<D>(today.path(), expected);
    let bytes = |path: &Path, name: &str, store: &[usize]| {
        let mut bytes = fs::read(path.join(name)).unwrap();
        for at in store {
            bytes[*at..*at + 8].fill(0);
        }
        bytes
    };
    // Store number and checksum of the header and the two copies of the checkpoint.
    let drawn = [24, 4096 + 24, 4096 + 108, 8192 + 24, 8192 + 108];
    assert!(bytes(&golden(name), "heap", &drawn) == bytes(today.path(), "heap", &drawn), "heap");
    assert!(bytes(&golden(name), "index.0", &[24]) == bytes(today.path(), "index.0", &[24]), "index");
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn mix(position: u64, value: u64) -> u64 {
    let mut x = value ^ position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A second reader, written from the format page.
fn by_the_tables<D: Digest>(path: &Path) {
    let heap = fs::read(path.join("heap")).unwrap();
    let page = [4096, 8192]
        .map(|at| &heap[at..at + 116])
        .into_iter()
        .filter(|page| crc32fast::hash(&page[..112]).to_le_bytes() == page[112..])
        .max_by_key(|page| number(page, 32))
        .unwrap();
    assert_eq!(&page[..8], b"FLATDBc\n");
    assert_eq!(page[8..16], 3_u64.to_le_bytes());
    let len = number(page, 104);
    assert_eq!(page[16..24], D::ID);
    assert_eq!(number(page, 32), 2, "sequence");
    let (heap_end, records, keys) = (number(page, 40), number(page, 48), number(page, 56));
    let (generation, index_end) = (number(page, 64), number(page, 72));
    let (index_records, index_keys, index_sum) = (number(page, 80), number(page, 88), number(page, 96));
    assert_eq!(generation, 0);

    assert_eq!(&heap[..8], b"FLATDBh\n");
    assert_eq!(heap[24..32], page[24..32], "store number");
    let mut found: BTreeMap<u64, &[u8]> = BTreeMap::new();
    let mut at = 3 * 4096;
    while at < usize::try_from(heap_end).unwrap() {
        let (start, len) = match heap[at] {
            0 => panic!("no record at {at}"),
            255 => (at + 5, u32::from_le_bytes(heap[at + 1..at + 5].try_into().unwrap()) as usize),
            len => (at + 1, usize::from(len)),
        };
        found.insert(at as u64, &heap[start..start + len]);
        at = start + len;
    }
    assert_eq!(at as u64, heap_end);
    assert_eq!(found.len() as u64, records);
    let head = |record: &[u8]| u64::from_be_bytes(D::digest(record)[..8].try_into().unwrap());
    let sum = |end: u64| found.range(..end).fold(0_u64, |sum, (_, record)| sum.wrapping_add(mix(0, head(record))));
    assert_eq!(sum(heap_end), keys);
    assert_eq!(sum(index_end), index_keys);

    let index = fs::read(path.join("index.0")).unwrap();
    assert_eq!(&index[..8], b"FLATDBi\n");
    assert_eq!(number(&index, 40), len);
    assert_eq!(index.len() as u64, 4096 + 8 * len);
    let mut slots = 0;
    let mut added = 0_u64;
    for position in 0..len {
        let slot = number(&index, usize::try_from(4096 + 8 * position).unwrap());
        let (offset, tag) = (slot & ((1 << 40) - 1), slot >> 40 & ((1 << 23) - 1));
        if slot == 0 || offset >= index_end {
            continue;
        }
        slots += 1;
        added = added.wrapping_add(mix(position, slot & !(1 << 63)));
        let expected = head(found[&offset]) << 14 >> (64 - 23);
        assert_eq!(tag, expected, "tag at {position}");
        let home = u64::try_from((u128::from(head(found[&offset])) * u128::from(len)) >> 64).unwrap();
        for step in 0..(position + len - home) % len {
            let before = (home + step) % len;
            assert_ne!(number(&index, usize::try_from(4096 + 8 * before).unwrap()), 0, "a hole before {position}");
        }
    }
    assert_eq!((slots, added), (index_records, index_sum));
}

#[test]
fn a_directory_of_version_3_opens() {
    check::<Sha>("sha-256", 1);
}

#[test]
fn a_directory_with_ambiguous_slots_opens() {
    check::<Clustered>("clustered", 1);
}

#[test]
fn a_directory_whose_slots_are_no_power_of_two_opens() {
    check::<Sha>("1536-slots", 1_000);
}

#[test]
fn another_version_is_refused_by_its_number() {
    let directory = copy_of("sha-256");
    let path = directory.path().join("heap");
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 2;
    fs::write(&path, bytes).unwrap();
    let error = Options::default().open::<Sha>(directory.path()).err().unwrap().to_string();
    assert!(error.contains("version 3") && error.contains("version 2"), "{error}");
}
