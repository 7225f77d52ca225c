//! Cells of the federations (`FederationStorageProviderImpl`).
//!
//! Each federation has a cell for its members and one for the version that picks its redeem script; before RSKIP-123 there is
//! no version and a member is its BTC key alone. Saving a new federation that was merely read converts the old form.

use std::sync::Arc;

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{B256, rlp};

use super::cell::Cell;
use super::{codec, forms, keys};
use crate::bitcoin::{BtcNetwork, Script, Utxo};
use crate::constants::BridgeConstants;
use crate::failure::{Failure, Result};
use crate::federation::{Federation, FederationFormat, PendingFederation};
use crate::host::BridgeHost;
use crate::peg::Peg;
use crate::storage::cell::Raw;
use crate::votes::election::Election;

/// Federations read or set in a call.
#[derive(Debug, Default)]
pub(crate) struct FederationCells {
    new: Cell<Option<Arc<Federation>>>,
    /// Whether the new federation was read without a version.
    new_lacks_version: bool,
    old: Cell<Option<Arc<Federation>>>,
    pending: Cell<Option<PendingFederation>>,
    proposed: Cell<Option<Arc<Federation>>>,
    election: Cell<Election>,
    new_utxos: Cell<Vec<Utxo>>,
    old_utxos: Cell<Vec<Utxo>>,
    active_creation: Cell<Option<i64>>,
    /// `Some(CLEARED)` deletes the cell.
    next_creation: Cell<Option<i64>>,
    last_retired: Cell<Option<Script>>,
}

/// rskj's mark for a height to delete; it can be read back in the same call.
const CLEARED: i64 = -1;

impl FederationCells {
    pub(super) fn save(
        &self,
        host: &mut dyn BridgeHost,
        constants: &BridgeConstants,
        activations: Activations,
    ) -> Result<()> {
        let utxos = |utxos: &Vec<Utxo>| Ok(Some(forms::utxos(utxos)));
        self.new_utxos.save(host, new_utxos_key(constants.network, activations), utxos)?;
        self.old_utxos.save(host, keys::OLD_UTXOS, utxos)?;
        let multikey = activations.is_active(Rskip::R123);
        self.save_new(host, multikey)?;
        self.save_old(host, multikey)?;
        self.save_pending(host, multikey)?;
        if activations.is_active(Rskip::R419) {
            self.save_proposed(host)?;
        }
        self.election.save(host, keys::FEDERATION_ELECTION, |election| Ok(Some(election.encode())))?;
        if activations.is_active(Rskip::R186) {
            self.active_creation.save(host, keys::ACTIVE_CREATION_HEIGHT, |height| Ok(height.map(codec::long)))?;
            self.next_creation.save(host, keys::NEXT_CREATION_HEIGHT, |height| {
                Ok(height.filter(|height| *height != CLEARED).map(codec::long))
            })?;
            self.last_retired.save(host, keys::LAST_RETIRED_SCRIPT, |script| Ok(script.as_ref().map(forms::script)))?;
        }
        Ok(())
    }

    fn save_new(&self, host: &mut dyn BridgeHost, multikey: bool) -> Result<()> {
        let Some(Some(federation)) = self.new.loaded() else { return Ok(()) };
        if !(self.new.is_touched() || (multikey && self.new_lacks_version)) {
            return Ok(());
        }
        if multikey {
            forms::put_if_changed(host, keys::NEW_FEDERATION_VERSION, version(federation.format()))?;
        }
        forms::put_if_changed(host, keys::NEW_FEDERATION, encode(federation, multikey))
    }

    fn save_old(&self, host: &mut dyn BridgeHost, multikey: bool) -> Result<()> {
        if !self.old.is_touched() {
            return Ok(());
        }
        let Some(federation) = self.old.loaded() else { return Ok(()) };
        if multikey {
            let format =
                federation.as_ref().map_or(FederationFormat::StandardMultisig, |federation| federation.format());
            forms::put_if_changed(host, keys::OLD_FEDERATION_VERSION, version(format))?;
        }
        self.old.save(host, keys::OLD_FEDERATION, |old| Ok(old.as_ref().map(|federation| encode(federation, multikey))))
    }

    fn save_pending(&self, host: &mut dyn BridgeHost, multikey: bool) -> Result<()> {
        if !self.pending.is_touched() {
            return Ok(());
        }
        if multikey {
            let standard = version(FederationFormat::StandardMultisig);
            forms::put_if_changed(host, keys::PENDING_FEDERATION_VERSION, standard)?;
        }
        self.pending.save(host, keys::PENDING_FEDERATION, |pending| {
            Ok(pending.as_ref().map(|pending| pending.encode(multikey)))
        })
    }

