//! Uses between our crates go one way. The layers are those of `docs/layout.md`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Lowest layer first; a crate may use crates of lower layers only.
const LAYERS: &[&[&str]] = &[
    &["rhizome-primitives", "rhizome-keccak", "rhizome-flatdb"],
    &["rhizome-chainspec", "rhizome-trie"],
    &["rhizome-consensus", "rhizome-bridge"],
    &["rhizome-storage", "rhizome-executor", "rhizome-network", "rhizome-txpool"],
    &["rhizome-chain"],
    &["rhizome-sync", "rhizome-miner"],
    &["rhizome-rpc"],
    &["rhizome-node"],
    &["rhizome-tests", "rhizome-examples"],
];

/// Only these crates may link these libraries.
const OWNERS: &[(&str, &[&str])] = &[
    ("rocksdb", &["rhizome-storage"]),
    ("revm-interpreter", &["rhizome-executor"]),
    ("bitcoin", &["rhizome-bridge", "rhizome-executor"]),
];

#[test]
fn uses_go_one_way() {
    let metadata =
        MetadataCommand::new().manifest_path(rhizome_tests::repository().join("Cargo.toml")).no_deps().exec().unwrap();
    let layer: BTreeMap<&str, usize> =
        LAYERS.iter().enumerate().flat_map(|(index, names)| names.iter().map(move |name| (*name, index))).collect();
    let mut checked = 0;
    for package in &metadata.packages {
        let own = *layer.get(package.name.as_str()).unwrap_or_else(|| panic!("{} has no layer", package.name));
        for used in package.dependencies.iter().filter(|used| used.kind == DependencyKind::Normal) {
            if let Some(other) = layer.get(used.name.as_str()) {
                assert!(*other < own, "{} (layer {own}) must not use {} (layer {other})", package.name, used.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} uses seen");
}

#[test]
fn heavy_libraries_have_one_owner() {
    let metadata =
        MetadataCommand::new().manifest_path(rhizome_tests::repository().join("Cargo.toml")).no_deps().exec().unwrap();
    for (library, owners) in OWNERS {
        for package in &metadata.packages {
            let uses =
                package.dependencies.iter().any(|used| used.name == *library && used.kind == DependencyKind::Normal);
            assert!(!uses || owners.contains(&package.name.as_str()), "{} must not use {library}", package.name);
        }
    }
}
