//! Which instruction stands at which opcode, and its fixed price, under a set of rules.

use revm_bytecode::opcode as op;
use revm_interpreter::instructions::{arithmetic, bitwise, block_info, control, memory, stack, system, tx_info};
use revm_interpreter::{GasTable, Instruction, InstructionTable};
use rhizome_chainspec::{Activations, Rskip};

use super::calls;
use super::gas;
use super::host::Host;
use super::instructions as own;
use super::machine::Rootstock;

/// TXINDEX, valid until RSKIP-191.
const TXINDEX: u8 = 0xaa;
/// Rootstock's DUPN, valid until RSKIP-191.
const DUPN: u8 = 0xa8;
/// Rootstock's SWAPN, valid until RSKIP-191.
const SWAPN: u8 = 0xa9;

/// Prices of the tiers (`OpCode.Tier`).
const BASE: u16 = 2;
const VERY_LOW: u16 = 3;
const LOW: u16 = 5;
const MID: u16 = 8;
const HIGH: u16 = 10;
const EXT: u16 = 20;
/// The instruction charges by itself.
const OWN: u16 = 0;

/// The instructions of a block.
pub(super) struct Table<'b> {
    pub(super) instructions: InstructionTable<Rootstock, Host<'b>>,
    pub(super) prices: GasTable,
}

impl<'b> Table<'b> {
    /// The instructions that are active under these rules. What is in no rule's list is an invalid opcode.
    pub(super) fn new(activations: Activations) -> Self {
        let mut table = Self { instructions: [Instruction::unknown(); 256], prices: [0; 256] };
        table.base();
        table.activated(activations);
        table
    }

    fn set(&mut self, opcode: u8, price: u16, function: fn(own::Context<'_, 'b>) -> own::Outcome) {
        self.instructions[usize::from(opcode)] = Instruction::new(function);
        self.prices[usize::from(opcode)] = price;
    }

