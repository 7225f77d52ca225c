//! What native contracts share: selector, arguments, price, and the rule that every failure throws (rskj `NativeContract`,
//! `NativeMethod`).
//!
//! An input that names no method, a disabled one or one whose arguments do not decode costs nothing and throws.

use rhizome_primitives::Bytes;

use super::abi::{Arguments, encode_u64};
use super::{block_header, hd_wallet};
use crate::evm::{CallKind, PrecompileCall, PrecompileError};
use crate::precompiles::Ancestors;

/// The first four bytes of a call.
pub(super) type Selector = [u8; 4];

/// `getCallStackDepth()`
pub(super) const GET_CALL_STACK_DEPTH: Selector = [0xe8, 0xce, 0x22, 0x74];

/// A decoded call of one of the native contracts.
#[derive(Debug)]
pub(super) enum Method<'a> {
    HdWallet(hd_wallet::Method<'a>),
    BlockHeader(block_header::Call),
    CallStackDepth,
}

/// Which native contract is called.
#[derive(Debug, Clone, Copy)]
pub(super) enum Contract {
    HdWalletUtils,
    BlockHeader,
    Environment,
}

impl Contract {
    /// The method that an input asks for, or `None` where it asks for none.
    pub(super) fn decode<'a>(self, call: &PrecompileCall<'a>) -> Option<Method<'a>> {
        let input = call.input?;
        let (selector, rest) = input.split_first_chunk::<4>()?;
        let arguments = Arguments::new(rest);
        match self {
            Self::HdWalletUtils => hd_wallet::Method::decode(*selector, arguments).ok()?.map(Method::HdWallet),
            Self::BlockHeader => block_header::Call::decode(*selector, arguments, input.len(), call.block.activations)
                .ok()?
                .map(Method::BlockHeader),
            Self::Environment => (*selector == GET_CALL_STACK_DEPTH).then_some(Method::CallStackDepth),
        }
    }
}

impl Method<'_> {
    pub(super) fn price(&self) -> u64 {
        match self {
            Self::HdWallet(method) => method.price(),
            Self::BlockHeader(call) => call.price(),
            Self::CallStackDepth => 0,
        }
    }

    pub(super) fn run(
        &self,
        call: &PrecompileCall<'_>,
        ancestors: &Ancestors<'_>,
    ) -> Result<Option<Bytes>, PrecompileError> {
        match self {
            Self::HdWallet(method) => method.run().map(Some).map_err(PrecompileError::threw),
            Self::BlockHeader(header) => header.run(ancestors),
            // The contract takes a place on the call stack itself; a transaction straight to it has only that one.
            Self::CallStackDepth => Ok(Some(encode_u64(match call.kind {
                CallKind::Direct => 1,
                _ => call.depth as u64 + 1,
            }))),
        }
    }
}
