//! Logs of the Bridge (`BridgeEventLoggerImpl`, `BridgeEvents`): ABI form since RSKIP-146, an older form before (`legacy`).
//!
//! The description of an event is also data ([`ALL`]), so that tests can compare it with rskj's.

mod legacy;

use rhizome_chainspec::Rskip;
use rhizome_primitives::{Address, B256, Bytes, U256, keccak256};

use crate::abi::{Output, Type, encode_event_data};
use crate::bitcoin::{Address as BtcAddress, BtcHash, BtcTransaction, Satoshi};
use crate::failure::{Failure, Result};
use crate::federation::{Federation, FederationMember};
use crate::peg::{Peg, satoshi_from_wei};
use crate::pegin::reasons::{RejectedPegin, UnrefundablePegin};
use crate::pegout::reasons::RejectedRequest;

/// One argument of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Name, only for people and tests.
    pub name: &'static str,
    /// Type.
    pub kind: Type,
    /// Whether it is a topic.
    pub indexed: bool,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// rskj's name of the constant.
    pub id: &'static str,
    /// Name in the signature.
    pub name: &'static str,
    /// Arguments in order; the indexed ones come first in all events of the Bridge.
    pub parameters: &'static [Parameter],
}

impl Event {
    /// Name and types, as hashed for the first topic.
    pub fn signature(&self) -> String {
        let types: Vec<_> = self.parameters.iter().map(|parameter| parameter.kind.canonical_name()).collect();
        format!("{}({})", self.name, types.join(","))
    }

    /// The first topic.
    pub fn topic(&self) -> B256 {
        keccak256(self.signature())
    }
}

const BYTES: Type = Type::Bytes;
const BYTES32: Type = Type::Bytes32;
const STRING: Type = Type::String;
const ADDRESS: Type = Type::Address;
const BOOL: Type = Type::Bool;
const INT256: Type = Type::Int("int256");
const UINT256: Type = Type::Int("uint256");

macro_rules! parameter {
    ($name:ident: indexed $kind:ident) => {
        Parameter { name: stringify!($name), kind: $kind, indexed: true }
    };
    ($name:ident: data $kind:ident) => {
        Parameter { name: stringify!($name), kind: $kind, indexed: false }
    };
}

macro_rules! events {
    ($($id:ident = $event:ident($($name:ident: $place:ident $kind:ident),*);)+) => {
        $(pub(crate) const $id: Event = Event {
            id: stringify!($id),
            name: stringify!($event),
            parameters: &[$(parameter!($name: $place $kind)),*],
        };)+

        /// Every event of the ABI form.
        pub const ALL: &[Event] = &[$($id),+];
    };
}

events! {
    LOCK_BTC = lock_btc(receiver: indexed ADDRESS, btcTxHash: data BYTES32, senderBtcAddress: data STRING, amount: data INT256);
    PEGIN_BTC = pegin_btc(receiver: indexed ADDRESS, btcTxHash: indexed BYTES32, amount: data INT256, protocolVersion: data INT256);
    REJECTED_PEGIN = rejected_pegin(btcTxHash: indexed BYTES32, reason: data INT256);
    UNREFUNDABLE_PEGIN = unrefundable_pegin(btcTxHash: indexed BYTES32, reason: data INT256);
    UPDATE_COLLECTIONS = update_collections(sender: data ADDRESS);
    ADD_SIGNATURE = add_signature(releaseRskTxHash: indexed BYTES32, federatorRskAddress: indexed ADDRESS, federatorBtcPublicKey: data BYTES);
    RELEASE_BTC = release_btc(releaseRskTxHash: indexed BYTES32, btcRawTransaction: data BYTES);
    COMMIT_FEDERATION = commit_federation(oldFederationBtcPublicKeys: data BYTES, oldFederationBtcAddress: data STRING, newFederationBtcPublicKeys: data BYTES, newFederationBtcAddress: data STRING, activationHeight: data INT256);
    COMMIT_FEDERATION_FAILED = commit_federation_failed(proposedFederationRedeemScript: data BYTES, blockNumber: data INT256);
    RELEASE_REQUESTED = release_requested(rskTxHash: indexed BYTES32, btcTxHash: indexed BYTES32, amount: data UINT256);
    RELEASE_REQUEST_RECEIVED_LEGACY = release_request_received(sender: indexed ADDRESS, btcDestinationAddress: data BYTES, amount: data UINT256);
    RELEASE_REQUEST_REJECTED = release_request_rejected(sender: indexed ADDRESS, amount: data UINT256, reason: data INT256);
    BATCH_PEGOUT_CREATED = batch_pegout_created(btcTxHash: indexed BYTES32, releaseRskTxHashes: data BYTES);
    RELEASE_REQUEST_RECEIVED = release_request_received(sender: indexed ADDRESS, btcDestinationAddress: data STRING, amount: data UINT256);
    PEGOUT_CONFIRMED = pegout_confirmed(btcTxHash: indexed BYTES32, pegoutCreationRskBlockNumber: data UINT256);
    PEGOUT_TRANSACTION_CREATED = pegout_transaction_created(btcTxHash: indexed BYTES32, utxoOutpointValues: data BYTES);
    UNION_LOCKING_CAP_INCREASED = union_bridge_locking_cap_increased(caller: indexed ADDRESS, previousLockingCap: data UINT256, newLockingCap: data UINT256);
    UNION_RBTC_REQUESTED = union_rbtc_requested(requester: indexed ADDRESS, amount: data UINT256);
    UNION_RBTC_RELEASED = union_rbtc_released(receiver: indexed ADDRESS, amount: data UINT256);
    UNION_BRIDGE_TRANSFER_PERMISSIONS_UPDATED = union_bridge_transfer_permissions_updated(caller: indexed ADDRESS, enablePowPegToUnionBridge: data BOOL, enableUnionBridgeToPowPeg: data BOOL);
}