    /// What is valid from block 1 on.
    fn base(&mut self) {
        self.set(op::STOP, 0, control::stop);
        self.set(op::ADD, VERY_LOW, arithmetic::add);
        self.set(op::MUL, LOW, arithmetic::mul);
        self.set(op::SUB, VERY_LOW, arithmetic::sub);
        self.set(op::DIV, LOW, arithmetic::div);
        self.set(op::SDIV, LOW, arithmetic::sdiv);
        self.set(op::MOD, LOW, arithmetic::rem);
        self.set(op::SMOD, LOW, arithmetic::smod);
        self.set(op::ADDMOD, MID, arithmetic::addmod);
        self.set(op::MULMOD, MID, arithmetic::mulmod);
        self.set(op::EXP, gas::EXP, own::exp);
        self.set(op::SIGNEXTEND, LOW, arithmetic::signextend);
        self.set(op::LT, VERY_LOW, bitwise::lt);
        self.set(op::GT, VERY_LOW, bitwise::gt);
        self.set(op::SLT, VERY_LOW, bitwise::slt);
        self.set(op::SGT, VERY_LOW, bitwise::sgt);
        self.set(op::EQ, VERY_LOW, bitwise::eq);
        self.set(op::ISZERO, VERY_LOW, bitwise::iszero);
        self.set(op::AND, VERY_LOW, bitwise::bitand);
        self.set(op::OR, VERY_LOW, bitwise::bitor);
        self.set(op::XOR, VERY_LOW, bitwise::bitxor);
        self.set(op::NOT, VERY_LOW, bitwise::not);
        self.set(op::BYTE, VERY_LOW, bitwise::byte);
        self.set(op::KECCAK256, gas::SHA3, own::sha3);
        self.set(op::ADDRESS, BASE, system::address);
        self.set(op::BALANCE, gas::BALANCE, own::balance);
        self.set(op::ORIGIN, BASE, tx_info::origin);
        self.set(op::CALLER, BASE, system::caller);
        self.set(op::CALLVALUE, BASE, system::callvalue);
        self.set(op::CALLDATALOAD, VERY_LOW, system::calldataload);
        self.set(op::CALLDATASIZE, BASE, system::calldatasize);
        self.set(op::CALLDATACOPY, VERY_LOW, own::calldata_copy);
        self.set(op::CODESIZE, BASE, system::codesize);
        self.set(op::CODECOPY, VERY_LOW, own::code_copy);
        self.set(op::GASPRICE, BASE, tx_info::gasprice);
        self.set(op::EXTCODESIZE, gas::EXT_CODE_SIZE, own::ext_code_size);
        self.set(op::EXTCODECOPY, gas::EXT_CODE_COPY, own::ext_code_copy);
        self.set(op::RETURNDATASIZE, BASE, own::return_data_size);
        self.set(op::RETURNDATACOPY, VERY_LOW, own::return_data_copy);
        self.set(op::BLOCKHASH, EXT, own::block_hash);
        self.set(op::COINBASE, BASE, block_info::coinbase);
        self.set(op::TIMESTAMP, BASE, block_info::timestamp);
        self.set(op::NUMBER, BASE, block_info::block_number);
        self.set(op::DIFFICULTY, BASE, block_info::difficulty);
        self.set(op::GASLIMIT, BASE, block_info::gaslimit);
        self.set(op::POP, BASE, stack::pop);
        self.set(op::MLOAD, VERY_LOW, own::mload);
        self.set(op::MSTORE, VERY_LOW, own::mstore);
        self.set(op::MSTORE8, VERY_LOW, own::mstore8);
        self.set(op::SLOAD, gas::SLOAD, own::sload);
        self.set(op::SSTORE, OWN, own::sstore);
        self.set(op::JUMP, MID, control::jump);
        self.set(op::JUMPI, HIGH, control::jumpi);
        self.set(op::PC, BASE, control::pc);
        self.set(op::MSIZE, BASE, memory::msize);
        self.set(op::GAS, BASE, system::gas);
        self.set(op::JUMPDEST, 1, control::jumpdest);
        self.set(op::LOG0, OWN, own::log::<0>);
        self.set(op::LOG1, OWN, own::log::<1>);
        self.set(op::LOG2, OWN, own::log::<2>);
        self.set(op::LOG3, OWN, own::log::<3>);
        self.set(op::LOG4, OWN, own::log::<4>);
        self.set(op::CREATE, OWN, calls::create);
        self.set(op::CALL, OWN, calls::call);
        self.set(op::CALLCODE, OWN, calls::call_code);
        self.set(op::RETURN, OWN, own::return_);
        self.set(op::DELEGATECALL, OWN, calls::delegate_call);
        self.set(op::REVERT, OWN, own::revert);
        self.set(op::SELFDESTRUCT, OWN, own::selfdestruct);
        macro_rules! stack_opcodes {
            ($($n:literal)+) => {
                $(self.set(op::PUSH1 - 1 + $n, VERY_LOW, own::push_bytes::<$n>);)+
            };
        }
        stack_opcodes!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
        macro_rules! dups_and_swaps {
            ($($n:literal)+) => {
                $(
                    self.set(op::DUP1 - 1 + $n, VERY_LOW, stack::dup::<$n, _, _>);
                    self.set(op::SWAP1 - 1 + $n, VERY_LOW, stack::swap::<$n, _, _>);
                )+
            };
        }
        dups_and_swaps!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    }

    /// What rules add or take away.
    fn activated(&mut self, activations: Activations) {
        let is = |rule| activations.is_active(rule);
        if is(Rskip::R91) {
            self.set(op::STATICCALL, OWN, calls::static_call);
        }
        if is(Rskip::R120) {
            self.set(op::SHL, VERY_LOW, bitwise::shl);
            self.set(op::SHR, VERY_LOW, bitwise::shr);
            self.set(op::SAR, VERY_LOW, bitwise::sar);
        }
        if is(Rskip::R125) {
            self.set(op::CREATE2, OWN, calls::create2);
        }
        if is(Rskip::R140) {
            self.set(op::EXTCODEHASH, gas::EXT_CODE_HASH, own::ext_code_hash);
        }
        if is(Rskip::R151) {
            self.set(op::SELFBALANCE, LOW, own::self_balance);
        }
        if is(Rskip::R152) {
            self.set(op::CHAINID, BASE, own::chain_id);
        }
        if !is(Rskip::R191) {
            self.set(DUPN, VERY_LOW, own::dup_n);
            self.set(SWAPN, VERY_LOW, own::swap_n);
            self.set(TXINDEX, BASE, own::transaction_index);
        }
        if is(Rskip::R398) {
            self.set(op::PUSH0, BASE, own::push_zero);
        }
        if is(Rskip::R412) {
            self.set(op::BASEFEE, BASE, own::base_fee);
        }
        if is(Rskip::R445) {
            self.set(op::MCOPY, VERY_LOW, own::mcopy);
        }
        if is(Rskip::R446) {
            self.set(op::TLOAD, gas::TRANSIENT, own::tload);
            self.set(op::TSTORE, gas::TRANSIENT, own::tstore);
        }
    }
}
