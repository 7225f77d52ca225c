//! Arbitrary files as a FlatDB directory: opening and reading give records that hash to their keys, or an error; never a panic,
//! never memory or disk beyond what the files' own size explains.
//!
//! The first byte says how much of the format is put right, so that the fuzzer gets behind the checksums: headers, the
//! checkpoint's checksum, counts and sums.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use rhizome_flatdb::{Digest, FlatDb, Key, Options, VerifyPolicy};

/// Of the format. A target that forges another one gets no further than the check of it.
const VERSION: u32 = 3;
/// Where records begin in the heap: behind a page of its header and two of the checkpoint.
const RECORDS: usize = 3 * 4096;

#[derive(Debug)]
struct Fnv;

impl Digest for Fnv {
    const ID: [u8; 8] = *b"fuzzhash";

    /// Weak on purpose: the fuzzer can find records with equal homes and tags.
    fn digest(bytes: &[u8]) -> Key {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        let mut key = [0; 32];
        key[0] = (hash >> 56) as u8;
        // The lowest bit of the tag.
        key[4] = (hash as u8 & 1) << 3;
        key[16..24].copy_from_slice(&hash.to_be_bytes());
        key[24..].copy_from_slice(&(bytes.len() as u64).to_be_bytes());
        key
    }
}

fuzz_target!(|input: &[u8]| {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a folder for the files");
    }
    let [mode, rest @ ..] = input else { return };
    FOLDER.with(|folder| {
        let path = folder.path().join("store");
        fs::remove_dir_all(&path).ok();
        fs::create_dir_all(&path).expect("a folder for the store");
        if mode & 128 == 0 { raw(&path, rest) } else { shaped(&path, *mode, rest) }
        examine(&path);
    });
});

/// Two files of any bytes, divided by a length in the input.
fn raw(path: &Path, input: &[u8]) {
    let [a, b, rest @ ..] = input else { return };
    let (heap, index) = rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([*a, *b]))));
    for (name, bytes) in [("heap", heap), ("index.0", index)] {
        fs::write(path.join(name), bytes).expect("the file is written");
    }
}

