//! Who may write when: batches side by side, a checkpoint's cut and the index's growth alone, nobody after a failure.
//!
//! The poison is set while the failed writer is still inside, and looked at after entering. So whoever is inside alone knows
//! that every batch before it was written whole.

use crate::sync::{AtomicBool, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The gate of one store.
#[derive(Debug)]
pub(crate) struct Gate {
    writers: RwLock<()>,
    poisoned: AtomicBool,
}

/// The gate does not open any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Poisoned;

impl Gate {
    pub(crate) fn new() -> Self {
        Self { writers: RwLock::new(()), poisoned: AtomicBool::new(false) }
    }

    /// Enters beside other writers.
    pub(crate) fn enter(&self) -> Result<RwLockReadGuard<'_, ()>, Poisoned> {
        let inside = self.writers.read();
        if self.is_poisoned() { Err(Poisoned) } else { Ok(inside) }
    }

    /// Enters when no writer is inside, and keeps others out.
    pub(crate) fn enter_alone(&self) -> Result<RwLockWriteGuard<'_, ()>, Poisoned> {
        let inside = self.writers.write();
        if self.is_poisoned() { Err(Poisoned) } else { Ok(inside) }
    }

    /// Waits for the writers inside and keeps others out, whatever happened before. For readers of a consistent cut.
    pub(crate) fn pause(&self) -> RwLockWriteGuard<'_, ()> {
        self.writers.write()
    }

    /// Lets nobody in any more. A writer that failed calls it before it leaves.
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }
}
