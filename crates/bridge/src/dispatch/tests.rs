//! The table against the list of methods that the protocol's description gives: signature, result, price, gate, local only.

use std::collections::BTreeSet;

use proptest::strategy::Strategy;
use rhizome_primitives::{Address, B256, Bytes, U256, keccak256};

use super::*;
use crate::abi::encode_event_data;
use crate::host::{BlockView, BridgeCall, BridgeHost, BridgeOutcome, CallKind, HostFault};

/// Price that depends on the call.
const BY_CALL: u64 = 0;

/// When a method exists: `""` always, `"87"` from RSKIP-87, `"-87"` until it. The last word: `L` local only, `L-220` until then.
const LISTED: &[(&str, &str, u64, &str, &str)] = &[
    ("addFederatorPublicKey(bytes)", "int256", 13_000, "-123", ""),
    ("addFederatorPublicKeyMultikey(bytes,bytes,bytes)", "int256", 13_000, "123", ""),
    ("addLockWhitelistAddress(string,int256)", "int256", 25_000, "-87", ""),
    ("addOneOffLockWhitelistAddress(string,int256)", "int256", 25_000, "87", ""),
    ("addUnlimitedLockWhitelistAddress(string)", "int256", 25_000, "87", ""),
    ("addSignature(bytes,bytes[],bytes)", "", 70_000, "", ""),
    ("commitFederation(bytes)", "int256", 38_000, "", ""),
    ("createFederation()", "int256", 11_000, "", ""),
    ("rollbackFederation()", "int256", 12_000, "", ""),
    ("getBtcBlockchainBestChainHeight()", "int256", 19_000, "", "L-220"),
    ("getBtcBlockchainInitialBlockHeight()", "int256", 20_000, "89", "L"),
    ("getBtcBlockchainBlockLocator()", "string[]", 76_000, "-89", "L"),
    ("getBtcBlockchainBlockHashAtDepth(int256)", "bytes", 20_000, "89", "L"),
    ("getBtcTransactionConfirmations(bytes32,bytes32,uint256,bytes32[])", "int256", BY_CALL, "122", ""),
    ("getBtcTxHashProcessedHeight(string)", "int64", 22_000, "", "L"),
    ("isBtcTxHashAlreadyProcessed(string)", "bool", 23_000, "", "L"),
    ("getFederationAddress()", "string", 11_000, "", "L"),
    ("getFederationThreshold()", "int256", 11_000, "", "L"),
    ("getFederationSize()", "int256", 10_000, "", "L"),
    ("getFederationCreationTime()", "int256", 10_000, "", "L"),
    ("getFederationCreationBlockNumber()", "int256", 10_000, "", "L"),
    ("getFederatorPublicKey(int256)", "bytes", 10_000, "-123", "L"),
    ("getFederatorPublicKeyOfType(int256,string)", "bytes", 10_000, "123", "L"),
    ("getRetiringFederationAddress()", "string", 3_000, "", "L"),
    ("getRetiringFederationSize()", "int256", 3_000, "", "L"),
    ("getRetiringFederationThreshold()", "int256", 3_000, "", "L"),
    ("getRetiringFederationCreationTime()", "int256", 3_000, "", "L"),
    ("getRetiringFederationCreationBlockNumber()", "int256", 3_000, "", "L"),
    ("getRetiringFederatorPublicKey(int256)", "bytes", 3_000, "-123", "L"),
    ("getRetiringFederatorPublicKeyOfType(int256,string)", "bytes", 3_000, "123", "L"),
    ("getPendingFederationHash()", "bytes", 3_000, "", "L"),
    ("getPendingFederationSize()", "int256", 3_000, "", "L"),
    ("getPendingFederatorPublicKey(int256)", "bytes", 3_000, "-123", "L"),
    ("getPendingFederatorPublicKeyOfType(int256,string)", "bytes", 3_000, "123", "L"),
    ("getProposedFederationAddress()", "string", 3_000, "419", "L"),
    ("getProposedFederationSize()", "int256", 3_000, "419", "L"),
    ("getProposedFederationCreationTime()", "int256", 3_000, "419", "L"),
    ("getProposedFederationCreationBlockNumber()", "int256", 3_000, "419", "L"),
    ("getProposedFederatorPublicKeyOfType(int256,string)", "bytes", 3_000, "419", "L"),
    ("getFeePerKb()", "int256", 2_000, "", "L"),
    ("getMinimumLockTxValue()", "int256", 2_000, "", "L"),
    ("voteFeePerKbChange(int256)", "int256", 10_000, "", ""),
    ("getLockWhitelistSize()", "int256", 16_000, "", "L"),
    ("getLockWhitelistAddress(int256)", "string", 16_000, "", "L"),
    ("getLockWhitelistEntryByAddress(string)", "int256", 16_000, "87", "L"),
    ("removeLockWhitelistAddress(string)", "int256", 24_000, "", ""),
    ("setLockWhitelistDisableBlockDelay(int256)", "int256", 24_000, "", ""),
    ("getStateForBtcReleaseClient()", "bytes", 4_000, "", "L"),
    ("getStateForSvpClient()", "bytes", 4_000, "419", "L"),
    ("getStateForDebugging()", "bytes", 3_000_000, "", "L"),
    ("getLockingCap()", "int256", 3_000, "134", "L"),
    ("increaseLockingCap(int256)", "bool", 8_000, "134", ""),
    ("getActivePowpegRedeemScript()", "bytes", 30_000, "293", ""),
    ("getActiveFederationCreationBlockHeight()", "uint256", 3_000, "186", ""),
    ("receiveHeaders(bytes[])", "", BY_CALL, "", ""),
    ("receiveHeader(bytes)", "int256", 10_600, "200", ""),
    ("registerBtcTransaction(bytes,int256,bytes)", "", 22_000, "", ""),
    ("releaseBtc()", "", 23_000, "", ""),
    ("updateCollections()", "", 48_000, "", ""),
    ("registerBtcCoinbaseTransaction(bytes,bytes32,bytes,bytes32,bytes32)", "", 10_000, "143", ""),
    ("hasBtcBlockCoinbaseTransactionInformation(bytes32)", "bool", 5_000, "143", ""),
    (
        "registerFastBridgeBtcTransaction(bytes,uint256,bytes,bytes32,bytes,address,bytes,bool)",
        "int256",
        25_000,
        "176",
        "",
    ),
    ("getBtcBlockchainBestBlockHeader()", "bytes", 3_800, "220", ""),
    ("getBtcBlockchainBlockHeaderByHash(bytes32)", "bytes", 4_600, "220", ""),
    ("getBtcBlockchainBlockHeaderByHeight(uint256)", "bytes", 5_000, "220", ""),
    ("getBtcBlockchainParentBlockHeaderByHash(bytes32)", "bytes", 4_900, "220", ""),
    ("getNextPegoutCreationBlockNumber()", "uint256", 3_000, "271", ""),
    ("getQueuedPegoutsCount()", "uint256", 3_000, "271", ""),
    ("getEstimatedFeesForNextPegOutEvent()", "uint256", 10_000, "271", ""),
    ("getEstimatedFeesForPegOutAmount(uint256)", "uint256", 10_000, "540", ""),
    ("getUnionBridgeContractAddress()", "address", 3_000, "502", ""),
    ("getUnionBridgeLockingCap()", "uint256", 3_000, "502", ""),
    ("setUnionBridgeContractAddressForTestnet(address)", "int256", 8_000, "502", ""),
    ("increaseUnionBridgeLockingCap(uint256)", "int256", 8_000, "502", ""),
    ("requestUnionBridgeRbtc(uint256)", "int256", 8_000, "502", ""),
    ("releaseUnionBridgeRbtc()", "int256", 8_000, "502", ""),
    ("setUnionBridgeTransferPermissions(bool,bool)", "int256", 8_000, "502", ""),
    ("getSuperEvent()", "bytes", 3_000, "529", ""),
    ("getBaseEvent()", "bytes", 3_000, "529", ""),
    ("setSuperEvent(bytes)", "", 8_000, "529", ""),
    ("setBaseEvent(bytes)", "", 8_000, "529", ""),
    ("clearSuperEvent()", "", 8_000, "529", ""),
    ("clearBaseEvent()", "", 8_000, "529", ""),
];

