//! Choosing coins and completing a transaction (bitcoinj-thin's `Wallet.completeTx` with rskj's
//! `RskAllowUnconfirmedCoinSelector` and `BridgeBtcWallet`).
//!
//! Fee and change are found in a loop: with a fee of zero first, then with what the size of the result asked for, until it
//! is enough. Inputs stay in the order of choice, outputs in the order of the request, change comes last.

use super::Satoshi;
use super::address::Address;
use super::hash::BtcHash;
use super::multisig::{base_input_script, required_signatures};
use super::redeem::HARDCODED_TESTNET_ERP;
use super::script::{Script, ScriptError, is_p2sh};
use super::transaction::{BtcTransaction, MAX_MONEY, REFERENCE_FEE, TxOutput};
use super::utxo::Utxo;

/// Bytes that bitcoinj reckons for a signature.
const SIGNATURE_SIZE: usize = 75;
/// Bytes of the input script of a P2SH-P2WSH input.
const SEGWIT_INPUT_SCRIPT_SIZE: usize = 36;
/// Largest transaction that is made.
const MAX_STANDARD_TX_SIZE: usize = 100_000;
/// Bytes before a federation's script in its flyover variant: push of a hash, drop.
const FLYOVER_PREFIX_SIZE: usize = 34;
/// Confirmations that a coinbase needs.
const COINBASE_DEPTH: i32 = 100;

const OVERFLOW: ScriptError = ScriptError::Runtime("amount overflow");

/// Where the redeem scripts of P2SH outputs come from (`Wallet.findRedeemDataFromScriptHash`).
pub trait RedeemSource {
    /// Trouble while looking, which includes what the reference throws.
    type Error: From<ScriptError>;
    /// The redeem script with this hash160 (for P2SH-P2WSH, the script whose witness program has it).
    fn redeem_script(&mut self, hash: &[u8; 20]) -> Result<Option<Script>, Self::Error>;
}

/// Why a transaction cannot be completed, in answers that the reference expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompletionFailure {
    /// The coins do not suffice.
    #[error("expected coins for outputs and fee, got less")]
    InsufficientMoney,
    /// An output would become dust by paying the fee.
    #[error("expected outputs that can pay their share of the fee, got a smaller one")]
    CouldNotAdjustDownwards,
    /// An output is dust.
    #[error("expected outputs above dust, got a smaller one")]
    DustySendRequested,
    /// Larger than 100,000 bytes.
    #[error("expected a transaction of at most 100,000 bytes, got a larger one")]
    ExceedMaxTransactionSize,
}

/// Either kind of failure while completing.
#[derive(Debug)]
pub(crate) enum Stop<E> {
    Expected(CompletionFailure),
    Threw(E),
}

impl<E: From<ScriptError>> From<ScriptError> for Stop<E> {
    fn from(error: ScriptError) -> Self {
        Stop::Threw(error.into())
    }
}

/// `SendRequest`, as far as rskj sets it.
#[derive(Debug, Clone)]
pub(crate) struct SendRequest {
    pub(crate) tx: BtcTransaction,
    pub(crate) segwit: bool,
    pub(crate) empty_wallet: bool,
    pub(crate) recipients_pay_fees: bool,
    pub(crate) change_address: Address,
    pub(crate) fee_per_kb: Satoshi,
}

/// Candidates for spending: all but immature coinbase outputs. The chain height of rskj's provider is the largest
/// integer, so that with a height of 0, the only one that the Bridge writes, the depth overflows and no coinbase is mature.
pub fn spend_candidates(utxos: &[Utxo]) -> Result<Vec<&Utxo>, ScriptError> {
    let mut candidates = Vec::with_capacity(utxos.len());
    for utxo in utxos {
        let depth = i32::MAX.wrapping_sub(utxo.height).wrapping_add(1);
        if utxo.coinbase && depth < COINBASE_DEPTH {
            continue;
        }
        if !(-1..=MAX_MONEY).contains(&utxo.value) {
            return Err(ScriptError::IllegalArgument("amount of an unspent output"));
        }
        candidates.push(utxo);
    }
    Ok(candidates)
}

/// `RskAllowUnconfirmedCoinSelector.select`: by transaction number, then index, until the target is reached. With the
/// largest amount as target the order is left alone.
pub fn select_coins<'u>(target: Satoshi, candidates: &[&'u Utxo]) -> (Vec<&'u Utxo>, Satoshi) {
    let mut sorted = candidates.to_vec();
    if target != MAX_MONEY {
        sorted.sort_by_key(|utxo| (*utxo.tx_hash.display_bytes(), utxo.index as i32));
    }
    let mut total: Satoshi = 0;
    let mut selected = Vec::new();
    for utxo in sorted {
        if total >= target {
            break;
        }
        selected.push(utxo);
        total = total.wrapping_add(utxo.value);
    }
    (selected, total)
}

