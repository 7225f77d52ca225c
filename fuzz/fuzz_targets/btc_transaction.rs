//! A Bitcoin transaction of any bytes: never a panic, neither in reading nor in what the Bridge asks of it, and the
//! re-encoding reads as the same transaction.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_bridge::bitcoin::multisig as ms;
use rhizome_bridge::bitcoin::{BtcKey, BtcNetwork, BtcTransaction, EcdsaSignature, coinbase};
use rhizome_primitives::U256;

fuzz_target!(|input: &[u8]| {
    let _ = BtcTransaction::decode_no_inputs(input);
    let Ok((tx, read)) = BtcTransaction::decode_prefix(input) else { return };
    assert!(read <= input.len());
    let encoded = tx.encode();
    assert_eq!(tx.encode_base().len(), tx.encoded_base_len());
    if !tx.inputs.is_empty() {
        let again = BtcTransaction::decode(&encoded).expect("a re-encoding reads");
        assert_eq!(again.encode(), encoded);
        assert_eq!(again.txid(), tx.txid());
    }
    let _ = tx.verify();
    let _ = tx.output_sum();
    let _ = ms::sighash_for_pegout_index(&tx);
    let _ = ms::hash_without_signatures(&tx);
    let _ = ms::hash_without_signatures_before_rskip305(&tx);
    let _ = ms::has_enough_signatures(&tx);
    let key = BtcKey::from_checked([2; 33]);
    let signature = EcdsaSignature::new(U256::from(1), U256::from(1));
    for index in 0..tx.inputs.len().min(4) {
        let _ = ms::sighash_of_legacy_input(&tx, index);
        let _ = ms::sighash_of_segwit_input(&tx, index, 1);
        let _ = ms::is_input_signed_by(&tx, index, &key, &[1; 32]);
        let _ = ms::signature_insertion_index(&tx, index, &[1; 32], &key);
        let _ = ms::sign_input(&mut tx.clone(), index, &signature, index);
    }
    for output in &tx.outputs {
        let _ = output.is_dust();
        let _ = output.script().to_address(BtcNetwork::Mainnet);
    }
    let _ = coinbase::find_witness_commitment(&tx, true);
    let _ = coinbase::find_witness_commitment(&tx, false);
});
