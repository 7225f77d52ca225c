//! The contract's cells, named by texts as words (rskj `RemascStorageProvider`).
//!
//! A cell is written at the end of a call if the call set it. The siblings' cell is left over from the first versions and
//! always written as an empty list; the flag is a raw byte, so that "false" is a stored zero byte and not an absent cell.

use rhizome_primitives::{B256, Bytes, REMASC_ADDRESS, U256, b256, rlp};

use crate::Fault;
use crate::state::WorldState;

const REWARD_BALANCE: B256 = b256!("0000000000000000000000000000000000000072657761726442616c616e6365");
const BURNED_BALANCE: B256 = b256!("000000000000000000000000000000000000006275726e656442616c616e6365");
const SIBLINGS: B256 = b256!("0000000000000000000000000000000000000000000000007369626c696e6773");
const BROKEN_SELECTION_RULE: B256 = b256!("0000000000000000000000000062726f6b656e53656c656374696f6e52756c65");
const FEDERATION_BALANCE: B256 = b256!("00000000000000000000000000000066656465726174696f6e42616c616e6365");

/// The cells as one call sees and sets them.
#[derive(Debug, Default)]
pub(super) struct Cells {
    reward_balance: Option<U256>,
    burned_balance: Option<U256>,
    federation_balance: Option<U256>,
    broken_selection_rule: Option<bool>,
}

fn word(state: &mut WorldState, key: &B256) -> Result<U256, Fault> {
    let bytes = state.cell(REMASC_ADDRESS, key)?.unwrap_or_default();
    U256::try_from_be_slice(&bytes)
        .ok_or_else(|| Fault::CorruptState { what: "balance cell", account: REMASC_ADDRESS.to_string() })
}

impl Cells {
    pub(super) fn reward_balance(&self, state: &mut WorldState) -> Result<U256, Fault> {
        self.reward_balance.map_or_else(|| word(state, &REWARD_BALANCE), Ok)
    }

    pub(super) fn set_reward_balance(&mut self, amount: U256) {
        self.reward_balance = Some(amount);
    }

    fn burned_balance(&self, state: &mut WorldState) -> Result<U256, Fault> {
        self.burned_balance.map_or_else(|| word(state, &BURNED_BALANCE), Ok)
    }

    /// Counts an amount as burnt.
    pub(super) fn burn(&mut self, state: &mut WorldState, amount: U256) -> Result<(), Fault> {
        self.burned_balance = Some(super::add(self.burned_balance(state)?, amount)?);
        Ok(())
    }

    pub(super) fn federation_balance(&self, state: &mut WorldState) -> Result<U256, Fault> {
        self.federation_balance.map_or_else(|| word(state, &FEDERATION_BALANCE), Ok)
    }

    pub(super) fn set_federation_balance(&mut self, amount: U256) {
        self.federation_balance = Some(amount);
    }

    pub(super) fn broken_selection_rule(&self, state: &mut WorldState) -> Result<bool, Fault> {
        match self.broken_selection_rule {
            Some(broken) => Ok(broken),
            None => {
                Ok(state.cell(REMASC_ADDRESS, &BROKEN_SELECTION_RULE)?.is_some_and(|bytes| bytes.first() != Some(&0)))
            }
        }
    }

    pub(super) fn set_broken_selection_rule(&mut self, broken: bool) {
        self.broken_selection_rule = Some(broken);
    }

    /// Writes what was set, in rskj's order.
    pub(super) fn save(self, state: &mut WorldState) -> Result<(), Fault> {
        let set = |state: &mut WorldState, key: B256, amount: Option<U256>| match amount {
            Some(amount) => state.set_storage(REMASC_ADDRESS, U256::from_be_bytes(key.0), amount),
            None => Ok(()),
        };
        set(state, REWARD_BALANCE, self.reward_balance)?;
        set(state, BURNED_BALANCE, self.burned_balance)?;
        state.set_cell(REMASC_ADDRESS, &SIBLINGS, Some(Bytes::from_static(&[0xc0])))?;
        if let Some(broken) = self.broken_selection_rule {
            let flag: &'static [u8] = if broken { &[1] } else { &[0] };
            state.set_cell(REMASC_ADDRESS, &BROKEN_SELECTION_RULE, Some(Bytes::from_static(flag)))?;
        }
        set(state, FEDERATION_BALANCE, self.federation_balance)
    }

    /// The state as `getStateForDebugging` gives it: a list of reward balance, burned balance, no siblings and the flag as a
    /// bare byte.
    pub(super) fn encode_for_debugging(&self, state: &mut WorldState) -> Result<Vec<u8>, Fault> {
        let mut payload = Vec::new();
        rlp::put_coin(&mut payload, self.reward_balance(state)?);
        rlp::put_coin(&mut payload, self.burned_balance(state)?);
        payload.push(0xc0);
        payload.push(u8::from(self.broken_selection_rule(state)?));
        let mut out = Vec::with_capacity(payload.len() + 3);
        rlp::put_list_header(&mut out, payload.len());
        out.extend_from_slice(&payload);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_texts_as_words() {
        let keys = [
            (REWARD_BALANCE, "rewardBalance"),
            (BURNED_BALANCE, "burnedBalance"),
            (SIBLINGS, "siblings"),
            (BROKEN_SELECTION_RULE, "brokenSelectionRule"),
            (FEDERATION_BALANCE, "federationBalance"),
            (super::super::MINING_FEE_TOPIC, "mining_fee_topic"),
        ];
        for (key, text) in keys {
            assert_eq!(key, B256::left_padding_from(text.as_bytes()), "{text}");
        }
    }
}
