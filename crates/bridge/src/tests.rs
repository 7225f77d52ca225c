//! Paths that no recorded chain takes, each of them once different from the reference.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{Address, B256, Bytes, U256, keccak256};

use crate::abi::{Output, encode_event_data};
use crate::bitcoin::release::ReleaseBuilder;
use crate::bitcoin::script::op;
use crate::bitcoin::transaction::MAX_MONEY;
use crate::bitcoin::wallet::{CompletionFailure, RedeemSource};
use crate::bitcoin::{Address as BtcAddress, BtcHash, BtcNetwork, BtcTransaction, Script, ScriptError, TxOutput, Utxo};
use crate::dispatch::tests::Empty;
use crate::failure::{Failure, Result};
use crate::federation::{PROPOSED_FEDERATION_FLYOVER_PREFIX, flyover_output_script, flyover_redeem_script};
use crate::pegin::kind::TransactionKind;
use crate::pegout::queue::{Request, RequestQueue};
use crate::pegout::signatures::WaitingSignatures;
use crate::pegout::waiting::{WaitingConfirmations, WaitingRelease};
use crate::pegout::wallets::{outputs_to, utxos_to, value_to};
use crate::storage::{forms, keys};
use crate::{BlockView, Bridge, BridgeCall, BridgeOutcome, CallKind, CallState, Peg};

fn call_from(sender: Address, data: &[u8], activations: Activations) -> BridgeCall<'_> {
    BridgeCall {
        sender,
        value: U256::ZERO,
        data,
        kind: CallKind::Direct,
        tx_hash: B256::ZERO,
        origin_tx_hash: B256::ZERO,
        block: BlockView { number: 10, timestamp: 1_600_000_000 },
        local_call: false,
        activations,
    }
}

fn run(host: &mut Empty, sender: Address, data: &[u8], activations: Activations) -> BridgeOutcome {
    Bridge::regtest().session(call_from(sender, data, activations)).execute(host).unwrap()
}

fn input(signature: &str, arguments: &[Output]) -> Vec<u8> {
    [&keccak256(signature)[..4], &encode_event_data(arguments)].concat()
}

fn returned(outcome: BridgeOutcome) -> i64 {
    match outcome {
        BridgeOutcome::Returned(Some(word)) => i64::from_be_bytes(word[24..].try_into().unwrap()),
        other => panic!("{other:?}"),
    }
}

fn threw(outcome: &BridgeOutcome) -> bool {
    matches!(outcome, BridgeOutcome::Threw { .. })
}

