//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::{DatadirError, LOCK_FILE};

/// Holds the LOCK file of a directory; the system releases it however the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(directory: &Path) -> Result<Self, DatadirError> {
        let path = directory.join(LOCK_FILE);
        let fault = |source| DatadirError::Io { path: path.clone(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(fault)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The number is a courtesy; without it the message is still right.
                let _ = file.read_to_string(&mut text);
                return Err(DatadirError::InUse { path: directory.to_owned(), process: text.trim().parse().ok() });
            }
            Err(TryLockError::Error(source)) => return Err(fault(source)),
        }
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| writeln!(file, "{}", std::process::id()))
            .map_err(fault)?;
        Ok(Self { _file: file })
    }
}
