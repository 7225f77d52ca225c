//! Precompiled contracts: which address is one under which rules, what a call costs and what it answers (rskj
//! `PrecompiledContracts`).
//!
//! [`RskPrecompiles`] is what execution runs. What happens around a call (moving the value, the contract marker, rollback and
//! refund) is the caller's business, because a transaction and an instruction do it differently.

mod abi;
mod ancestors;
mod block_header;
mod bridge;
mod bridge_state;
mod curves;
mod hashes;
mod hd_wallet;
mod modexp;
mod native;
mod watch;

use std::sync::Arc;

use rhizome_bridge::NoFederation;
use rhizome_chainspec::{Activations, ChainSpec, Rskip};
use rhizome_primitives::{Address, BRIDGE_ADDRESS, Bytes, REMASC_ADDRESS, address};

use crate::Fault;
use crate::evm::{BlockEnv, PrecompileCall, PrecompileError, PrecompileHost, Precompiles};
use crate::remasc;
use native::{Contract, Method};

pub use bridge_state::BridgeState;
pub use watch::Stopwatch;

pub(crate) use abi::encode_bytes;
pub(crate) use ancestors::Ancestors;
pub(crate) use bridge::BridgeContract;

/// The precompiled contracts that exist at every height; RSKIP-126 gives them accounts.
pub const GENESIS_ADDRESSES: [Address; 7] = [
    Precompile::EcRecover.address(),
    Precompile::Sha256.address(),
    Precompile::Ripemd160.address(),
    Precompile::Identity.address(),
    Precompile::ModExp.address(),
    BRIDGE_ADDRESS,
    REMASC_ADDRESS,
];

/// The later contracts and the rules that bring them; each gets its account in its rule's first block.
pub const RULE_ADDRESSES: [(Address, Rskip); 9] = [
    (Precompile::HdWalletUtils.address(), Rskip::R106),
    (Precompile::BlockHeader.address(), Rskip::R119),
    (Precompile::Bn128Add.address(), Rskip::R137),
    (Precompile::Bn128Mul.address(), Rskip::R137),
    (Precompile::Bn128Pairing.address(), Rskip::R137),
    (Precompile::Blake2F.address(), Rskip::R153),
    (Precompile::Environment.address(), Rskip::R203),
    (Precompile::Secp256k1Add.address(), Rskip::R516),
    (Precompile::Secp256k1Mul.address(), Rskip::R516),
];

/// A precompiled contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Precompile {
    EcRecover,
    Sha256,
    Ripemd160,
    Identity,
    ModExp,
    Bn128Add,
    Bn128Mul,
    Bn128Pairing,
    Blake2F,
    Bridge,
    Remasc,
    HdWalletUtils,
    BlockHeader,
    Environment,
    Secp256k1Add,
    Secp256k1Mul,
}

impl Precompile {
    /// The contract at an address under the rules of a block.
    pub fn at(address: &Address, activations: Activations) -> Option<Self> {
        // All of them have sixteen zero bytes in front, few other addresses do.
        let (zeros, low) = address.split_at(16);
        if zeros != [0; 16] {
            return None;
        }
        let (precompile, rule) = match low {
            [0, 0, 0, 1] => (Self::EcRecover, None),
            [0, 0, 0, 2] => (Self::Sha256, None),
            [0, 0, 0, 3] => (Self::Ripemd160, None),
            [0, 0, 0, 4] => (Self::Identity, None),
            [0, 0, 0, 5] => (Self::ModExp, None),
            [0, 0, 0, 6] => (Self::Bn128Add, Some(Rskip::R137)),
            [0, 0, 0, 7] => (Self::Bn128Mul, Some(Rskip::R137)),
            [0, 0, 0, 8] => (Self::Bn128Pairing, Some(Rskip::R137)),
            [0, 0, 0, 9] => (Self::Blake2F, Some(Rskip::R153)),
            [1, 0, 0, 0x06] => (Self::Bridge, None),
            [1, 0, 0, 0x08] => (Self::Remasc, None),
            [1, 0, 0, 0x09] => (Self::HdWalletUtils, Some(Rskip::R106)),
            [1, 0, 0, 0x10] => (Self::BlockHeader, Some(Rskip::R119)),
            [1, 0, 0, 0x11] => (Self::Environment, Some(Rskip::R203)),
            [1, 0, 0, 0x16] => (Self::Secp256k1Add, Some(Rskip::R516)),
            [1, 0, 0, 0x17] => (Self::Secp256k1Mul, Some(Rskip::R516)),
            _ => return None,
        };
        rule.is_none_or(|rule| activations.is_active(rule)).then_some(precompile)
    }

