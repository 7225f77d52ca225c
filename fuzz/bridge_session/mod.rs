//! Calls of the Bridge over one state, written as bytes, and the state itself.
//!
//! The form is a head (network, rules) and then records: cells (`0`, key, length, value) and calls (kind and locality,
//! sender, block, value, length, input). What is cut short ends the run.

#![allow(dead_code)]

use std::collections::BTreeMap;

use rhizome_bridge::federation::Federation;
use rhizome_bridge::{BlockView, Bridge, BridgeCall, BridgeHost, BridgeOutcome, CallKind, GasError, HostFault};
use rhizome_chainspec::{Activations, Rskip};
use rhizome_primitives::{Address, B256, Bytes, U256, address, keccak256};

/// The Bridge's account.
pub const BRIDGE: Address = address!("0000000000000000000000000000000001000006");

/// A state in memory: cells and balances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub cells: BTreeMap<B256, Bytes>,
    pub balances: BTreeMap<Address, U256>,
    pub logs: Vec<(Vec<B256>, Bytes)>,
    pub signer: Option<[u8; 33]>,
}

impl Ledger {
    /// The Bridge with all the coins there are.
    pub fn full() -> Self {
        let all = U256::from(21_000_000u64) * U256::from(10u64).pow(U256::from(18u64));
        Self { balances: [(BRIDGE, all)].into(), signer: Some(SIGNER), ..Self::default() }
    }

    /// Moves coins as a transaction does before it calls.
    pub fn pay(&mut self, from: Address, amount: U256) {
        self.balances.entry(from).and_modify(|balance| *balance = balance.saturating_sub(amount));
        let bridge = self.balances.entry(BRIDGE).or_default();
        *bridge = bridge.saturating_add(amount);
    }
}

impl BridgeHost for Ledger {
    fn cell(&mut self, key: &B256) -> Result<Option<Bytes>, HostFault> {
        Ok(self.cells.get(key).cloned())
    }
    fn set_cell(&mut self, key: B256, value: Option<Bytes>) -> Result<(), HostFault> {
        match value {
            Some(value) if !value.is_empty() => self.cells.insert(key, value),
            _ => self.cells.remove(&key),
        };
        Ok(())
    }
    fn balance(&mut self, address: &Address) -> Result<U256, HostFault> {
        Ok(self.balances.get(address).copied().unwrap_or_default())
    }
    fn transfer(&mut self, from: Address, to: Address, amount: U256) -> Result<(), HostFault> {
        let left = self.balance(&from)?.saturating_sub(amount);
        self.balances.insert(from, left);
        let grown = self.balance(&to)?.checked_add(amount).expect("coins are limited");
        self.balances.insert(to, grown);
        Ok(())
    }
    fn is_contract(&mut self, _: &Address) -> Result<bool, HostFault> {
        Ok(false)
    }
    fn log(&mut self, topics: Vec<B256>, data: Bytes) {
        assert!(topics.len() <= 4);
        self.logs.push((topics, data));
    }
    fn sender_public_key(&mut self) -> Option<[u8; 33]> {
        self.signer
    }
}

/// A point of the curve.
const SIGNER: [u8; 33] = rhizome_primitives::hex!("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798");

/// Accounts that the Bridge knows, and a stranger.
pub fn senders(bridge: &Bridge) -> Vec<Address> {
    let constants = bridge.constants();
    let mut senders = vec![Address::with_last_byte(1)];
    senders.extend(Federation::genesis(&constants.federation).members().iter().map(|member| member.rsk_address()));
    let voters = [
        &constants.federation.change_authorizer,
        &constants.fee_per_kb.change_authorizer,
        &constants.whitelist.change_authorizer,
        &constants.locking_cap.increase_authorizer,
        &constants.union.change_address_authorizer,
        &constants.union.change_locking_cap_authorizer,
        &constants.union.change_transfer_permissions_authorizer,
    ];
    senders.extend(voters.iter().flat_map(|voters| voters.addresses));
    senders.push(constants.union.address);
    senders
}

/// All rules, or the first so many of them by number.
fn rules(count: u8) -> Activations {
    if count == u8::MAX {
        return Activations::ALL;
    }
    Rskip::ALL.iter().copied().take(usize::from(count)).collect()
}

/// Reads records off the input.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
    fn number(&mut self, length: usize) -> Option<u64> {
        Some(self.take(length)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
    fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.number(2)? as usize;
        self.take(length.min(self.0.len()))
    }
}

/// Runs an input: never a panic, no coin made or lost, and the same again the same way.
pub fn run(input: &[u8]) {
    let mut reader = Reader(input);
    let (Some(network), Some(count)) = (reader.number(1), reader.number(1)) else { return };
    let (bridge, activations) = (
        match network % 3 {
            0 => Bridge::regtest(),
            1 => Bridge::testnet(),
            _ => Bridge::mainnet(),
        },
        rules(count as u8),
    );
    let senders = senders(&bridge);
    let mut ledger = Ledger::full();
    while let Some(()) = record(&mut reader, &bridge, activations, &senders, &mut ledger) {}
}

fn record(
    reader: &mut Reader<'_>,
    bridge: &Bridge,
    activations: Activations,
    senders: &[Address],
    ledger: &mut Ledger,
) -> Option<()> {
    let kind = reader.number(1)?;
    if kind == 0 {
        let key = B256::from_slice(reader.take(32)?);
        ledger.set_cell(key, Some(Bytes::copy_from_slice(reader.block()?))).ok()?;
        return Some(());
    }
    let sender = senders[reader.number(1)? as usize % senders.len()];
    let (number, coins) = (reader.number(4)?, reader.number(4)?);
    let data = reader.block()?;
    let value = U256::from(coins) * U256::from(1_000_000_000_000u64);
    let call = BridgeCall {
        sender,
        value,
        data,
        kind: match kind & 7 {
            4 => CallKind::Call,
            5 => CallKind::CallCode,
            6 => CallKind::DelegateCall,
            7 => CallKind::StaticCall,
            _ => CallKind::Direct,
        },
        tx_hash: keccak256(reader.0.len().to_be_bytes()),
        origin_tx_hash: keccak256(reader.0.len().to_le_bytes()),
        block: BlockView { number, timestamp: 1_500_000_000 + number * 30 },
        local_call: kind & 8 != 0,
        activations,
    };
    let before = ledger.clone();
    ledger.pay(sender, value);
    let total = sum(ledger);
    let ended = call_once(bridge, call, ledger);
    assert_eq!(sum(ledger), total, "coins made or lost");

    let mut again = before.clone();
    again.pay(sender, value);
    assert_eq!(call_once(bridge, call, &mut again), ended, "the same call ended in another way");
    assert_eq!(again, *ledger, "the same call left another state");
    // A transaction that fails leaves nothing.
    if !matches!(ended, Ok(BridgeOutcome::Returned(_))) {
        *ledger = before;
    }
    Some(())
}

fn sum(ledger: &Ledger) -> U256 {
    ledger.balances.values().fold(U256::ZERO, |sum, balance| sum.saturating_add(*balance))
}

/// Price and end of a call; `Err` where no block can hold it.
pub fn call_once(bridge: &Bridge, call: BridgeCall<'_>, ledger: &mut Ledger) -> Result<BridgeOutcome, String> {
    let mut session = bridge.session(call);
    match session.required_gas(ledger) {
        Ok(_) => session.execute(ledger).map_err(|fault| fault.to_string()),
        Err(error @ GasError::Unbuildable(_)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
