//! Names of the Bridge's cells (`BridgeStorageIndexKey` and its siblings).
//!
//! Three kinds of key: a short name padded to a word; a name joined with an identifier and hashed; a Union Bridge name,
//! hashed whatever its length. A Bitcoin block lies under its own hash.

use rhizome_primitives::{B256, keccak256};

/// A name of at most 32 bytes, padded on the left to a word (`DataWord.fromString`).
pub const fn padded(name: &str) -> B256 {
    let bytes = name.as_bytes();
    assert!(bytes.len() <= 32, "a simple key has at most 32 bytes");
    let mut word = [0u8; 32];
    let mut at = 0;
    while at < bytes.len() {
        word[32 - bytes.len() + at] = bytes[at];
        at += 1;
    }
    B256::new(word)
}

macro_rules! simple_keys {
    ($($name:ident = $text:literal),+ $(,)?) => {
        $(#[doc = concat!("Cell `", $text, "`.")] pub const $name: B256 = padded($text);)+

        /// Every padded key with its name.
        pub const PADDED: &[(&str, B256)] = &[$(($text, $name)),+];
    };
}

simple_keys! {
    PROCESSED_HASHES = "btcTxHashesAP",
    RELEASE_QUEUE = "releaseRequestQueue",
    RELEASE_QUEUE_WITH_HASH = "releaseRequestQueueWithTxHash",
    WAITING_CONFIRMATIONS = "releaseTransactionSet",
    WAITING_CONFIRMATIONS_WITH_HASH = "releaseTransactionSetWithTxHash",
    WAITING_SIGNATURES = "rskTxsWaitingFS",
    RECEIVE_HEADERS_TIMESTAMP = "receiveHeadersLastTimestamp",
    NEXT_PEGOUT_HEIGHT = "nextPegoutHeight",
    SVP_FUND_HASH_UNSIGNED = "svpFundTxHashUnsigned",
    SVP_FUND_SIGNED = "svpFundTxSigned",
    SVP_SPEND_HASH_UNSIGNED = "svpSpendTxHashUnsigned",
    SVP_SPEND_WAITING_SIGNATURES = "svpSpendTxWaitingForSignatures",
    NEW_FEDERATION = "newFederation",
    NEW_FEDERATION_VERSION = "newFederationFormatVersion",
    OLD_FEDERATION = "oldFederation",
    OLD_FEDERATION_VERSION = "oldFederationFormatVersion",
    PENDING_FEDERATION = "pendingFederation",
    PENDING_FEDERATION_VERSION = "pendingFederationFormatVersion",
    PROPOSED_FEDERATION = "proposedFederation",
    PROPOSED_FEDERATION_VERSION = "proposedFederationFormatVersion",
    FEDERATION_ELECTION = "federationElection",
    NEW_UTXOS = "newFederationBtcUTXOs",
    NEW_UTXOS_TESTNET_BEFORE_HOP = "newFederationBtcUTXOsForTestnet",
    NEW_UTXOS_TESTNET = "newFedBtcUTXOsForTestnetPostHop",
    OLD_UTXOS = "oldFederationBtcUTXOs",
    ACTIVE_CREATION_HEIGHT = "activeFedCreationBlockHeight",
    NEXT_CREATION_HEIGHT = "nextFedCreationBlockHeight",
    LAST_RETIRED_SCRIPT = "lastRetiredFedP2SHScript",
    FEE_PER_KB = "feePerKb",
    FEE_PER_KB_ELECTION = "feePerKbElection",
    LOCK_WHITELIST = "lockWhitelist",
    UNLIMITED_WHITELIST = "unlimitedLockWhitelist",
    LOCKING_CAP = "lockingCap",
    CHAIN_HEAD = "blockStoreChainHead",
}

/// First part of a compound key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compound {
    /// Height at which a Bitcoin transaction was processed, by txid.
    ProcessedHeight,
    /// Witness merkle root, by Bitcoin block.
    Coinbase,
    /// Block hash of the best Bitcoin chain, by height.
    BlockAtHeight,
    /// Mark of a used flyover derivation hash, by txid and hash.
    FlyoverHashUsed,
    /// Flyover federation, by the hash of its script.
    FlyoverFederation,
    /// Mark of a peg-out, by the digest of its first input.
    PegoutSigHash,
    /// Values of a release's outpoints, by its txid.
    OutpointValues,
}

impl Compound {
    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Compound::ProcessedHeight => "btcTxHashAP",
            Compound::Coinbase => "coinbaseInformation",
            Compound::BlockAtHeight => "btcBlockHeight",
            Compound::FlyoverHashUsed => "fastBridgeHashUsedInBtcTx",
            Compound::FlyoverFederation => "fastBridgeFederationInformation",
            Compound::PegoutSigHash => "pegoutTxSigHash",
            Compound::OutpointValues => "releasesOutpointsValues",
        }
    }

    /// Keccak of `name-identifier`.
    pub fn key(self, identifier: &str) -> B256 {
        compound(self.name(), identifier)
    }
}

/// Keccak of a name and an identifier joined by a dash.
pub fn compound(name: &str, identifier: &str) -> B256 {
    hashed(&[name, "-", identifier])
}

/// Key of a Union Bridge cell.
pub fn union_key(name: &str) -> B256 {
    hashed(&[name])
}

fn hashed(parts: &[&str]) -> B256 {
    keccak256(parts.concat())
}
