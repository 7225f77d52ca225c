//! Federations: the groups that hold the bitcoin (rskj's `co/rsk/peg/federation`).
//!
//! A federation is its members and a format, and the format decides how the keys become a redeem script and an address.
//! Scripts are worked out once, when the federation is made; what rskj would throw then or at the first use is an error here.

mod cache;
mod flyover;
mod member;
mod pending;
mod redeem_scripts;

use rhizome_chainspec::Activations;
use rhizome_primitives::rlp::{self, RlpError, put_bytes, put_list, put_u64};
use rhizome_primitives::{Address as RskAddress, B256};

use crate::bitcoin::{Address, BtcKey, BtcNetwork, RedeemScript, Script, ScriptError};
use crate::constants::FederationConstants;

pub use cache::FederationCache;
pub use flyover::{
    FlyoverInfo, NoFlyover, flyover_address, flyover_output_script, flyover_redeem_script, redeem_script_for,
};
pub use member::{FederationMember, KeyType};
pub use pending::PendingFederation;
pub use redeem_scripts::MAX_CSV_DELAY;

/// Block in which rskj says that the first federation was made.
const GENESIS_CREATION_BLOCK: i64 = 1;

/// How a federation's keys become a script. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum FederationFormat {
    /// M of N.
    StandardMultisig = 1000,
    /// With emergency keys; a form that Bitcoin nodes do not relay.
    NonStandardErp = 2000,
    /// With emergency keys, behind P2SH.
    P2shErp = 3000,
    /// With emergency keys, as witness script behind P2SH.
    P2shP2wshErp = 4000,
}

impl FederationFormat {
    /// The stored number.
    pub const fn number(self) -> u64 {
        self as u64
    }

    /// From the stored number; every unknown one reads as plain M of N.
    pub const fn from_number(number: u64) -> Self {
        match number {
            2000 => FederationFormat::NonStandardErp,
            3000 => FederationFormat::P2shErp,
            4000 => FederationFormat::P2shP2wshErp,
            _ => FederationFormat::StandardMultisig,
        }
    }

    /// Whether signatures go to the witness.
    pub const fn is_segwit(self) -> bool {
        matches!(self, FederationFormat::P2shP2wshErp)
    }
}