    fn save_proposed(&self, host: &mut dyn BridgeHost) -> Result<()> {
        if !self.proposed.is_touched() {
            return Ok(());
        }
        let Some(federation) = self.proposed.loaded() else { return Ok(()) };
        let format = federation.as_ref().map(|federation| version(federation.format()).into());
        host.set_cell(keys::PROPOSED_FEDERATION_VERSION, format)?;
        self.proposed.save(host, keys::PROPOSED_FEDERATION, |proposed| {
            Ok(proposed.as_ref().map(|federation| federation.encode()))
        })
    }
}

fn encode(federation: &Federation, multikey: bool) -> Vec<u8> {
    if multikey { federation.encode() } else { federation.encode_only_btc_keys() }
}

fn version(format: FederationFormat) -> Vec<u8> {
    codec::long(format.number() as i64)
}

/// The active UTXOs moved on testnet, twice, leaving the content of the former cell behind.
fn new_utxos_key(network: BtcNetwork, activations: Activations) -> B256 {
    match network {
        BtcNetwork::Testnet if activations.is_active(Rskip::R284) && activations.is_active(Rskip::R293) => {
            keys::NEW_UTXOS_TESTNET
        }
        BtcNetwork::Testnet if activations.is_active(Rskip::R284) => keys::NEW_UTXOS_TESTNET_BEFORE_HOP,
        _ => keys::NEW_UTXOS,
    }
}

fn read_version(host: &mut dyn BridgeHost, key: B256) -> Result<Option<u64>> {
    match host.cell(&key)? {
        None => Ok(None),
        Some(stored) => Ok(Some(codec::long_from_bytes(rlp::first(&stored)?.data()) as u32 as u64)),
    }
}

