//! Bytes of anyone: no decoder panics, none allocates more than its input explains, and what was read is written back to
//! something that reads the same.

use proptest::prelude::*;

use super::multisig::{
    count_missing_signatures, extract_redeem_script, has_enough_signatures, hash_without_signatures,
    hash_without_signatures_before_rskip305, is_input_signed_by, sighash_for_pegout_index, sighash_of_legacy_input,
    sighash_of_segwit_input, sign_input, signature_insertion_index,
};
use super::script::{op, parse_chunks};
use super::utxo::{decode_outpoint_values, encode_outpoint_values};
use super::*;

/// Opcodes that the recognition of redeem scripts looks at, and a few others.
fn opcode() -> impl Strategy<Value = u8> {
    prop_oneof![
        Just(op::OP_0),
        Just(op::OP_1),
        Just(op::OP_1 + 1),
        Just(op::OP_16),
        Just(op::NOTIF),
        Just(op::ELSE),
        Just(op::ENDIF),
        Just(op::DROP),
        Just(op::CHECKMULTISIG),
        Just(op::CHECKMULTISIGVERIFY),
        Just(op::CHECKSEQUENCEVERIFY),
        Just(op::DUP),
        Just(op::HASH160),
        Just(op::EQUALVERIFY),
        Just(op::CHECKSIG),
        Just(op::CODESEPARATOR),
        any::<u8>(),
    ]
}

/// Scripts that look a little like redeem scripts.
fn script() -> impl Strategy<Value = Vec<u8>> {
    let push = proptest::collection::vec(any::<u8>(), 0..70).prop_map(|data| {
        ScriptBuilder::new().data(&data).map_or_else(|_| vec![1, 1], |builder| builder.build().into_bytes())
    });
    let short = (0u8..4).prop_map(|number| vec![1, number]);
    let piece = prop_oneof![3 => opcode().prop_map(|op| vec![op]), 2 => push, 1 => short];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn transaction() -> impl Strategy<Value = BtcTransaction> {
    let input = (script(), script(), any::<bool>()).prop_map(|(mut start, redeem, empty_first)| {
        if empty_first {
            start.insert(0, op::OP_0);
        }
        if let Ok(builder) = ScriptBuilder::new().data(&redeem) {
            start.extend_from_slice(builder.build().as_bytes());
        }
        start
    });
    let witness = proptest::collection::vec(script(), 0..4).prop_map(Witness);
    (proptest::collection::vec((input, witness), 1..4), proptest::collection::vec((any::<i64>(), script()), 0..4))
        .prop_map(|(inputs, outputs)| {
            let mut tx = BtcTransaction::new(2);
            for (index, (script, witness)) in inputs.into_iter().enumerate() {
                tx.add_input(BtcHash::from_display([index as u8; 32]), index as u32, script, None);
                tx.set_witness(index, witness);
            }
            for (value, script) in outputs {
                tx.outputs.push(TxOutput { value, script });
            }
            tx
        })
}

fn everything_about(tx: &BtcTransaction) {
    let key = BtcKey::from_checked([2; 33]);
    let signature = EcdsaSignature::new(rhizome_primitives::U256::from(1), rhizome_primitives::U256::from(1));
    let _ = tx.verify();
    let _ = sighash_for_pegout_index(tx);
    let _ = hash_without_signatures(tx);
    let _ = hash_without_signatures_before_rskip305(tx);
    let _ = has_enough_signatures(tx);
    for index in 0..=tx.inputs.len() {
        let _ = extract_redeem_script(tx, index);
        let _ = sighash_of_legacy_input(tx, index);
        let _ = sighash_of_segwit_input(tx, index, -1);
        if index < tx.inputs.len() {
            let _ = count_missing_signatures(tx, index);
        }
        let _ = is_input_signed_by(tx, index, &key, &[1; 32]);
        let _ = signature_insertion_index(tx, index, &[1; 32], &key);
        let _ = sign_input(&mut tx.clone(), index, &signature, index);
    }
    for output in &tx.outputs {
        let _ = output.is_dust();
        let _ = output.script().to_address(BtcNetwork::Mainnet);
        let _ = output.script().is_sent_to_raw_pub_key();
    }
    let _ = coinbase::find_witness_commitment(tx, true);
    let _ = coinbase::find_witness_commitment(tx, false);
}

fn everything_about_script(bytes: &[u8]) {
    let script = Script::new(bytes);
    let _ = script.is_sent_to_multisig();
    let _ = script.is_sent_to_address();
    let _ = multisig::required_signatures(&script);
    let _ = multisig::base_input_script(&script);
    let _ = multisig::base_witness(&script);
    if let Ok(redeem) = RedeemScript::parse(bytes) {
        let keys: Vec<_> = redeem.key_bytes().collect();
        if redeem.kind() != redeem::RedeemKind::HardcodedTestnetErp {
            assert_eq!(keys.len() + 2, parse_chunks(redeem.standard_part().unwrap().as_bytes()).unwrap().len() - 1);
        }
        let _ = redeem.keys();
        let _ = redeem.find_key(&BtcKey::from_checked([3; 33]));
        let _ = redeem.find_signature(&[0x30, 6, 2, 1, 1, 2, 1, 1, 1], &[7; 32]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes(input in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok((tx, read)) = BtcTransaction::decode_prefix(&input) {
            prop_assert!(read <= input.len());
            everything_about(&tx);
        }
        let _ = BtcTransaction::decode_no_inputs(&input);
        let _ = BtcHeader::decode(&input);
        let _ = StoredBlock::decode(&input);
        let _ = Utxo::decode(&input);
        let _ = BtcKey::decode(&input);
        let _ = EcdsaSignature::decode_der(&input);
        let _ = EcdsaSignature::is_canonical_encoding(&input);
        let _ = Address::deserialize_with_version(BtcNetwork::Testnet, false, &input);
        let _ = Address::from_base58(BtcNetwork::Mainnet, &String::from_utf8_lossy(&input));
        let _ = merkle::has_expected_size(&input);
        let _ = PartialMerkleTree::decode(&input).map(|tree| tree.matched_and_root());
        if let Ok(values) = decode_outpoint_values(&input) {
            prop_assert_eq!(decode_outpoint_values(&encode_outpoint_values(&values).unwrap()), Ok(values));
        }
        everything_about_script(&input);
    }

    #[test]
    fn likely_scripts(input in script(), prefixed in any::<bool>()) {
        everything_about_script(&input);
        if prefixed {
            let flyover = [&[32u8][..], &[9; 32], &[op::DROP], &input].concat();
            everything_about_script(&flyover);
        }
    }

    #[test]
    fn likely_transactions(tx in transaction()) {
        let bytes = tx.encode();
        let back = BtcTransaction::decode(&bytes).unwrap();
        prop_assert_eq!(back.encode(), bytes);
        prop_assert_eq!(back.txid(), tx.txid());
        everything_about(&tx);
    }

    #[test]
    fn likely_trees(
        transactions in 0u32..40,
        hashes in proptest::collection::vec(0u8..4, 0..12),
        bits in proptest::collection::vec(any::<u8>(), 0..4),
    ) {
        let mut input = transactions.to_le_bytes().to_vec();
        input.push(hashes.len() as u8);
        hashes.iter().for_each(|hash| input.extend_from_slice(&[*hash; 32]));
        input.push(bits.len() as u8);
        input.extend_from_slice(&bits);
        prop_assert!(merkle::has_expected_size(&input));
        let tree = PartialMerkleTree::decode(&input).unwrap();
        if let Ok((matched, _)) = tree.matched_and_root() {
            prop_assert!(matched.len() <= hashes.len());
        }
    }
}