/// Why a federation cannot be made or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FederationError {
    /// Stored bytes are not RLP.
    #[error(transparent)]
    Rlp(#[from] RlpError),
    /// Stored bytes are RLP of something else.
    #[error("serialised federation: {0}")]
    Malformed(&'static str),
    /// The keys make no redeem script.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The redeem script is too long for where it must fit.
    #[error("redeem script of {size} bytes, at most {max} are allowed")]
    TooLong {
        /// Bytes of the script.
        size: usize,
        /// Limit.
        max: usize,
    },
    /// A pending federation with too few members cannot be built.
    #[error("pending federation is incomplete")]
    Incomplete,
}

/// A federation.
#[derive(Debug, Clone)]
pub struct Federation {
    members: Vec<FederationMember>,
    creation_time_ms: i64,
    creation_block: i64,
    format: FederationFormat,
    network: BtcNetwork,
    redeem_script: Script,
    output_script: Script,
    address: Address,
}

impl Federation {
    /// Makes a federation of a format. Activations matter for the non-standard form alone (RSKIP-284, RSKIP-293).
    ///
    /// # Errors
    /// If the keys make no redeem script, or too long a one.
    pub fn new(
        format: FederationFormat,
        mut members: Vec<FederationMember>,
        creation_time_ms: i64,
        creation_block: i64,
        constants: &FederationConstants,
        activations: Activations,
    ) -> Result<Self, FederationError> {
        members.sort();
        let keys: Vec<BtcKey> = members.iter().map(|member| *member.btc_key()).collect();
        let redeem_script = redeem_scripts::build(format, &keys, constants, activations)?;
        let output_script = output_script(format, &redeem_script);
        let hash = output_script.pub_key_hash()?;
        Ok(Federation {
            members,
            creation_time_ms,
            creation_block,
            format,
            network: constants.network,
            redeem_script,
            output_script,
            address: Address::p2sh(constants.network, hash),
        })
    }

    /// The federation that a network starts with. Its members use their Bitcoin key for everything.
    pub fn genesis(constants: &FederationConstants) -> Self {
        let members = constants.genesis_keys.iter().map(FederationMember::from_btc_key).collect();
        Self::new(
            constants.genesis_format,
            members,
            constants.genesis_creation_time_ms,
            GENESIS_CREATION_BLOCK,
            constants,
            Activations::NONE,
        )
        .expect("the networks' own keys make a redeem script")
    }

    /// Members, sorted by their keys.
    pub fn members(&self) -> &[FederationMember] {
        &self.members
    }

    /// Number of members.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Signatures that spend (`getNumberOfSignaturesRequired`).
    pub fn signatures_required(&self) -> usize {
        self.members.len() / 2 + 1
    }

    /// Creation time in milliseconds, as it is stored.
    pub fn creation_time_ms(&self) -> i64 {
        self.creation_time_ms
    }

    /// Rootstock block of its creation.
    pub fn creation_block(&self) -> i64 {
        self.creation_block
    }

    /// Format.
    pub fn format(&self) -> FederationFormat {
        self.format
    }

    /// Bitcoin network.
    pub fn network(&self) -> BtcNetwork {
        self.network
    }

    /// The script whose hash is paid to.
    pub fn redeem_script(&self) -> &Script {
        &self.redeem_script
    }

    /// The output that pays to it (`getP2SHScript`).
    pub fn output_script(&self) -> &Script {
        &self.output_script
    }

    /// Its address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Redeem script without the emergency part (`getDefaultRedeemScript`).
    ///
    /// # Errors
    /// For the fixed script of testnet's first federation with emergency keys, of which rskj cannot tell.
    pub fn default_redeem_script(&self) -> Result<Script, ScriptError> {
        RedeemScript::parse(self.redeem_script.as_bytes())?.standard_part()
    }

    /// Output that would pay to [`Self::default_redeem_script`] (`getDefaultP2SHScript`).
    ///
    /// # Errors
    /// As there.
    pub fn default_output_script(&self) -> Result<Script, ScriptError> {
        Ok(output_script(self.format, &self.default_redeem_script()?))
    }

    /// Whether it has an emergency part; rskj makes those of another class.
    pub fn is_erp(&self) -> bool {
        self.format != FederationFormat::StandardMultisig
    }

    /// `getMemberByBtcPublicKey`: keys are compared as points.
    pub fn member_by_btc_key(&self, key: &BtcKey) -> Option<&FederationMember> {
        self.members.iter().find(|member| member.btc_key() == key)
    }

    /// `getBtcPublicKeyIndex`: keys are compared by encoding, and members' are compressed.
    pub fn btc_key_index(&self, key: &BtcKey) -> Option<usize> {
        self.members.iter().position(|member| member.btc_key().bytes() == key.bytes())
    }

    /// `hasBtcPublicKey`.
    pub fn has_btc_key(&self, key: &BtcKey) -> bool {
        self.btc_key_index(key).is_some()
    }

    /// Whether the account of some member's Rootstock key is this one.
    pub fn has_member_with_rsk_address(&self, address: &RskAddress) -> bool {
        self.members.iter().any(|member| member.rsk_address() == *address)
    }

    /// `serializeFederation`: creation time and block, members with three keys, each wrapped into a byte string.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(FederationMember::encode)
    }

    /// `serializeFederationOnlyBtcKeys`, the form before RSKIP-123.
    pub fn encode_only_btc_keys(&self) -> Vec<u8> {
        self.encode_with(|member| member.btc_key().bytes().to_vec())
    }

    fn encode_with(&self, member_bytes: impl Fn(&FederationMember) -> Vec<u8>) -> Vec<u8> {
        let mut out = Vec::with_capacity(32 + 110 * self.members.len());
        put_list(&mut out, |out| {
            put_u64(out, self.creation_time_ms as u64);
            put_u64(out, self.creation_block as u64);
            put_list(out, |out| self.members.iter().for_each(|member| put_bytes(out, &member_bytes(member))));
        });
        out
    }

    /// `deserializeFederationAccordingToVersion`.
    ///
    /// # Errors
    /// If the bytes are nothing that [`Self::encode`] writes.
    pub fn decode(
        bytes: &[u8],
        format: FederationFormat,
        constants: &FederationConstants,
        activations: Activations,
    ) -> Result<Self, FederationError> {
        let (members, time, block) = decode_parts(bytes, FederationMember::decode)?;
        Self::new(format, members, time, block, constants, activations)
    }

    /// `deserializeStandardMultisigFederationOnlyBtcKeys`.
    ///
    /// # Errors
    /// If the bytes are nothing that [`Self::encode_only_btc_keys`] writes.
    pub fn decode_only_btc_keys(bytes: &[u8], constants: &FederationConstants) -> Result<Self, FederationError> {
        let (members, time, block) = decode_parts(bytes, |key| {
            let key = member::decode_key(key).ok_or(FederationError::Malformed("key"))?;
            Ok(FederationMember::from_btc_key(&key))
        })?;
        Self::new(FederationFormat::StandardMultisig, members, time, block, constants, Activations::NONE)
    }
}

/// rskj compares federations by class and address.
impl PartialEq for Federation {
    fn eq(&self, other: &Self) -> bool {
        self.is_erp() == other.is_erp() && self.address == other.address
    }
}

impl Eq for Federation {}

fn output_script(format: FederationFormat, redeem: &Script) -> Script {
    if format.is_segwit() { Script::p2sh_p2wsh_of(redeem) } else { Script::p2sh_of(redeem) }
}

type Parts = (Vec<FederationMember>, i64, i64);

fn decode_parts(
    bytes: &[u8],
    member: impl Fn(&[u8]) -> Result<FederationMember, FederationError>,
) -> Result<Parts, FederationError> {
    let items = rlp::decode_leading_list(bytes)?.exactly::<3>()?;
    let [time, block, members] = items.map_err(|_| FederationError::Malformed("not three elements"))?;
    let mut read = Vec::new();
    for item in members.list()? {
        read.push(member(item?.data())?);
    }
    Ok((read, number(time.data())?, number(block.data())?))
}

/// The low 64 bits of an unsigned number; rskj fails on an empty one.
fn number(bytes: &[u8]) -> Result<i64, FederationError> {
    if bytes.is_empty() {
        return Err(FederationError::Malformed("empty number"));
    }
    Ok(bytes.iter().fold(0u64, |value, byte| (value << 8) | u64::from(*byte)) as i64)
}

/// The prefix under which a proposed federation must show that it can spend flyover outputs.
pub const PROPOSED_FEDERATION_FLYOVER_PREFIX: B256 = {
    let mut bytes = [0; 32];
    bytes[31] = 1;
    B256::new(bytes)
};
