//! The state tree against rskj: operations, messages, keys, and the roots of transaction and receipt lists.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use rhizome_primitives::{Address, B256, Bytes, keccak256};
use rhizome_tests::{Tally, bytes, number, optional_bytes, text, unhex, vectors};
use rhizome_trie::bits::Bits;
use rhizome_trie::codec::{self, ChildView, NodeView, ValueView};
use rhizome_trie::orchid::{self, OrchidValue, OrchidView};
use rhizome_trie::{
    AccountKeys, ChangeSet, MemoryTrieStore, NodeItem, Proven, Trie, TrieKey, index_key, key, ordered_root,
    verify_proof,
};
use serde_json::Value;

fn hash(value: &Value, member: &str) -> B256 {
    B256::from_slice(&bytes(value, member))
}

fn bit_text(bits: Bits<'_>) -> String {
    (0..bits.len()).map(|index| if bits.get(index) { '1' } else { '0' }).collect()
}

fn from_bit_text(text: &str) -> Vec<u8> {
    let mut packed = vec![0u8; text.len().div_ceil(8)];
    for (index, _) in text.char_indices().filter(|(_, bit)| *bit == '1') {
        packed[index / 8] |= 0x80 >> (index % 8);
    }
    packed
}

/// Fails with both sides when they differ.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}

fn empty() -> Trie {
    Trie::empty(Arc::new(MemoryTrieStore::new()))
}

fn step(trie: &Trie, step: &Value) -> Trie {
    let key = bytes(step, "k");
    match text(step, "op") {
        "put" => trie.put(&key, Some(Bytes::from(bytes(step, "v")))),
        "del" => trie.delete(&key),
        "delrec" => trie.delete_recursive(&key),
        other => panic!("operation {other}"),
    }
    .unwrap()
}

fn check_step(trie: &Trie, step: &Value) -> Result<(), String> {
    same("root", trie.root_hash(), hash(step, "root"))?;
    same("orchid", trie.orchid_root_hash(false).unwrap(), hash(step, "orchid"))?;
    same("size", trie.node_count().unwrap(), number(step, "size"))?;
    same("msg", trie.root_message().to_vec(), bytes(step, "msg"))?;
    same("csize", trie.children_size().unwrap(), number(step, "csize"))
}

/// One node of a list in pre-order.
fn check_node(item: &NodeItem, expected: &Value) -> Result<(), String> {
    let view = item.view().unwrap();
    same("path", bit_text(item.path()).as_str(), text(expected, "path"))?;
    same("shared", bit_text(view.path).as_str(), text(expected, "shared"))?;
    same("msg", item.message().to_vec(), bytes(expected, "msg"))?;
    same("hash", item.hash(), hash(expected, "hash"))?;
    same("vlen", u64::from(view.value.len()), number(expected, "vlen"))?;
    let value_hash = match view.value {
        ValueView::None => None,
        ValueView::Short(bytes) => Some(keccak256(bytes).to_vec()),
        ValueView::Long { hash, .. } => Some(hash.to_vec()),
    };
    same("vhash", value_hash, optional_bytes(expected, "vhash"))?;
    same("csize", view.children_size, number(expected, "csize"))?;
    same("term", Some(view.is_terminal()), expected["term"].as_bool())?;
    same("emb", Some(view.is_embeddable()), expected["emb"].as_bool())?;
    same("long", Some(matches!(view.value, ValueView::Long { .. })), expected["long"].as_bool())
}

fn check_nodes(trie: &Trie, expected: &[Value]) -> Result<(), String> {
    let items: Vec<NodeItem> = trie.iter_nodes().map(|item| item.unwrap()).collect();
    if trie.is_empty() {
        return same("nodes of the empty tree", expected.len(), 1);
    }
    same("number of nodes", items.len(), expected.len())?;
    items.iter().zip(expected).try_for_each(|(item, expected)| check_node(item, expected))
}

fn check_get(trie: &Trie, get: &Value) -> Result<(), String> {
    let key = bytes(get, "k");
    let value = optional_bytes(get, "v").map(Bytes::from);
    same("get", trie.get(&key).unwrap(), value.clone())?;
    same("get_many", trie.get_many(&[&key]).unwrap(), vec![value])?;
    let entry = trie.find(&key).unwrap();
    same("node", Some(entry.is_some()), get["node"].as_bool())?;
    same("vlen", entry.map(|entry| u64::from(entry.value_len())), get["vlen"].as_u64())?;
    same("vhash", entry.and_then(|entry| entry.value_hash()).map(|hash| hash.to_vec()), optional_bytes(get, "vhash"))
}