fn with_peg(activations: Activations, check: impl FnOnce(&mut Peg<'_>)) {
    let bridge = Bridge::regtest();
    let call = call_from(Address::ZERO, &[], activations);
    let (mut state, mut host) = (CallState::default(), Empty::default());
    check(&mut Peg {
        constants: bridge.constants(),
        genesis: bridge.genesis().unwrap(),
        federations: bridge.federations(),
        call: &call,
        host: &mut host,
        cells: &mut state.cells,
        chain: &mut state.chain,
    });
}

/// An input with this script, an output of a bitcoin to the federation.
fn payment(peg: &Peg<'_>, input_script: &[u8]) -> BtcTransaction {
    let mut tx = BtcTransaction::new(1);
    tx.add_input(BtcHash::from_display([7; 32]), 0, input_script.to_vec(), None);
    tx.add_output(100_000_000, peg.genesis.output_script().clone()).unwrap();
    tx
}

#[test]
fn a_height_below_zero_still_opens_the_bitcoin_chain() {
    let mut opened = Empty::default();
    run(&mut opened, Address::ZERO, &input("getBtcBlockchainBestChainHeight()", &[]), Activations::ALL);
    assert!(!opened.0.is_empty());
    let arguments = [Output::Bytes(vec![1, 2, 3]), Output::int(-1), Output::Bytes(vec![])];
    let mut host = Empty::default();
    let outcome = run(
        &mut host,
        Address::ZERO,
        &input("registerBtcTransaction(bytes,int256,bytes)", &arguments),
        Activations::ALL,
    );
    assert_eq!(outcome, BridgeOutcome::Returned(Some(Bytes::new())));
    assert!(opened.0.iter().all(|(key, value)| host.0.get(key) == Some(value)));
}

#[test]
fn an_input_script_that_does_not_parse_fails_without_rskip201_too() {
    for activations in [Activations::NONE, Activations::NONE.with(Rskip::R201)] {
        with_peg(activations, |peg| {
            let live = [Arc::clone(peg.genesis)];
            let kind = |tx: &BtcTransaction| peg.legacy_transaction_kind(tx, &live, None);
            assert!(matches!(kind(&payment(peg, &[op::PUSHDATA1])), Err(Failure::Threw(_))));
            assert_eq!(kind(&payment(peg, &[0, op::OP_1])).unwrap(), TransactionKind::PegIn);
        });
    }
}

#[test]
fn an_opcode_in_the_place_of_a_key_hash_fails_everything_that_looks_for_own_outputs() {
    with_peg(Activations::ALL, |peg| {
        let own = peg.genesis.output_script().clone();
        let mut tx = payment(peg, &[]);
        let mut hash_of_19 = Script::p2pkh(&[1; 20]).into_bytes();
        hash_of_19.remove(3);
        hash_of_19[2] = 19;
        for other in [
            hash_of_19,
            vec![op::DUP, op::HASH160, op::OP_1, op::EQUALVERIFY],
            vec![op::DUP, op::HASH160, op::OP_1, op::EQUALVERIFY, op::CHECKSIG, op::CHECKSIG],
            vec![op::DUP, op::HASH160, op::OP_1, op::EQUALVERIFY, op::PUSHDATA1],
            vec![op::DUP, op::HASH160, op::OP_0, op::EQUALVERIFY, op::CHECKSIG],
        ] {
            tx.outputs.insert(0, TxOutput { value: 1, script: other });
        }
        let scripts = [&own];
        assert_eq!(outputs_to(&tx, &scripts).unwrap()[..], [(5, &tx.outputs[5])]);
        assert_eq!(value_to(&tx, &scripts).unwrap(), 100_000_000);
        assert_eq!(utxos_to(&tx, &scripts).unwrap()[0].index, 5);
        assert_eq!(peg.transaction_kind(&tx, 1).unwrap(), TransactionKind::PegIn);
        let script = vec![op::DUP, op::HASH160, op::OP_1, op::OP_1, op::OP_1];
        tx.outputs.push(TxOutput { value: 1, script });
        assert!(matches!(outputs_to(&tx, &scripts), Err(Failure::Threw(_))));
        assert!(matches!(value_to(&tx, &scripts), Err(Failure::Threw(_))));
        assert!(matches!(utxos_to(&tx, &scripts), Err(Failure::Threw(_))));
        for height in [1, i32::MAX] {
            assert!(matches!(peg.transaction_kind(&tx, height), Err(Failure::Threw(_))));
        }
    });
}

#[test]
fn whitelist_addresses_of_any_length() {
    let all = Activations::ALL;
    let authorized = Bridge::regtest().constants().whitelist.change_authorizer.addresses[0];
    let add = |host: &mut Empty, sender, text: &str| {
        let arguments = [Output::String(text.into()), Output::int(5)];
        run(host, sender, &input("addOneOffLockWhitelistAddress(string,int256)", &arguments), all)
    };
    let with_text = |host: &mut Empty, sender, method: &str, text: &str| {
        run(host, sender, &input(method, &[Output::String(text.into())]), all)
    };
    let (unlimited, remove) = ("addUnlimitedLockWhitelistAddress(string)", "removeLockWhitelistAddress(string)");
    let size = |host: &mut Empty| {
        let data = input("getLockWhitelistSize()", &[]);
        let mut call = call_from(Address::ZERO, &data, all);
        call.local_call = true;
        Bridge::regtest().session(call).execute(host).unwrap()
    };
    let encode = |data: &[u8]| bitcoin::base58::encode_check(data);
    let (usual, long) = (BtcAddress::p2sh(BtcNetwork::Regtest, [3; 20]).to_string(), encode(&[111; 80]));
    let (other_network, empty) = (encode(&[0; 21]), encode(&[]));
    let mut host = Empty::default();
    for (text, code) in [(&usual, -10), (&long, -10), (&other_network, -2)] {
        assert_eq!(returned(add(&mut host, Address::ZERO, text)), code);
        assert_eq!(returned(with_text(&mut host, Address::ZERO, unlimited, text)), code);
        assert_eq!(returned(with_text(&mut host, Address::ZERO, remove, text)), -10);
    }
    assert!(threw(&add(&mut host, Address::ZERO, &empty)));
    assert!(threw(&with_text(&mut host, authorized, remove, &empty)));
    assert_eq!(returned(with_text(&mut host, authorized, remove, &long)), -1);
    assert_eq!(returned(with_text(&mut host, authorized, remove, &other_network)), -2);
    assert_eq!(returned(add(&mut host, authorized, &usual)), 1);
    assert_eq!(returned(size(&mut host)), 1);
    // The hash is stored as it is; the cell cannot be read after that.
    assert_eq!(returned(add(&mut host, authorized, &long)), 1);
    assert!(threw(&size(&mut host)));
}

struct NoRedeemScripts;

impl RedeemSource for NoRedeemScripts {
    type Error = ScriptError;
    fn redeem_script(&mut self, _: &[u8; 20]) -> Result<Option<Script>, ScriptError> {
        Ok(None)
    }
}

#[test]
fn more_than_all_bitcoin_cannot_be_put_into_an_output() {
    let address = BtcAddress::p2sh(BtcNetwork::Regtest, [3; 20]);
    let builder = ReleaseBuilder {
        network: BtcNetwork::Regtest,
        utxos: &[],
        segwit: false,
        change_address: address,
        fee_per_kb: 1_000,
        rskip201: true,
        rskip376: true,
    };
    let build = |amount| builder.build_amount_to(&mut NoRedeemScripts, address, amount);
    assert_eq!(build(MAX_MONEY), Ok(Err(CompletionFailure::InsufficientMoney)));
    assert!(build(MAX_MONEY + 1).unwrap_err().is_illegal_argument());
}

#[test]
fn a_validation_spend_that_cannot_pay_its_fees_fails_the_update() {
    for (fee_per_kb, affordable) in [(100, true), (5_000_000, false)] {
        with_peg(Activations::ALL, |peg| {
            let proposed = Arc::clone(peg.genesis);
            let flyover = flyover_redeem_script(&PROPOSED_FEDERATION_FLYOVER_PREFIX, proposed.redeem_script()).unwrap();
            let mut fund = payment(peg, &[]);
            fund.outputs[0].value = 2_000;
            fund.add_output(2_000, flyover_output_script(&flyover, proposed.format())).unwrap();
            peg.set_proposed_federation(Some(proposed));
            peg.cells.svp_fund_signed.set(Some(fund));
            peg.cells.fee_per_kb.set(Some(fee_per_kb));
            let result = peg.process_validation();
            assert_eq!(result.is_ok(), affordable);
            assert_eq!(peg.svp_spend_waiting().unwrap().is_some(), affordable);
        });
    }
}

#[test]
fn a_header_with_a_count_below_zero_is_no_illegal_argument() {
    let federator = Bridge::regtest().genesis().unwrap().members()[0].rsk_address();
    let with_tail = |tail: &[u8]| {
        let header = [&[0; 80], tail].concat();
        let word = |number: usize| B256::from(U256::from(number));
        let mut data = keccak256("receiveHeaders(bytes[])")[..4].to_vec();
        for number in [32, 1, 32, header.len()] {
            data.extend_from_slice(word(number).as_slice());
        }
        data.extend_from_slice(&header);
        data.resize(4 + 4 * 32 + 96, 0);
        run(&mut Empty::default(), federator, &data, Activations::NONE)
    };
    assert_eq!(with_tail(&[]), BridgeOutcome::Returned(None));
    assert_eq!(with_tail(&[1]), BridgeOutcome::Returned(None));
    assert!(threw(&with_tail(&[0xfe, 0, 0, 0, 0x80])));
}

#[test]
fn an_update_with_nothing_to_do_writes_no_cell() {
    let bridge = Bridge::regtest();
    let federation = bridge.genesis().unwrap();
    let data = input("updateCollections()", &[]);
    for (activations, with_hash) in [(Activations::ALL, true), (Activations::NONE.with(Rskip::R123), false)] {
        let mut host = Empty::default();
        let mut tx = BtcTransaction::new(1);
        tx.add_input(BtcHash::from_display([7; 32]), 0, vec![], None);
        tx.add_output(70_000, federation.output_script().clone()).unwrap();
        let mut waiting = WaitingConfirmations::default();
        waiting.add(WaitingRelease::new(tx.clone(), 9, with_hash.then_some(B256::repeat_byte(1))));
        let mut signatures = WaitingSignatures::default();
        signatures.insert(B256::repeat_byte(2), tx.clone());
        // More than the federation has, so that the request stays.
        let destination = BtcAddress::p2sh(BtcNetwork::Regtest, [3; 20]);
        let request = Request { destination, amount: 100_000_000, rsk_tx: with_hash.then_some(B256::repeat_byte(4)) };
        let queue = RequestQueue::new(vec![request]);
        let utxo = Utxo {
            tx_hash: tx.txid(),
            index: 0,
            value: 70_000,
            height: 1,
            coinbase: false,
            script: federation.output_script().clone(),
        };
        let [(waiting_key, waiting), (queue_key, queue)] = if with_hash {
            [
                (keys::WAITING_CONFIRMATIONS_WITH_HASH, waiting.encode_with_hash()),
                (keys::RELEASE_QUEUE_WITH_HASH, queue.encode_with_hash()),
            ]
        } else {
            [
                (keys::WAITING_CONFIRMATIONS, waiting.encode_without_hash()),
                (keys::RELEASE_QUEUE, queue.encode_without_hash()),
            ]
        };
        let cells = [
            (waiting_key, waiting),
            (queue_key, queue),
            (keys::WAITING_SIGNATURES, signatures.encode()),
            (keys::NEW_UTXOS, forms::utxos(&[utxo])),
        ];
        host.0.extend(cells.clone().map(|(key, cell)| (key, cell.into())));
        let sender = federation.members()[0].rsk_address();
        // The first call may write cells that were not there; the second finds all as it would write it.
        for call in 0..2 {
            host.1 = 0;
            let before = host.0.clone();
            assert!(matches!(run(&mut host, sender, &data, activations), BridgeOutcome::Returned(_)));
            let changed = host.0.iter().filter(|(key, cell)| before.get(*key) != Some(cell)).count();
            assert_eq!(host.1, changed);
            assert!(call == 0 || changed == 0);
            for (key, cell) in &cells {
                assert_eq!(host.0[key], cell[..]);
            }
        }
    }
}
