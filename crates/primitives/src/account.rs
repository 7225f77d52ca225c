//! The account value in the state trie (`org.ethereum.core.AccountState`).

use crate::U256;
use crate::coin::{self, Coin, MinimalBytes};
use crate::error::DecodeError;
use crate::rlp::{self, ListPayload, Sink};

/// Nonce, balance and flags of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AccountState {
    /// How many transactions the account sent, or contracts it created.
    pub nonce: U256,
    /// Balance in wei.
    pub balance: Coin,
    /// The balance is below zero by that amount: rskj's balances are signed. None is negative on any real chain.
    pub negative: bool,
    /// Flags (hibernation), never set in practice and written only when not zero.
    pub flags: u32,
}

impl AccountState {
    /// The flag of an account that is put to sleep (`ACC_HIBERNATED_MASK`).
    pub const HIBERNATED: u32 = 1;

    /// An account without flags.
    pub const fn new(nonce: U256, balance: Coin) -> Self {
        Self { nonce, balance, negative: false, flags: 0 }
    }

    /// True when the account is put to sleep: rskj then takes it to have no code. Nothing ever sets this flag.
    pub const fn is_hibernated(&self) -> bool {
        self.flags & Self::HIBERNATED != 0
    }

    /// `RLP[nonce, balance, flags if not zero]`; the balance is signed, with zero as the byte 0x00.
    pub fn encode(&self) -> Vec<u8> {
        self.list_to_vec()
    }

    /// Reads an account value. Elements after the flags are ignored, as is what follows the list.
    ///
    /// # Errors
    /// When the bytes do not start with a list of at least two elements, the balance is empty (rskj keeps a null that fails
    /// later) or a number has more than 256 bits.
    pub fn decode(encoded: &[u8]) -> Result<Self, DecodeError> {
        let items = rlp::decode_leading_list(encoded)?.collect_all()?;
        let [nonce, balance, rest @ ..] = items.as_slice() else {
            return Err(DecodeError::ElementCount { what: "account", expected: "2 or more".into(), got: items.len() });
        };
        if balance.data().is_empty() {
            return Err(DecodeError::Empty { field: "balance" });
        }
        let negative = balance.data()[0] & 0x80 != 0;
        let magnitude = if negative { coin::negative(balance.data()) } else { coin::unsigned(balance.data()) };
        let too_wide = |field, bytes: &[u8]| DecodeError::OutOfRange { field, bits: 256, got: bytes.len() };
        let flags = rest.first().map_or(&[][..], |flags| flags.data());
        Ok(Self {
            nonce: coin::unsigned(nonce.data()).ok_or_else(|| too_wide("nonce", nonce.data()))?,
            balance: magnitude.ok_or_else(|| too_wide("balance", balance.data()))?,
            negative,
            flags: flags.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)),
        })
    }
}

impl ListPayload for AccountState {
    fn put_payload<S: Sink>(&self, out: &mut S) {
        rlp::put_u256(out, self.nonce);
        let balance = self.balance;
        let bytes =
            if self.negative { MinimalBytes::negative(balance) } else { MinimalBytes::twos_complement(balance) };
        rlp::put_bytes(out, &bytes);
        if self.flags != 0 {
            rlp::put_u64(out, u64::from(self.flags));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_accounts() {
        assert_eq!(AccountState::default().encode(), [0xc2, 0x80, 0x00]);
        assert_eq!(AccountState::new(U256::ONE, U256::from(128)).encode(), [0xc4, 0x01, 0x82, 0x00, 0x80]);
    }

    proptest! {
        #[test]
        fn accounts_survive(
            nonce in any::<u64>(), balance in any::<[u8; 32]>(), negative in any::<bool>(), flags in any::<u32>()
        ) {
            let balance = U256::from_be_bytes(balance);
            let negative = negative && !balance.is_zero();
            let account = AccountState { nonce: U256::from(nonce), balance, negative, flags };
            prop_assert_eq!(AccountState::decode(&account.encode()), Ok(account));
        }

        #[test]
        fn any_bytes(encoded in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = AccountState::decode(&encoded);
        }
    }
}
