//! Taking in headers: `receiveHeaders` and `receiveHeader`.

use rhizome_chainspec::Rskip;

use crate::bitcoin::{BtcHeader, BtcNetwork, DecodeError, StoredBlock};
use crate::failure::{Failure, Result, caught};
use crate::peg::Peg;

/// Answers of `receiveHeader`.
mod code {
    pub(super) const TAKEN: i64 = 0;
    pub(super) const TOO_SOON: i64 = -1;
    pub(super) const TOO_OLD: i64 = -2;
    pub(super) const NO_PARENT: i64 = -3;
    pub(super) const KNOWN: i64 = -4;
    pub(super) const WRONG_SIZE: i64 = -20;
    pub(super) const FAILED: i64 = -99;
}

impl Peg<'_> {
    /// Adds headers. A wrong size fails the call; a header that cannot be added is passed over.
    pub(crate) fn receive_headers(&mut self, headers: &[&[u8]]) -> Result<()> {
        let exact = self.is_active(Rskip::R124);
        if headers.iter().any(|header| !BtcHeader::is_accepted_size(header.len(), exact)) {
            return Err(Failure::illegal("unexpected BTC header size"));
        }
        let headers: Vec<_> =
            headers.iter().map(|bytes| BtcHeader::decode(bytes).map_err(unparsable)).collect::<Result<_>>()?;
        self.add_headers(&headers).map_err(Failure::wrapped)
    }

    fn add_headers(&mut self, headers: &[BtcHeader]) -> Result<()> {
        self.open_btc_chain()?;
        for header in headers {
            // Java asks the parent for its height: an unknown one fails here, and the header is passed over.
            let Some(Some(parent)) = caught(self.btc_block(&header.prev_hash()))? else { continue };
            if self.has_too_much_work(&parent) {
                break;
            }
            caught(self.with_btc_chain(|chain, host| chain.add(host, header)))?;
        }
        Ok(())
    }

    /// Adds one header, at most one in five minutes.
    pub(crate) fn receive_header(&mut self, bytes: &[u8]) -> Result<i64> {
        if !BtcHeader::is_accepted_size(bytes.len(), self.is_active(Rskip::R124)) {
            return Ok(code::WRONG_SIZE);
        }
        let header = BtcHeader::decode(bytes)?;
        self.add_header(&header).map_err(Failure::wrapped)
    }

    fn add_header(&mut self, header: &BtcHeader) -> Result<i64> {
        if self.btc_block(&header.hash())?.is_some() {
            return Ok(code::KNOWN);
        }
        let now = self.call.block.timestamp as i64;
        if let Some(last) = self.headers_timestamp()?
            && now.wrapping_sub(last) < self.constants.min_seconds_between_headers
        {
            return Ok(code::TOO_SOON);
        }
        let Some(parent) = self.btc_block(&header.prev_hash())? else { return Ok(code::NO_PARENT) };
        let depth = self.btc_best_height()?.wrapping_sub(parent.height.wrapping_add(1));
        if depth > self.constants.max_header_depth {
            return Ok(code::TOO_OLD);
        }
        if self.has_too_much_work(&parent) {
            return Ok(code::FAILED);
        }
        if caught(self.with_btc_chain(|chain, host| chain.add(host, header)))?.is_none() {
            return Ok(code::FAILED);
        }
        if self.is_active(Rskip::R200) {
            self.cells.headers_timestamp = Some(now);
        }
        Ok(code::TAKEN)
    }

    /// Whether the child of this block has more work than the stored form could hold until RSKIP-434.
    fn has_too_much_work(&self, parent: &StoredBlock) -> bool {
        parent.height.wrapping_add(1) >= self.constants.too_much_chain_work_height
            && self.constants.network == BtcNetwork::Mainnet
            && !self.is_active(Rskip::R434)
    }
}

/// Only bitcoinj's own exception becomes an illegal argument of the Bridge.
fn unparsable(error: DecodeError) -> Failure {
    match error {
        DecodeError::NEGATIVE_CAPACITY => error.into(),
        _ => Failure::illegal("BTC header could not be parsed"),
    }
}