/// `Wallet.getBalance`.
pub fn balance(utxos: &[Utxo]) -> Result<Satoshi, ScriptError> {
    Ok(select_coins(MAX_MONEY, &spend_candidates(utxos)?).1)
}

/// `completeTx`: chooses inputs, settles fee and change, and gives legacy inputs their base scripts.
pub(crate) fn complete<R: RedeemSource>(
    request: &mut SendRequest,
    utxos: &[Utxo],
    source: &mut R,
) -> Result<(), Stop<R::Error>> {
    let value = request.tx.output_sum().ok_or(OVERFLOW)?;
    if !request.empty_wallet {
        let mut data_outputs = 0;
        for output in &request.tx.outputs {
            if output.is_dust()? {
                return Err(Stop::Expected(CompletionFailure::DustySendRequested));
            }
            data_outputs += u32::from(output.script().is_op_return()?);
        }
        if data_outputs > 1 {
            return Err(ScriptError::Runtime("more than one data output").into());
        }
    }
    let candidates = spend_candidates(utxos)?;
    let mut redeems = RedeemScripts { source, known: Vec::new() };
    let gathered = if request.empty_wallet {
        let [output] = request.tx.outputs.as_mut_slice() else {
            return Err(ScriptError::IllegalState("emptying needs a single output").into());
        };
        let (gathered, total) = select_coins(MAX_MONEY, &candidates);
        output.value = total;
        add_inputs(&mut request.tx, &gathered);
        let size = tx_size(&request.tx, request.segwit, &gathered, &mut redeems).map_err(Stop::Threw)?;
        let fee = fee_for(request.fee_per_kb, size)?.max(REFERENCE_FEE);
        let output = &mut request.tx.outputs[0];
        output.value = output.value.checked_sub(fee).ok_or(OVERFLOW)?;
        if output.is_dust()? {
            return Err(Stop::Expected(CompletionFailure::CouldNotAdjustDownwards));
        }
        gathered
    } else {
        let settled = settle_fee(request, value, &candidates, &mut redeems)?;
        add_inputs(&mut request.tx, &settled.gathered);
        if let Some(values) = settled.output_values {
            for (output, value) in request.tx.outputs.iter_mut().zip(values) {
                output.value = value;
            }
        }
        request.tx.outputs.extend(settled.change);
        settled.gathered
    };
    if !request.segwit {
        if request.tx.inputs.is_empty() || request.tx.outputs.is_empty() {
            return Err(ScriptError::IllegalState("nothing to sign").into());
        }
        for (input, utxo) in request.tx.inputs.iter_mut().zip(&gathered) {
            let redeem = redeems.of_output(utxo.script.as_bytes()).map_err(Stop::Threw)?;
            input.script = base_input_script(redeem)?.into_bytes();
        }
    }
    if request.tx.encoded_base_len() > MAX_STANDARD_TX_SIZE {
        return Err(Stop::Expected(CompletionFailure::ExceedMaxTransactionSize));
    }
    Ok(())
}

fn add_inputs(tx: &mut BtcTransaction, gathered: &[&Utxo]) {
    for utxo in gathered {
        tx.add_input(utxo.tx_hash, utxo.index, Vec::new(), Some(utxo.value));
    }
}

/// Result of the fee loop.
struct Settled<'u> {
    gathered: Vec<&'u Utxo>,
    output_values: Option<Vec<Satoshi>>,
    change: Option<TxOutput>,
}

