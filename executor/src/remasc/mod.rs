//! REMASC, the contract that shares out the miners' fees (rskj `co/rsk/remasc`).
//!
//! The last transaction of block n pays for block n − maturity, the *candidate*: its fees flow into a balance of which one
//! part in `synthetic_span` is the reward of each block. The labs, the federation, the candidate's miner and the miners and
//! publishers of its siblings share it. Blocks are found by parent links from the block under execution.
//!
//! "Burnt" amounts are only counted in a cell; the coins stay on the contract's account.

mod siblings;
mod storage;

use rhizome_chainspec::constants::{FEDERATOR_MINIMUM_PAYABLE_GAS, MINIMUM_PAYABLE_GAS, UNCLE_GENERATION_LIMIT};
use rhizome_chainspec::{ChainSpec, RemascConfig, Rskip};
use rhizome_primitives::{Address, B256, BlockHeader, Bytes, EMPTY_LIST_HASH, Log, REMASC_ADDRESS, U256, b256, rlp};

use crate::Fault;
use crate::evm::{BlockEnv, CallKind, PrecompileCall, PrecompileError};
use crate::precompiles::{Ancestors, BridgeContract};
use crate::state::{Location, WorldState};
use siblings::{Shares, Sibling, is_broken_selection_rule};
use storage::Cells;

/// `processMinersFees()`, also meant by no data at all.
const PROCESS_MINERS_FEES: [u8; 4] = [0xbe, 0x02, 0x1a, 0x58];
/// `getStateForDebugging()`
const GET_STATE_FOR_DEBUGGING: [u8; 4] = [0x0d, 0x0c, 0xee, 0x93];
/// The text `mining_fee_topic` as a word.
const MINING_FEE_TOPIC: B256 = b256!("000000000000000000000000000000006d696e696e675f6665655f746f706963");

/// Runs a call of the contract. It costs nothing.
pub(crate) fn call(
    call: &PrecompileCall<'_>,
    spec: &ChainSpec,
    bridge: &BridgeContract,
    ancestors: &Ancestors<'_>,
    state: &mut WorldState,
) -> Result<Option<Bytes>, PrecompileError> {
    let selector: [u8; 4] = match call.input_or_empty() {
        [] => PROCESS_MINERS_FEES,
        data => data.try_into().map_err(|_| PrecompileError::threw("the input is not a selector alone"))?,
    };
    match selector {
        PROCESS_MINERS_FEES => {
            // Code and other transactions may call the contract, but must not make it pay.
            if !call.tx.is_remasc || call.kind != CallKind::Direct {
                return Err(PrecompileError::threw("fees are only shared out by the last transaction of a block"));
            }
            let mut payout =
                Payout { config: &spec.remasc, block: call.block, ancestors, cells: Cells::default(), state };
            payout.process(bridge)?;
            let Payout { cells, state, .. } = payout;
            cells.save(state)?;
            Ok(Some(Bytes::new()))
        }
        GET_STATE_FOR_DEBUGGING => {
            let cells = Cells::default();
            let encoded = cells.encode_for_debugging(state)?;
            // Saving ends every call, and writes the list of siblings even if nothing else is known.
            cells.save(state)?;
            Ok(Some(crate::precompiles::encode_bytes(&encoded)))
        }
        _ => Err(PrecompileError::threw("unknown method")),
    }
}

/// One run of `processMinersFees`.
struct Payout<'a> {
    config: &'a RemascConfig,
    block: &'a BlockEnv,
    ancestors: &'a Ancestors<'a>,
    cells: Cells,
    state: &'a mut WorldState,
}

