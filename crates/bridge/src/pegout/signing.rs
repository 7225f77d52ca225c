//! Signatures of federators (`addSignature`).

use rhizome_chainspec::Rskip;
use rhizome_primitives::B256;

use crate::bitcoin::multisig::{
    extract_redeem_script, has_enough_signatures, is_input_signed_by, sighash_of_legacy_input, sighash_of_segwit_input,
    sign_input, signature_insertion_index,
};
use crate::bitcoin::{BtcKey, BtcTransaction, EcdsaSignature};
use crate::failure::{Failure, Result};
use crate::federation::FederationMember;
use crate::peg::Peg;
use crate::storage::codec;

impl Peg<'_> {
    /// Adds a federator's signatures, one for each input, to the release of a hash. When all inputs are signed the release is
    /// published in an event.
    pub(crate) fn add_signature(&mut self, key: &[u8], signatures: &[&[u8]], release: &[u8]) -> Result<()> {
        let key = BtcKey::decode(key).map_err(|_| Failure::illegal("public key could not be parsed"))?;
        if signatures.is_empty() {
            return Err(Failure::illegal("signatures array is empty"));
        }
        let decode = |bytes: &&[u8]| {
            EcdsaSignature::decode_der(bytes).map_err(|_| Failure::illegal("signature could not be parsed"))
        };
        let signatures = signatures.iter().map(decode).collect::<Result<Vec<_>>>()?;
        let release = codec::hash(release).map_err(|_| Failure::illegal("invalid rsk tx hash"))?;
        self.sign_release_or_validation(&key, &signatures, release).map_err(Failure::wrapped)
    }

    fn sign_release_or_validation(&mut self, key: &BtcKey, signatures: &[EcdsaSignature], hash: B256) -> Result<()> {
        if self.is_validation_ongoing()?
            && let Some(tx) = self.validation_spend_of(&hash)?
        {
            return self.sign_validation(key, signatures, hash, tx);
        }
        self.sign_release(key, signatures, hash)
    }

    fn sign_validation(
        &mut self,
        key: &BtcKey,
        signatures: &[EcdsaSignature],
        hash: B256,
        mut tx: BtcTransaction,
    ) -> Result<()> {
        let proposed = self.proposed_federation()?.ok_or_else(|| Failure::threw("no proposed federation"))?;
        let member =
            proposed.member_by_btc_key(key).ok_or_else(|| Failure::threw("no member of the proposed federation"))?;
        if tx.inputs.len() != signatures.len() {
            return Ok(());
        }
        self.process_signatures(member, signatures, hash, &mut tx)?;
        let complete = has_enough_signatures(&tx)?;
        if complete {
            self.log_release_btc(&tx, hash)?;
        }
        self.cells.svp_spend_waiting.set((!complete).then_some((hash, tx)));
        Ok(())
    }

    fn sign_release(&mut self, key: &BtcKey, signatures: &[EcdsaSignature], hash: B256) -> Result<()> {
        let Some(mut tx) = self.waiting_signatures()?.get(&hash).cloned() else { return Ok(()) };
        if tx.inputs.len() != signatures.len() {
            return Ok(());
        }
        let federations = self.live_federations()?;
        let Some(federation) = federations.iter().find(|federation| federation.has_btc_key(key)) else { return Ok(()) };
        let Some(member) = federation.member_by_btc_key(key) else { return Ok(()) };
        if !self.is_active(Rskip::R326) {
            self.log_add_signature(member, &tx, hash)?;
        }
        self.process_signatures(member, signatures, hash, &mut tx)?;
        if has_enough_signatures(&tx)? {
            self.log_release_btc(&tx, hash)?;
            self.waiting_signatures_mut()?.remove(&hash);
        } else {
            self.waiting_signatures_mut()?.insert(hash, tx);
        }
        Ok(())
    }

    /// Verifies all signatures, then puts them in. One wrong signature and none is put in.
    fn process_signatures(
        &mut self,
        member: &FederationMember,
        signatures: &[EcdsaSignature],
        release: B256,
        tx: &mut BtcTransaction,
    ) -> Result<()> {
        let key = member.btc_key();
        let digests = self.input_digests(tx)?;
        let all_good = digests
            .iter()
            .zip(signatures)
            .all(|(digest, signature)| key.verify(digest, signature) && signature.is_low_s());
        if !all_good {
            return Ok(());
        }
        if put_signatures(tx, key, &digests, signatures)? && self.is_active(Rskip::R326) {
            self.log_add_signature(member, tx, release)?;
        }
        Ok(())
    }

    /// The digest of each input. Inputs with a witness need the values that they spend.
    fn input_digests(&mut self, tx: &BtcTransaction) -> Result<Vec<[u8; 32]>> {
        let mut digests = Vec::with_capacity(tx.inputs.len());
        for index in 0..tx.inputs.len() {
            digests.push(if tx.input_has_witness(index) {
                let values = self.outpoint_values(&tx.txid())?.unwrap_or_default();
                let value = values.get(index).ok_or_else(|| Failure::threw("no value of this outpoint"))?;
                sighash_of_segwit_input(tx, index, *value)?
            } else {
                sighash_of_legacy_input(tx, index)?
            });
        }
        Ok(digests)
    }
}

/// Puts the signatures in, input by input. Stops at an input that has this key's signature or no redeem script, and at one
/// whose redeem script lacks the key; what was put in stays. True if something was signed and no foreign input was met.
fn put_signatures(
    tx: &mut BtcTransaction,
    key: &BtcKey,
    digests: &[[u8; 32]],
    signatures: &[EcdsaSignature],
) -> Result<bool> {
    let mut signed = false;
    for (index, (digest, signature)) in digests.iter().zip(signatures).enumerate() {
        if is_input_signed_by(tx, index, key, digest)? || extract_redeem_script(tx, index)?.is_none() {
            break;
        }
        let put =
            signature_insertion_index(tx, index, digest, key).and_then(|place| sign_input(tx, index, signature, place));
        match put {
            Ok(()) => signed = true,
            Err(error) if error.is_illegal_state() => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(signed)
}