/// `calculateFee`.
fn settle_fee<'u, R: RedeemSource>(
    request: &SendRequest,
    value: Satoshi,
    candidates: &[&'u Utxo],
    redeems: &mut RedeemScripts<'_, R>,
) -> Result<Settled<'u>, Stop<R::Error>> {
    let outputs = &request.tx.outputs;
    let count = outputs.len() as i64;
    let mut fee: Satoshi = 0;
    loop {
        let mut tx = BtcTransaction::new(1);
        let mut output_values = request.recipients_pay_fees.then(Vec::new);
        for (index, output) in outputs.iter().enumerate() {
            let mut output = output.clone();
            if let Some(values) = &mut output_values {
                output.value = output.value.checked_sub(fee / count).ok_or(OVERFLOW)?;
                if index == 0 {
                    output.value = output.value.checked_sub(fee % count).ok_or(OVERFLOW)?;
                }
                values.push(output.value);
                if output.min_non_dust() > output.value {
                    return Err(Stop::Expected(CompletionFailure::CouldNotAdjustDownwards));
                }
            }
            tx.outputs.push(output);
        }
        let needed = if request.recipients_pay_fees { value } else { value.checked_add(fee).ok_or(OVERFLOW)? };
        let (gathered, total) = select_coins(needed, candidates);
        if total < needed {
            return Err(Stop::Expected(CompletionFailure::InsufficientMoney));
        }
        let mut change = None;
        let rest = total.checked_sub(needed).ok_or(OVERFLOW)?;
        if rest > 0 {
            let mut output = TxOutput::new(rest, request.change_address.output_script())?;
            if let Some(values) = &mut output_values
                && output.is_dust()?
            {
                let missing = output.min_non_dust() - output.value;
                output.value += missing;
                let first = tx.outputs.first_mut().ok_or(ScriptError::Runtime("no outputs"))?;
                first.value = first.value.checked_sub(missing).ok_or(OVERFLOW)?;
                values[0] = first.value;
                if first.is_dust()? {
                    return Err(Stop::Expected(CompletionFailure::CouldNotAdjustDownwards));
                }
            }
            if output.is_dust()? {
                fee = fee.checked_add(output.value).ok_or(OVERFLOW)?;
            } else {
                tx.outputs.push(output.clone());
                change = Some(output);
            }
        }
        add_inputs(&mut tx, &gathered);
        let size = tx_size(&tx, request.segwit, &gathered, redeems).map_err(Stop::Threw)?;
        let fee_needed = fee_for(request.fee_per_kb.max(REFERENCE_FEE), size)?;
        if fee >= fee_needed {
            return Ok(Settled { gathered, output_values, change });
        }
        fee = fee_needed;
    }
}

fn fee_for(fee_per_kb: Satoshi, size: usize) -> Result<Satoshi, ScriptError> {
    fee_per_kb.checked_mul(size as i64).map(|fee| fee / 1_000).ok_or(OVERFLOW)
}

/// `calculateTxSize`: the transaction with empty input scripts and what signing will add; virtual bytes for the
/// segregated form.
fn tx_size<R: RedeemSource>(
    tx: &BtcTransaction,
    segwit: bool,
    gathered: &[&Utxo],
    redeems: &mut RedeemScripts<'_, R>,
) -> Result<usize, R::Error> {
    let mut base = tx.encoded_base_len();
    if segwit {
        base += SEGWIT_INPUT_SCRIPT_SIZE * tx.inputs.len();
    }
    let mut total = base;
    for utxo in gathered {
        let redeem = redeems.of_output(utxo.script.as_bytes())?;
        let signatures = usize::try_from(required_signatures(redeem)?)
            .map_err(|_| ScriptError::IllegalState("number of signatures is not known"))?;
        total += signatures * SIGNATURE_SIZE + redeem.len();
    }
    Ok(if segwit { (total + 3 * base) / 4 } else { total })
}

/// Redeem scripts by hash, each asked for once. Federations have few.
struct RedeemScripts<'s, R> {
    source: &'s mut R,
    known: Vec<([u8; 20], Script)>,
}

impl<R: RedeemSource> RedeemScripts<'_, R> {
    /// Only outputs to scripts are in a federation's hands; of all others rskj finds no key and fails.
    fn of_output(&mut self, output: &[u8]) -> Result<&Script, R::Error> {
        if !is_p2sh(output) {
            return Err(ScriptError::Runtime("unspendable output").into());
        }
        let mut hash = [0; 20];
        hash.copy_from_slice(&output[2..22]);
        let position = match self.known.iter().position(|(known, _)| *known == hash) {
            Some(position) => position,
            None => {
                let redeem = self.source.redeem_script(&hash)?.ok_or(ScriptError::Runtime("unspendable output"))?;
                // A flyover script that was read from bytes shows the keys of testnet's fixed script; one that was put
                // together from its chunks, as in this wallet, is recognised as that script, of which nothing is known.
                if redeem
                    .as_bytes()
                    .split_at_checked(FLYOVER_PREFIX_SIZE)
                    .is_some_and(|(_, rest)| rest == HARDCODED_TESTNET_ERP)
                {
                    return Err(ScriptError::IllegalState("number of signatures is not known").into());
                }
                self.known.push((hash, redeem));
                self.known.len() - 1
            }
        };
        Ok(&self.known[position].1)
    }
}

/// Redeem script of an output that a transaction of this wallet spends.
pub(crate) fn redeem_of<R: RedeemSource>(source: &mut R, output: &Script) -> Result<Script, R::Error> {
    let mut redeems = RedeemScripts { source, known: Vec::new() };
    redeems.of_output(output.as_bytes()).cloned()
}