fn check_proof(trie: &Trie, proof: &Value) -> Result<(), String> {
    let key = bytes(proof, "k");
    let nodes: Option<Vec<Bytes>> =
        proof["nodes"].as_array().map(|nodes| nodes.iter().map(|node| unhex(node.as_str().unwrap()).into()).collect());
    let got = trie.proof(&key).unwrap();
    same("proof", &got, &nodes)?;
    let Some(nodes) = got.filter(|_| !trie.is_empty()) else { return Ok(()) };
    let proven = verify_proof(&trie.root_hash(), &key, &nodes).map_err(|error| error.to_string())?;
    let expected = match trie.get(&key).unwrap() {
        None => Proven::NoValue,
        Some(value) if value.len() > 32 => Proven::Hash { hash: keccak256(&value), len: value.len() as u32 },
        Some(value) => Proven::Value(value),
    };
    same("what the proof says", proven, expected)
}

fn array<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn vectors_trie_ops() {
    let Some(lines) = vectors("trie_ops") else { return };
    let mut tally = Tally::new("trie_ops");
    for line in lines {
        let id = text(&line, "id");
        let run = || -> Result<(), String> {
            let mut trie = empty();
            let mut model = std::collections::BTreeMap::new();
            for (at, one) in array(&line, "steps").iter().enumerate() {
                trie = step(&trie, one);
                check_step(&trie, one).map_err(|difference| format!("step {at}: {difference}"))?;
                if at % 5 == 0 {
                    trie.save().unwrap();
                }
            }
            trie.save().unwrap();
            // All that follows holds for the tree in memory and for what the store gives back.
            for trie in
                [trie.clone(), Trie::open(trie.root_hash(), trie.store().clone()).unwrap_or_else(|_| trie.clone())]
            {
                if !line["nodes"].is_null() {
                    check_nodes(&trie, array(&line, "nodes"))?;
                }
                array(&line, "gets").iter().try_for_each(|get| check_get(&trie, get))?;
                array(&line, "proofs").iter().try_for_each(|proof| check_proof(&trie, proof))?;
                for pair in trie.iter_values() {
                    let (key, value) = pair.unwrap();
                    same("value on the walk", trie.get(&key).unwrap(), Some(value.clone()))?;
                    model.insert(key, value);
                }
            }
            let puts = model.into_iter().map(|(key, value)| (key, Some(value))).collect();
            let at_once = empty().apply(&ChangeSet::from_parts(Vec::new(), puts)).unwrap();
            same("root of all values at once", at_once.root_hash(), trie.root_hash())
        };
        tally.case(run().map_err(|difference| format!("{id}: {difference}")));
    }
    tally.finish();
}

fn child_matches(what: &str, child: ChildView<'_>, line: &Value, side: &str) -> Result<u64, String> {
    let expected = optional_bytes(line, side);
    let embedded = line[format!("{side}Emb")].as_bool();
    let reference = number(line, if side == "left" { "refLeft" } else { "refRight" });
    match child {
        ChildView::Empty => same(what, (None, 0), (expected, reference))?,
        ChildView::Hash(hash) => same(what, (Some(hash.to_vec()), Some(false)), (expected, embedded))?,
        ChildView::Embedded(message) => {
            same(what, (Some(keccak256(message).to_vec()), Some(true)), (expected, embedded))?;
            same(what, NodeView::parse(message).unwrap().reference_size(), reference)?;
        }
    }
    Ok(reference)
}

fn orchid_value<'a>(value: ValueView<'a>) -> OrchidValue<'a> {
    match value {
        ValueView::None => OrchidValue::None,
        ValueView::Short(bytes) => OrchidValue::Short(bytes),
        ValueView::Long { hash, .. } => OrchidValue::Long(hash),
    }
}

/// The old form of an embedded node.
fn orchid_leaf(message: &[u8], secure: bool) -> B256 {
    let view = NodeView::parse(message).unwrap();
    let mut out = Vec::new();
    orchid::encode_into(&mut out, secure, view.path, [None, None], orchid_value(view.value));
    keccak256(&out)
}

