//! The user's wish to stop (SIGINT, SIGTERM).
//!
//! A command that goes block by block ends after the block at hand and says where it stands; a second signal ends the process at
//! once, which loses nothing either: what was not durable is executed again. Other long commands end at once and say
//! what holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::failure::Failure;

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

/// From now on a signal ends the process at once and says what holds then. For commands that a kill at any moment does not hurt.
pub(crate) fn end_with(what_holds: &'static str, json: bool) {
    let listening = Signals::new([SIGINT, SIGTERM]).and_then(|mut signals| {
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if signals.forever().next().is_some() {
                let message = format!("stopped by the user; {what_holds}");
                Failure::Interrupted { message, block: None }.report(json);
                std::process::exit(i32::from(EXIT_CODE));
            }
        })
    });
    if let Err(error) = listening {
        tracing::warn!("no handler for signals: {error}");
    }
}
