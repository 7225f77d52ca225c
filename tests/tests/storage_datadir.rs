//! Data directories: whose they are, who may use them, and what an opening repairs.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use rhizome_chainspec::{ActivationHeights, ChainSpec, Rskip};
use rhizome_primitives::B256;
use rhizome_storage::{ChainDefinition, Datadir, DatadirError, FORMAT_FILE, LOCK_FILE, RulesChange, TrieEngine};
use tempfile::TempDir;

const GENESIS: B256 = B256::repeat_byte(7);

fn open(path: &Path, spec: &ChainSpec) -> Result<Datadir, DatadirError> {
    Datadir::open_or_create(path, spec, GENESIS, &ChainDefinition::Network, None)
}

fn with_height(rule: Rskip, height: Option<u64>) -> ChainSpec {
    let spec = ChainSpec::regtest();
    let heights: Vec<_> = Rskip::ALL
        .iter()
        .map(|&other| (other, if other == rule { height } else { spec.activation_height(other) }))
        .collect();
    ChainSpec { heights: ActivationHeights::new(&[], &heights), ..spec }
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_directory_is_made_locked_and_opened_again() {
    let place = TempDir::new().unwrap();
    let path = place.path().join("new/deep");
    let spec = ChainSpec::regtest();
    let datadir = open(&path, &spec).unwrap();
    assert_eq!(names(&path), [FORMAT_FILE, LOCK_FILE]);
    match open(&path, &spec) {
        Err(DatadirError::InUse { process, .. }) => assert_eq!(process, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    drop(datadir);
    let datadir = open(&path, &spec).unwrap();
    assert_eq!(datadir.rules_change(), RulesChange::None);
    assert_eq!(datadir.format().network, "regtest");
}

#[test]
fn a_stop_while_it_was_made_is_no_obstacle() {
    let place = TempDir::new().unwrap();
    for name in [LOCK_FILE, "FORMAT.tmp", "lost+found"] {
        std::fs::write(place.path().join(name), "").unwrap();
    }
    open(place.path(), &ChainSpec::regtest()).unwrap();
}

#[test]
fn foreign_newer_and_other_directories_are_refused_untouched() {
    let spec = ChainSpec::regtest();
    let foreign = TempDir::new().unwrap();
    std::fs::write(foreign.path().join("photo.jpg"), "x").unwrap();
    assert!(matches!(open(foreign.path(), &spec), Err(DatadirError::Foreign { .. })));
    assert_eq!(names(foreign.path()), ["photo.jpg"]);
    for text in ["", "x", "{}", "[1]", "{\"rhizome\":\"1\"}", "{\"rhizome\":1}", "\u{0}\u{ff}"] {
        std::fs::write(foreign.path().join(FORMAT_FILE), text).unwrap();
        assert!(matches!(open(foreign.path(), &spec), Err(DatadirError::Foreign { .. })), "{text:?}");
    }
    std::fs::write(foreign.path().join(FORMAT_FILE), "{\"rhizome\":2,\"other\":[]}").unwrap();
    assert!(matches!(open(foreign.path(), &spec), Err(DatadirError::Newer { got: 2, .. })));
    assert_eq!(names(foreign.path()), [FORMAT_FILE, "photo.jpg"]);

    let ours = TempDir::new().unwrap();
    drop(open(ours.path(), &spec).unwrap());
    assert!(matches!(open(ours.path(), &ChainSpec::testnet()), Err(DatadirError::OtherChain { what: "network", .. })));
    let other = Datadir::open(ours.path(), &spec, B256::ZERO, None);
    assert!(matches!(other, Err(DatadirError::OtherChain { what: "genesis block", .. })));
    let other = Datadir::open(ours.path(), &spec, GENESIS, Some(TrieEngine::Memory));
    assert!(matches!(other, Err(DatadirError::OtherEngine { .. })));
    let mut rich = spec.clone();
    rich.constants.duration_limit += 1;
    assert!(matches!(open(ours.path(), &rich), Err(DatadirError::OtherChain { what: "rules fingerprint", .. })));
    assert!(matches!(
        Datadir::open(&ours.path().join("absent"), &spec, GENESIS, None),
        Err(DatadirError::Absent { .. })
    ));
    // Every message is one line.
    for error in [open(foreign.path(), &spec).unwrap_err(), open(ours.path(), &rich).unwrap_err()] {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn bl_10_the_first_height_under_other_rules_is_found() {
    let place = TempDir::new().unwrap();
    drop(open(place.path(), &with_height(Rskip::R290, Some(1_000_000_000))).unwrap());
    for (height, from) in [(Some(100), 100), (Some(1_000_000_001), 1_000_000_000), (None, 1_000_000_000)] {
        let datadir = open(place.path(), &with_height(Rskip::R290, height)).unwrap();
        assert_eq!(datadir.rules_change(), RulesChange::From(from));
    }
    // Accepting the new rules ends it.
    let spec = with_height(Rskip::R290, Some(100));
    let mut datadir = open(place.path(), &spec).unwrap();
    datadir.accept_rules(&spec, &ChainDefinition::Network).unwrap();
    drop(datadir);
    assert_eq!(open(place.path(), &spec).unwrap().rules_change(), RulesChange::None);

    // A rule that this release has never heard of.
    let format = place.path().join(FORMAT_FILE);
    let text = std::fs::read_to_string(&format).unwrap();
    std::fs::write(&format, text.replace("\"rskip290\"", "\"rskip99999\"")).unwrap();
    assert!(matches!(open(place.path(), &ChainSpec::regtest()), Err(DatadirError::UnknownRule { .. })));
}