impl Peg<'_> {
    /// Adds a log of the ABI form, which rskj's older logger refuses.
    fn log_event(&mut self, event: Event, indexed: &[B256], data: &[Output]) -> Result<()> {
        if !self.is_active(Rskip::R146) {
            return Err(Failure::threw("event of the ABI form before RSKIP-146"));
        }
        debug_assert_eq!(event.parameters.iter().filter(|parameter| parameter.indexed).count(), indexed.len());
        debug_assert_eq!(event.parameters.len(), indexed.len() + data.len());
        let mut topics = Vec::with_capacity(1 + indexed.len());
        topics.push(event.topic());
        topics.extend_from_slice(indexed);
        self.host.log(topics, Bytes::from(encode_event_data(data)));
        Ok(())
    }

    /// `updateCollections` was called.
    pub(crate) fn log_update_collections(&mut self) -> Result<()> {
        let sender = self.call.sender;
        if !self.is_active(Rskip::R146) {
            legacy::update_collections(self.host, sender);
            return Ok(());
        }
        self.log_event(UPDATE_COLLECTIONS, &[], &[Output::Address(sender)])
    }

    /// A member signed. The address is that of the member's BTC key until RSKIP-415, then of its RSK key.
    pub(crate) fn log_add_signature(
        &mut self,
        member: &FederationMember,
        tx: &BtcTransaction,
        release: B256,
    ) -> Result<()> {
        let btc_key = member.btc_key();
        if !self.is_active(Rskip::R146) {
            legacy::add_signature(self.host, btc_key, tx, release);
            return Ok(());
        }
        let address = if self.is_active(Rskip::R415) { member.rsk_address() } else { btc_key.rsk_address() };
        let key = btc_key.bytes().to_vec();
        self.log_event(ADD_SIGNATURE, &[release, address.into_word()], &[Output::Bytes(key)])
    }

    /// A release has all its signatures.
    pub(crate) fn log_release_btc(&mut self, tx: &BtcTransaction, release: B256) -> Result<()> {
        if !self.is_active(Rskip::R146) {
            legacy::release_btc(self.host, tx);
            return Ok(());
        }
        self.log_event(RELEASE_BTC, &[release], &[Output::Bytes(tx.encode())])
    }

    /// A new federation was voted for.
    pub(crate) fn log_commit_federation(&mut self, old: &Federation, new: &Federation) -> Result<()> {
        let activation = self.block_number() + self.activation_age();
        if !self.is_active(Rskip::R146) {
            legacy::commit_federation(self.host, old, new, activation);
            return Ok(());
        }
        let keys = |federation: &Federation| {
            Output::Bytes(federation.members().iter().flat_map(|member| member.btc_key().bytes()).copied().collect())
        };
        let address = |federation: &Federation| Output::String(federation.address().to_string());
        let data = [keys(old), address(old), keys(new), address(new), Output::int(activation)];
        self.log_event(COMMIT_FEDERATION, &[], &data)
    }

    /// A proposed federation was not validated in time.
    pub(crate) fn log_commit_federation_failed(&mut self, proposed: &Federation) -> Result<()> {
        let data = [Output::Bytes(proposed.redeem_script().as_bytes().to_vec()), Output::int(self.block_number())];
        self.log_event(COMMIT_FEDERATION_FAILED, &[], &data)
    }

    /// Bitcoin were locked, form until RSKIP-170.
    pub(crate) fn log_lock_btc(
        &mut self,
        receiver: Address,
        tx: &BtcTransaction,
        sender: &BtcAddress,
        amount: Satoshi,
    ) -> Result<()> {
        let data = [Output::Bytes32(tx.txid().word()), Output::String(sender.to_string()), Output::int(amount)];
        self.log_event(LOCK_BTC, &[receiver.into_word()], &data)
    }

    /// Bitcoin were locked.
    pub(crate) fn log_pegin_btc(
        &mut self,
        receiver: Address,
        tx: &BtcTransaction,
        amount: Satoshi,
        version: i32,
    ) -> Result<()> {
        let topics = [receiver.into_word(), tx.txid().word()];
        self.log_event(PEGIN_BTC, &topics, &[Output::int(amount), Output::int(version)])
    }

    /// A release transaction was made.
    pub(crate) fn log_release_requested(&mut self, creation: B256, tx: &BtcTransaction, amount: Satoshi) -> Result<()> {
        self.log_event(RELEASE_REQUESTED, &[creation, tx.txid().word()], &[Output::int(amount)])
    }

    /// A peg-in is not accepted.
    pub(crate) fn log_rejected_pegin(&mut self, tx: &BtcTransaction, reason: RejectedPegin) -> Result<()> {
        self.log_event(REJECTED_PEGIN, &[tx.txid().word()], &[Output::int(reason.code())])
    }

    /// A peg-in is not accepted and nothing goes back.
    pub(crate) fn log_unrefundable_pegin(&mut self, tx: &BtcTransaction, reason: UnrefundablePegin) -> Result<()> {
        self.log_event(UNREFUNDABLE_PEGIN, &[tx.txid().word()], &[Output::int(reason.code())])
    }

    /// A peg-out request was queued. Amounts are satoshi until RSKIP-427, then wei.
    pub(crate) fn log_release_request_received(&mut self, destination: &BtcAddress) -> Result<()> {
        let (sender, wei) = (self.call.sender.into_word(), self.call.value);
        if self.is_active(Rskip::R326) {
            let amount = self.request_amount(wei);
            self.log_event(RELEASE_REQUEST_RECEIVED, &[sender], &[Output::String(destination.to_string()), amount])
        } else {
            let data = [Output::Bytes(destination.hash.to_vec()), Output::int(satoshi_from_wei(wei))];
            self.log_event(RELEASE_REQUEST_RECEIVED_LEGACY, &[sender], &data)
        }
    }

    /// A peg-out request was refused.
    pub(crate) fn log_release_request_rejected(&mut self, reason: RejectedRequest) -> Result<()> {
        let amount = self.request_amount(self.call.value);
        self.log_event(RELEASE_REQUEST_REJECTED, &[self.call.sender.into_word()], &[amount, Output::int(reason.code())])
    }

    fn request_amount(&self, wei: U256) -> Output {
        if self.is_active(Rskip::R427) { Output::uint(wei) } else { Output::int(satoshi_from_wei(wei)) }
    }

    /// One transaction pays several requests.
    pub(crate) fn log_batch_pegout_created(&mut self, tx: &BtcHash, requests: &[B256]) -> Result<()> {
        let hashes = requests.iter().flat_map(|hash| hash.0).collect();
        self.log_event(BATCH_PEGOUT_CREATED, &[tx.word()], &[Output::Bytes(hashes)])
    }

    /// A release has enough confirmations and waits for signatures.
    pub(crate) fn log_pegout_confirmed(&mut self, tx: &BtcHash, creation_block: i64) -> Result<()> {
        self.log_event(PEGOUT_CONFIRMED, &[tx.word()], &[Output::int(creation_block)])
    }

    /// Values of a release's inputs.
    pub(crate) fn log_pegout_transaction_created(&mut self, tx: &BtcHash, outpoint_values: Vec<u8>) -> Result<()> {
        self.log_event(PEGOUT_TRANSACTION_CREATED, &[tx.word()], &[Output::Bytes(outpoint_values)])
    }

    /// The Union Bridge's cap was raised.
    pub(crate) fn log_union_cap_increased(&mut self, caller: Address, previous: U256, new: U256) -> Result<()> {
        let data = [Output::uint(previous), Output::uint(new)];
        self.log_event(UNION_LOCKING_CAP_INCREASED, &[caller.into_word()], &data)
    }

    /// Coins were lent to the Union Bridge.
    pub(crate) fn log_union_requested(&mut self, requester: Address, wei: U256) -> Result<()> {
        self.log_event(UNION_RBTC_REQUESTED, &[requester.into_word()], &[Output::uint(wei)])
    }

    /// Coins came back from the Union Bridge.
    pub(crate) fn log_union_released(&mut self, receiver: Address, wei: U256) -> Result<()> {
        self.log_event(UNION_RBTC_RELEASED, &[receiver.into_word()], &[Output::uint(wei)])
    }

    /// Lending or taking back was switched.
    pub(crate) fn log_union_permissions(&mut self, caller: Address, request: bool, release: bool) -> Result<()> {
        let data = [Output::Bool(request), Output::Bool(release)];
        self.log_event(UNION_BRIDGE_TRANSFER_PERMISSIONS_UPDATED, &[caller.into_word()], &data)
    }
}
