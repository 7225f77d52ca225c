//! Members of federations and their three keys (rskj's `FederationMember`).

use std::cmp::Ordering;
use std::sync::OnceLock;

use rhizome_primitives::Address as RskAddress;
use rhizome_primitives::rlp::{self, put_bytes, put_list};

use super::FederationError;
use crate::bitcoin::BtcKey;

/// Which of a member's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// Signs releases.
    Btc,
    /// Sends transactions to the Bridge.
    Rsk,
    /// Not used by the Bridge.
    Mst,
}

impl KeyType {
    /// From its name in calls.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "btc" => Some(KeyType::Btc),
            "rsk" => Some(KeyType::Rsk),
            "mst" => Some(KeyType::Mst),
            _ => None,
        }
    }
}

/// A member. All keys are compressed.
#[derive(Debug, Clone)]
pub struct FederationMember {
    btc: BtcKey,
    rsk: BtcKey,
    mst: BtcKey,
    rsk_address: OnceLock<RskAddress>,
}

impl FederationMember {
    /// From three keys in any form.
    pub fn new(btc: &BtcKey, rsk: &BtcKey, mst: &BtcKey) -> Self {
        FederationMember {
            btc: btc.compressed(),
            rsk: rsk.compressed(),
            mst: mst.compressed(),
            rsk_address: OnceLock::new(),
        }
    }

    /// A member that uses one key for everything (`getFederationMemberFromKey`).
    pub fn from_btc_key(key: &BtcKey) -> Self {
        Self::new(key, key, key)
    }

    /// Key that signs releases.
    pub fn btc_key(&self) -> &BtcKey {
        &self.btc
    }

    /// Key that sends transactions.
    pub fn rsk_key(&self) -> &BtcKey {
        &self.rsk
    }

    /// Third key.
    pub fn mst_key(&self) -> &BtcKey {
        &self.mst
    }

    /// Key by type.
    pub fn key(&self, kind: KeyType) -> &BtcKey {
        match kind {
            KeyType::Btc => &self.btc,
            KeyType::Rsk => &self.rsk,
            KeyType::Mst => &self.mst,
        }
    }

    /// Account of the Rootstock key.
    pub fn rsk_address(&self) -> RskAddress {
        *self.rsk_address.get_or_init(|| self.rsk.rsk_address())
    }

    /// List of the three keys.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(104);
        put_list(&mut out, |out| [self.btc, self.rsk, self.mst].iter().for_each(|key| put_bytes(out, key.bytes())));
        out
    }

    /// Reads what [`Self::encode`] writes.
    ///
    /// # Errors
    /// If it is not a list of three keys.
    pub fn decode(bytes: &[u8]) -> Result<Self, FederationError> {
        let items = rlp::decode_leading_list(bytes)?.exactly::<3>()?;
        let items = items.map_err(|_| FederationError::Malformed("member without three keys"))?;
        let [btc, rsk, mst] = items.map(|item| decode_key(item.data()).ok_or(FederationError::Malformed("key")));
        Ok(Self::new(&btc?, &rsk?, &mst?))
    }

    fn order(&self) -> [&[u8]; 3] {
        [self.btc.bytes(), self.rsk.bytes(), self.mst.bytes()]
    }
}

/// A stored key. Compressed ones were checked when they were voted in, and their point is worked out when it is needed.
pub(super) fn decode_key(bytes: &[u8]) -> Option<BtcKey> {
    match <[u8; 33]>::try_from(bytes) {
        Ok(compressed) if matches!(compressed[0], 2 | 3) => Some(BtcKey::from_checked(compressed)),
        _ => BtcKey::decode(bytes).ok(),
    }
}

impl PartialEq for FederationMember {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for FederationMember {}

/// `FederationMemberPubKeysComparator`: by the Bitcoin, then the Rootstock, then the third key, unsigned.
impl Ord for FederationMember {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for FederationMember {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