/// A store with right headers whose heap, slots and counts come from the input.
fn shaped(path: &Path, mode: u8, input: &[u8]) {
    let take = |len: usize| -> Vec<u8> {
        let mut bytes = input[..input.len().min(len)].to_vec();
        bytes.resize(len, 0);
        bytes
    };
    let fields = take(96);
    let body = &input[input.len().min(96)..];
    let (records, slots) = body.split_at(body.len() / 2);
    // A power of two or not.
    let slots_len = 1024 + 512 * usize::from(mode >> 5 & 3);
    let header = |magic: &[u8; 8], generation: u64, slots: u64| {
        let mut header = vec![0; 4096];
        header[..8].copy_from_slice(magic);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&Fnv::ID);
        header[24..32].copy_from_slice(&7_u64.to_le_bytes());
        header[32..40].copy_from_slice(&generation.to_le_bytes());
        header[40..48].copy_from_slice(&slots.to_le_bytes());
        header
    };
    let mut heap = header(b"FLATDBh\n", 0, 0);
    heap.resize(RECORDS, 0);
    heap.extend_from_slice(records);
    let mut index = header(b"FLATDBi\n", 0, slots_len as u64);
    index.resize(4096 + 8 * slots_len, 0);
    for slot in slots.chunks(10) {
        // Ten bytes are a position and a slot.
        let [p0, p1, rest @ ..] = slot else { continue };
        let mut bytes = [0; 8];
        bytes[..rest.len()].copy_from_slice(rest);
        let at = 4096 + usize::from(u16::from_le_bytes([*p0, *p1])) % slots_len * 8;
        index[at..at + 8].copy_from_slice(&bytes);
    }
    let mut page = vec![0; 116];
    page[..8].copy_from_slice(b"FLATDBc\n");
    page[8..12].copy_from_slice(&VERSION.to_le_bytes());
    page[16..24].copy_from_slice(&Fnv::ID);
    page[24..32].copy_from_slice(&7_u64.to_le_bytes());
    page[32..112].copy_from_slice(&fields[..80]);
    let (all, all_keys, whole) = tally(&heap, heap.len());
    if mode & 1 != 0 {
        // Where the last whole record ends: a store whose heap is cut in one does not open.
        page[40..48].copy_from_slice(&(whole as u64).to_le_bytes());
    }
    if mode & 2 != 0 {
        page[64..72].fill(0);
        page[104..112].copy_from_slice(&(slots_len as u64).to_le_bytes());
    }
    if mode & 4 != 0 {
        // Counts and sums of what the files hold, as far as it can be read.
        let end = if mode & 8 != 0 { whole as u64 } else { RECORDS as u64 };
        let (old, old_keys, _) = tally(&heap, end as usize);
        let (count, sum) = slot_sums(&index, end);
        let count = if mode & 16 != 0 { count } else { old };
        for (at, value) in [(48, all), (56, all_keys), (72, end), (80, count), (88, old_keys), (96, sum)] {
            page[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    let checksum = crc32fast::hash(&page[..112]);
    page[112..116].copy_from_slice(&checksum.to_le_bytes());
    // Sequence numbers choose the page; the other one has zeros.
    let at = 4096 + 4096 * usize::from(page[32] & 1);
    heap[at..at + page.len()].copy_from_slice(&page);
    fs::write(path.join("heap"), heap).expect("the file is written");
    fs::write(path.join("index.0"), index).expect("the file is written");
}

fn mix(position: u64, value: u64) -> u64 {
    let mut x = value ^ position.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Number of distinct whole records below `end`, the sum over their keys, and where the last one ends.
fn tally(heap: &[u8], end: usize) -> (u64, u64, usize) {
    let (mut at, mut records, mut keys) = (RECORDS, std::collections::BTreeSet::new(), 0_u64);
    while at < end.min(heap.len()) {
        let (start, len) = match heap[at] {
            0 => break,
            255 => {
                let Some(len) = heap.get(at + 1..at + 5) else { break };
                (at + 5, u32::from_le_bytes(len.try_into().expect("four bytes")) as usize)
            }
            len => (at + 1, usize::from(len)),
        };
        let Some(record) = heap.get(start..start.saturating_add(len)) else { break };
        let key = Fnv::digest(record);
        if records.insert(record) {
            keys = keys.wrapping_add(mix(0, u64::from_be_bytes(key[..8].try_into().expect("eight bytes"))));
        }
        at = start + len;
    }
    (records.len() as u64, keys, at)
}

fn slot_sums(index: &[u8], end: u64) -> (u64, u64) {
    let slots = index[4096..].chunks(8).map(|slot| u64::from_le_bytes(slot.try_into().expect("eight bytes")));
    let below = slots.enumerate().filter(|(_, slot)| *slot != 0 && slot & ((1 << 40) - 1) < end);
    below.fold((0, 0), |(count, sum): (u64, u64), (position, slot)| {
        (count + 1, sum.wrapping_add(mix(position as u64, slot & !(1 << 63))))
    })
}

fn examine(path: &Path) {
    for verify in [VerifyPolicy::Always, VerifyPolicy::First] {
        let options = Options::default().create(false).verify(verify);
        match options.clone().open_read_only::<Fnv>(path) {
            Ok(db) => read(&db),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        match options.open::<Fnv>(path) {
            Ok(db) => {
                read(&db);
                let (record, absent) = (b"a new record".as_slice(), Fnv::digest(b"absent"));
                let key = Fnv::digest(record);
                if db.put_batch([(&key, record)]).is_ok() && db.flush().is_ok() {
                    // Damage that the probe meets first is an error; bytes are the right ones or none.
                    assert!(db.get(&key).map_or(true, |found| found.is_none_or(|found| found == record)));
                }
                assert!(db.get(&absent).map_or(true, |found| found.is_none_or(|found| found == b"absent")));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn read(db: &FlatDb<Fnv>) {
    let mut keys = Vec::new();
    for record in db.iter() {
        let Ok((_, record)) = record else { break };
        keys.push(Fnv::digest(record));
    }
    for key in &keys {
        if let Ok(Some(found)) = db.get(key) {
            assert_eq!(Fnv::digest(found), *key);
        }
    }
    if let Ok(found) = db.get_many(&keys) {
        assert!(found.iter().zip(&keys).all(|(found, key)| found.is_none_or(|found| Fnv::digest(found) == *key)));
    }
    db.verify(|_, _| ()).ok();
}
