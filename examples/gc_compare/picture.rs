//! Where the head state lies in the stores of a pair.

use std::path::Path;
use std::sync::Arc;

use eyre::{Result, WrapErr};
use rhizome_examples::{Density, EngineKind, Layout, density_picture, open_engine};
use rhizome_primitives::B256;
use rhizome_storage::{EngineOptions, EpochStore, TrieEngine};
use rhizome_trie::{Trie, TrieStore};

/// Parts of a store.
const BINS: usize = 240;

/// The charts of one picture.
pub(crate) struct Picture<'a> {
    path: &'a Path,
    charts: Vec<(String, Vec<f64>)>,
}

impl<'a> Picture<'a> {
    pub(crate) fn new(path: &'a impl AsRef<Path>) -> Self {
        Self { path: path.as_ref(), charts: Vec::new() }
    }

    /// Looks at the records of a FlatDB store in the order of its files, oldest first, and tells the density of a state.
    pub(crate) fn add(&mut self, name: &str, path: &Path, root: B256) -> Result<()> {
        let open = || EpochStore::open(path, TrieEngine::FlatDb, EngineOptions::default());
        let oldest_first: Vec<u64> = open()?.epochs().iter().rev().map(|epoch| epoch.number).collect();
        let mut layout = Layout::default();
        for number in oldest_first {
            let epoch = open_engine(EngineKind::Flatdb, &path.join(format!("{}.{number}", TrieEngine::FlatDb)))?;
            epoch.for_each(&mut |hash, record| {
                layout.push(*hash, record.len());
                Ok(())
            })?;
        }
        let (density, bins) = layout.density(&Trie::open(root, Arc::new(open()?) as Arc<dyn TrieStore>)?, BINS)?;
        let Density { bytes, share, mean_distance, mean_distance_to_child, page_share, .. } = density;
        let (mib, share) = (bytes as f64 / f64::from(1 << 20), 100.0 * share);
        println!(
            "{name}: {mib:.1} MiB, {share:.2} % of the records are live, {:.2} % of the pages have some; bytes to the next live \
             record {mean_distance:.0}, from a node to its child {mean_distance_to_child:.0}, in the mean",
            100.0 * page_share
        );
        self.charts.push((format!("{name}: {mib:.1} MiB, {share:.1} % of the records are live"), bins));
        Ok(())
    }

    pub(crate) fn write(&self) -> Result<()> {
        let charts: Vec<(String, &[f64])> = self.charts.iter().map(|(name, bins)| (name.clone(), &bins[..])).collect();
        let picture = density_picture("Live share of the store by position, head state", &charts);
        std::fs::write(self.path, picture).wrap_err_with(|| self.path.display().to_string())
    }
}
