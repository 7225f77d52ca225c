//! The Union Bridge: a contract that may borrow from the Bridge's coins (`UnionBridgeSupportImpl`), RSKIP-502, and the super
//! and base events it leaves here, RSKIP-529.
//!
//! Cells are read again at each question unless they were set in this call; only the events are kept once read.

mod cells;

pub(crate) use cells::UnionCells;

use rhizome_primitives::{Address, BRIDGE_ADDRESS, U256};

use crate::abi::Word;
use crate::failure::{Failure, Result};
use crate::peg::Peg;
use cells::Event;

/// Longest super or base event.
const MAX_EVENT_LENGTH: usize = 128;

/// Answers of the methods.
pub mod code {
    /// Done.
    pub const SUCCESS: i64 = 0;
    /// The caller is not the Union Bridge.
    pub const UNAUTHORIZED: i64 = -1;
    /// An amount that is out of range.
    pub const INVALID_VALUE: i64 = -2;
    /// Switched off.
    pub const DISABLED: i64 = -3;
}

impl Peg<'_> {
    /// Address of the Union Bridge contract: fixed on mainnet, elsewhere what was set, or the network's first value.
    pub(crate) fn union_address(&mut self) -> Result<Address> {
        let constant = self.constants.union.address;
        if self.is_mainnet() {
            return Ok(constant);
        }
        Ok(self.cells.union.address(self.host)?.unwrap_or(constant))
    }

    /// Sets the address. Not on mainnet, and only for the authorised.
    pub(crate) fn set_union_address(&mut self, address: Address) -> Result<i64> {
        if self.is_mainnet() {
            return Err(Failure::threw("setUnionBridgeContractAddressForTestnet is disabled on mainnet"));
        }
        if !self.constants.union.change_address_authorizer.is_authorized(&self.call.sender) {
            return Err(Failure::threw("sender may not set the Union Bridge's address"));
        }
        self.cells.union.set_address(address);
        Ok(code::SUCCESS)
    }

    /// Wei that may be lent at most.
    pub(crate) fn union_locking_cap(&mut self) -> Result<U256> {
        Ok(self.cells.union.locking_cap(self.host)?.unwrap_or(self.constants.union.initial_locking_cap))
    }

    /// Raises the cap, above the present one and at most by the network's factor.
    pub(crate) fn increase_union_locking_cap(&mut self, new_cap: Word) -> Result<i64> {
        if !self.constants.union.change_locking_cap_authorizer.is_authorized(&self.call.sender) {
            return Err(Failure::threw("sender may not raise the Union Bridge's locking cap"));
        }
        let current = self.union_locking_cap()?;
        let factor = U256::from(self.constants.union.locking_cap_increments_multiplier);
        let Some(new_cap) = new_cap.non_negative() else { return Ok(code::INVALID_VALUE) };
        if new_cap <= current || new_cap > current.saturating_mul(factor) {
            return Ok(code::INVALID_VALUE);
        }
        self.cells.union.set_locking_cap(new_cap);
        self.log_union_cap_increased(self.call.sender, current, new_cap)?;
        Ok(code::SUCCESS)
    }

    /// Lends coins to the Union Bridge.
    pub(crate) fn request_union_rbtc(&mut self, amount: Word) -> Result<i64> {
        let union = self.union_address()?;
        if self.call.sender != union {
            return Ok(code::UNAUTHORIZED);
        }
        if !self.cells.union.request_enabled(self.host)? {
            return Ok(code::DISABLED);
        }
        let Some(amount) = amount.non_negative().filter(|amount| !amount.is_zero()) else {
            return Ok(code::INVALID_VALUE);
        };
        let cap = self.union_locking_cap()?;
        let lent = self.cells.union.lent(self.host)?.saturating_add(amount);
        if lent > cap {
            return Ok(code::INVALID_VALUE);
        }
        self.cells.union.set_lent(lent);
        self.pay(union, amount)?;
        self.log_union_requested(union, amount)?;
        Ok(code::SUCCESS)
    }

    /// Takes back lent coins, the call's value. What is refused is paid back; more than was lent switches both directions off.
    pub(crate) fn release_union_rbtc(&mut self) -> Result<i64> {
        let code = self.take_back_union_rbtc()?;
        if code != code::SUCCESS && !self.call.value.is_zero() {
            self.pay(self.call.sender, self.call.value)?;
        }
        Ok(code)
    }

    fn take_back_union_rbtc(&mut self) -> Result<i64> {
        let amount = self.call.value;
        if self.call.sender != self.union_address()? {
            return Ok(code::UNAUTHORIZED);
        }
        if !self.cells.union.release_enabled(self.host)? {
            return Ok(code::DISABLED);
        }
        if amount.is_zero() {
            return Ok(code::INVALID_VALUE);
        }
        let Some(left) = self.cells.union.lent(self.host)?.checked_sub(amount) else {
            self.cells.union.set_permissions(false, false);
            self.log_union_permissions(BRIDGE_ADDRESS, false, false)?;
            return Ok(code::INVALID_VALUE);
        };
        self.cells.union.set_lent(left);
        self.log_union_released(self.call.sender, amount)?;
        Ok(code::SUCCESS)
    }

    /// Switches lending and taking back on and off.
    pub(crate) fn set_union_permissions(&mut self, request: bool, release: bool) -> Result<i64> {
        if !self.constants.union.change_transfer_permissions_authorizer.is_authorized(&self.call.sender) {
            return Err(Failure::threw("sender may not change the Union Bridge's permissions"));
        }
        let present = (self.cells.union.request_enabled(self.host)?, self.cells.union.release_enabled(self.host)?);
        if present == (request, release) {
            return Ok(code::SUCCESS);
        }
        self.cells.union.set_permissions(request, release);
        self.log_union_permissions(self.call.sender, request, release)?;
        Ok(code::SUCCESS)
    }

    /// The super event; empty if there is none.
    pub(crate) fn super_event(&mut self) -> Result<Vec<u8>> {
        self.cells.union.event(self.host, Event::Super)
    }

    /// The base event, meant for the header of the next block; empty if there is none.
    pub(crate) fn base_event(&mut self) -> Result<Vec<u8>> {
        self.cells.union.event(self.host, Event::Base)
    }

    /// Sets the super event; empty data clears it.
    pub(crate) fn set_super_event(&mut self, data: &[u8]) -> Result<()> {
        self.set_union_event(Event::Super, data)
    }

    /// Sets the base event; empty data clears it.
    pub(crate) fn set_base_event(&mut self, data: &[u8]) -> Result<()> {
        self.set_union_event(Event::Base, data)
    }

    fn set_union_event(&mut self, event: Event, data: &[u8]) -> Result<()> {
        if self.call.sender != self.union_address()? {
            return Err(Failure::threw("caller is not the Union Bridge contract"));
        }
        if data.len() > MAX_EVENT_LENGTH {
            return Err(Failure::threw(format!("event of {} bytes is above the maximum", data.len())));
        }
        self.cells.union.set_event(event, data.to_vec());
        Ok(())
    }
}
