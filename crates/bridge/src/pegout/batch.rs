//! Turning requests into transactions: one each until RSKIP-271, since then one for all of them from time to time.

use rhizome_chainspec::Rskip;

use crate::bitcoin::Satoshi;
use crate::bitcoin::release::ReleaseResult;
use crate::bitcoin::wallet::{CompletionFailure, balance};
use crate::failure::{Failure, Result};
use crate::peg::Peg;
use crate::pegout::queue::Request;
use crate::pegout::settle::UtxoList;
use crate::pegout::wallets::{SpendWallet, overflow};
use crate::storage::codec;
use crate::storage::keys;

/// Requests looked at in one call, before RSKIP-271.
const MAX_INDIVIDUAL: usize = 30;

impl Peg<'_> {
    /// Works on the queue of requests.
    pub(crate) fn process_requests(&mut self) -> Result<()> {
        // All of this is read in any case, and so written back.
        self.active_utxos()?;
        self.request_queue()?;
        self.waiting_confirmations()?;
        self.fee_per_kb()?;
        if self.is_active(Rskip::R271) { self.process_batch() } else { self.process_individually() }
    }

    fn process_individually(&mut self) -> Result<()> {
        let change = *self.active_federation()?.address();
        let mut failed = Vec::new();
        for request in self.request_queue()?.take(MAX_INDIVIDUAL) {
            let wallet = self.active_wallet()?;
            let result = self.build_release(&wallet, change, |builder, source| {
                builder.build_amount_to(source, request.destination, request.amount)
            })?;
            let Ok(release) = result else {
                failed.push(request);
                continue;
            };
            self.settle_release(UtxoList::Active, &release, request.rsk_tx, request.amount)?;
            self.burn_after(&wallet, &release.tx, request.amount)?;
        }
        self.request_queue()?.put_back(failed);
        Ok(())
    }

    fn process_batch(&mut self) -> Result<()> {
        let block = self.block_number();
        if block < self.next_pegout_height()? {
            return Ok(());
        }
        let requests = self.request_queue()?.requests().to_vec();
        let total = sum(&requests)?;
        if balance(self.active_utxos()?)? < total {
            return Ok(());
        }
        if !requests.is_empty() && !self.pay_batch(requests, total)? {
            return Ok(());
        }
        if self.request_queue()?.requests().is_empty() {
            let next = block + self.constants.blocks_between_pegouts as i64;
            self.cells.next_pegout_height.set(next);
        }
        Ok(())
    }

    /// Pays as many of the requests as fit one transaction, halving as long as they do not. What is announced and burnt is
    /// reckoned by the total of *all* requests. False if no transaction could be made.
    fn pay_batch(&mut self, mut requests: Vec<Request>, total: Satoshi) -> Result<bool> {
        let wallet = self.active_wallet()?;
        let mut result = self.build_batch(&wallet, &requests)?;
        while requests.len() > 1 && matches!(result, Err(CompletionFailure::ExceedMaxTransactionSize)) {
            requests.truncate(requests.len() / 2);
            result = self.build_batch(&wallet, &requests)?;
        }
        let Ok(release) = result else { return Ok(false) };
        self.settle_release(UtxoList::Active, &release, Some(self.call.tx_hash), total)?;
        self.request_queue()?.remove_all(&requests);
        let hashes = requests.iter().map(|request| request.rsk_tx).collect::<Option<Vec<_>>>();
        let hashes = hashes.ok_or_else(|| Failure::threw("request without a transaction hash in a batch"))?;
        self.log_batch_pegout_created(&release.tx.txid(), &hashes)?;
        self.burn_after(&wallet, &release.tx, total)?;
        Ok(true)
    }

    /// Builds a transaction that pays all of these requests.
    pub(crate) fn build_batch(&mut self, wallet: &SpendWallet, requests: &[Request]) -> Result<ReleaseResult> {
        let change = *self.active_federation()?.address();
        let outputs: Vec<_> = requests.iter().map(|request| (request.destination, request.amount)).collect();
        self.build_release(wallet, change, |builder, source| builder.build_batched_pegouts(source, &outputs))
    }

    fn burn_after(&mut self, wallet: &SpendWallet, tx: &crate::bitcoin::BtcTransaction, paid: Satoshi) -> Result<()> {
        let federation = wallet.federations.first().ok_or_else(|| Failure::threw("wallet without a federation"))?;
        self.burn_raised_change(tx, paid, federation.output_script())
    }

    /// First block in which the next batch may be made; zero before RSKIP-271.
    pub(crate) fn next_pegout_height(&mut self) -> Result<i64> {
        if !self.is_active(Rskip::R271) {
            return Ok(0);
        }
        let cell = &mut self.cells.next_pegout_height;
        Ok(*cell
            .read(self.host, keys::NEXT_PEGOUT_HEIGHT, |stored| Ok(codec::read_optional_long(stored)?.unwrap_or(0)))?)
    }

    /// Number of requests that wait; zero before RSKIP-271.
    pub(crate) fn queued_requests(&mut self) -> Result<usize> {
        if !self.is_active(Rskip::R271) {
            return Ok(0);
        }
        Ok(self.request_queue()?.requests().len())
    }
}

pub(crate) fn sum(requests: &[Request]) -> Result<Satoshi> {
    requests.iter().try_fold(0i64, |sum, request| sum.checked_add(request.amount)).ok_or_else(overflow)
}
