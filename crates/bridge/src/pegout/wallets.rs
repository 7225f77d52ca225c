//! The coins and redeem scripts that releases are made from (`BridgeUtils.getFederationSpendWallet`,
//! `FlyoverCompatibleBtcWallet*`).

use std::sync::Arc;

use rhizome_chainspec::{Activations, Rskip};

use crate::bitcoin::release::{ReleaseBuilder, ReleaseResult};
use crate::bitcoin::script::{is_sent_to_address, op, parse_chunks};
use crate::bitcoin::wallet::RedeemSource;
use crate::bitcoin::{Address, BtcTransaction, Satoshi, Script, TxOutput, Utxo};
use crate::failure::{Failure, Result};
use crate::federation::{Federation, FlyoverInfo, redeem_script_for};
use crate::host::BridgeHost;
use crate::peg::Peg;
use crate::storage::marks;

/// Which flyover variants of its federations a wallet knows.
#[derive(Debug, Clone)]
pub(crate) enum Flyover {
    /// None.
    None,
    /// Those in the state.
    Stored,
    /// These, not yet stored.
    These(Vec<FlyoverInfo>),
}

/// A wallet that spends.
#[derive(Debug, Clone)]
pub(crate) struct SpendWallet {
    pub(crate) federations: Vec<Arc<Federation>>,
    pub(crate) utxos: Vec<Utxo>,
    pub(crate) flyover: Flyover,
    /// Whether the transaction is built in the segregated form.
    pub(crate) segwit: bool,
}

/// Redeem scripts for a wallet's outputs.
pub(crate) struct Redeemer<'a> {
    host: &'a mut dyn BridgeHost,
    activations: Activations,
    federations: &'a [Arc<Federation>],
    flyover: &'a Flyover,
}

impl RedeemSource for Redeemer<'_> {
    type Error = Failure;

    fn redeem_script(&mut self, hash: &[u8; 20]) -> Result<Option<Script>> {
        let info = match self.flyover {
            Flyover::None => None,
            Flyover::Stored => marks::flyover_federation(self.host, self.activations, hash)?,
            Flyover::These(infos) => infos.iter().find(|info| info.flyover_hash == *hash).copied(),
        };
        let federations = self.federations.iter().map(Arc::as_ref);
        Ok(redeem_script_for(federations, hash, info.as_ref())?)
    }
}

impl Peg<'_> {
    /// Builds a transaction that spends from a wallet.
    pub(crate) fn build_release(
        &mut self,
        wallet: &SpendWallet,
        change_address: Address,
        build: impl FnOnce(&ReleaseBuilder<'_>, &mut Redeemer<'_>) -> Result<ReleaseResult>,
    ) -> Result<ReleaseResult> {
        let builder = ReleaseBuilder {
            network: self.constants.network,
            utxos: &wallet.utxos,
            segwit: wallet.segwit,
            change_address,
            fee_per_kb: self.fee_per_kb()?,
            rskip201: self.is_active(Rskip::R201),
            rskip376: self.is_active(Rskip::R376),
        };
        let mut redeemer = Redeemer {
            activations: self.call.activations,
            host: self.host,
            federations: &wallet.federations,
            flyover: &wallet.flyover,
        };
        build(&builder, &mut redeemer)
    }

    /// The active federation's wallet with its flyover variants.
    pub(crate) fn active_wallet(&mut self) -> Result<SpendWallet> {
        let federation = self.active_federation()?;
        let utxos = self.active_utxos()?.clone();
        let segwit = federation.format().is_segwit();
        Ok(SpendWallet { federations: vec![federation], utxos, flyover: Flyover::Stored, segwit })
    }
}

/// Outputs of a transaction that pay to one of these scripts, with their index (`getWalletOutputs`). The question fails if
/// any output looks like one to a key's hash but has an opcode in its place.
pub(crate) fn outputs_to<'t>(tx: &'t BtcTransaction, scripts: &[&Script]) -> Result<Vec<(u32, &'t TxOutput)>> {
    let mut paid = Vec::new();
    for (index, output) in (0u32..).zip(&tx.outputs) {
        if scripts.iter().any(|script| script.as_bytes() == output.script) {
            paid.push((index, output));
        } else if output.script.starts_with(&[op::DUP, op::HASH160])
            && let Ok(chunks) = parse_chunks(&output.script)
        {
            is_sent_to_address(&chunks)?;
        }
    }
    Ok(paid)
}

/// Sum that a transaction pays to one of these scripts (`getValueSentToMe`).
pub(crate) fn value_to(tx: &BtcTransaction, scripts: &[&Script]) -> Result<Satoshi> {
    let paid = outputs_to(tx, scripts)?;
    paid.iter().try_fold(0i64, |sum, (_, output)| sum.checked_add(output.value)).ok_or_else(overflow)
}

/// The same outputs as unspent outputs for a UTXO list.
pub(crate) fn utxos_to(tx: &BtcTransaction, scripts: &[&Script]) -> Result<Vec<Utxo>> {
    let (tx_hash, coinbase) = (tx.txid(), tx.is_coinbase());
    Ok(outputs_to(tx, scripts)?
        .into_iter()
        .map(|(index, output)| Utxo {
            tx_hash,
            index,
            value: output.value,
            height: 0,
            coinbase,
            script: output.script(),
        })
        .collect())
}

pub(crate) fn overflow() -> Failure {
    Failure::threw("long overflow")
}