fn check_message(line: &Value) -> Result<(), String> {
    let message = bytes(line, "msg");
    let view = NodeView::parse(&message).map_err(|error| error.to_string())?;
    same("flags", u64::from(message[0]), number(line, "flags"))?;
    same("hash", keccak256(&message), hash(line, "hash"))?;
    same("shared", bit_text(view.path).as_str(), text(line, "shared"))?;
    let left = child_matches("left", view.children[0], line, "left")?;
    let right = child_matches("right", view.children[1], line, "right")?;
    same("sum of references", left + right, view.children_size)?;
    same("csize", view.children_size, number(line, "csize"))?;
    same("vlen", u64::from(view.value.len()), number(line, "vlen"))?;
    let short = match view.value {
        ValueView::Short(bytes) => Some(bytes.to_vec()),
        _ => None,
    };
    same("value", short, optional_bytes(line, "value"))?;
    same("round trip", view.reencode().as_ref() == Ok(&message), line["roundtrip"].as_bool().unwrap())?;
    for (member, secure) in [("orchidMsg", false), ("orchidSecureMsg", true)] {
        let old = bytes(line, member);
        let parsed = OrchidView::parse(&old).map_err(|error| error.to_string())?;
        // Hashes of children that are not embedded cannot be known from this message alone.
        let embedded = view.children.map(|child| match child {
            ChildView::Embedded(message) => Some(orchid_leaf(message, secure)),
            _ => None,
        });
        let children = [0, 1].map(|side| embedded[side].as_ref().or(parsed.children[side]));
        let mut out = Vec::new();
        orchid::encode_into(&mut out, secure, view.path, children, orchid_value(view.value));
        same(member, out, old)?;
    }
    Ok(())
}

fn check_orchid(line: &Value) -> Result<(), String> {
    let message = bytes(line, "msg");
    let view = OrchidView::parse(&message).map_err(|error| error.to_string())?;
    same("shared", bit_text(view.path).as_str(), text(line, "shared"))?;
    same("left", view.children[0].map(|hash| hash.to_vec()), optional_bytes(line, "left"))?;
    same("right", view.children[1].map(|hash| hash.to_vec()), optional_bytes(line, "right"))?;
    let long = optional_bytes(line, "longValue");
    let value = match view.value {
        OrchidValue::None => None,
        OrchidValue::Short(bytes) => Some(bytes.to_vec()),
        OrchidValue::Long(hash) => long.filter(|value| keccak256(value) == *hash),
    };
    same("vlen", value.as_ref().map_or(0, Vec::len) as u64, number(line, "vlen"))?;
    same("value", value, optional_bytes(line, "value"))
}

fn check_shared_path(line: &Value) -> Result<(), String> {
    let bits = text(line, "bits");
    let packed = from_bit_text(bits);
    let path = Bits::packed(&packed, bits.len());
    same("len", path.len() as u64, number(line, "len"))?;
    let message = bytes(line, "msg");
    let view = NodeView::parse(&message).map_err(|error| error.to_string())?;
    same("bits", bit_text(view.path).as_str(), bits)?;
    let ValueView::Short(value) = view.value else { return Err("no value".into()) };
    let mut out = Vec::new();
    codec::encode_into(&mut out, path, [ChildView::Empty; 2], 0, ValueView::Short(value));
    same("msg", &out, &message)?;
    same("hash", keccak256(&out), hash(line, "hash"))?;
    same("round trip", view.reencode().as_ref() == Ok(&message), line["roundtrip"].as_bool().unwrap())?;
    out.clear();
    orchid::encode_into(&mut out, false, path, [None, None], OrchidValue::Short(value));
    same("orchidMsg", out, bytes(line, "orchidMsg"))
}

