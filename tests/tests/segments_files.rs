//! Segment files: what they hold, what damage does, what a miss says. `docs/formats/segments.md` is the reference.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use rhizome_primitives::{B256, Bytes, keccak256};
use rhizome_storage::{RecordingStore, Segment, SegmentRange, SegmentSet, SegmentStore, write_segment};
use rhizome_trie::{MemoryTrieStore, TrieStore};
use tempfile::TempDir;

const SECTOR: usize = 512;

fn range(from: u64, to: u64) -> SegmentRange {
    SegmentRange {
        genesis: B256::repeat_byte(1),
        from,
        to,
        parent: B256::repeat_byte(2),
        parent_root: B256::repeat_byte(3),
        last: B256::repeat_byte(4),
        blocks: to - from + 1,
    }
}

fn record(seed: u64, len: usize) -> (B256, Bytes) {
    let mut bytes = seed.to_be_bytes().repeat(len / 8 + 1);
    bytes.truncate(len.max(8));
    (keccak256(&bytes), Bytes::from(bytes))
}

fn built(directory: &Path, records: &[(B256, Bytes)]) -> PathBuf {
    write_segment(directory, range(1, 100), records).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn segments_hold_exactly_what_they_were_given(
        lens in prop::collection::vec(prop_oneof![9 => 8_usize..120, 1 => 4000_usize..9000], 0..600),
        seed in any::<u32>(),
    ) {
        let directory = TempDir::new().unwrap();
        let records: Vec<_> = lens.iter().enumerate().map(|(index, len)| record(u64::from(seed) << 20 | index as u64, *len)).collect();
        let model: BTreeMap<B256, Bytes> = records.iter().cloned().collect();
        let segment = Arc::new(Segment::open(&built(directory.path(), &records)).unwrap());
        let summary = segment.verify().unwrap();
        prop_assert_eq!(summary.records as usize, model.len());
        prop_assert_eq!(summary.record_bytes as usize, model.values().map(|record| record.len()).sum::<usize>());
        prop_assert_eq!(segment.header().range, range(1, 100));
        let store = SegmentStore::new(segment);
        for (hash, record) in &model {
            prop_assert_eq!(store.get(hash).unwrap(), Some(record.clone()));
            prop_assert!(store.contains(hash).unwrap());
        }
        prop_assert_eq!(store.misses().count, 0);
        for absent in 0..50_u64 {
            // Half of them share a first eight bytes with a record that is there.
            let mut hash = keccak256(absent.to_be_bytes());
            if absent % 2 == 0 && !records.is_empty() {
                let near = records[absent as usize % records.len()].0;
                hash[..8].copy_from_slice(&near[..8]);
            }
            prop_assert!(!store.contains(&hash).unwrap());
            prop_assert_eq!(store.misses().count, absent);
            prop_assert_eq!(store.get(&hash).unwrap(), None);
            prop_assert_eq!(store.misses().first.last().copied(), Some(hash));
        }
        let stats = store.stats();
        prop_assert_eq!((stats.hits, stats.reads), (model.len() as u64, model.len() as u64 + 50));
        prop_assert!(store.put_batch(&[record(0, 8)]).is_err());
    }

    #[test]
    fn segments_from_arbitrary_bytes_are_refused(
        at in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 1..600),
        cut in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let directory = TempDir::new().unwrap();
        let path = built(directory.path(), &(0..40).map(|seed| record(seed, 70)).collect::<Vec<_>>());
        let mut bytes = std::fs::read(&path).unwrap();
        let whole = bytes.clone();
        match how {
            0 => bytes.truncate(cut.index(bytes.len())),
            1 => bytes = noise,
            _ => {
                let at = at.index(bytes.len());
                bytes.truncate(at.max(8));
                bytes.extend_from_slice(&noise);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let opened = Segment::open(&path).and_then(|segment| segment.verify());
        prop_assert!(opened.is_err() || bytes == whole);
    }
}

/// Every form of damage to one sector: a bit, all zero, all ones, the content of the sector before.
fn damages(bytes: &[u8], start: usize) -> Vec<Vec<u8>> {
    let end = bytes.len().min(start + SECTOR);
    let mut forms = Vec::new();
    for form in 0..4 {
        let mut damaged = bytes.to_vec();
        match form {
            0 => damaged[start + (start / SECTOR * 37) % (end - start)] ^= 1 << (start / SECTOR % 8),
            1 => damaged[start..end].fill(0),
            2 => damaged[start..end].fill(0xff),
            _ if start >= SECTOR => damaged.copy_within(start - SECTOR..end - SECTOR, start),
            _ => {}
        }
        if damaged != bytes {
            forms.push(damaged);
        }
    }
    forms
}

#[test]
fn segments_with_any_damaged_sector_are_detected_and_never_read_wrong() {
    let directory = TempDir::new().unwrap();
    let records: Vec<_> = (0..900).map(|seed| record(seed, 40 + (seed as usize * 7) % 90)).collect();
    let path = built(directory.path(), &records);
    let bytes = std::fs::read(&path).unwrap();
    let (mut refused, mut found_later) = (0, 0);
    for start in (0..bytes.len()).step_by(SECTOR) {
        for damaged in damages(&bytes, start) {
            // A new file each time: a map of the one before may still be there.
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, damaged).unwrap();
            let Ok(segment) = Segment::open(&path) else {
                refused += 1;
                continue;
            };
            found_later += 1;
            assert!(segment.verify().is_err(), "sector at {start}: not detected");
            let mut failed = 0;
            for (hash, record) in &records {
                match segment.get(hash) {
                    Ok(found) => assert_eq!(found.as_ref(), Some(record), "sector at {start}: wrong read"),
                    Err(error) => {
                        assert!(error.to_string().contains("damaged"), "{error}");
                        failed += 1;
                    }
                }
            }
            assert!(failed < records.len(), "one sector does not make every record unreadable");
        }
    }
    println!(
        "{} sectors: {refused} refused when opened, {found_later} found when read or verified",
        bytes.len().div_ceil(SECTOR)
    );
    assert!(refused > 0 && found_later > 0);
}

