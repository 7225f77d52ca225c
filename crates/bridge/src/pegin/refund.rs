//! Sending a refused peg-in back: a transaction that spends just its outputs (`generateRejectionRelease*`).

use std::sync::Arc;

use rhizome_primitives::B256;

use crate::bitcoin::{Address, BtcTransaction, Satoshi, Script};
use crate::failure::{Failure, Result};
use crate::federation::Federation;
use crate::peg::Peg;
use crate::pegout::wallets::{Flyover, SpendWallet, utxos_to};

impl Peg<'_> {
    /// Sends everything that a transaction paid to the live federations to an address. If that cannot be done nothing is.
    pub(crate) fn refund_pegin(&mut self, tx: &BtcTransaction, address: Address, total: Satoshi) -> Result<()> {
        let federations = self.live_federations()?;
        self.last_retired_script()?;
        let scripts: Vec<_> = federations.iter().map(|federation| federation.output_script().clone()).collect();
        let utxos = utxos_to(tx, &scripts.iter().collect::<Vec<_>>())?;
        let segwit = paid_federation(tx, &federations, |federation| Ok(federation.output_script().clone()))?;
        let segwit = segwit.format().is_segwit();
        let wallet = SpendWallet { federations, utxos, flyover: Flyover::None, segwit };
        self.refund_from(&wallet, address, self.call.tx_hash, total)
    }

    /// Empties a wallet to an address; the transaction waits for confirmations under `creation`.
    pub(crate) fn refund_from(
        &mut self,
        wallet: &SpendWallet,
        address: Address,
        creation: B256,
        total: Satoshi,
    ) -> Result<()> {
        let result =
            self.build_release(wallet, address, |builder, source| builder.build_empty_wallet_to(source, address))?;
        match result {
            Ok(release) => self.settle_refund(&release.tx, creation, total),
            Err(_) => Ok(()),
        }
    }
}

/// The first of the federations, active before retiring, whose output a transaction has: its format is that of the refund.
/// An output script that does not parse fails the call if it is met before.
pub(crate) fn paid_federation(
    tx: &BtcTransaction,
    federations: &[Arc<Federation>],
    output_script: impl Fn(&Federation) -> Result<Script>,
) -> Result<Arc<Federation>> {
    for federation in federations {
        let expected = output_script(federation)?;
        for output in &tx.outputs {
            if Script::parsed(output.script.as_slice())? == expected {
                return Ok(Arc::clone(federation));
            }
        }
    }
    Err(Failure::threw("no output to a live federation"))
}
