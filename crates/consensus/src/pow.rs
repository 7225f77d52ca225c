//! Proof of work by merged mining with Bitcoin, and the signatures that could stand for it before RSKIP98.
//!
//! A Bitcoin header's hash must be low enough for the *Rootstock* difficulty; its merkle root must contain a coinbase transaction;
//! and that must commit to the hash for merged mining of the block. Each hash is computed once.

use rhizome_chainspec::constants::{FALLBACK_MINING_KEY_EVEN, FALLBACK_MINING_KEY_ODD};
use rhizome_chainspec::{ChainSpec, Rskip};
use rhizome_primitives::header::MergedMiningError;
use rhizome_primitives::signature::{RecoveredKey, Signature};
use rhizome_primitives::{BlockHeader, U256, coin, rlp};

use crate::bitcoin::coinbase::{CoinbaseError, coinbase_hash};
use crate::bitcoin::header::{BTC_HEADER_LENGTH, BtcHeader, BtcHeaderError};
use crate::bitcoin::merkle::{MerkleError, PartialMerkleTree, branch_root};
use crate::difficulty::target;
use crate::error::RuleError;
use crate::rule::{HeaderRule, Rule};

/// Why a header has no proof of work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofOfWorkError {
    /// The header has no mining fields.
    #[error("the header has no mining fields")]
    NoMiningFields,
    /// The coinbase is empty.
    #[error("the header has no coinbase transaction")]
    NoCoinbase,
    /// Since RSKIP98 a Bitcoin header has 80 bytes.
    #[error("the Bitcoin header has {0} bytes, not {BTC_HEADER_LENGTH}")]
    BtcHeaderLength(usize),
    /// The Bitcoin header cannot be read.
    #[error(transparent)]
    BtcHeader(#[from] BtcHeaderError),
    /// Not enough work.
    #[error("the Bitcoin hash {hash:#x} is above the target {target:#x}")]
    HashAboveTarget {
        /// The Bitcoin header's hash as a number.
        hash: U256,
        /// The greatest that is allowed.
        target: U256,
    },
    /// There is no hash for merged mining.
    #[error(transparent)]
    MergedMining(#[from] MergedMiningError),
    /// The coinbase does not commit to the block.
    #[error(transparent)]
    Coinbase(#[from] CoinbaseError),
    /// The merkle proof is broken.
    #[error(transparent)]
    Merkle(#[from] MerkleError),
    /// The merkle proof proves something else.
    #[error("the merkle proof does not lead from the coinbase to the Bitcoin header's root")]
    MerkleRoot,
    /// Fallback mining without the right signature.
    #[error("the fallback mining signature is not that of the block's key")]
    FallbackSignature,
}

/// Checks a header's proof of work.
///
/// # Errors
/// [`ProofOfWorkError`] wherever rskj's rule says no or throws.
pub fn verify_proof_of_work(spec: &ChainSpec, header: &BlockHeader) -> Result<(), ProofOfWorkError> {
    let activations = spec.activations(header.number);
    let mining = &header.mining;
    if mining.coinbase.is_empty()
        && mining.merkle_proof.is_empty()
        && !activations.is_active(Rskip::R98)
        && header.difficulty().value() <= spec.constants.fallback_mining_difficulty
    {
        let key = if header.number.is_multiple_of(2) { &FALLBACK_MINING_KEY_EVEN } else { &FALLBACK_MINING_KEY_ODD };
        return if is_fallback_signed(header, key) { Ok(()) } else { Err(ProofOfWorkError::FallbackSignature) };
    }
    if mining.is_empty() {
        return Err(ProofOfWorkError::NoMiningFields);
    }
    if mining.coinbase.is_empty() {
        return Err(ProofOfWorkError::NoCoinbase);
    }
    if activations.is_active(Rskip::R98) && mining.btc_header.len() != BTC_HEADER_LENGTH {
        return Err(ProofOfWorkError::BtcHeaderLength(mining.btc_header.len()));
    }
    let bitcoin = BtcHeader::parse(&mining.btc_header)?;
    let (hash, target) = (U256::from_le_bytes(bitcoin.hash), target(header.difficulty()));
    if hash > target {
        return Err(ProofOfWorkError::HashAboveTarget { hash, target });
    }
    let coinbase = coinbase_hash(&mining.coinbase, &header.hash_for_merged_mining()?)?;
    let proven = if activations.is_active(Rskip::R92) {
        branch_root(&mining.merkle_proof, activations.is_active(Rskip::R180), &coinbase)? == bitcoin.merkle_root
    } else {
        let (root, matches) = PartialMerkleTree::parse(&mining.merkle_proof)?.root_and_matches()?;
        root == bitcoin.merkle_root && matches.contains(&coinbase)
    };
    if proven { Ok(()) } else { Err(ProofOfWorkError::MerkleRoot) }
}

/// Whether the Bitcoin header field is `RLP[v, r, s]`, a signature by this key over the hash for merged mining.
fn is_fallback_signed(header: &BlockHeader, key: &[u8; 65]) -> bool {
    let signed = || {
        let signature = fallback_signature(&header.mining.btc_header)?;
        let hash = header.hash_for_merged_mining().ok()?;
        signature.recover(&hash).ok()
    };
    matches!(signed(), Some(RecoveredKey::Point(signer)) if signer.serialize_uncompressed() == *key)
}

/// Reads `RLP[v, r, s]`: `v` from 27 to 30, `r` and `s` in their shortest signed form, `s` low.
fn fallback_signature(encoded: &[u8]) -> Option<Signature> {
    let [v, r, s] = rlp::decode_list(encoded).ok()?.exactly::<3>().ok()?.ok()?;
    let &[v] = v.data() else {
        return None;
    };
    let number = |bytes: &[u8]| {
        let number = coin::unsigned(bytes)?;
        (*coin::MinimalBytes::twos_complement(number) == *bytes).then_some(number)
    };
    let signature = Signature { r: number(r.data())?, s: number(s.data())?, v };
    // 31 would pass rskj's check of v as well, but no key can come out of it.
    ((27..=30).contains(&v) && signature.has_low_s()).then_some(signature)
}

/// The header's proof of work is valid.
#[derive(Clone, Copy, Debug)]
pub struct ProofOfWorkRule<'a> {
    /// The network.
    pub spec: &'a ChainSpec,
}

impl Rule for ProofOfWorkRule<'_> {
    const NAME: &'static str = "ProofOfWorkRule";
}

impl HeaderRule for ProofOfWorkRule<'_> {
    fn check(&self, header: &BlockHeader) -> Result<(), RuleError> {
        verify_proof_of_work(self.spec, header).map_err(|error| RuleError::broken("a valid proof of work", error))
    }
}

