//! How long native contracts take, for reports.
//!
//! Execution has no clock: who wants to know hands one in, and nothing that execution does depends on it.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A clock, and a place for what it measured.
pub trait Stopwatch: Send + Sync + Debug {
    /// Time since a moment that stays the same.
    fn now(&self) -> Duration;

    /// The Bridge's code ran for so long.
    fn bridge(&self, spent: Duration);
}

/// Runs a piece of the Bridge's work on its account, if anyone keeps one.
pub(super) fn bridge<T>(watch: Option<&Arc<dyn Stopwatch>>, work: impl FnOnce() -> T) -> T {
    let Some(watch) = watch else { return work() };
    let start = watch.now();
    let result = work();
    watch.bridge(watch.now().saturating_sub(start));
    result
}
