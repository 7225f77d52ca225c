//! Who receives the federation's share.

use rhizome_chainspec::{Activations, ChainSpec, Network};
use rhizome_primitives::{Address, hex, keccak256};
use secp256k1::PublicKey;

use crate::Fault;
use crate::precompiles::BridgeContract;
use crate::state::WorldState;

/// Compressed keys of the first federation of the main network, in member order.
const MAINNET: [[u8; 33]; 15] = [
    hex!("0245ef34f5ee218005c9c21227133e8568a4f3f11aeab919c66ff7b816ae1ffeea"),
    hex!("02481f02b7140acbf3fcdd9f72cf9a7d9484d8125e6df7c9451cfa55ba3b077265"),
    hex!("02550cc87fa9061162b1dd395a16662529c9d8094c0feca17905a3244713d65fe8"),
    hex!("02566d5ded7c7db1aa7ee4ef6f76989fb42527fcfdcddcd447d6793b7d869e46f7"),
    hex!("027319afb15481dbeb3c426bcc37f9a30e7f51ceff586936d85548d9395bcc2344"),
    hex!("0294c817150f78607566e961b3c71df53a22022a80acbb982f83c0c8baac040adc"),
    hex!("02ac1901b6fba2c1dbd47d894d2bd76c8ba1d296d65f6ab47f1c6b22afb53e73eb"),
    hex!("02c6018fcbd3e89f3cf9c7f48b3232ea3638eb8bf217e59ee290f5f0cfb2fb9259"),
    hex!("031aabbeb9b27258f98c2bf21f36677ae7bae09eb2d8c958ef41a20a6e88626d26"),
    hex!("0340df69f28d69eef60845da7d81ff60a9060d4da35c767f017b0dd4e20448fb44"),
    hex!("0355a2e9bf100c00fc0a214afd1bf272647c7824eb9cb055480962f0c382596a70"),
    hex!("0372cd46831f3b6afd4c044d160b7667e8ebf659d6cb51a825a3104df6ee0638c6"),
    hex!("03b53899c390573471ba30e5054f78376c5f797fda26dde7a760789f02908cbad2"),
    hex!("03b65694ccccda83cbb1e56b31308acd08e993114c33f66a456b627c2c1c68bed6"),
    hex!("03f909ae15558c70cc751aff9b1f495199c325b13a9e5b934fd6299cd30ec50be8"),
];

/// Compressed keys of the first federation of the testnets, in member order.
const TESTNET: [[u8; 33]; 4] = [
    hex!("02afc230c2d355b1a577682b07bc2646041b5d0177af0f98395a46018da699b6da"),
    hex!("0344a3c38cd59afcba3edcebe143e025574594b001700dec41e59409bdbd0f2a09"),
    hex!("034844a99cd7028aa319476674cc381df006628be71bc5593b8b5fdb32bb42ef85"),
    hex!("039a060badbeb24bee49eb2063f616c0f0f0765d4ca646b20a88ce828f259fcdb9"),
];

/// Compressed keys of the first federation of the local network, in member order.
const REGTEST: [[u8; 33]; 3] = [
    hex!("02cd53fc53a07f211641a677d250f6de99caf620e8e77071e811a28b3bcddf0be1"),
    hex!("0362634ab57dae9cb373a5d536e66a8c4f67468bbcfb063809bab643072d78a124"),
    hex!("03c5946b3fbae03a654237da863c9ed534e0878657175b132b8ca630f245df04db"),
];

/// The federators' addresses in member order.
///
/// `candidate_number` decides the age of a federation that replaces another one, the rules are those of the block under
/// execution. Until a federation was changed the first one counts, whose members have one key for all purposes.
pub(super) fn receivers(
    spec: &ChainSpec,
    _bridge: &BridgeContract,
    _candidate_number: u64,
    _activations: Activations,
    _state: &mut WorldState,
) -> Result<Vec<Address>, Fault> {
    let keys: &[[u8; 33]] = match spec.network {
        Network::Mainnet => &MAINNET,
        Network::Testnet | Network::Testnet2 => &TESTNET,
        _ => &REGTEST,
    };
    keys.iter()
        .map(|key| {
            let key = PublicKey::from_slice(key).map_err(|error| Fault::Internal(format!("federator key: {error}")))?;
            Ok(Address::from_slice(&keccak256(&key.serialize_uncompressed()[1..])[12..]))
        })
        .collect()
}