fn gate(text: &str) -> Gate {
    let rule = |number: &str| Rskip::from_key(&format!("rskip{number}")).unwrap();
    match text.strip_prefix('-') {
        _ if text.is_empty() => Gate::Always,
        Some(number) => Gate::Until(rule(number)),
        None => Gate::From(rule(text)),
    }
}

#[test]
fn the_table_is_the_list() {
    for (signature, output, gas, exists, local) in LISTED {
        let method = METHODS.iter().find(|method| method.signature() == *signature);
        let method = method.unwrap_or_else(|| panic!("{signature} is missing"));
        assert_eq!(method.selector, keccak256(signature)[..4], "{signature}");
        assert_eq!(method.output.map_or("", |kind| kind.canonical_name()), *output, "{signature}");
        assert_eq!(method.gate, gate(exists), "{signature}");
        assert_eq!(method.local_only, local.strip_prefix('L').map(gate), "{signature}");
        match method.gas {
            Gas::Fixed(fixed) => assert_eq!(fixed, *gas, "{signature}"),
            Gas::Headers | Gas::Confirmations => assert_eq!(*gas, BY_CALL, "{signature}"),
        }
        let reads = ["get", "is", "has"].iter().any(|prefix| signature.starts_with(prefix));
        assert_eq!(method.is_view, reads, "{signature}");
    }
    assert_eq!(LISTED.len(), METHODS.len());
    let selectors: BTreeSet<_> = METHODS.iter().map(|method| method.selector).collect();
    assert_eq!(selectors.len(), METHODS.len());
    assert_eq!(default_method().name, "releaseBtc");
}