    /// The contract's address.
    pub const fn address(self) -> Address {
        match self {
            Self::EcRecover => address!("0000000000000000000000000000000000000001"),
            Self::Sha256 => address!("0000000000000000000000000000000000000002"),
            Self::Ripemd160 => address!("0000000000000000000000000000000000000003"),
            Self::Identity => address!("0000000000000000000000000000000000000004"),
            Self::ModExp => address!("0000000000000000000000000000000000000005"),
            Self::Bn128Add => address!("0000000000000000000000000000000000000006"),
            Self::Bn128Mul => address!("0000000000000000000000000000000000000007"),
            Self::Bn128Pairing => address!("0000000000000000000000000000000000000008"),
            Self::Blake2F => address!("0000000000000000000000000000000000000009"),
            Self::Bridge => BRIDGE_ADDRESS,
            Self::Remasc => REMASC_ADDRESS,
            Self::HdWalletUtils => address!("0000000000000000000000000000000001000009"),
            Self::BlockHeader => address!("0000000000000000000000000000000001000010"),
            Self::Environment => address!("0000000000000000000000000000000001000011"),
            Self::Secp256k1Add => address!("0000000000000000000000000000000001000016"),
            Self::Secp256k1Mul => address!("0000000000000000000000000000000001000017"),
        }
    }

    /// The longest input, in bytes, that code passes on from RSKIP-516; a transaction's data is never cut.
    pub const fn max_input(self) -> Option<usize> {
        match self {
            Self::EcRecover | Self::Bn128Add | Self::Secp256k1Add => Some(128),
            Self::Bn128Mul | Self::Secp256k1Mul => Some(96),
            Self::Blake2F => Some(curves::BLAKE2F_INPUT),
            _ => None,
        }
    }

    /// Whether the contract is told of its call's transaction, which for a call from code is an internal one.
    pub const fn sees_transaction(self) -> bool {
        matches!(self, Self::Bridge | Self::Remasc | Self::HdWalletUtils | Self::BlockHeader | Self::Environment)
    }

    /// Whether a call of it, however deep and even if reverted, keeps a transaction out of the parallel lists of a split block
    /// (rskj's configuration `concurrentContractsDisallowed`).
    pub const fn is_sequential_only(self) -> bool {
        matches!(self, Self::Bridge | Self::Remasc)
    }
}

/// The precompiled contracts of a network.
#[derive(Debug, Clone)]
pub struct RskPrecompiles {
    spec: Arc<ChainSpec>,
    bridge: BridgeContract,
}

impl RskPrecompiles {
    /// The contracts with a network's constants.
    pub fn new(spec: Arc<ChainSpec>) -> Self {
        Self { bridge: BridgeContract::new(&spec), spec }
    }

    /// The same, with the time of the Bridge measured.
    #[must_use]
    pub fn with_stopwatch(self, watch: Arc<dyn Stopwatch>) -> Self {
        Self { bridge: self.bridge.with_stopwatch(watch), ..self }
    }
}

impl Precompiles for RskPrecompiles {
    fn is_active(&self, address: &Address, block: &BlockEnv) -> bool {
        Precompile::at(address, block.activations).is_some()
    }

    fn max_input(&self, address: &Address) -> Option<usize> {
        Precompile::at(address, Activations::ALL)?.max_input()
    }

    fn sees_transaction(&self, address: &Address) -> bool {
        Precompile::at(address, Activations::ALL).is_some_and(Precompile::sees_transaction)
    }

    fn is_free_bridge_tx(&self, sender: &Address, to: &Address, block: &BlockEnv) -> Result<bool, NoFederation> {
        if *to == BRIDGE_ADDRESS { self.bridge.is_free_tx(sender, block) } else { Ok(false) }
    }

