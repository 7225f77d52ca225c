//! A federation that is being voted together (rskj's `PendingFederation`).

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::rlp::{self, put_bytes, put_list};
use rhizome_primitives::{B256, keccak256};

use super::member::decode_key;
use super::{Federation, FederationError, FederationFormat, FederationMember};
use crate::constants::FederationConstants;

/// Members without which it cannot be committed.
const MIN_MEMBERS: usize = 2;

/// Members so far, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingFederation {
    members: Vec<FederationMember>,
}

impl PendingFederation {
    /// With these members.
    pub fn new(mut members: Vec<FederationMember>) -> Self {
        members.sort();
        PendingFederation { members }
    }

    /// Members, sorted by their keys.
    pub fn members(&self) -> &[FederationMember] {
        &self.members
    }

    /// Number of members.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Whether it can be committed.
    pub fn is_complete(&self) -> bool {
        self.members.len() >= MIN_MEMBERS
    }

    /// With one member more.
    #[must_use]
    pub fn add_member(&self, member: FederationMember) -> Self {
        Self::new(self.members.iter().cloned().chain([member]).collect())
    }

    /// Keccak of the list of Bitcoin keys; the other keys do not enter.
    pub fn hash(&self) -> B256 {
        keccak256(self.encode_only_btc_keys())
    }

    /// With all keys since RSKIP-123, with the Bitcoin keys alone before. Members are lists, not wrapped.
    pub fn encode(&self, rskip123: bool) -> Vec<u8> {
        if !rskip123 {
            return self.encode_only_btc_keys();
        }
        let mut out = Vec::with_capacity(8 + 106 * self.members.len());
        put_list(&mut out, |out| self.members.iter().for_each(|member| out.extend_from_slice(&member.encode())));
        out
    }

    fn encode_only_btc_keys(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + 34 * self.members.len());
        put_list(&mut out, |out| self.members.iter().for_each(|member| put_bytes(out, member.btc_key().bytes())));
        out
    }

    /// Reads members with all keys.
    ///
    /// # Errors
    /// If the bytes are not a list of members.
    pub fn decode(bytes: &[u8]) -> Result<Self, FederationError> {
        let members: Result<_, FederationError> =
            rlp::decode_leading_list(bytes)?.map(|item| FederationMember::decode(item?.data())).collect();
        Ok(Self::new(members?))
    }

    /// Reads Bitcoin keys.
    ///
    /// # Errors
    /// If the bytes are not a list of keys.
    pub fn decode_only_btc_keys(bytes: &[u8]) -> Result<Self, FederationError> {
        let members: Result<_, FederationError> = rlp::decode_leading_list(bytes)?
            .map(|item| {
                let key = decode_key(item?.data()).ok_or(FederationError::Malformed("key"))?;
                Ok(FederationMember::from_btc_key(&key))
            })
            .collect();
        Ok(Self::new(members?))
    }

    /// The format in which a federation is built (RSKIP-201, RSKIP-353, RSKIP-305).
    pub fn format_to_build(activations: Activations) -> FederationFormat {
        if !activations.is_active(Rskip::R201) {
            FederationFormat::StandardMultisig
        } else if !activations.is_active(Rskip::R353) {
            FederationFormat::NonStandardErp
        } else if !activations.is_active(Rskip::R305) {
            FederationFormat::P2shErp
        } else {
            FederationFormat::P2shP2wshErp
        }
    }

    /// `buildFederation`.
    ///
    /// # Errors
    /// If it is incomplete or its keys make no redeem script.
    pub fn build(
        &self,
        creation_time_ms: i64,
        creation_block: i64,
        constants: &FederationConstants,
        activations: Activations,
    ) -> Result<Federation, FederationError> {
        if !self.is_complete() {
            return Err(FederationError::Incomplete);
        }
        Federation::new(
            Self::format_to_build(activations),
            self.members.clone(),
            creation_time_ms,
            creation_block,
            constants,
            activations,
        )
    }
}
