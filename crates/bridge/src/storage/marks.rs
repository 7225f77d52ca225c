//! Cells with compound keys: one small value for each transaction, block, script or digest.
//!
//! They are looked up in the state each time and written only if set in the call.

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{B256, Bytes, hex};

use super::keys::Compound;
use super::{Cells, codec, forms};
use crate::bitcoin::utxo::{decode_outpoint_values, encode_outpoint_values};
use crate::bitcoin::{BtcHash, Satoshi};
use crate::failure::{Failure, Result};
use crate::federation::FlyoverInfo;
use crate::host::BridgeHost;
use crate::peg::Peg;
use crate::storage::cell::Raw;
use crate::storage::keys;

/// Content of a cell that only says "yes".
const MARK: &[u8] = &[1];

/// What a flyover peg-in leaves behind.
#[derive(Debug, Default)]
pub(super) struct FlyoverMarks {
    used: Option<(BtcHash, B256)>,
    active: Option<FlyoverInfo>,
    retiring: Option<FlyoverInfo>,
}

impl FlyoverMarks {
    pub(super) fn save(&self, host: &mut dyn BridgeHost) -> Result<()> {
        if let Some((tx, hash)) = &self.used {
            host.set_cell(flyover_used_key(tx, hash), Some(Bytes::from_static(MARK)))?;
        }
        for federation in self.active.iter().chain(&self.retiring) {
            host.set_cell(flyover_key(&federation.flyover_hash), Some(forms::flyover(federation).into()))?;
        }
        Ok(())
    }
}

fn flyover_used_key(tx: &BtcHash, derivation_hash: &B256) -> B256 {
    Compound::FlyoverHashUsed.key(&format!("{tx}{}", hex::encode(derivation_hash)))
}

fn flyover_key(flyover_hash: &[u8]) -> B256 {
    Compound::FlyoverFederation.key(&hex::encode(flyover_hash))
}

fn is_marked(host: &mut dyn BridgeHost, key: B256) -> Result<bool> {
    Ok(host.cell(&key)?.raw() == Some(MARK))
}

/// Values of outpoints as Bitcoin's variable-length integers.
pub(crate) fn encode_outpoints(values: &[Satoshi]) -> Result<Vec<u8>> {
    encode_outpoint_values(values).ok_or_else(|| Failure::threw("negative outpoint value"))
}

impl Cells {
    pub(super) fn save_marks(&self, host: &mut dyn BridgeHost) -> Result<()> {
        let mut put = |key: B256, value: Vec<u8>| -> Result<()> {
            host.set_cell(key, Some(Bytes::from(value)))?;
            Ok(())
        };
        for (tx, height) in &self.processed_heights {
            put(Compound::ProcessedHeight.key(&tx.to_string()), codec::long(*height))?;
        }
        for (block, root) in &self.coinbases {
            put(Compound::Coinbase.key(&block.to_string()), forms::coinbase(root))?;
        }
        for hash in &self.sig_hashes {
            put(Compound::PegoutSigHash.key(&hash.to_string()), MARK.to_vec())?;
        }
        for (tx, values) in &self.outpoint_values {
            put(Compound::OutpointValues.key(&tx.to_string()), encode_outpoints(values)?)?;
        }
        Ok(())
    }
}

