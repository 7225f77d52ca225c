//! The program `rhizome`.

use std::process::ExitCode;

/// A block allocates and frees many small values on several threads; the system's allocator spends a noticeable part of a
/// replay on that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rhizome_node::run()
}
