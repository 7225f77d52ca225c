//! The user's wish to stop (SIGINT, SIGTERM): a long command ends after the block at hand and says where it stands.
//!
//! A second signal ends the process at once, which loses nothing either: what was not durable is executed again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The exit code of a shell's command that ended by SIGINT.
pub(crate) const EXIT_CODE: u8 = 130;

/// Whether the user asked to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where the system allows no handler, a signal ends the process as it does by default.
    pub(crate) fn listen() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first of two signals finds the flag not set yet.
            let second = flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), Arc::clone(&asked));
            if let Err(error) = second.and_then(|_| flag::register(signal, Arc::clone(&asked))) {
                tracing::warn!("no handler for signal {signal}: {error}");
            }
        }
        Self(asked)
    }

    /// Whether a signal came.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
