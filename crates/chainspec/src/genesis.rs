//! Block 0: what its header says and who owns what. Genesis is not executed; the accounts are written into a fresh trie.
//!
//! The block depends on the rules active at height 0 as well as on this data: RSKIP126 adds the precompiled contracts' accounts
//! to the state (the executor's part), RSKIP92 takes proof and coinbase out of the hash.

use rhizome_primitives::{Address, B256, Bytes, U256, address, b256, hex};

/// The header fields and the accounts of block 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// Parent hash as the header's encoding has it.
    pub parent_hash: B256,
    /// Beneficiary; `None` is the empty string.
    pub coinbase: Option<Address>,
    /// Difficulty: a signed big-endian number whose very bytes are in the header, leading zeros included.
    pub difficulty: Bytes,
    /// Gas limit.
    pub gas_limit: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// Extra data; longer here than the rule for other blocks allows.
    pub extra_data: Bytes,
    /// Minimum gas price, a signed big-endian number.
    pub minimum_gas_price: Bytes,
    /// Bitcoin header field.
    pub btc_header: Bytes,
    /// Merge-mining proof field.
    pub merkle_proof: Bytes,
    /// Bitcoin coinbase transaction field.
    pub btc_coinbase: Bytes,
    /// The root that the header states where it is not the root of the accounts: mainnet and testnet state the one of the old
    /// trie form.
    pub state_root: Option<B256>,
    /// The accounts, ascending by address.
    pub alloc: Vec<GenesisAccount>,
}

/// An account of block 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisAccount {
    /// Where it is.
    pub address: Address,
    /// Wei.
    pub balance: U256,
    /// Nonce.
    pub nonce: U256,
    /// Code and storage of a contract.
    pub contract: Option<GenesisContract>,
}

/// Code and storage of a contract in block 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisContract {
    /// The code.
    pub code: Bytes,
    /// Raw bytes by slot, ascending.
    pub storage: Vec<(B256, Bytes)>,
}

/// The Bridge's account, which owns the whole supply.
const BRIDGE: Address = address!("0000000000000000000000000000000001000006");

/// 21 million coins of 18 decimals.
const SUPPLY: u128 = 21_000_000_000_000_000_000_000_000;

/// What each funded account of the local networks owns.
const LOCAL_BALANCE: u128 = 1_000_000_000_000_000_000_000_000_000_000;

/// The funded accounts of regtest.
const REGTEST_ACCOUNTS: [Address; 10] = [
    address!("09a1eda29f664ac8f68106f6567276df0c65d859"),
    address!("0a3aa774752ec2042c46548456c094a76c7f3a79"),
    address!("39b12c05e8503356e3a7df0b7b33efa4c054c409"),
    address!("7857288e171c6159c5576d1bd9ac40c0c48a771c"),
    address!("7986b3df570230288501eea3d890bd66948c9b79"),
    address!("a4dea4d5c954f5fd9e87f0e9752911e83a3d18b3"),
    address!("c354d97642faa06781b76ffb6786f72cd7746c97"),
    address!("cd2a3d9f938e13cd947ec05abc7fe734df8dd826"),
    address!("cf7cdbbb5f7ba79d3ffe74a0bba13fc0295f6036"),
    address!("debe71e1de41fc77c44df4b6db940026e31b0e71"),
];

/// The accounts of devnet; all but the last have no balance and exist all the same.
const DEVNET_ACCOUNTS: [(Address, u128); 6] = [
    (address!("055c99bbcf3ab46890ab87ea3761a5a1830c3225"), 0),
    (address!("77045e71a7a2c50903d88e564cd72fab11e82051"), 0),
    (address!("7efdb03921e67f4fa23310a93c59abfc8ba0c8b9"), 0),
    (address!("9efa02278cc63dc612c174976f11037d382f8b67"), 0),
    (address!("bc0afa86de01ebb58f7fe83ef01de204d4f8ced6"), 0),
    (address!("cd2a3d9f938e13cd947ec05abc7fe734df8dd826"), LOCAL_BALANCE),
];

impl Genesis {
    /// A header of zeros without accounts; the mining fields are the single zero byte that every network has.
    pub(crate) const fn blank() -> Self {
        Self {
            parent_hash: B256::ZERO,
            coinbase: None,
            difficulty: Bytes::new(),
            gas_limit: 0,
            timestamp: 0,
            extra_data: Bytes::new(),
            minimum_gas_price: Bytes::new(),
            btc_header: Bytes::new(),
            merkle_proof: Bytes::new(),
            btc_coinbase: Bytes::new(),
            state_root: None,
            alloc: Vec::new(),
        }
    }

    /// A built-in network's genesis but for what is given.
    fn built_in(
        difficulty: &'static [u8; 5],
        gas_limit: u64,
        alloc: impl IntoIterator<Item = (Address, u128)>,
    ) -> Self {
        let mut alloc: Vec<GenesisAccount> = alloc
            .into_iter()
            .chain([(BRIDGE, SUPPLY)])
            .map(|(address, balance)| GenesisAccount {
                address,
                balance: U256::from(balance),
                nonce: U256::ZERO,
                contract: None,
            })
            .collect();
        alloc.sort_by_key(|account| account.address);
        Self {
            coinbase: Some(Address::repeat_byte(0x33)),
            difficulty: Bytes::from_static(difficulty),
            gas_limit,
            minimum_gas_price: Bytes::from_static(&[0]),
            btc_header: Bytes::from_static(&[0]),
            merkle_proof: Bytes::from_static(&[0]),
            btc_coinbase: Bytes::from_static(&[0]),
            alloc,
            ..Self::blank()
        }
    }

    pub(crate) fn mainnet() -> Self {
        Self {
            timestamp: 1_514_862_000,
            extra_data: Bytes::from_static(
                b"Happy Bitcoin Day! 03/Jan/2018 - RSK technology at the service of society",
            ),
            minimum_gas_price: Bytes::from_static(&hex!("0ae85bc0")),
            state_root: Some(b256!("9fa70f12726ac738640a86754741bb3f5680520ccc7e6ae9d95ace566a67fe01")),
            ..Self::built_in(&hex!("0000100000"), 6_800_000, [])
        }
    }

    /// Both testnets have this one.
    pub(crate) fn testnet() -> Self {
        Self {
            extra_data: Bytes::from_static(b"CM'(A"),
            state_root: Some(b256!("45bce5168430c42b3d568331753f900a32457b4f3748697cbd8375ff4da72641")),
            ..Self::built_in(&hex!("0000100000"), 5_000_000, [])
        }
    }

    pub(crate) fn devnet() -> Self {
        Self {
            coinbase: Some(address!("3333333333333333333333333333333333333331")),
            extra_data: Bytes::from_static(b"CM'(A"),
            ..Self::built_in(&hex!("0000100000"), 6_800_000, DEVNET_ACCOUNTS)
        }
    }

    pub(crate) fn regtest() -> Self {
        Self {
            extra_data: Bytes::from_static(b"horse"),
            ..Self::built_in(&hex!("0000000001"), 10_000_000, REGTEST_ACCOUNTS.map(|address| (address, LOCAL_BALANCE)))
        }
    }
}
