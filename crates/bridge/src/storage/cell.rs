//! One cell of the Bridge, read when first asked for and written once at the end of the call.
//!
//! rskj writes back every cell it has read, which can bring an absent cell to life or convert an old form. [`Cell::save`] has
//! the same effect on the state without rewriting what did not change: a value that nobody touched and that was there is left
//! alone, because its stored form is what the same code wrote earlier.

use rhizome_primitives::{B256, Bytes};

use crate::failure::Result;
use crate::host::BridgeHost;

/// A stored value as plain bytes.
pub(crate) trait Raw {
    /// The bytes, if there is a value.
    fn raw(&self) -> Option<&[u8]>;
}

impl Raw for Option<Bytes> {
    fn raw(&self) -> Option<&[u8]> {
        self.as_ref().map(AsRef::as_ref)
    }
}

/// A lazily read value.
#[derive(Debug)]
pub(crate) struct Cell<T>(Option<Loaded<T>>);

#[derive(Debug)]
struct Loaded<T> {
    value: T,
    /// The stored bytes; `Known::Unread` when the value was set without reading.
    stored: Known,
    touched: bool,
}

#[derive(Debug)]
enum Known {
    Unread,
    Read(Option<Bytes>),
}

impl<T> Default for Cell<T> {
    fn default() -> Self {
        Cell(None)
    }
}

impl<T> Cell<T> {
    /// The value, read with `decode` if this is the first time.
    pub(crate) fn read(
        &mut self,
        host: &mut dyn BridgeHost,
        key: B256,
        decode: impl FnOnce(Option<&[u8]>) -> Result<T>,
    ) -> Result<&T> {
        Ok(&self.load(host, key, decode)?.value)
    }

    /// The value for change.
    pub(crate) fn change(
        &mut self,
        host: &mut dyn BridgeHost,
        key: B256,
        decode: impl FnOnce(Option<&[u8]>) -> Result<T>,
    ) -> Result<&mut T> {
        let loaded = self.load(host, key, decode)?;
        loaded.touched = true;
        Ok(&mut loaded.value)
    }

    fn load(
        &mut self,
        host: &mut dyn BridgeHost,
        key: B256,
        decode: impl FnOnce(Option<&[u8]>) -> Result<T>,
    ) -> Result<&mut Loaded<T>> {
        if self.0.is_none() {
            let stored = host.cell(&key)?;
            let value = decode(stored.raw())?;
            self.0 = Some(Loaded { value, stored: Known::Read(stored), touched: false });
        }
        Ok(self.0.as_mut().expect("loaded just above"))
    }

    /// The value if it was read or set.
    pub(crate) fn loaded(&self) -> Option<&T> {
        self.0.as_ref().map(|loaded| &loaded.value)
    }

    /// Whether the value was set or handed out for change.
    pub(crate) fn is_touched(&self) -> bool {
        self.0.as_ref().is_some_and(|loaded| loaded.touched)
    }

    /// The value for change, if it was read or set.
    pub(crate) fn loaded_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut().map(|loaded| {
            loaded.touched = true;
            &mut loaded.value
        })
    }

    /// Sets the value without reading the cell.
    pub(crate) fn set(&mut self, value: T) {
        let stored = self.0.take().map_or(Known::Unread, |loaded| loaded.stored);
        self.0 = Some(Loaded { value, stored, touched: true });
    }

    /// Writes the value if it was read or set; no bytes delete the cell.
    pub(crate) fn save(
        &self,
        host: &mut dyn BridgeHost,
        key: B256,
        encode: impl FnOnce(&T) -> Result<Option<Vec<u8>>>,
    ) -> Result<()> {
        let Some(loaded) = &self.0 else { return Ok(()) };
        if !loaded.touched && matches!(loaded.stored, Known::Read(Some(_))) {
            return Ok(());
        }
        self.save_converted(host, key, encode)
    }

    /// As [`Cell::save`], for cells whose stored form depends on the rules: an untouched value is written too if its form
    /// changed.
    pub(crate) fn save_converted(
        &self,
        host: &mut dyn BridgeHost,
        key: B256,
        encode: impl FnOnce(&T) -> Result<Option<Vec<u8>>>,
    ) -> Result<()> {
        let Some(loaded) = &self.0 else { return Ok(()) };
        let encoded = encode(&loaded.value)?.filter(|bytes| !bytes.is_empty());
        if let Known::Read(stored) = &loaded.stored
            && stored.raw() == encoded.as_deref()
        {
            return Ok(());
        }
        host.set_cell(key, encoded.map(Bytes::from))?;
        Ok(())
    }
}