impl Payout<'_> {
    /// Where it throws, what was paid stays paid, and no cell was saved.
    fn process(&mut self, bridge: &BridgeContract) -> Result<(), PrecompileError> {
        let Some(candidate_number) = self.block.number.checked_sub(self.config.maturity).filter(|&number| number >= 1)
        else {
            return Ok(());
        };
        let (candidate_hash, siblings) = self.find_candidate(candidate_number)?;
        let candidate = self.ancestors.header(&candidate_hash)?;

        let mut balance = add(self.cells.reward_balance(self.state)?, candidate.paid_fees)?;
        self.cells.set_reward_balance(balance);
        if candidate_number < self.config.synthetic_span {
            return Ok(());
        }

        let was_broken = self.cells.broken_selection_rule(self.state)?;
        let broken = !siblings.is_empty() && is_broken_selection_rule(self.config, &candidate, &siblings);
        self.cells.set_broken_selection_rule(broken);

        let mut reward = divide(balance, self.config.synthetic_span);
        let has_minimum = self.block.activations.is_active(Rskip::R85);
        if has_minimum && reward < self.worth(MINIMUM_PAYABLE_GAS) {
            return Ok(());
        }
        balance -= reward;
        self.cells.set_reward_balance(balance);

        let labs = if self.block.activations.is_active(Rskip::R218) {
            self.config.labs_address_rskip218
        } else {
            self.config.labs_address
        };
        let to_labs = divide(reward, self.config.labs_divisor);
        self.pay(&candidate_hash, labs, to_labs)?;
        reward -= to_labs;
        let to_federation = divide(reward, self.config.federation_divisor);
        self.pay_federation(bridge, &candidate_hash, candidate_number, to_federation, has_minimum)?;
        reward -= to_federation;

        if siblings.is_empty() {
            if was_broken {
                let punishment = divide(reward, self.config.punishment_divisor);
                reward -= punishment;
                self.cells.burn(self.state, punishment)?;
            }
            self.pay(&candidate_hash, miner(&candidate), reward)?;
        } else {
            self.pay_with_siblings(&candidate_hash, &candidate, &siblings, reward, was_broken)?;
        }
        Ok(())
    }

    /// The candidate's hash, and its siblings in the order in which its next seven descendants include them.
    fn find_candidate(&self, number: u64) -> Result<(B256, Vec<Sibling>), Fault> {
        let youngest = number + UNCLE_GENERATION_LIMIT;
        let mut hash = self.ancestors.hash_at(youngest)?.ok_or_else(|| {
            Fault::Internal(format!("block {} has no ancestor at height {youngest}", self.block.number))
        })?;
        let mut by_descendant = Vec::new();
        for _ in 0..UNCLE_GENERATION_LIMIT {
            let header = self.ancestors.header(&hash)?;
            // The hash of the list is checked when a block is imported, so the body is only needed where there are uncles.
            if header.uncles_hash != EMPTY_LIST_HASH {
                let block = self.ancestors.block(&hash)?;
                by_descendant.push(
                    block
                        .uncles
                        .iter()
                        .filter(|uncle| uncle.number == number)
                        .map(|uncle| Sibling {
                            hash: uncle.hash(),
                            miner: miner(uncle),
                            publisher: miner(&block.header),
                            paid_fees: uncle.paid_fees,
                            included_height: block.header.number,
                            uncle_count: uncle.uncle_count,
                        })
                        .collect::<Vec<_>>(),
                );
            }
            hash = header.parent_hash;
        }
        Ok((hash, by_descendant.into_iter().rev().flatten().collect()))
    }

    /// An amount of gas at the minimum gas price of the block under execution.
    fn worth(&self, gas: u64) -> U256 {
        self.block.minimum_gas_price.saturating_mul(U256::from(gas))
    }

    fn pay_federation(
        &mut self,
        bridge: &BridgeContract,
        candidate: &B256,
        candidate_number: u64,
        amount: U256,
        has_minimum: bool,
    ) -> Result<(), PrecompileError> {
        let due = add(self.cells.federation_balance(self.state)?, amount)?;
        // The federation of the candidate's height, by the Bridge's cells and the rules as they are now.
        let receivers = bridge.remasc_federation(self.state, candidate_number, self.block.activations)?;
        let Some((last, others)) = receivers.split_last() else {
            return Err(Fault::Internal("the federation has no members".to_owned()).into());
        };
        let (share, rest) = due.div_rem(U256::from(receivers.len()));
        if has_minimum {
            if share < self.worth(FEDERATOR_MINIMUM_PAYABLE_GAS) {
                self.cells.set_federation_balance(due);
                return Ok(());
            }
            self.cells.set_federation_balance(U256::ZERO);
        }
        for receiver in others {
            self.pay(candidate, *receiver, share)?;
        }
        Ok(self.pay(candidate, *last, share + rest)?)
    }

    fn pay_with_siblings(
        &mut self,
        hash: &B256,
        candidate: &BlockHeader,
        siblings: &[Sibling],
        reward: U256,
        was_broken: bool,
    ) -> Result<(), Fault> {
        let shares = Shares::new(self.config, reward, siblings.len() as u64, was_broken);
        for sibling in siblings {
            self.pay(hash, sibling.publisher, shares.publisher)?;
        }
        self.cells.burn(self.state, shares.publishers_surplus)?;
        self.cells.burn(self.state, shares.miners_surplus)?;
        for sibling in siblings {
            let late = sibling.included_height - candidate.number - 1;
            let lost = divide(
                shares.miner.saturating_mul(U256::from(late)),
                self.config.late_uncle_inclusion_punishment_divisor,
            );
            self.pay(hash, sibling.miner, shares.miner - lost)?;
            self.cells.burn(self.state, lost)?;
        }
        self.cells.burn(self.state, shares.punishment)?;
        self.pay(hash, miner(candidate), shares.miner)
    }

    /// Moves a payment, which creates the receiver even for nothing, and logs it.
    fn pay(&mut self, candidate: &B256, receiver: impl Into<Receiver>, amount: U256) -> Result<(), Fault> {
        let Receiver(receiver) = receiver.into();
        self.state.transfer(REMASC_ADDRESS, receiver.map_or(Location::NoAddress, Location::Account), amount)?;
        let mut data = Vec::with_capacity(80);
        rlp::put_bytes(&mut data, candidate.as_slice());
        rlp::put_coin(&mut data, amount);
        let mut list = Vec::with_capacity(data.len() + 2);
        rlp::put_list_header(&mut list, data.len());
        list.extend_from_slice(&data);
        let topics = vec![MINING_FEE_TOPIC, receiver.unwrap_or_default().into_word()];
        self.state.log(Log { address: REMASC_ADDRESS, topics, data: list.into() });
        Ok(())
    }
}

/// Who is paid; `None` is the empty address, which a header may name as its miner.
#[derive(Debug, Clone, Copy)]
struct Receiver(Option<Address>);

impl From<Address> for Receiver {
    fn from(address: Address) -> Self {
        Self(Some(address))
    }
}

fn miner(header: &BlockHeader) -> Receiver {
    Receiver(header.coinbase)
}

fn divide(amount: U256, divisor: u64) -> U256 {
    amount.checked_div(U256::from(divisor)).unwrap_or_default()
}

fn add(left: U256, right: U256) -> Result<U256, Fault> {
    left.checked_add(right).ok_or_else(|| Fault::Internal("an amount of REMASC passes 2^256".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_those_of_the_signatures() {
        assert_eq!(PROCESS_MINERS_FEES, rhizome_primitives::keccak256("processMinersFees()")[..4]);
        assert_eq!(GET_STATE_FOR_DEBUGGING, rhizome_primitives::keccak256("getStateForDebugging()")[..4]);
    }
}
