//! Making releases, migrations and the validation fund (rskj's `ReleaseTransactionBuilder`).

use super::Satoshi;
use super::address::Address;
use super::multisig::add_spending_base_script;
use super::params::BtcNetwork;
use super::script::ScriptError;
use super::transaction::BtcTransaction;
use super::utxo::Utxo;
use super::wallet::{CompletionFailure, RedeemSource, SendRequest, Stop, complete, redeem_of, spends};

/// A transaction without signatures, its inputs in base form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltRelease {
    /// The transaction. Its inputs know the amounts that they spend.
    pub tx: BtcTransaction,
    /// The outputs that it spends, in the order of the list that was given.
    pub selected: Vec<Utxo>,
}

/// Outcome of a build: rskj's `BuildResult`, failures being its other response codes.
pub type ReleaseResult = Result<BuiltRelease, CompletionFailure>;

/// What all transactions of one wallet have in common.
#[derive(Debug, Clone, Copy)]
pub struct ReleaseBuilder<'a> {
    /// Bitcoin network.
    pub network: BtcNetwork,
    /// Outputs to spend from.
    pub utxos: &'a [Utxo],
    /// Whether the federation is of the segregated kind (P2SH-P2WSH).
    pub segwit: bool,
    /// Where change goes.
    pub change_address: Address,
    /// Fee per kilobyte.
    pub fee_per_kb: Satoshi,
    /// RSKIP-201: version 2.
    pub rskip201: bool,
    /// RSKIP-376: version 2 for migrations, too.
    pub rskip376: bool,
}

impl ReleaseBuilder<'_> {
    /// `buildAmountTo`: one output, which pays the fee.
    pub fn build_amount_to<R: RedeemSource>(
        &self,
        source: &mut R,
        to: Address,
        amount: Satoshi,
    ) -> Result<ReleaseResult, R::Error> {
        self.build_batched_pegouts(source, &[(to, amount)])
    }

    /// `buildBatchedPegouts`: an output for each request, which share the fee.
    pub fn build_batched_pegouts<R: RedeemSource>(
        &self,
        source: &mut R,
        entries: &[(Address, Satoshi)],
    ) -> Result<ReleaseResult, R::Error> {
        let request = self.request(entries)?;
        self.build(source, request)
    }

    /// `buildSvpFundTransaction`: the same amount to both addresses of a proposed federation; the change pays the fee.
    pub fn build_svp_fund<R: RedeemSource>(
        &self,
        source: &mut R,
        proposed: Address,
        proposed_flyover: Address,
        amount: Satoshi,
    ) -> Result<ReleaseResult, R::Error> {
        let mut request = self.request(&[(proposed, amount), (proposed_flyover, amount)])?;
        request.recipients_pay_fees = false;
        self.build(source, request)
    }

    /// `buildMigrationTransaction`: an amount to the new federation, where change goes, too.
    pub fn build_migration<R: RedeemSource>(
        &self,
        source: &mut R,
        amount: Satoshi,
        destination: Address,
    ) -> Result<ReleaseResult, R::Error> {
        let mut request = self.request(&[(destination, amount)])?;
        if !self.rskip376 {
            request.tx.version = 1;
        }
        request.change_address = destination;
        self.build(source, request)
    }

    /// `buildEmptyWalletTo`: everything but the fee.
    pub fn build_empty_wallet_to<R: RedeemSource>(
        &self,
        source: &mut R,
        to: Address,
    ) -> Result<ReleaseResult, R::Error> {
        let mut request = self.request(&[(to, 0)])?;
        request.change_address = to;
        request.empty_wallet = true;
        self.build(source, request)
    }

    fn request(&self, outputs: &[(Address, Satoshi)]) -> Result<SendRequest, ScriptError> {
        let mut tx = BtcTransaction::new(if self.rskip201 { 2 } else { 1 });
        for (to, amount) in outputs {
            tx.add_output(*amount, to.output_script())?;
        }
        Ok(SendRequest {
            tx,
            segwit: self.segwit,
            empty_wallet: false,
            recipients_pay_fees: true,
            change_address: self.change_address,
            fee_per_kb: self.fee_per_kb,
        })
    }

    fn build<R: RedeemSource>(&self, source: &mut R, mut request: SendRequest) -> Result<ReleaseResult, R::Error> {
        match complete(&mut request, self.utxos, source) {
            Ok(()) => {}
            Err(Stop::Expected(failure)) => return Ok(Err(failure)),
            Err(Stop::Threw(error)) => return Err(error),
        }
        let mut tx = request.tx;
        let selected: Vec<_> =
            self.utxos.iter().filter(|utxo| spends(&tx, &utxo.tx_hash, utxo.index)).cloned().collect();
        if self.segwit {
            for index in 0..tx.inputs.len() {
                let input = &tx.inputs[index];
                let spent = selected
                    .iter()
                    .find(|utxo| utxo.tx_hash == input.prev_hash && utxo.index == input.prev_index)
                    .expect("inputs were made from the unspent outputs");
                let redeem = redeem_of(source, &spent.script)?;
                add_spending_base_script(&mut tx, index, &redeem, true)?;
            }
        }
        Ok(Ok(BuiltRelease { tx, selected }))
    }
}
