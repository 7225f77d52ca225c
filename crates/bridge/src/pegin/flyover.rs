//! Flyover peg-ins: a liquidity provider's contract registers a payment to a federation's variant made for one user
//! (`registerFastBridgeBtcTransaction`), since RSKIP-176.

use rhizome_chainspec::Rskip;
use rhizome_primitives::{Address as RskAddress, B256, keccak256};

use super::refund::paid_federation;
use crate::abi::Word;
use crate::bitcoin::{Address, BtcHash, BtcNetwork, BtcTransaction, Satoshi, Script, Utxo};
use crate::dispatch::Arguments;
use crate::failure::{Failure, Result, caught};
use crate::federation::{Federation, FlyoverInfo, flyover_output_script, flyover_redeem_script};
use crate::peg::{Peg, wei_from_satoshi};
use crate::pegout::wallets::{Flyover, SpendWallet, outputs_to, utxos_to, value_to};

/// Answers below zero (`FlyoverTxResponseCodes`).
pub mod code {
    /// Sent back to the user.
    pub const REFUNDED_USER: i64 = -100;
    /// Sent back to the liquidity provider.
    pub const REFUNDED_PROVIDER: i64 = -200;
    /// Not called by a contract.
    pub const NOT_FROM_CONTRACT: i64 = -300;
    /// Called by another contract than the argument says.
    pub const WRONG_SENDER: i64 = -301;
    /// Registered before.
    pub const ALREADY_PROCESSED: i64 = -302;
    /// Not proved to be in the chain.
    pub const NOT_PROVED: i64 = -303;
    /// Nothing was paid to the federation.
    pub const NOTHING_SENT: i64 = -304;
    /// An output is below the minimum.
    pub const BELOW_MINIMUM: i64 = -305;
    /// Anything else.
    pub const GENERIC_ERROR: i64 = -900;
}

/// The method's arguments.
struct Request<'a> {
    tx: &'a [u8],
    height: i32,
    tree: &'a [u8],
    derivation_hash: B256,
    user: Address,
    contract: RskAddress,
    provider: Address,
    refund_provider: bool,
}

/// A federation's variant.
struct Variant {
    info: FlyoverInfo,
    output: Script,
}

/// Hash that makes the variant: of the given hash, the user's address, the contract and the provider's address.
pub fn derivation_hash(
    arguments: B256,
    user: &Address,
    provider: &Address,
    contract: RskAddress,
    rskip284: bool,
) -> B256 {
    let mut data = arguments.to_vec();
    data.extend_from_slice(&user.serialize_with_version(rskip284));
    data.extend_from_slice(contract.as_slice());
    data.extend_from_slice(&provider.serialize_with_version(rskip284));
    keccak256(data)
}