/// The two leaves and the branch above them, written by hand: of most of these values only hash and length are given.
fn check_children_size(line: &Value) -> Result<(), String> {
    let value_hash = hash(line, "vhash");
    let len = number(line, "vlenLeft") as u32;
    let value = optional_bytes(line, "v");
    let left_value = match &value {
        Some(value) if len <= 32 => ValueView::Short(value),
        _ => ValueView::Long { hash: &value_hash, len },
    };
    // The keys 0x10 and 0x70 part at their second bit.
    let leaf = |key: &[u8], value: ValueView<'_>| {
        let mut out = Vec::new();
        codec::encode_into(&mut out, Bits::of_key(key).from(2), [ChildView::Empty; 2], 0, value);
        out
    };
    let (left, right) = (leaf(&[0x10], left_value), leaf(&[0x70], ValueView::Short(&[7])));
    let size = [&left, &right].iter().map(|leaf| NodeView::parse(leaf).unwrap().reference_size()).sum();
    same("csize", size, number(line, "csize"))?;
    let children = [ChildView::Embedded(&left), ChildView::Embedded(&right)];
    let mut out = Vec::new();
    codec::encode_into(&mut out, Bits::of_key(&[0x10]).to(1), children, size, ValueView::None);
    same("msg", &out, &bytes(line, "msg"))?;
    same("hash", keccak256(&out), hash(line, "hash"))?;
    let view = NodeView::parse(&out).map_err(|error| error.to_string())?;
    same("csize read back", view.children_size, size)?;
    let Some(value) = value else { return Ok(()) };
    same("vlenLeft", value.len() as u32, len)?;
    let trie = empty().put(&[0x70], Some(Bytes::from_static(&[7]))).unwrap().put(&[0x10], Some(value.into())).unwrap();
    same("value hash in the tree", trie.value_hash(&[0x10]).unwrap(), Some(value_hash))?;
    same("root of the tree", trie.root_hash(), hash(line, "hash"))
}

fn check_mutated(line: &Value) -> Result<(), String> {
    let message = bytes(line, "msg");
    let ok = line["ok"].as_bool().unwrap();
    if message.first() == Some(&codec::ORCHID_ARITY) {
        return same("ok", OrchidView::parse(&message).is_ok(), ok);
    }
    let parsed = NodeView::parse(&message).and_then(|view| Ok((view, view.reencode()?)));
    same("ok", parsed.is_ok(), ok)?;
    let Ok((view, again)) = parsed else { return Ok(()) };
    same("shared", bit_text(view.path).as_str(), text(line, "shared"))?;
    same("vlen", u64::from(view.value.len()), number(line, "vlen"))?;
    same("reencoded", Some(again), optional_bytes(line, "reencoded"))
}

#[test]
fn vectors_trie_nodes() {
    let Some(lines) = vectors("trie_nodes") else { return };
    let mut tally = Tally::new("trie_nodes");
    for line in lines {
        let result = match text(&line, "kind") {
            "node" => check_message(&line),
            "orchidDecode" => check_orchid(&line),
            "sharedPath" => check_shared_path(&line),
            "csize" => check_children_size(&line),
            "mutated" => check_mutated(&line),
            other => Err(format!("kind {other}")),
        };
        tally.case(result.map_err(|difference| format!("{}: {difference}", text(&line, "msg"))));
    }
    tally.finish();
}

/// The keys and values of a rule in words.
fn big_pairs(start: &str, rule: &str, count: usize) -> Vec<(TrieKey, Bytes)> {
    let seed = start.strip_prefix("keccak256(ascii \"").and_then(|rest| rest.strip_suffix("\")")).unwrap();
    let short_keys = rule.contains("key = first 1+(h[31]&15) bytes of h");
    let mask = if rule.contains("vv[0]&63") { 63 } else { 31 };
    let mut state = keccak256(seed);
    (0..count)
        .map(|_| {
            state = keccak256(state);
            let key = if short_keys { &state[..1 + usize::from(state[31] & 15)] } else { &state[..] };
            let source = keccak256(key);
            let len = 1 + usize::from(source[0] & mask);
            let value: Vec<u8> = source.iter().copied().cycle().take(len).collect();
            (TrieKey::new(key), value.into())
        })
        .collect()
}

fn check_big(trie: &Trie, line: &Value) -> Result<(), String> {
    same("root", trie.root_hash(), hash(line, "root"))?;
    same("orchid", trie.orchid_root_hash(false).unwrap(), hash(line, "orchid"))?;
    same("csize", trie.children_size().unwrap(), number(line, "csize"))?;
    same("rootMsg", trie.root_message().to_vec(), bytes(line, "rootMsg"))?;
    same("size", trie.node_count().unwrap(), number(line, "size"))
}

