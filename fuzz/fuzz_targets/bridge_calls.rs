//! Calls of the Bridge, one after the other, on cells of any content: never a panic, no coin made or lost.
#![no_main]

#[path = "../bridge_session/mod.rs"]
mod bridge_session;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| bridge_session::run(input));