impl Peg<'_> {
    /// Registers a payment; every failure is the code −900. The answer is the amount in wei or a code below zero.
    pub(crate) fn register_flyover(&mut self, arguments: &Arguments<'_>) -> Result<Word> {
        let word = caught(self.try_flyover(arguments))?;
        Ok(word.unwrap_or_else(|| Word::from(code::GENERIC_ERROR)))
    }

    fn try_flyover(&mut self, arguments: &Arguments<'_>) -> Result<Word> {
        let (network, exact) = (self.constants.network, self.is_active(Rskip::R284));
        let address = |index| read_address(network, exact, arguments.bytes(index));
        let (user, contract, provider) = (address(4)?, arguments.address(5), address(6)?);
        let request = Request {
            tx: arguments.bytes(0),
            height: arguments.int(1).low_i32(),
            tree: arguments.bytes(2),
            derivation_hash: derivation_hash(arguments.word(3), &user, &provider, contract, exact),
            user,
            contract,
            provider,
            refund_provider: arguments.flag(7),
        };
        self.process_flyover(&request)
    }

    fn process_flyover(&mut self, request: &Request<'_>) -> Result<Word> {
        if !self.call.is_from_contract() {
            return Ok(Word::from(code::NOT_FROM_CONTRACT));
        }
        if self.call.sender != request.contract {
            return Ok(Word::from(code::WRONG_SENDER));
        }
        let hash = BtcHash::of_wire_data(request.tx);
        if self.is_flyover_hash_used(&hash, &request.derivation_hash)? {
            return Ok(Word::from(code::ALREADY_PROCESSED));
        }
        if !self.is_proved(hash, request.height, request.tree, request.tx)? {
            return Ok(Word::from(code::NOT_PROVED));
        }
        let tx = BtcTransaction::decode(request.tx)?;
        tx.verify()?;
        let txid = tx.txid();
        if txid != hash && self.is_flyover_hash_used(&txid, &request.derivation_hash)? {
            return Ok(Word::from(code::ALREADY_PROCESSED));
        }
        let variants = self.flyover_variants(request.derivation_hash)?;
        let total = match self.flyover_amount(&tx, &variants)? {
            Ok(total) => total,
            Err(code) => return Ok(Word::from(code)),
        };
        if !self.is_under_locking_cap(total)? {
            return self.refund_flyover(request, &tx, &variants, total);
        }
        self.pay(request.contract, wei_from_satoshi(total))?;
        self.take_in_flyover(&tx, request.derivation_hash, &variants)?;
        Ok(Word(wei_from_satoshi(total)))
    }

    /// The active federation's variant, and since RSKIP-293 the retiring one's.
    fn flyover_variants(&mut self, derivation_hash: B256) -> Result<Vec<Variant>> {
        let active = self.active_federation()?;
        let mut variants = vec![variant(&active, derivation_hash)?];
        let retiring = self.retiring_federation()?;
        if self.is_active(Rskip::R293)
            && let Some(retiring) = retiring
        {
            variants.push(variant(&retiring, derivation_hash)?);
        }
        Ok(variants)
    }

    /// What was paid to the variants, or the code that says why it does not count.
    fn flyover_amount(&self, tx: &BtcTransaction, variants: &[Variant]) -> Result<Result<Satoshi, i64>> {
        let scripts: Vec<_> = variants.iter().map(|variant| &variant.output).collect();
        if !self.is_active(Rskip::R293) {
            let total = value_by_address(tx, self.constants.network, &variants[0])?;
            return Ok(if total == 0 { Err(code::NOTHING_SENT) } else { Ok(total) });
        }
        let total = value_to(tx, &scripts)?;
        if total == 0 {
            return Ok(Err(code::NOTHING_SENT));
        }
        let minimum = self.constants.minimum_pegin(self.call.activations);
        if outputs_to(tx, &scripts)?.iter().any(|(_, output)| output.value < minimum) {
            return Ok(Err(code::BELOW_MINIMUM));
        }
        Ok(Ok(total))
    }

    fn flyover_utxos(&self, tx: &BtcTransaction, variants: &[&Variant]) -> Result<Vec<Utxo>> {
        if !self.is_active(Rskip::R293) {
            check_addresses(tx, self.constants.network)?;
        }
        let scripts: Vec<_> = variants.iter().map(|variant| &variant.output).collect();
        utxos_to(tx, &scripts)
    }

    fn take_in_flyover(&mut self, tx: &BtcTransaction, derivation_hash: B256, variants: &[Variant]) -> Result<()> {
        let txid = tx.txid();
        let [active, retiring @ ..] = variants else { return Err(Failure::threw("no federation")) };
        let utxos = self.flyover_utxos(tx, &[active])?;
        self.mark_flyover_hash_used(txid, derivation_hash);
        self.set_active_flyover_federation(active.info);
        self.add_active_utxos(utxos)?;
        if let [retiring, ..] = retiring {
            let utxos = self.flyover_utxos(tx, &[retiring])?;
            if !utxos.is_empty() {
                self.set_retiring_flyover_federation(retiring.info);
                self.add_retiring_utxos(utxos)?;
            }
        }
        Ok(())
    }

    /// Above the locking cap: the coins go back, to the provider or to the user, under the outermost transaction's hash.
    fn refund_flyover(
        &mut self,
        request: &Request<'_>,
        tx: &BtcTransaction,
        variants: &[Variant],
        total: Satoshi,
    ) -> Result<Word> {
        self.mark_flyover_hash_used(tx.txid(), request.derivation_hash);
        let (address, code) = match request.refund_provider {
            true => (request.provider, code::REFUNDED_PROVIDER),
            false => (request.user, code::REFUNDED_USER),
        };
        let counted: Vec<_> = variants.iter().collect();
        let utxos = self.flyover_utxos(tx, &counted)?;
        if let [first, second] = variants
            && first.info.flyover_hash == second.info.flyover_hash
        {
            return Err(Failure::threw("two flyover federations with one script"));
        }
        let federations = self.live_federations()?;
        self.last_retired_script()?;
        let hash = request.derivation_hash;
        let segwit =
            paid_federation(tx, &federations, |federation| flyover_output(federation, hash))?.format().is_segwit();
        let infos = variants.iter().map(|variant| variant.info).collect();
        let wallet = SpendWallet { federations, utxos, flyover: Flyover::These(infos), segwit };
        self.refund_from(&wallet, address, self.call.origin_tx_hash, total)?;
        Ok(Word::from(code))
    }
}

fn flyover_output(federation: &Federation, derivation_hash: B256) -> Result<Script> {
    let redeem = flyover_redeem_script(&derivation_hash, federation.redeem_script())?;
    Ok(flyover_output_script(&redeem, federation.format()))
}

fn variant(federation: &Federation, derivation_hash: B256) -> Result<Variant> {
    let output = flyover_output(federation, derivation_hash)?;
    let info = FlyoverInfo {
        derivation_hash,
        federation_hash: federation.address().hash,
        flyover_hash: output.pub_key_hash()?,
    };
    Ok(Variant { info, output })
}

fn read_address(network: BtcNetwork, exact: bool, bytes: &[u8]) -> Result<Address> {
    Address::deserialize_with_version(network, exact, bytes).map_err(|_| Failure::illegal("invalid Bitcoin address"))
}

/// Before RSKIP-293 every output must have an address, even if it is of no interest.
fn check_addresses(tx: &BtcTransaction, network: BtcNetwork) -> Result<()> {
    for output in &tx.outputs {
        output.script().to_address(network)?;
    }
    Ok(())
}

fn value_by_address(tx: &BtcTransaction, network: BtcNetwork, variant: &Variant) -> Result<Satoshi> {
    check_addresses(tx, network)?;
    value_to(tx, &[&variant.output])
}