/// An empty state in which the Bridge is rich; it counts the writes of cells.
#[derive(Default)]
pub(crate) struct Empty(pub(crate) std::collections::BTreeMap<B256, Bytes>, pub(crate) usize);

impl BridgeHost for Empty {
    fn cell(&mut self, key: &B256) -> Result<Option<Bytes>, HostFault> {
        Ok(self.0.get(key).cloned())
    }
    fn set_cell(&mut self, key: B256, value: Option<Bytes>) -> Result<(), HostFault> {
        self.1 += 1;
        match value {
            Some(value) if !value.is_empty() => self.0.insert(key, value),
            _ => self.0.remove(&key),
        };
        Ok(())
    }
    fn balance(&mut self, _: &Address) -> Result<U256, HostFault> {
        Ok(U256::from(21_000_000u64) * U256::from(10u64).pow(U256::from(18u64)))
    }
    fn transfer(&mut self, _: Address, _: Address, _: U256) -> Result<(), HostFault> {
        Ok(())
    }
    fn is_contract(&mut self, _: &Address) -> Result<bool, HostFault> {
        Ok(false)
    }
    fn log(&mut self, _: Vec<B256>, _: Bytes) {}
    fn sender_public_key(&mut self) -> Option<[u8; 33]> {
        None
    }
}

/// Arguments of the right types that say nothing.
fn nothing(method: &Method) -> Vec<u8> {
    let argument = |kind: &Type| match kind {
        Type::Bytes => Output::Bytes(Vec::new()),
        Type::String => Output::String(String::new()),
        Type::BytesArray | Type::Bytes32Array | Type::StringArray => Output::Strings(Vec::new()),
        Type::Bytes32 => Output::Bytes32(B256::ZERO),
        Type::Address => Output::Address(Address::ZERO),
        Type::Bool => Output::Bool(false),
        Type::Int(_) => Output::int(0),
    };
    let arguments: Vec<_> = method.inputs.iter().map(argument).collect();
    [method.selector.as_slice(), &encode_event_data(&arguments)].concat()
}