#[test]
fn vectors_trie_big() {
    let Some(lines) = vectors("trie_big") else { return };
    let mut tally = Tally::new("trie_big");
    let mut previous: Option<(Vec<(TrieKey, Bytes)>, Trie)> = None;
    for line in lines {
        let count = number(&line, "n") as usize;
        if let Some(start) = line["start"].as_str() {
            let pairs = big_pairs(start, text(&line, "rule"), count);
            let puts = pairs.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
            let trie = empty().apply(&ChangeSet::from_parts(Vec::new(), puts)).unwrap();
            tally.case(check_big(&trie, &line));
            previous = Some((pairs, trie));
        } else {
            // The second half of a pair of lines deletes what the first half of the rule put.
            let (pairs, trie) = previous.take().unwrap();
            let deletes = pairs[..count / 2].iter().map(|(key, _)| (key.clone(), None)).collect();
            let trie = trie.apply(&ChangeSet::from_parts(Vec::new(), deletes)).unwrap();
            tally.case(check_big(&trie, &line));
        }
    }
    tally.finish();
}

#[test]
fn vectors_keys_of_the_trie() {
    let Some(lines) = vectors("keys") else { return };
    let mut tally = Tally::new("keys (account, storage, storageValue)");
    for line in lines {
        // The reward transaction's sender is the one address that is not 20 bytes long.
        let keys = |line: &Value| match text(line, "addr") {
            address if address.len() == 40 => AccountKeys::new(&Address::from_slice(&unhex(address))),
            _ => AccountKeys::remasc_sender(),
        };
        match text(&line, "kind") {
            "account" => {
                let keys = keys(&line);
                let got = [keys.account().to_vec(), keys.code().to_vec(), keys.storage_marker().to_vec()];
                let expected = ["accountKey", "codeKey", "storagePrefix"].map(|member| bytes(&line, member));
                tally.equal(text(&line, "addr"), got, expected);
            }
            "storage" => {
                let got = keys(&line).storage(&hash(&line, "slot")).to_vec();
                tally.equal(text(&line, "slot"), got, bytes(&line, "key"));
            }
            "storageValue" => {
                let got = key::stored_word(&hash(&line, "word")).map(|value| value.to_vec());
                tally.equal(text(&line, "word"), got, optional_bytes(&line, "stored"));
            }
            _ => {}
        }
    }
    tally.finish();
}

fn check_list(line: &Value, items: &[Value]) -> Result<(), String> {
    let items: Vec<Vec<u8>> = items.iter().map(|item| unhex(item.as_str().unwrap())).collect();
    same("n", items.len() as u64, number(line, "n"))?;
    same("root126", ordered_root(items.iter().map(Vec::as_slice), false), hash(line, "root126"))?;
    same("rootOrchid", ordered_root(items.iter().map(Vec::as_slice), true), hash(line, "rootOrchid"))?;
    let puts = items
        .iter()
        .enumerate()
        .map(|(index, item)| (TrieKey::new(&index_key(index)), Some(Bytes::copy_from_slice(item))))
        .collect();
    let trie = empty().apply(&ChangeSet::from_parts(Vec::new(), puts)).unwrap();
    same("root of the tree", trie.root_hash(), hash(line, "root126"))?;
    same("old root of the tree", trie.orchid_root_hash(false).unwrap(), hash(line, "rootOrchid"))?;
    if line["proof"].is_null() {
        return Ok(());
    }
    let key = index_key(number(line, "proofIndex") as usize);
    let expected: Vec<Bytes> = array(line, "proof").iter().map(|node| unhex(node.as_str().unwrap()).into()).collect();
    same("proof", trie.proof(&key).unwrap().as_ref(), Some(&expected))?;
    let item = &items[number(line, "proofIndex") as usize];
    let proven = verify_proof(&trie.root_hash(), &key, &expected).map_err(|error| error.to_string())?;
    same("proven", proven, Proven::Hash { hash: keccak256(item), len: item.len() as u32 })
}

#[test]
fn vectors_blocks_roots_of_lists() {
    let Some(lines) = vectors("blocks") else { return };
    let mut tally = Tally::new("blocks (txTrie, receiptTrie)");
    for line in lines {
        let member = match text(&line, "kind") {
            "txTrie" => "txs",
            "receiptTrie" => "receipts",
            _ => continue,
        };
        let result = check_list(&line, array(&line, member));
        tally.case(result.map_err(|difference| format!("{member}, {} items: {difference}", number(&line, "n"))));
    }
    tally.finish();
}
