//! Where the live nodes of a state lie among everything that was written.

use eyre::Result;
use rhizome_primitives::B256;
use rhizome_primitives::map::B256Map;
use rhizome_trie::Trie;
use rhizome_trie::codec::{ChildView, ValueView};
use serde::Serialize;

/// What the kernel reads at least.
const PAGE: u64 = 4096;
/// Bytes that a record takes beside its own: a length.
const OVERHEAD: u64 = 1;

/// Records in the order of a store that appends, with their places.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    places: B256Map<(u64, u64)>,
    end: u64,
}

/// How dense the live records are.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Density {
    /// Records in the store.
    pub records: u64,
    /// Those that the state reaches.
    pub live_records: u64,
    /// Bytes in the store.
    pub bytes: u64,
    /// Bytes of the live records.
    pub live_bytes: u64,
    /// Live records over all records.
    pub share: f64,
    /// Bytes from the start of a live record to the start of the next one, the mean.
    pub mean_distance: f64,
    /// Bytes between a node and its child, the mean over all edges of the state.
    pub mean_distance_to_child: f64,
    /// Pages of 4 KiB with a live record in them over all pages.
    pub page_share: f64,
    /// Bytes of those pages over the bytes of the live records.
    pub page_amplification: f64,
}

impl Layout {
    /// Appends a record unless it is there.
    pub fn push(&mut self, hash: B256, len: usize) {
        if !self.places.contains_key(&hash) {
            self.places.insert(hash, (self.end, len as u64));
            self.end += len as u64 + OVERHEAD;
        }
    }

    /// Bytes of the whole.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Where a record begins and how long it is.
    pub fn place(&self, hash: &B256) -> Option<(u64, u64)> {
        self.places.get(hash).copied()
    }

    /// The layout of a collected store: the records of a state alone, each node before its subtrees.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn of_state(state: &Trie) -> Result<Self> {
        let mut layout = Self::default();
        visit(state, |hash, len, _| layout.push(hash, len))?;
        Ok(layout)
    }

    /// The density of a state, and the live bytes in each of `bins` equal parts of the store.
    ///
    /// # Errors
    /// When the state cannot be read or has a record that the layout does not.
    pub fn density(&self, state: &Trie, bins: usize) -> Result<(Density, Vec<f64>)> {
        let mut live = Vec::new();
        let mut missing = 0_u64;
        let (mut edges, mut distance) = (0_u64, 0_u128);
        visit(state, |hash, _, children| {
            let Some((offset, len)) = self.place(&hash) else {
                missing += 1;
                return;
            };
            live.push((offset, len));
            for (child, _) in children.iter().filter_map(|child| self.place(child)) {
                edges += 1;
                distance += u128::from(child.abs_diff(offset));
            }
        })?;
        eyre::ensure!(missing == 0, "{missing} records of the state are not in the store");
        live.sort_unstable();
        live.dedup();
        let live_bytes: u64 = live.iter().map(|(_, len)| len).sum();
        let mut pages: Vec<u64> = live.iter().flat_map(|(offset, len)| offset / PAGE..=(offset + len) / PAGE).collect();
        pages.dedup();
        let span = live.last().zip(live.first()).map_or(0, |(last, first)| last.0 - first.0);
        let all_pages = self.end.div_ceil(PAGE).max(1);
        let density = Density {
            records: self.places.len() as u64,
            live_records: live.len() as u64,
            bytes: self.end,
            live_bytes,
            share: live.len() as f64 / (self.places.len() as f64).max(1.0),
            mean_distance: span as f64 / (live.len() as f64 - 1.0).max(1.0),
            mean_distance_to_child: distance as f64 / (edges as f64).max(1.0),
            page_share: pages.len() as f64 / all_pages as f64,
            page_amplification: (pages.len() as u64 * PAGE) as f64 / (live_bytes as f64).max(1.0),
        };
        Ok((density, self.histogram(&live, bins)))
    }

    /// The share of each part that live records fill; a record on a border counts in both parts.
    fn histogram(&self, live: &[(u64, u64)], bins: usize) -> Vec<f64> {
        let width = (self.end as f64 / bins.max(1) as f64).max(1.0);
        let mut filled = vec![0.0; bins];
        for (offset, len) in live {
            let (start, end) = (*offset as f64, (offset + len + OVERHEAD) as f64);
            for bin in (start / width) as usize..=(end / width) as usize {
                let (left, right) = (bin as f64 * width, (bin + 1) as f64 * width);
                if let Some(filled) = filled.get_mut(bin) {
                    *filled += (end.min(right) - start.max(left)).max(0.0) / width;
                }
            }
        }
        filled
    }
}

