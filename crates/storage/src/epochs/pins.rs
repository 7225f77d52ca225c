//! States that somebody needs whole, whatever the collector does.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rhizome_primitives::B256;

/// The pinned states and the height below which new pins come too late.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// How many pins each state of a block has. There are few at a time.
    pinned: BTreeMap<(u64, B256), usize>,
    /// States of blocks from here on are whole.
    complete_from: u64,
    /// Where the collection that is under way will leave that height.
    collecting: Option<u64>,
}

impl State {
    fn floor(&self) -> u64 {
        self.complete_from.max(self.collecting.unwrap_or(0))
    }
}

impl Pins {
    pub(crate) fn new(complete_from: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State { complete_from, ..State::default() })) }
    }

    /// States of blocks from this height on are whole and stay so.
    pub(crate) fn floor(&self) -> u64 {
        self.state.lock().floor()
    }

    /// Keeps the state of a block whole until the pin is dropped; none when it is not whole any more, or may soon not be.
    pub(crate) fn pin(&self, number: u64, root: B256) -> Option<Pin> {
        let mut state = self.state.lock();
        if number < state.floor() && !state.pinned.keys().any(|(_, pinned)| *pinned == root) {
            return None;
        }
        *state.pinned.entry((number, root)).or_default() += 1;
        Some(Pin { number, root, state: Some(Arc::clone(&self.state)) })
    }

    /// Starts a collection that keeps the states from a height on: older ones cannot be pinned any more. Returns the roots
    /// of those that are. Newer ones are whole by themselves, and the newest of them are not even written.
    pub(crate) fn begin(&self, keep_from: u64) -> Vec<B256> {
        let mut state = self.state.lock();
        state.collecting = Some(keep_from);
        state.pinned.range(..(keep_from, B256::ZERO)).map(|((_, root), _)| *root).collect()
    }

    /// Whether the state of a block of this height is pinned: by a reader, or because a child of the block is imported.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.state.lock().pinned.range((number, B256::ZERO)..=(number, B256::repeat_byte(0xff))).next().is_some()
    }

    /// Ends a collection; `dropped`: an epoch went, and older states with it.
    pub(crate) fn end(&self, dropped: bool) {
        let mut state = self.state.lock();
        let keep_from = state.collecting.take().unwrap_or(0);
        if dropped {
            state.complete_from = state.complete_from.max(keep_from);
        }
    }
}

/// Keeps a state whole for as long as it lives.
#[derive(Debug)]
pub struct Pin {
    number: u64,
    root: B256,
    /// None where nothing is ever collected.
    state: Option<Arc<Mutex<State>>>,
}

impl Pin {
    /// A pin in stores that keep everything.
    pub(crate) fn needless(number: u64, root: B256) -> Self {
        Self { number, root, state: None }
    }

    /// The pinned root.
    pub fn root(&self) -> B256 {
        self.root
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock();
        let key = (self.number, self.root);
        if let Some(count) = state.pinned.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                state.pinned.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_comes_before_the_collection_or_above_it() {
        let root = B256::repeat_byte;
        let pins = Pins::new(10);
        assert!(pins.pin(9, root(1)).is_none());
        let old = pins.pin(10, root(1)).unwrap();
        let again = pins.pin(12, root(1)).unwrap();
        assert!(pins.has(10) && pins.has(12) && !pins.has(11));
        assert_eq!(pins.begin(50), [root(1), root(1)]);
        assert_eq!(pins.floor(), 50);
        // Pinned before: it stays whole, so more pins are welcome. Not pinned before: too late.
        assert!(pins.pin(11, root(1)).is_some());
        assert!(pins.pin(49, root(2)).is_none());
        let new = pins.pin(50, root(3)).unwrap();
        pins.end(false);
        assert_eq!(pins.floor(), 10);
        drop(old);
        assert_eq!(pins.begin(50), [root(1)], "what is above is whole by itself");
        pins.end(true);
        assert_eq!(pins.floor(), 50);
        drop((again, new));
        assert!(pins.begin(u64::MAX).is_empty());
    }
}
