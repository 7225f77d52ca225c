//! Clocks, counters of the kernel, and files out of the page cache.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// CPU time of the calling thread.
pub fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

/// CPU time of the process, its background threads included.
pub fn process_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

fn cpu(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Bytes that the process made the kernel fetch from the disk so far; `None` where the kernel does not tell.
pub fn bytes_read_from_disk() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse().ok())
}

/// Syncs every file below a directory and drops it from the page cache. No map of them may be open.
///
/// # Errors
/// When a file cannot be opened or synced.
pub fn drop_from_cache(directory: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            drop_from_cache(&path)?;
        } else {
            let file = File::open(&path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// Bytes of all files below a directory.
pub fn bytes_below(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            if entry.path().is_dir() {
                bytes_below(&entry.path())
            } else {
                entry.metadata().map_or(0, |meta| meta.len())
            }
        })
        .sum()
}

/// The middle value; the mean of the two middle ones when there is an even number.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// Where the median of what was sampled lies, and how surely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The chance that such an interval holds the median, whatever the distribution: at least 0.95 from six values on.
    pub confidence: f64,
}

/// The narrowest interval between two of the values, counted from both ends, that holds the median with 95 % confidence; with
/// fewer than six values from the least to the greatest.
pub fn median_interval(values: &[f64]) -> Interval {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return Interval::default() };
    // Each value is below the median with chance 1/2: the interval from the k-th to the k-th from the end misses it when fewer
    // than k are on one side.
    let mut chance = 0.5_f64.powi(i32::try_from(sorted.len()).unwrap_or(i32::MAX));
    let mut missed = 2.0 * chance;
    let mut interval = Interval { low: *low, high: *high, confidence: 1.0 - missed };
    for k in 1..sorted.len() / 2 {
        chance *= (sorted.len() - k + 1) as f64 / k as f64;
        missed += 2.0 * chance;
        if missed > 0.05 {
            break;
        }
        interval = Interval { low: sorted[k], high: sorted[sorted.len() - 1 - k], confidence: 1.0 - missed };
    }
    interval
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        let values = |count: u32| -> Vec<f64> { (1..=count).rev().map(f64::from).collect() };
        // The sign test's tables: from the 4th of 15 and the 6th of 20 values.
        let interval = median_interval(&values(15));
        assert_eq!((interval.low, interval.high), (4.0, 12.0));
        assert!((interval.confidence - 0.9648).abs() < 1e-4, "{interval:?}");
        let interval = median_interval(&values(20));
        assert_eq!((interval.low, interval.high), (6.0, 15.0));
        let interval = median_interval(&values(5));
        assert_eq!((interval.low, interval.high, interval.confidence), (1.0, 5.0, 0.9375));
        assert_eq!(median_interval(&[]), Interval::default());
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
