//! Federations by their stored bytes.

use std::sync::{Arc, Mutex, PoisonError};

use rhizome_chainspec::{Activations, Rskip};

use super::{Federation, FederationError, FederationFormat};
use crate::constants::FederationConstants;

/// Federations that a network has at one time: new, old and proposed, and room for blocks of another branch.
const CAPACITY: usize = 8;

/// Decoding a federation means dozens of keys and several hashes, and most calls of the Bridge look at the same one. The
/// memo holds the last few of one network; what it answers depends on nothing but the question.
#[derive(Debug, Default)]
pub struct FederationCache {
    entries: Mutex<Vec<(Key, Arc<Federation>)>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Key {
    bytes: Vec<u8>,
    /// `None` for the form with Bitcoin keys alone.
    format: Option<FederationFormat>,
    /// RSKIP-284 and RSKIP-293, which change the script of one format.
    variant: (bool, bool),
}

impl FederationCache {
    /// An empty memo.
    pub fn new() -> Self {
        Self::default()
    }

    /// [`Federation::decode`], or with no format [`Federation::decode_only_btc_keys`].
    ///
    /// # Errors
    /// As there.
    pub fn decode(
        &self,
        bytes: &[u8],
        format: Option<FederationFormat>,
        constants: &FederationConstants,
        activations: Activations,
    ) -> Result<Arc<Federation>, FederationError> {
        let variant = match format {
            Some(FederationFormat::NonStandardErp) => {
                (activations.is_active(Rskip::R284), activations.is_active(Rskip::R293))
            }
            _ => (false, false),
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            entries.iter().position(|(key, _)| key.format == format && key.variant == variant && key.bytes == bytes);
        if let Some(position) = found {
            entries[..=position].rotate_right(1);
            return Ok(Arc::clone(&entries[0].1));
        }
        let federation = Arc::new(match format {
            Some(format) => Federation::decode(bytes, format, constants, activations)?,
            None => Federation::decode_only_btc_keys(bytes, constants)?,
        });
        entries.truncate(CAPACITY - 1);
        entries.insert(0, (Key { bytes: bytes.to_vec(), format, variant }, Arc::clone(&federation)));
        Ok(federation)
    }
}
