//! How far a long command is: a bar on a terminal, a line every ten seconds elsewhere.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Between two updates of the bar's text.
const BAR_INTERVAL: Duration = Duration::from_millis(200);

/// The progress of reading block files, measured in their bytes on disk.
pub(crate) struct Progress {
    bar: ProgressBar,
    terminal: bool,
    total: u64,
    read: Arc<AtomicU64>,
    start: Instant,
    last: Instant,
    blocks: u64,
    gas: u64,
}

impl Progress {
    /// For these files; `read` counts the bytes taken from them.
    pub(crate) fn new(files: &[PathBuf], read: Arc<AtomicU64>) -> Self {
        let total = files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|meta| meta.len()).sum();
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {percent}%  {msg}") {
            bar.set_style(style);
        }
        let now = Instant::now();
        Self { bar, terminal, total, read, start: now, last: now, blocks: 0, gas: 0 }
    }

    /// A block is through; `gas` is what its execution used.
    pub(crate) fn block(&mut self, number: u64, gas: u64) {
        self.blocks += 1;
        self.gas = self.gas.saturating_add(gas);
        let interval = if self.terminal { BAR_INTERVAL } else { LINE_INTERVAL };
        if self.last.elapsed() < interval {
            return;
        }
        self.last = Instant::now();
        let text = self.text(number);
        if self.terminal {
            self.bar.set_position(self.read.load(Ordering::Relaxed));
            self.bar.set_message(text);
        } else {
            eprintln!("{text}");
        }
    }

    fn text(&self, number: u64) -> String {
        let seconds = self.start.elapsed().as_secs_f64().max(1e-3);
        let read = self.read.load(Ordering::Relaxed).min(self.total);
        let share = if self.total == 0 { 0.0 } else { read as f64 / self.total as f64 };
        let left = if share > 0.0 { seconds / share - seconds } else { 0.0 };
        format!(
            "block {number}, {:.1} blocks/s, {:.2} Mgas/s, {:.0} % read, about {} left",
            self.blocks as f64 / seconds,
            self.gas as f64 / seconds / 1e6,
            share * 100.0,
            duration(left)
        )
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_readable() {
        assert_eq!(duration(0.4), "0 s");
        assert_eq!(duration(61.0), "1 min 1 s");
        assert_eq!(duration(7_384.0), "2 h 3 min");
    }
}
