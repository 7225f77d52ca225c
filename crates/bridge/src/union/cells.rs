//! Cells of the Union Bridge (`UnionBridgeStorageProviderImpl`). All are written only if they were set in the call, or, the
//! events, read.

use rhizome_primitives::{Address, B256, Bytes, U256, rlp};

use crate::failure::{Failure, Result};
use crate::host::BridgeHost;
use crate::storage::cell::Cell;
use crate::storage::cell::Raw;
use crate::storage::codec;
use crate::storage::keys::union_key;

/// One of the two events.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    Super,
    Base,
}

/// What was set in this call, and the events read.
#[derive(Debug, Default)]
pub(crate) struct UnionCells {
    address: Option<Address>,
    locking_cap: Option<U256>,
    lent: Option<U256>,
    request_enabled: Option<bool>,
    release_enabled: Option<bool>,
    super_event: Cell<Option<Vec<u8>>>,
    base_event: Cell<Option<Vec<u8>>>,
}

const ADDRESS: &str = "unionBridgeContractAddress";
const LOCKING_CAP: &str = "unionBridgeLockingCap";
const LENT: &str = "weisTransferredToUnionBridge";
const REQUEST_ENABLED: &str = "unionBridgeRequestEnabled";
const RELEASE_ENABLED: &str = "unionBridgeReleaseEnabled";
const SUPER_EVENT: &str = "superEvent";
const BASE_EVENT: &str = "baseEvent";

impl UnionCells {
    pub(super) fn address(&self, host: &mut dyn BridgeHost) -> Result<Option<Address>> {
        if self.address.is_some() {
            return Ok(self.address);
        }
        match host.cell(&union_key(ADDRESS))? {
            None => Ok(None),
            Some(stored) => codec::rsk_address(rlp::first(&stored)?.data()).map(Some),
        }
    }

    pub(super) fn set_address(&mut self, address: Address) {
        self.address = Some(address);
    }

    pub(super) fn locking_cap(&self, host: &mut dyn BridgeHost) -> Result<Option<U256>> {
        if self.locking_cap.is_some() {
            return Ok(self.locking_cap);
        }
        codec::read_wei(host.cell(&union_key(LOCKING_CAP))?.raw())
    }

    pub(super) fn set_locking_cap(&mut self, cap: U256) {
        self.locking_cap = Some(cap);
    }

    /// Wei lent to the Union Bridge so far.
    pub(super) fn lent(&self, host: &mut dyn BridgeHost) -> Result<U256> {
        match self.lent {
            Some(lent) => Ok(lent),
            None => Ok(codec::read_wei(host.cell(&union_key(LENT))?.raw())?.unwrap_or_default()),
        }
    }

    pub(super) fn set_lent(&mut self, wei: U256) {
        self.lent = Some(wei);
    }

    /// Whether lending is on; it is where nothing was ever set.
    pub(super) fn request_enabled(&self, host: &mut dyn BridgeHost) -> Result<bool> {
        flag(self.request_enabled, host, REQUEST_ENABLED)
    }

    /// Whether taking back is on; it is where nothing was ever set.
    pub(super) fn release_enabled(&self, host: &mut dyn BridgeHost) -> Result<bool> {
        flag(self.release_enabled, host, RELEASE_ENABLED)
    }

    pub(super) fn set_permissions(&mut self, request: bool, release: bool) {
        self.request_enabled = Some(request);
        self.release_enabled = Some(release);
    }

    pub(super) fn event(&mut self, host: &mut dyn BridgeHost, event: Event) -> Result<Vec<u8>> {
        let cell = match event {
            Event::Super => &mut self.super_event,
            Event::Base => &mut self.base_event,
        };
        let data = cell.read(host, event_key(event), |stored| Ok(stored.map(<[u8]>::to_vec)))?;
        Ok(data.clone().unwrap_or_default())
    }

    pub(super) fn set_event(&mut self, event: Event, data: Vec<u8>) {
        match event {
            Event::Super => self.super_event.set(Some(data)),
            Event::Base => self.base_event.set(Some(data)),
        }
    }

    /// Writes what was set.
    pub(crate) fn save(&self, host: &mut dyn BridgeHost) -> Result<()> {
        let mut put = |name: &str, value: Option<Vec<u8>>| -> Result<()> {
            if let Some(value) = value {
                host.set_cell(union_key(name), Some(Bytes::from(value)))?;
            }
            Ok(())
        };
        put(ADDRESS, self.address.map(|address| codec::element(address.as_slice())))?;
        put(LOCKING_CAP, self.locking_cap.map(codec::wei))?;
        put(LENT, self.lent.map(codec::wei))?;
        put(REQUEST_ENABLED, self.request_enabled.map(encode_flag))?;
        put(RELEASE_ENABLED, self.release_enabled.map(encode_flag))?;
        self.super_event.save(host, event_key(Event::Super), |data| Ok(data.clone()))?;
        self.base_event.save(host, event_key(Event::Base), |data| Ok(data.clone()))
    }
}

fn event_key(event: Event) -> B256 {
    union_key(match event {
        Event::Super => SUPER_EVENT,
        Event::Base => BASE_EVENT,
    })
}

fn flag(set: Option<bool>, host: &mut dyn BridgeHost, name: &str) -> Result<bool> {
    if let Some(set) = set {
        return Ok(set);
    }
    match host.cell(&union_key(name))? {
        None => Ok(true),
        Some(stored) => match rlp::decode_int(&stored)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Failure::threw(format!("stored flag is {other}"))),
        },
    }
}

fn encode_flag(value: bool) -> Vec<u8> {
    codec::long(i64::from(value))
}