    fn call(
        &self,
        call: &PrecompileCall<'_>,
        host: &mut PrecompileHost<'_>,
        charge: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Bytes>, PrecompileError> {
        let Some(precompile) = Precompile::at(&call.address, call.block.activations) else {
            return Err(Fault::Internal(format!("{} is no precompiled contract", call.address)).into());
        };
        let mut pay = |price| if charge(price) { Ok(()) } else { Err(PrecompileError::OutOfGas) };
        let contract = match precompile {
            Precompile::Bridge => return self.bridge.call(call, host.state, &mut pay),
            Precompile::Remasc => {
                pay(0)?;
                let ancestors = Ancestors::new(call.block, host.ancestors);
                return remasc::call(call, &self.spec, &self.bridge, &ancestors, host.state);
            }
            Precompile::HdWalletUtils => Contract::HdWalletUtils,
            Precompile::BlockHeader => Contract::BlockHeader,
            Precompile::Environment => Contract::Environment,
            plain => {
                pay(plain_price(plain, call.input, call.block.activations)?)?;
                return plain_run(plain, call.input, call.block.activations);
            }
        };
        let method = contract.decode(call);
        pay(method.as_ref().map_or(0, Method::price))?;
        match method {
            Some(method) => method.run(call, &Ancestors::new(call.block, host.ancestors)),
            None => Err(PrecompileError::threw("the input names no method of the contract")),
        }
    }
}

/// Price of a contract that knows nothing but its input.
fn plain_price(precompile: Precompile, input: Option<&[u8]>, activations: Activations) -> Result<u64, PrecompileError> {
    let data = input.unwrap_or_default();
    Ok(match precompile {
        Precompile::EcRecover => 3_000,
        Precompile::Sha256 => hashes::word_price(data.len(), 60, 12),
        Precompile::Ripemd160 => hashes::word_price(data.len(), 600, 120),
        Precompile::Identity => hashes::word_price(data.len(), 15, 3),
        Precompile::ModExp => modexp::price(data),
        Precompile::Bn128Add | Precompile::Secp256k1Add => 150,
        Precompile::Bn128Mul => 6_000,
        Precompile::Bn128Pairing => 45_000 + 34_000 * (data.len() / curves::PAIR) as u64,
        Precompile::Blake2F => {
            if input.is_none() && !activations.is_active(Rskip::R552) {
                return Err(PrecompileError::PriceThrew { message: None });
            }
            curves::blake2f_price(data)
        }
        Precompile::Secp256k1Mul => 3_000,
        stateful => return Err(not_plain(stateful)),
    })
}

fn plain_run(
    precompile: Precompile,
    input: Option<&[u8]>,
    activations: Activations,
) -> Result<Option<Bytes>, PrecompileError> {
    let data = input.unwrap_or_default();
    // Before RSKIP-197 nothing could fail, so a broken point answered nothing.
    let point = |result: Option<Bytes>| match result {
        None if activations.is_active(Rskip::R197) => Err(PrecompileError::threw("not a point of the curve")),
        other => Ok(Some(other.unwrap_or_default())),
    };
    let strict = |result: Option<Bytes>| match result {
        None => Err(PrecompileError::threw("not a point of the curve")),
        some => Ok(some),
    };
    match precompile {
        Precompile::EcRecover => Ok(Some(hashes::ec_recover(data))),
        Precompile::Sha256 => Ok(Some(hashes::sha256(data))),
        Precompile::Ripemd160 => Ok(Some(hashes::ripemd160(data))),
        Precompile::Identity => Ok(input.map(Bytes::copy_from_slice)),
        Precompile::ModExp => Ok(Some(if input.is_some() { modexp::run(data) } else { Bytes::new() })),
        Precompile::Bn128Add => point(curves::bn128_add(data)),
        Precompile::Bn128Mul => point(curves::bn128_mul(data)),
        Precompile::Bn128Pairing => point(curves::bn128_pairing(data)),
        Precompile::Blake2F => curves::blake2f(data).map(Some).map_err(PrecompileError::threw),
        Precompile::Secp256k1Add => strict(curves::secp256k1_add(data)),
        Precompile::Secp256k1Mul => strict(curves::secp256k1_mul(data)),
        stateful => Err(not_plain(stateful)),
    }
}

fn not_plain(precompile: Precompile) -> PrecompileError {
    Fault::Internal(format!("{precompile:?} is not a function of its input")).into()
}