impl Peg<'_> {
    /// Height of the block in which a Bitcoin transaction was processed. The old map is asked at all heights.
    pub(crate) fn processed_height(&mut self, tx: BtcHash) -> Result<Option<i64>> {
        let old = self.cells.processed.read(self.host, keys::PROCESSED_HASHES, forms::read_hashes_to_numbers)?;
        if let Some(height) = old.get(&tx) {
            return Ok(Some(*height));
        }
        if !self.is_active(Rskip::R134) {
            return Ok(None);
        }
        if let Some(height) = self.cells.processed_heights.get(&tx) {
            return Ok(Some(*height));
        }
        codec::read_optional_long(self.host.cell(&Compound::ProcessedHeight.key(&tx.to_string()))?.raw())
    }

    /// Marks a Bitcoin transaction as processed in this block.
    pub(crate) fn set_processed(&mut self, tx: BtcHash) -> Result<()> {
        let height = self.block_number();
        if self.is_active(Rskip::R134) {
            self.cells.processed_heights.insert(tx, height);
            return Ok(());
        }
        let old = self.cells.processed.change(self.host, keys::PROCESSED_HASHES, forms::read_hashes_to_numbers)?;
        old.insert(tx, height);
        Ok(())
    }

    /// Witness merkle root registered for a Bitcoin block.
    pub(crate) fn coinbase_witness_root(&mut self, block: BtcHash) -> Result<Option<BtcHash>> {
        if !self.is_active(Rskip::R143) {
            return Ok(None);
        }
        if let Some(root) = self.cells.coinbases.get(&block) {
            return Ok(Some(*root));
        }
        forms::read_coinbase(self.host.cell(&Compound::Coinbase.key(&block.to_string()))?.raw())
    }

    /// Registers the witness merkle root of a Bitcoin block.
    pub(crate) fn set_coinbase_witness_root(&mut self, block: BtcHash, root: BtcHash) {
        if self.is_active(Rskip::R143) {
            self.cells.coinbases.insert(block, root);
        }
    }

    /// Whether a derivation hash was used with this transaction. What this call sets is not seen.
    pub(crate) fn is_flyover_hash_used(&mut self, tx: &BtcHash, derivation_hash: &B256) -> Result<bool> {
        if !self.is_active(Rskip::R176) {
            return Ok(false);
        }
        is_marked(self.host, flyover_used_key(tx, derivation_hash))
    }

    /// Marks a derivation hash as used with a transaction. Only the last mark of a call is kept.
    pub(crate) fn mark_flyover_hash_used(&mut self, tx: BtcHash, derivation_hash: B256) {
        if self.is_active(Rskip::R176) {
            self.cells.flyover.used = Some((tx, derivation_hash));
        }
    }

    /// Stores a flyover federation made from the active federation.
    pub(crate) fn set_active_flyover_federation(&mut self, federation: FlyoverInfo) {
        if self.is_active(Rskip::R176) {
            self.cells.flyover.active = Some(federation);
        }
    }

    /// Stores a flyover federation made from the retiring federation.
    pub(crate) fn set_retiring_flyover_federation(&mut self, federation: FlyoverInfo) {
        if self.is_active(Rskip::R293) {
            self.cells.flyover.retiring = Some(federation);
        }
    }

    /// Whether a digest belongs to a peg-out. What this call sets is not seen.
    pub(crate) fn is_pegout_sig_hash(&mut self, hash: &BtcHash) -> Result<bool> {
        if !self.is_active(Rskip::R379) {
            return Ok(false);
        }
        is_marked(self.host, Compound::PegoutSigHash.key(&hash.to_string()))
    }

    /// Marks a digest as that of a peg-out.
    pub(crate) fn set_pegout_sig_hash(&mut self, hash: BtcHash) -> Result<()> {
        if self.is_active(Rskip::R379) {
            if self.is_pegout_sig_hash(&hash)? {
                return Err(Failure::threw(format!("peg-out digest {hash} is in the index")));
            }
            self.cells.sig_hashes.insert(hash);
        }
        Ok(())
    }

    /// Values of a release's outpoints, in the order of its inputs.
    pub(crate) fn outpoint_values(&mut self, tx: &BtcHash) -> Result<Option<Vec<Satoshi>>> {
        if !self.is_active(Rskip::R305) {
            return Err(Failure::threw("outpoint values before RSKIP-305"));
        }
        if let Some(values) = self.cells.outpoint_values.get(tx) {
            return Ok(Some(values.clone()));
        }
        let stored = self.host.cell(&Compound::OutpointValues.key(&tx.to_string()))?;
        stored.map(|bytes| Ok(decode_outpoint_values(&bytes)?)).transpose()
    }

    /// Stores the values of a release's outpoints, once.
    pub(crate) fn set_outpoint_values(&mut self, tx: BtcHash, values: Vec<Satoshi>) -> Result<()> {
        if !self.is_active(Rskip::R305) {
            return Ok(());
        }
        if values.is_empty() {
            return Err(Failure::threw("release without outpoint values"));
        }
        if self.host.cell(&Compound::OutpointValues.key(&tx.to_string()))?.is_some() {
            return Err(Failure::threw("outpoint values of this release are stored"));
        }
        self.cells.outpoint_values.insert(tx, values);
        Ok(())
    }

    /// Block timestamp of the last header that `receiveHeader` took.
    pub(crate) fn headers_timestamp(&mut self) -> Result<Option<i64>> {
        if !self.is_active(Rskip::R200) {
            return Ok(None);
        }
        codec::read_optional_long(self.host.cell(&keys::RECEIVE_HEADERS_TIMESTAMP)?.raw())
    }
}

/// The flyover federation behind the hash of a script.
pub(crate) fn flyover_federation(
    host: &mut dyn BridgeHost,
    activations: Activations,
    flyover_hash: &[u8; 20],
) -> Result<Option<FlyoverInfo>> {
    if !activations.is_active(Rskip::R176) {
        return Ok(None);
    }
    let Some(stored) = host.cell(&flyover_key(flyover_hash))? else { return Ok(None) };
    forms::read_flyover(&stored, flyover_hash).map(Some)
}