#[test]
fn segments_cut_anywhere_are_refused() {
    let directory = TempDir::new().unwrap();
    let path = built(directory.path(), &(0..300).map(|seed| record(seed, 80)).collect::<Vec<_>>());
    let bytes = std::fs::read(&path).unwrap();
    for len in (0..bytes.len()).step_by(SECTOR).chain([bytes.len() - 1]) {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &bytes[..len]).unwrap();
        assert!(Segment::open(&path).is_err(), "cut at {len}");
        assert!(SegmentSet::open(directory.path()).is_err(), "cut at {len}");
    }
}

#[test]
fn segments_of_an_interrupted_build_are_passed_over() {
    let directory = TempDir::new().unwrap();
    let path = built(directory.path(), &[record(1, 50)]);
    std::fs::write(path.with_extension("unfinished"), b"half").unwrap();
    std::fs::write(directory.path().join("notes.txt"), b"mine").unwrap();
    let set = SegmentSet::open(directory.path()).unwrap();
    assert_eq!(set.segments().len(), 1);
    // Built again, it is replaced whole, under readers' eyes.
    let before = Segment::open(&path).unwrap();
    assert_eq!(built(directory.path(), &[record(2, 60)]), path);
    assert_eq!(before.get(&record(1, 50).0).unwrap(), Some(record(1, 50).1));
    assert_eq!(Segment::open(&path).unwrap().get(&record(2, 60).0).unwrap(), Some(record(2, 60).1));
    assert!(!path.with_extension("unfinished").exists());
}

#[test]
fn segments_are_found_by_block() {
    let directory = TempDir::new().unwrap();
    for (from, to) in [(11, 20), (1, 10), (31, 40)] {
        write_segment(directory.path(), range(from, to), &[record(from, 50)]).unwrap();
    }
    let set = SegmentSet::open(directory.path()).unwrap();
    let of = |number| set.for_block(number).map(|info| info.header.range.from);
    assert_eq!(
        [0, 1, 10, 11, 20, 21, 30, 31, 40, 41].map(of),
        [None, Some(1), Some(1), Some(11), Some(11), None, None, Some(31), Some(31), None]
    );
    write_segment(directory.path(), range(40, 50), &[]).unwrap();
    let error = SegmentSet::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("same blocks"), "{error}");
}

#[test]
fn segments_recorder_sees_each_record_once_in_order() {
    let below = Arc::new(MemoryTrieStore::new());
    let records: Vec<_> = (0..6).map(|seed| record(seed, 40)).collect();
    below.put_batch(&records[..4]).unwrap();
    let recorder = RecordingStore::new(below.clone());
    recorder.get(&records[2].0).unwrap();
    recorder.get_many(&[records[0].0, records[2].0, records[5].0]).unwrap();
    recorder.put_batch(&records[4..5]).unwrap();
    recorder.put_batch(&records[4..5]).unwrap();
    recorder.get(&records[4].0).unwrap();
    let footprint = recorder.take();
    assert_eq!(footprint.reads, 5);
    assert_eq!(footprint.touched, [records[2].clone(), records[0].clone(), records[4].clone()]);
    assert_eq!(footprint.made, records[4..5]);
    assert_eq!(below.len(), 4, "writes stay in the recorder");
    assert!(recorder.take().touched.is_empty() && recorder.contains(&records[4].0).unwrap());
}
