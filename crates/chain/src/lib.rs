//! The canonical chain: import, fork choice, persistence and events.