impl Peg<'_> {
    fn decode_federation(&self, stored: Option<&[u8]>, version: Option<u64>) -> Result<Option<Arc<Federation>>> {
        let constants = &self.constants.federation;
        let Some(bytes) = stored else { return Ok(None) };
        let format = version.map(FederationFormat::from_number);
        Ok(Some(self.federations.decode(bytes, format, constants, self.call.activations)?))
    }

    /// The federation committed last.
    pub(crate) fn new_federation(&mut self) -> Result<Option<Arc<Federation>>> {
        if self.cells.federations.new.loaded().is_none() {
            let version = read_version(self.host, keys::NEW_FEDERATION_VERSION)?;
            self.cells.federations.new_lacks_version = version.is_none();
            let stored = self.host.cell(&keys::NEW_FEDERATION)?;
            let federation = self.decode_federation(stored.raw(), version)?;
            self.cells.federations.new.read(self.host, keys::NEW_FEDERATION, |_| Ok(federation))?;
        }
        Ok(self.cells.federations.new.loaded().cloned().flatten())
    }

    /// The federation that the new one replaces.
    pub(crate) fn old_federation(&mut self) -> Result<Option<Arc<Federation>>> {
        if self.cells.federations.old.loaded().is_none() {
            let version = read_version(self.host, keys::OLD_FEDERATION_VERSION)?;
            let stored = self.host.cell(&keys::OLD_FEDERATION)?;
            let federation = self.decode_federation(stored.raw(), version)?;
            self.cells.federations.old.read(self.host, keys::OLD_FEDERATION, |_| Ok(federation))?;
        }
        Ok(self.cells.federations.old.loaded().cloned().flatten())
    }

    /// The federation under validation, since RSKIP-419.
    pub(crate) fn proposed_federation(&mut self) -> Result<Option<Arc<Federation>>> {
        if !self.is_active(Rskip::R419) {
            return Ok(None);
        }
        if self.cells.federations.proposed.loaded().is_none() {
            let stored = self.host.cell(&keys::PROPOSED_FEDERATION)?;
            let federation = match stored {
                None => None,
                Some(bytes) => {
                    let version = read_version(self.host, keys::PROPOSED_FEDERATION_VERSION)?
                        .ok_or_else(|| Failure::threw("proposed federation without a version"))?;
                    self.decode_federation(Some(&bytes), Some(version))?
                }
            };
            self.cells.federations.proposed.read(self.host, keys::PROPOSED_FEDERATION, |_| Ok(federation))?;
        }
        Ok(self.cells.federations.proposed.loaded().cloned().flatten())
    }

    /// The federation that is being put together.
    pub(crate) fn pending_federation(&mut self) -> Result<Option<&PendingFederation>> {
        if self.cells.federations.pending.loaded().is_none() {
            let version = read_version(self.host, keys::PENDING_FEDERATION_VERSION)?;
            self.cells.federations.pending.read(self.host, keys::PENDING_FEDERATION, |stored| {
                let Some(bytes) = stored else { return Ok(None) };
                Ok(Some(match version {
                    Some(_) => PendingFederation::decode(bytes)?,
                    None => PendingFederation::decode_only_btc_keys(bytes)?,
                }))
            })?;
        }
        Ok(self.cells.federations.pending.loaded().and_then(Option::as_ref))
    }

    pub(crate) fn set_new_federation(&mut self, federation: Arc<Federation>) {
        self.cells.federations.new.set(Some(federation));
    }

    pub(crate) fn set_old_federation(&mut self, federation: Option<Arc<Federation>>) {
        self.cells.federations.old.set(federation);
    }

    pub(crate) fn set_pending_federation(&mut self, federation: Option<PendingFederation>) {
        self.cells.federations.pending.set(federation);
    }

    pub(crate) fn set_proposed_federation(&mut self, federation: Option<Arc<Federation>>) {
        self.cells.federations.proposed.set(federation);
    }

    /// Votes for federation changes.
    pub(crate) fn federation_election(&mut self) -> Result<&mut Election> {
        let authorizer = &self.constants.federation.change_authorizer;
        self.cells
            .federations
            .election
            .change(self.host, keys::FEDERATION_ELECTION, |stored| Election::decode(stored, authorizer))
    }

    /// Unspent outputs of the new federation.
    pub(crate) fn new_utxos(&mut self) -> Result<&Vec<Utxo>> {
        let key = new_utxos_key(self.constants.network, self.call.activations);
        self.cells.federations.new_utxos.read(self.host, key, forms::read_utxos)
    }

    pub(crate) fn new_utxos_mut(&mut self) -> Result<&mut Vec<Utxo>> {
        let key = new_utxos_key(self.constants.network, self.call.activations);
        self.cells.federations.new_utxos.change(self.host, key, forms::read_utxos)
    }

    /// Unspent outputs of the old federation.
    pub(crate) fn old_utxos(&mut self) -> Result<&Vec<Utxo>> {
        self.cells.federations.old_utxos.read(self.host, keys::OLD_UTXOS, forms::read_utxos)
    }

    pub(crate) fn old_utxos_mut(&mut self) -> Result<&mut Vec<Utxo>> {
        self.cells.federations.old_utxos.change(self.host, keys::OLD_UTXOS, forms::read_utxos)
    }

    /// Creation block of the active federation, as far as it was recorded.
    pub(crate) fn recorded_active_creation(&mut self) -> Result<Option<i64>> {
        if !self.is_active(Rskip::R186) {
            return Ok(None);
        }
        let cell = &mut self.cells.federations.active_creation;
        Ok(*cell.read(self.host, keys::ACTIVE_CREATION_HEIGHT, codec::read_optional_long)?)
    }

    pub(crate) fn set_active_creation(&mut self, block: i64) {
        self.cells.federations.active_creation.set(Some(block));
    }

    /// Creation block of the federation that waits for its activation.
    pub(crate) fn recorded_next_creation(&mut self) -> Result<Option<i64>> {
        if !self.is_active(Rskip::R186) {
            return Ok(None);
        }
        let cell = &mut self.cells.federations.next_creation;
        Ok(*cell.read(self.host, keys::NEXT_CREATION_HEIGHT, codec::read_optional_long)?)
    }

    pub(crate) fn set_next_creation(&mut self, block: Option<i64>) {
        self.cells.federations.next_creation.set(Some(block.unwrap_or(CLEARED)));
    }

    /// Output script of the members of the federation that retired last.
    pub(crate) fn last_retired_script(&mut self) -> Result<Option<Script>> {
        if !self.is_active(Rskip::R186) {
            return Ok(None);
        }
        let cell = &mut self.cells.federations.last_retired;
        Ok(cell.read(self.host, keys::LAST_RETIRED_SCRIPT, forms::read_script)?.clone())
    }

    pub(crate) fn set_last_retired_script(&mut self, script: Script) {
        self.cells.federations.last_retired.set(Some(script));
    }
}
