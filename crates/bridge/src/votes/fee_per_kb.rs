//! The fee rate of releases, set by vote (`FeePerKbSupportImpl`).

use crate::failure::{Failure, Result};
use crate::peg::Peg;
use crate::storage::codec::{self, Satoshi};
use crate::storage::keys;
use crate::votes::election::{CallSpec, Election};

const SET_FEE_PER_KB: &str = "setFeePerKb";

/// Answers of `voteFeePerKbChange`.
pub mod code {
    /// The vote counts.
    pub const COUNTED: i64 = 1;
    /// The sender has voted for this.
    pub const REPEATED: i64 = -1;
    /// Not above zero.
    pub const NOT_POSITIVE: i64 = -1;
    /// Above the maximum.
    pub const EXCESSIVE: i64 = -2;
    /// The sender may not vote.
    pub const UNAUTHORIZED: i64 = -10;
    /// A value beyond 64 bits.
    pub const GENERIC_ERROR: i64 = -10;
}

impl Peg<'_> {
    /// Satoshi per 1,000 bytes: the voted value, or the network's first one.
    pub(crate) fn fee_per_kb(&mut self) -> Result<Satoshi> {
        let stored = *self.cells.fee_per_kb.read(self.host, keys::FEE_PER_KB, codec::read_coin)?;
        Ok(stored.unwrap_or(self.constants.fee_per_kb.genesis))
    }

    /// Votes for a new fee rate; with the deciding vote it takes effect and the election is cleared. `None` is a value beyond
    /// 64 bits.
    pub(crate) fn vote_fee_per_kb(&mut self, fee: Option<Satoshi>) -> Result<i64> {
        let Some(fee) = fee else { return Ok(code::GENERIC_ERROR) };
        let constants = &self.constants.fee_per_kb;
        let authorizer = &constants.change_authorizer;
        if !authorizer.is_authorized(&self.call.sender) {
            return Ok(code::UNAUTHORIZED);
        }
        if fee <= 0 {
            return Ok(code::NOT_POSITIVE);
        }
        if fee > constants.max {
            return Ok(code::EXCESSIVE);
        }
        let election = self
            .cells
            .fee_per_kb_election
            .change(self.host, keys::FEE_PER_KB_ELECTION, |stored| Election::decode(stored, authorizer))?;
        let vote = CallSpec::new(SET_FEE_PER_KB, &[&codec::long(fee)]);
        if !election.vote(&vote, self.call.sender, authorizer) {
            return Ok(code::REPEATED);
        }
        let Some(winner) = election.winner(authorizer) else { return Ok(code::COUNTED) };
        let argument = winner.arguments.first().ok_or_else(|| Failure::threw("fee vote without a value"))?;
        let Ok(Some(winning_fee)) = codec::read_coin(Some(argument)) else { return Ok(code::GENERIC_ERROR) };
        election.clear();
        self.cells.fee_per_kb.set(Some(winning_fee));
        Ok(code::COUNTED)
    }
}
