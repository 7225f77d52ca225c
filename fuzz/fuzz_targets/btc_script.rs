//! A Bitcoin script, key, signature or address of any bytes: never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rhizome_bridge::bitcoin::script::parse_chunks;
use rhizome_bridge::bitcoin::{Address, BtcKey, BtcNetwork, EcdsaSignature, RedeemScript, Script, Utxo, multisig as ms};

fuzz_target!(|input: &[u8]| {
    let script = Script::new(input);
    let _ = parse_chunks(input);
    let _ = script.is_sent_to_multisig();
    let _ = script.to_address(BtcNetwork::Testnet);
    let _ = ms::base_input_script(&script);
    let _ = ms::base_witness(&script);
    if let Ok(redeem) = RedeemScript::parse(input) {
        let _ = redeem.keys();
        let _ = redeem.find_key(&BtcKey::from_checked([3; 33]));
        if let Ok(standard) = redeem.standard_part() {
            let again = RedeemScript::parse(standard.as_bytes()).expect("the standard part is a redeem script");
            assert_eq!(again.required_signatures(), redeem.required_signatures());
            assert!(again.key_bytes().eq(redeem.key_bytes()));
        }
    }
    if let Ok(signature) = EcdsaSignature::decode_der(input)
        && EcdsaSignature::is_canonical_encoding(input)
        && input.last() == Some(&1)
    {
        let encoded = signature.encode_bitcoin();
        assert!(encoded.len() > 73 || encoded == input || !signature.is_low_s());
    }
    let _ = BtcKey::decode(input);
    let _ = Address::deserialize_with_version(BtcNetwork::Mainnet, true, input);
    let _ = Address::deserialize_with_version(BtcNetwork::Regtest, false, input);
    if let Ok(utxo) = Utxo::decode(input) {
        assert_eq!(Utxo::decode(&utxo.encode()).map(|u| u.encode()), Ok(utxo.encode()));
    }
});