/// Visits every record of a state in pre-order: its hash, its length, the records that it names.
fn visit(state: &Trie, mut each: impl FnMut(B256, usize, &[B256])) -> Result<()> {
    for item in state.iter_nodes() {
        let item = item?;
        let view = item.view()?;
        let mut named = Vec::new();
        let mut value = None;
        for child in view.children {
            if let ChildView::Hash(hash) = child {
                named.push(*hash);
            }
        }
        if let ValueView::Long { hash, len } = view.value {
            named.push(*hash);
            value = Some((*hash, len as usize));
        }
        if !item.is_embedded() {
            each(item.hash(), item.message().len(), &named);
        }
        if let Some((hash, len)) = value {
            each(hash, len, &[]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rhizome_primitives::Bytes;
    use rhizome_trie::{ChangeSet, MemoryTrieStore, TrieKey, TrieStore};

    use super::*;

    /// A store of many versions of a state with 20 entries, of which each version changes some.
    fn versions(changed: impl Fn(u8) -> std::ops::Range<u8>) -> (Trie, Layout) {
        let store: Arc<dyn TrieStore> = Arc::new(MemoryTrieStore::new());
        let mut state = Trie::empty(Arc::clone(&store));
        let mut layout = Layout::default();
        for round in 0..50_u8 {
            let mut changes = ChangeSet::builder();
            for key in changed(round) {
                // No two values are equal, so that no two subtrees are one record.
                let mut value = vec![round; 40];
                value[0] = key;
                changes.put(TrieKey::new(&[key, 1, 2]), Some(Bytes::from(value)));
            }
            state = state.apply(&changes.build()).unwrap();
            let batch = state.commit();
            store.put_batch(batch.records()).unwrap();
            batch.records().iter().for_each(|(hash, record)| layout.push(*hash, record.len()));
        }
        (state, layout)
    }

    /// Collects and checks that nothing but the state is left; returns the density then.
    fn collected(state: &Trie, before: &Density) -> Density {
        let (after, bins) = Layout::of_state(state).unwrap().density(state, 10).unwrap();
        assert_eq!((after.share, after.live_records, after.live_bytes), (1.0, before.live_records, before.live_bytes));
        assert!(bins.iter().all(|bin| *bin > 0.9), "{bins:?}");
        after
    }

    #[test]
    fn a_collected_store_is_dense_and_one_of_many_versions_is_not() {
        // Every version is a whole state: 20 values and 19 nodes, which have the leaves in themselves.
        let (state, layout) = versions(|_| 0..20);
        let (before, bins) = layout.density(&state, 10).unwrap();
        assert_eq!((before.records, before.live_records), (50 * 39, 39));
        assert!(before.share < 0.1 && bins[0] == 0.0 && bins[9] > 0.1, "{before:?} {bins:?}");
        collected(&state, &before);
    }

    #[test]
    fn live_records_lie_scattered_where_versions_change_little() {
        let (state, layout) = versions(|round| if round == 0 { 0..20 } else { round % 20..round % 20 + 1 });
        let (before, bins) = layout.density(&state, 10).unwrap();
        assert!(before.share < 0.3 && bins[9] > 0.1 && bins[..9].iter().any(|bin| *bin > 0.0), "{before:?} {bins:?}");
        // A version that was written whole is as near together as a collected one; what many versions left behind is not.
        let after = collected(&state, &before);
        assert!(after.mean_distance_to_child < before.mean_distance_to_child, "{after:?} {before:?}");
    }
}
