//! Voting for a new federation (`voteFederationChange`): create, add members, commit or roll back.
//!
//! A vote is tried dry first; only what would succeed is counted. The vote that decides executes the call.

use std::sync::Arc;

use rhizome_chainspec::Rskip;
use rhizome_primitives::B256;

use crate::bitcoin::BtcKey;
use crate::failure::{Failure, Result};
use crate::federation::{FederationMember, PendingFederation};
use crate::peg::Peg;
use crate::storage::codec;
use crate::votes::election::CallSpec;

/// Answers (`FederationChangeResponseCode`).
pub mod code {
    /// The vote counts.
    pub const SUCCESSFUL: i64 = 1;
    /// A key does not parse, or the vote is repeated.
    pub const GENERIC_ERROR: i64 = -10;
    /// The sender may not vote.
    pub const UNAUTHORIZED: i64 = -10;
    /// A federation is being put together.
    pub const PENDING_EXISTS: i64 = -1;
    /// A federation waits for its activation.
    pub const AWAITING_ACTIVATION: i64 = -2;
    /// A federation is being retired.
    pub const RETIRING_EXISTS: i64 = -3;
    /// A federation is being validated.
    pub const PROPOSED_EXISTS: i64 = -4;
    /// No federation is being put together.
    pub const NO_PENDING: i64 = -1;
    /// One of the keys is in it.
    pub const ALREADY_MEMBER: i64 = -2;
    /// It has too few members.
    pub const TOO_FEW_MEMBERS: i64 = -2;
    /// It has another hash.
    pub const WRONG_HASH: i64 = -3;
}

/// A call that can be voted for, with its arguments read.
enum Change {
    Create,
    Add(FederationMember),
    Commit(B256),
    Rollback,
}

impl Peg<'_> {
    /// Votes for a change. 1 is a counted vote, whether it decided or not.
    pub(crate) fn vote_federation_change(&mut self, call: CallSpec) -> Result<i64> {
        let authorizer = &self.constants.federation.change_authorizer;
        if !authorizer.is_authorized(&self.call.sender) {
            return Ok(code::UNAUTHORIZED);
        }
        let result = match self.execute_change(&call, true) {
            Err(Failure::Illegal(_)) => code::GENERIC_ERROR,
            other => other?,
        };
        if result != code::SUCCESSFUL {
            return Ok(result);
        }
        let sender = self.call.sender;
        let election = self.federation_election()?;
        if !election.vote(&call, sender, authorizer) {
            return Ok(code::GENERIC_ERROR);
        }
        let Some(winner) = election.winner(authorizer).cloned() else { return Ok(result) };
        let executed = self.execute_change(&winner, false);
        self.federation_election()?.clear_winner(authorizer);
        match executed {
            Err(Failure::Illegal(_)) => Ok(code::GENERIC_ERROR),
            other => other,
        }
    }

    fn execute_change(&mut self, call: &CallSpec, dry: bool) -> Result<i64> {
        match self.read_change(call)? {
            Change::Create => self.create_pending(dry),
            Change::Add(member) => self.add_member(member, dry),
            Change::Commit(hash) => self.commit_pending(hash, dry),
            Change::Rollback => self.roll_back_pending(dry),
        }
    }

    fn read_change(&self, call: &CallSpec) -> Result<Change> {
        let key = |index: usize| {
            let bytes = call.arguments.get(index).map_or(&[][..], Vec::as_slice);
            BtcKey::decode(bytes).map_err(|_| Failure::illegal("public key could not be parsed"))
        };
        Ok(match call.function.as_str() {
            "create" => Change::Create,
            "add" if self.is_active(Rskip::R123) => return Err(Failure::threw("the \"add\" function is disabled")),
            "add" => Change::Add(FederationMember::from_btc_key(&key(0)?)),
            "add-multi" => Change::Add(FederationMember::new(&key(0)?, &key(1)?, &key(2)?)),
            "commit" => Change::Commit(codec::hash(call.arguments.first().map_or(&[][..], Vec::as_slice))?),
            "rollback" => Change::Rollback,
            other => return Err(Failure::threw(format!("no federation change function {other}"))),
        })
    }

    fn create_pending(&mut self, dry: bool) -> Result<i64> {
        if self.pending_federation()?.is_some() {
            return Ok(code::PENDING_EXISTS);
        }
        if self.proposed_federation()?.is_some() {
            return Ok(code::PROPOSED_EXISTS);
        }
        if self.awaits_activation()? {
            return Ok(code::AWAITING_ACTIVATION);
        }
        if self.retiring_federation()?.is_some() {
            return Ok(code::RETIRING_EXISTS);
        }
        if !dry {
            self.set_pending_federation(Some(PendingFederation::new(Vec::new())));
            self.federation_election()?.clear();
        }
        Ok(code::SUCCESSFUL)
    }

    fn add_member(&mut self, member: FederationMember, dry: bool) -> Result<i64> {
        let Some(pending) = self.pending_federation()? else { return Ok(code::NO_PENDING) };
        let known = |other: &FederationMember| {
            other.btc_key() == member.btc_key()
                || other.rsk_key() == member.rsk_key()
                || other.mst_key() == member.mst_key()
        };
        if pending.members().iter().any(known) {
            return Ok(code::ALREADY_MEMBER);
        }
        if !dry {
            let extended = pending.add_member(member);
            self.set_pending_federation(Some(extended));
        }
        Ok(code::SUCCESSFUL)
    }

    fn commit_pending(&mut self, hash: B256, dry: bool) -> Result<i64> {
        let Some(pending) = self.pending_federation()? else { return Ok(code::NO_PENDING) };
        if !pending.is_complete() {
            return Ok(code::TOO_FEW_MEMBERS);
        }
        if pending.hash() != hash {
            return Ok(code::WRONG_HASH);
        }
        if dry {
            return Ok(code::SUCCESSFUL);
        }
        let pending = pending.clone();
        let seconds = self.call.block.timestamp as i64;
        // Until RSKIP-419 the block's seconds are taken for milliseconds.
        let millis = if self.is_active(Rskip::R419) { seconds.wrapping_mul(1_000) } else { seconds };
        let constants = &self.constants.federation;
        let voted = Arc::new(pending.build(millis, self.block_number(), constants, self.call.activations)?);
        if self.is_active(Rskip::R419) {
            self.set_proposed_federation(Some(Arc::clone(&voted)));
            self.clear_pending()?;
            let active = self.active_federation()?;
            self.log_commit_federation(&active, &voted)?;
        } else {
            self.hand_over_to(voted)?;
            self.clear_pending()?;
            if let (Some(old), Some(new)) = (self.old_federation()?, self.new_federation()?) {
                self.log_commit_federation(&old, &new)?;
            }
        }
        Ok(code::SUCCESSFUL)
    }

    fn roll_back_pending(&mut self, dry: bool) -> Result<i64> {
        if self.pending_federation()?.is_none() {
            return Ok(code::NO_PENDING);
        }
        if !dry {
            self.clear_pending()?;
        }
        Ok(code::SUCCESSFUL)
    }

    fn clear_pending(&mut self) -> Result<()> {
        self.set_pending_federation(None);
        self.federation_election()?.clear();
        Ok(())
    }
}