/// Whether a transaction spends this output.
pub(crate) fn spends(tx: &BtcTransaction, hash: &BtcHash, index: u32) -> bool {
    tx.inputs.iter().any(|input| input.prev_hash == *hash && input.prev_index == index)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::bitcoin::script::op;
    use crate::bitcoin::{BtcNetwork, ScriptBuilder};

    struct One(Script);

    impl RedeemSource for One {
        type Error = ScriptError;
        fn redeem_script(&mut self, hash: &[u8; 20]) -> Result<Option<Script>, ScriptError> {
            Ok((Script::p2sh_of(&self.0) == Script::p2sh(hash)).then(|| self.0.clone()))
        }
    }

    fn utxo(id: u8, index: u32, value: Satoshi, script: &Script) -> Utxo {
        let tx_hash = BtcHash::from_display([id; 32]);
        Utxo { tx_hash, index, value, height: 0, coinbase: false, script: script.clone() }
    }

    fn complete_with(redeem: &Script, utxos: &[Utxo], amount: Satoshi) -> Result<BtcTransaction, Stop<ScriptError>> {
        let to = Address::p2pkh(BtcNetwork::Regtest, [1; 20]);
        let mut tx = BtcTransaction::new(2);
        tx.add_output(amount, to.output_script()).unwrap();
        let mut request = SendRequest {
            tx,
            segwit: false,
            empty_wallet: false,
            recipients_pay_fees: true,
            change_address: to,
            fee_per_kb: 10_000,
        };
        complete(&mut request, utxos, &mut One(redeem.clone()))?;
        Ok(request.tx)
    }

    #[test]
    fn coins_are_taken_by_transaction_number_then_index() {
        let script = Script::p2sh(&[0; 20]);
        let utxos = [utxo(3, 0, 5, &script), utxo(1, 7, 5, &script), utxo(1, 2, 5, &script), utxo(2, 0, 5, &script)];
        let candidates = spend_candidates(&utxos).unwrap();
        let (selected, total) = select_coins(11, &candidates);
        let order: Vec<_> = selected.iter().map(|u| (u.tx_hash.display_bytes()[0], u.index)).collect();
        assert_eq!((order, total), (vec![(1, 2), (1, 7), (2, 0)], 15));
        assert_eq!(select_coins(MAX_MONEY, &candidates).0[0].tx_hash.display_bytes()[0], 3);
    }

    #[test]
    fn coinbase_outputs_never_mature_at_height_zero() {
        let script = Script::p2sh(&[0; 20]);
        let mut coinbase = utxo(1, 0, 5, &script);
        coinbase.coinbase = true;
        assert_eq!(balance(&[coinbase.clone()]), Ok(0));
        coinbase.height = 1;
        assert_eq!(balance(&[coinbase]), Ok(5));
    }

    #[test]
    fn dust_change_is_raised_at_the_cost_of_the_first_output() {
        let key = crate::bitcoin::BtcKey::from_checked(rhizome_primitives::hex!(
            "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
        ));
        let redeem = Script::multisig(1, [&key]).unwrap();
        let output = Script::p2sh_of(&redeem);
        let tx = complete_with(&redeem, &[utxo(1, 0, 1_000_100, &output)], 1_000_000).unwrap();
        assert_eq!(tx.outputs[1].value, 2_730);
        let fee = 1_000_100 - tx.outputs.iter().map(|o| o.value).sum::<Satoshi>();
        assert!((1_000..10_000).contains(&fee));
        assert_eq!(tx.inputs[0].script[..2], [0, 0]);
        assert!(matches!(
            complete_with(&redeem, &[utxo(1, 0, 99_999, &output)], 100_000),
            Err(Stop::Expected(CompletionFailure::InsufficientMoney))
        ));
        assert!(matches!(
            complete_with(&redeem, &[utxo(1, 0, 99_999, &output)], 100),
            Err(Stop::Expected(CompletionFailure::DustySendRequested))
        ));
        assert!(matches!(
            complete_with(&redeem, &[utxo(1, 0, 9_999, &output)], 2_800),
            Err(Stop::Expected(CompletionFailure::CouldNotAdjustDownwards))
        ));
        assert!(matches!(
            complete_with(&redeem, &[utxo(1, 0, 9_999, &Script::p2pkh(&[1; 20]))], 9_000),
            Err(Stop::Threw(_))
        ));
    }

    #[test]
    fn nothing_is_known_of_the_fixed_testnet_script() {
        let plain = Script::new(HARDCODED_TESTNET_ERP);
        let flyover = ScriptBuilder::new().data(&[7; 32]).unwrap().op(op::DROP).chunks(&HARDCODED_TESTNET_ERP).build();
        for redeem in [plain, flyover] {
            let utxos = [utxo(1, 0, 1_000_000, &Script::p2sh_of(&redeem))];
            let result = complete_with(&redeem, &utxos, 900_000);
            assert!(matches!(result, Err(Stop::Threw(error)) if error.is_illegal_state()));
        }
    }
}