/// Every handler fits the types of its row, on every network, with all rules and with as few as let it exist, called by a
/// stranger and by a federator.
#[test]
fn every_method_runs() {
    for bridge in [crate::Bridge::mainnet(), crate::Bridge::testnet(), crate::Bridge::regtest()] {
        let federator = bridge.genesis().unwrap().members()[0].rsk_address();
        for method in METHODS {
            let data = nothing(method);
            let fewest = match method.gate {
                Gate::From(rule) => Activations::NONE.with(rule),
                _ => Activations::NONE,
            };
            for activations in [Activations::ALL, fewest] {
                for (sender, kind) in [(Address::ZERO, CallKind::Call), (federator, CallKind::Direct)] {
                    let call = BridgeCall {
                        sender,
                        value: U256::ZERO,
                        data: &data,
                        kind,
                        tx_hash: B256::ZERO,
                        origin_tx_hash: B256::ZERO,
                        block: BlockView { number: 10, timestamp: 1_600_000_000 },
                        local_call: true,
                        activations,
                    };
                    let mut host = Empty::default();
                    let mut session = bridge.session(call);
                    let exists = method.gate.is_open(activations);
                    assert_eq!(session.method_name(), exists.then_some(method.name));
                    let price = session.required_gas(&mut host);
                    assert_eq!(price.is_ok(), kind == CallKind::Direct || activations == Activations::ALL);
                    match session.execute(&mut host).unwrap() {
                        BridgeOutcome::Returned(Some(result)) if method.output.is_some() => {
                            assert!(exists && result.len() % 32 == 0 && !result.is_empty(), "{}", method.name);
                        }
                        BridgeOutcome::Returned(Some(result)) => assert!(result.is_empty(), "{}", method.name),
                        BridgeOutcome::Returned(None) => {
                            // Null is a void method before RSKIP-417, or no call at all before RSKIP-88.
                            assert!(activations != Activations::ALL, "{}", method.name);
                        }
                        BridgeOutcome::Threw { .. } => {}
                    }
                }
            }
        }
    }
}

#[test]
fn without_a_federation_every_use_throws() {
    let bridge = crate::Bridge::for_spec(&rhizome_chainspec::Network::Devnet.spec());
    let mut host = Empty::default();
    let paid = bridge.remasc_federation(&mut host, 1, Activations::ALL);
    assert!(matches!(paid, Err(crate::RemascError::Threw(_))));
    let free = Activations::ALL.without(rhizome_chainspec::Rskip::BridgeTxsPaid);
    assert_eq!(bridge.is_free_tx(&Address::ZERO, true, free), Err(crate::NoFederation));
    // Neither of these looks at the senders.
    assert_eq!(bridge.is_free_tx(&Address::ZERO, false, free), Ok(false));
    assert_eq!(bridge.is_free_tx(&Address::ZERO, true, Activations::ALL), Ok(false));
    for (kind, activations) in [(CallKind::Direct, Activations::ALL), (CallKind::Call, Activations::NONE)] {
        let call = BridgeCall {
            sender: Address::ZERO,
            value: U256::ZERO,
            data: &[1],
            kind,
            tx_hash: B256::ZERO,
            origin_tx_hash: B256::ZERO,
            block: BlockView { number: 10, timestamp: 1_600_000_000 },
            local_call: false,
            activations,
        };
        let mut session = bridge.session(call);
        assert!(matches!(session.required_gas(&mut host), Err(crate::GasError::NoFederation(_))));
        assert!(matches!(session.execute(&mut host), Ok(BridgeOutcome::Threw { .. })));
    }
}

proptest::proptest! {
    /// Words where lengths and places are looked for, and bytes cut anywhere: decoding and running either works or throws.
    #[test]
    fn hostile_arguments_never_panic(
        method in 0..METHODS.len(),
        words in proptest::collection::vec(
            proptest::prop_oneof![
                (0u64..400).prop_map(|small| B256::from(U256::from(small))),
                (0u64..40).prop_map(|below| B256::from(U256::MAX - U256::from(below))),
                proptest::prelude::any::<[u8; 32]>().prop_map(B256::from),
            ],
            0..14,
        ),
        cut in 0usize..32,
        bits in proptest::prelude::any::<u8>(),
    ) {
        let bridge = crate::Bridge::regtest();
        let mut data = METHODS[method].selector.to_vec();
        words.iter().for_each(|word| data.extend_from_slice(word.as_slice()));
        data.truncate(data.len().saturating_sub(cut));
        let kinds = [CallKind::Direct, CallKind::Call, CallKind::StaticCall, CallKind::DelegateCall];
        let call = BridgeCall {
            sender: bridge.genesis().unwrap().members()[0].rsk_address(),
            value: U256::from(10u64).pow(U256::from(16u64)),
            data: &data,
            kind: kinds[usize::from(bits & 3)],
            tx_hash: B256::ZERO,
            origin_tx_hash: B256::ZERO,
            block: BlockView { number: 10, timestamp: 1_600_000_000 },
            local_call: bits & 4 != 0,
            activations: if bits & 8 == 0 { Activations::ALL } else { Activations::NONE },
        };
        let mut host = Empty::default();
        let mut session = bridge.session(call);
        if session.required_gas(&mut host).is_ok() {
            session.execute(&mut host).unwrap();
        }
    }
}