#[cfg(test)]
mod tests {
    use rhizome_primitives::secp256k1::{SECP256K1, SecretKey};
    use rhizome_primitives::signature::sign;
    use rhizome_primitives::{Difficulty, HeaderFields, HeaderRules, MiningFields};

    use super::*;

    /// Seals `fields` with a signature field; a key for the real fallback keys is not at hand, so none of these may pass.
    fn signed(number: u64, field: Vec<u8>) -> Result<(), ProofOfWorkError> {
        let spec = ChainSpec::mainnet();
        let mut fields = HeaderFields::new(number, spec.header_layout(number));
        fields.difficulty = Some(Difficulty::from(1));
        fields.mining = MiningFields { btc_header: field.into(), ..MiningFields::default() };
        verify_proof_of_work(&spec, &fields.into())
    }

    fn field(v: &[u8], r: &[u8], s: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        rlp::put_list(&mut out, |out| [v, r, s].into_iter().for_each(|part| rlp::put_bytes(out, part)));
        out
    }

    #[test]
    fn fallback_signatures_have_one_form() {
        assert!(fallback_signature(&field(&[27], &[1], &[1])).is_some());
        assert!(fallback_signature(&field(&[27], &[0, 0x80], &[1])).is_some());
        assert!(fallback_signature(&field(&[27], &[0x80], &[1])).is_none());
        assert!(fallback_signature(&field(&[27], &[0, 1], &[1])).is_none());
        assert!(fallback_signature(&field(&[27], &[], &[1])).is_none());
        assert!(fallback_signature(&field(&[31], &[1], &[1])).is_none());
        assert!(fallback_signature(&field(&[27, 0], &[1], &[1])).is_none());
        let high = (U256::from_limbs([0, 0, 0, 1 << 63])).to_be_bytes_vec();
        assert!(fallback_signature(&field(&[27], &[1], &[vec![0], high].concat())).is_none());
    }

    #[test]
    fn fallback_signatures_are_verified() {
        let secret = SecretKey::from_slice(&[7; 32]).unwrap();
        let key = secret.public_key(SECP256K1).serialize_uncompressed();
        let spec = ChainSpec::mainnet();
        let mut fields = HeaderFields::new(5, spec.header_layout(5));
        let signature = sign(&fields.hash_for_merged_mining().unwrap(), &secret);
        let number = |number| coin::MinimalBytes::twos_complement(number);
        let signed = field(&[signature.v], &number(signature.r), &number(signature.s));
        fields.mining.btc_header = signed.into();
        let header = BlockHeader::new(fields.clone());
        assert!(is_fallback_signed(&header, &key));
        assert!(!is_fallback_signed(&header, &FALLBACK_MINING_KEY_ODD));
        fields.gas_used = 1;
        assert!(!is_fallback_signed(&fields.into(), &key));
    }

    #[test]
    fn fallback_mining_ends_with_rskip98() {
        assert_eq!(signed(1, field(&[27], &[1], &[1])), Err(ProofOfWorkError::FallbackSignature));
        assert_eq!(signed(1, Vec::new()), Err(ProofOfWorkError::FallbackSignature));
        assert_eq!(signed(729_000, field(&[27], &[1], &[1])), Err(ProofOfWorkError::NoCoinbase));
        assert_eq!(signed(729_000, Vec::new()), Err(ProofOfWorkError::NoMiningFields));
    }
}
