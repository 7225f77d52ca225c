//! What running code reaches outside of its frame.

use std::fmt;

use revm_interpreter::context_interface::cfg::GasParams;
use revm_interpreter::context_interface::journaled_state::AccountInfoLoad;
use revm_interpreter::host::LoadError;
use revm_interpreter::primitives::Log as RevmLog;
use revm_interpreter::{Host as RevmHost, InstructionResult, SStoreResult, SelfDestructResult, StateLoad};
use rhizome_primitives::{Address, AncestorProvider, B256, Transaction, U256};

use super::env::{BlockEnv, TxEnv};
use super::precompile::Precompiles;
use super::rules::Rules;
use crate::error::Fault;
use crate::state::WorldState;

/// The surroundings of a transaction: state, block, transaction, precompiles.
pub(crate) struct Host<'b> {
    pub(crate) state: WorldState,
    pub(crate) block: &'b BlockEnv,
    pub(crate) tx: TxEnv,
    /// The transaction itself; `None` in a call over RPC.
    pub(crate) transaction: Option<&'b Transaction>,
    pub(crate) rules: Rules,
    pub(crate) precompiles: &'b dyn Precompiles,
    pub(crate) ancestors: &'b dyn AncestorProvider,
    /// Contracts that the transaction destroys so far, without repetition.
    pub(crate) destroyed: Vec<Address>,
    /// Precompiles called so far, as far as rskj records them.
    pub(crate) precompiles_called: Vec<Address>,
    /// The trouble of the node that stopped the interpreter.
    pub(crate) fault: Option<Fault>,
    /// Only for revm's trait: no instruction of ours asks for it.
    gas_params: GasParams,
}

impl fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("block", &self.block).field("tx", &self.tx).finish_non_exhaustive()
    }
}

impl<'b> Host<'b> {
    pub(crate) fn new(
        state: WorldState,
        block: &'b BlockEnv,
        tx: TxEnv,
        precompiles: &'b dyn Precompiles,
        ancestors: &'b dyn AncestorProvider,
    ) -> Self {
        Self {
            state,
            block,
            tx,
            transaction: None,
            rules: Rules::of(block.activations),
            precompiles,
            ancestors,
            destroyed: Vec::new(),
            precompiles_called: Vec::new(),
            fault: None,
            gas_params: GasParams::default(),
        }
    }

    /// Keeps a fault for the frame loop and stops the interpreter.
    #[cold]
    pub(super) fn stop_with(&mut self, fault: Fault) -> InstructionResult {
        self.fault = Some(fault);
        InstructionResult::FatalExternalError
    }

    /// Whether a precompile answers at a call target; one with more than 20 bytes is none.
    pub(super) fn is_precompile(&self, target: &U256) -> bool {
        target.bit_len() <= 160 && self.precompiles.is_active(&low_address(target), self.block)
    }
}

/// The last 20 bytes of a word, which is all that account look-ups see.
#[inline]
pub(super) fn low_address(word: &U256) -> Address {
    Address::from_word(B256::from(*word))
}

/// revm's view of its surroundings. Every instruction that would ask one of these questions has an implementation of our own, so
/// that only the block's and the transaction's constants are ever read.
impl RevmHost for Host<'_> {
    fn basefee(&self) -> U256 {
        self.block.minimum_gas_price
    }

    fn blob_gasprice(&self) -> U256 {
        U256::ZERO
    }

    fn gas_limit(&self) -> U256 {
        U256::from(self.block.gas_limit)
    }

    fn difficulty(&self) -> U256 {
        self.block.difficulty
    }

    fn prevrandao(&self) -> Option<U256> {
        None
    }

    fn block_number(&self) -> U256 {
        U256::from(self.block.number)
    }

    fn timestamp(&self) -> U256 {
        U256::from(self.block.timestamp)
    }

    fn beneficiary(&self) -> Address {
        self.block.coinbase
    }

    fn slot_num(&self) -> U256 {
        U256::ZERO
    }

    fn chain_id(&self) -> U256 {
        U256::from(self.block.chain_id)
    }

    fn effective_gas_price(&self) -> U256 {
        self.tx.gas_price
    }

    fn caller(&self) -> Address {
        self.tx.origin()
    }

    fn blob_hash(&self, _number: usize) -> Option<U256> {
        None
    }

    fn max_initcode_size(&self) -> usize {
        super::gas::MAX_INITCODE
    }

    fn gas_params(&self) -> &GasParams {
        &self.gas_params
    }

    fn is_amsterdam_eip8037_enabled(&self) -> bool {
        false
    }

    fn block_hash(&mut self, _number: u64) -> Option<B256> {
        None
    }

    fn selfdestruct(
        &mut self,
        _address: Address,
        _target: Address,
        _skip_cold_load: bool,
    ) -> Result<StateLoad<SelfDestructResult>, LoadError> {
        Err(LoadError::DBError)
    }

    fn log(&mut self, _log: RevmLog) {}

    fn sstore_skip_cold_load(
        &mut self,
        _address: Address,
        _key: U256,
        _value: U256,
        _skip_cold_load: bool,
    ) -> Result<StateLoad<SStoreResult>, LoadError> {
        Err(LoadError::DBError)
    }

    fn sload_skip_cold_load(
        &mut self,
        _address: Address,
        _key: U256,
        _skip_cold_load: bool,
    ) -> Result<StateLoad<U256>, LoadError> {
        Err(LoadError::DBError)
    }

    fn tstore(&mut self, _address: Address, _key: U256, _value: U256) {}

    fn tload(&mut self, _address: Address, _key: U256) -> U256 {
        U256::ZERO
    }

    fn load_account_info_skip_cold_load(
        &mut self,
        _address: Address,
        _load_code: bool,
        _skip_cold_load: bool,
    ) -> Result<AccountInfoLoad<'_>, LoadError> {
        Err(LoadError::DBError)
    }
}
