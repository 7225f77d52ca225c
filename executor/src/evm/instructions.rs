//! Instructions whose price or meaning is Rootstock's own: memory, state, block, code.
//!
//! Each one here stands where revm's would take its answer from a fork of Ethereum or from revm's journal. The whole price is
//! charged before anything else happens, except that look-ups that decide the price come first; any failure takes all gas of
//! the frame, so that the order of two failures does not show.

use revm_interpreter::interpreter_types::Jumps;
use revm_interpreter::{CallInput, InstructionContext, InstructionExecResult, InstructionResult};
use rhizome_primitives::{B256, Bytes, Log, U256, keccak256};

use super::gas;
use super::host::{Host, low_address};
use super::machine::{Machine, Pending, Rootstock};
use super::memory::{MAX_MEMORY, growth_price};

pub(super) type Context<'a, 'b> = InstructionContext<'a, Host<'b>, Rootstock>;
pub(super) type Outcome<T = ()> = InstructionExecResult<T>;

/// Takes `N` words from the stack, the top first.
#[inline]
pub(super) fn pop<const N: usize>(machine: &mut Machine) -> Outcome<[U256; N]> {
    machine.stack.popn::<N>().ok_or(InstructionResult::StackUnderflow)
}

#[inline]
pub(super) fn push(machine: &mut Machine, word: U256) -> Outcome {
    if machine.stack.push(word) { Ok(()) } else { Err(InstructionResult::StackOverflow) }
}

#[inline]
pub(super) fn top(machine: &mut Machine) -> Outcome<&mut U256> {
    machine.stack.top().ok_or(InstructionResult::StackUnderflow)
}

#[inline]
pub(super) fn charge(machine: &mut Machine, price: u64) -> Outcome {
    if machine.gas.record_regular_cost(price) { Ok(()) } else { Err(InstructionResult::OutOfGas) }
}

/// A word as rskj's `long`, everything above at its maximum.
#[inline]
pub(super) fn saturated(word: &U256) -> u64 {
    u64::try_from(*word).unwrap_or(u64::MAX).min(gas::MAX_GAS)
}

/// How much memory `len` bytes at `offset` need (`VM.memNeeded`).
#[inline]
fn needed(offset: &U256, len: u64) -> u64 {
    if len == 0 { 0 } else { saturated(offset).saturating_add(len) }
}

/// The price of memory up to `needed`.
#[inline]
pub(super) fn memory_price(machine: &mut Machine, needed: u64) -> Outcome<u64> {
    if needed > MAX_MEMORY {
        return Err(InstructionResult::MemoryLimitOOG);
    }
    Ok(growth_price(machine.memory.len() as u64, needed))
}

/// An area of memory: what it needs, with its offset and length as indices.
pub(super) struct Span {
    pub(super) needed: u64,
    pub(super) offset: usize,
    pub(super) len: usize,
}

impl Span {
    /// # Errors
    /// Where memory can never be that long.
    #[inline]
    pub(super) fn new(offset: &U256, len: &U256) -> Outcome<Self> {
        let len = saturated(len);
        let needed = needed(offset, len);
        if len > MAX_MEMORY || needed > MAX_MEMORY {
            return Err(InstructionResult::MemoryLimitOOG);
        }
        // Both are at most 2^30 unless the area is empty.
        let offset = if len == 0 { 0 } else { saturated(offset) as usize };
        Ok(Self { needed, offset, len: len as usize })
    }

    /// Words that the area has, the last one begun.
    #[inline]
    pub(super) fn words(&self) -> u64 {
        (self.len as u64).div_ceil(32)
    }
}

/// Charges for an area and for something on each of its words.
#[inline]
fn charge_span(machine: &mut Machine, span: &Span, per_word: u64, base: u64) -> Outcome {
    let price = memory_price(machine, span.needed)? + per_word * span.words() + base;
    charge(machine, price)
}

/// An offset into data that is read as zeros behind its end.
#[inline]
fn data_offset(word: &U256) -> usize {
    usize::try_from(*word).unwrap_or(usize::MAX)
}

pub(super) fn push_bytes<const N: usize>(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let ahead = machine.bytecode.ahead(N);
    let word = if ahead.len() == N {
        U256::from_be_slice(ahead)
    } else {
        // Code that ends inside of an immediate reads as if zeros followed.
        let mut padded = [0; 32];
        padded[..ahead.len()].copy_from_slice(ahead);
        U256::from_be_slice(&padded[..N])
    };
    push(machine, word)?;
    machine.bytecode.relative_jump(N as isize);
    Ok(())
}

pub(super) fn push_zero(context: Context<'_, '_>) -> Outcome {
    push(context.interpreter, U256::ZERO)
}

pub(super) fn exp(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    if machine.stack.len() < 2 {
        return Err(InstructionResult::StackUnderflow);
    }
    let [base] = pop(machine)?;
    let exponent = *top(machine)?;
    charge(machine, gas::EXP_BYTE * exponent.byte_len() as u64)?;
    *top(machine)? = base.pow(exponent);
    Ok(())
}

pub(super) fn sha3(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [offset, len] = pop(machine)?;
    let span = Span::new(&offset, &len)?;
    charge_span(machine, &span, gas::SHA3_WORD, 0)?;
    let hash = keccak256(machine.memory.read(span.offset, span.len));
    push(machine, hash.into())
}

pub(super) fn balance(context: Context<'_, '_>) -> Outcome {
    let word = top(context.interpreter)?;
    match context.host.state.balance(low_address(word)) {
        Ok(balance) => *word = balance,
        Err(fault) => return Err(context.host.stop_with(fault)),
    }
    Ok(())
}

pub(super) fn self_balance(context: Context<'_, '_>) -> Outcome {
    match context.host.state.balance(context.interpreter.input.address) {
        Ok(balance) => push(context.interpreter, balance),
        Err(fault) => Err(context.host.stop_with(fault)),
    }
}

pub(super) fn calldata_copy(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [to, from, len] = pop(machine)?;
    let span = Span::new(&to, &len)?;
    charge_span(machine, &span, gas::COPY_WORD, 0)?;
    if let CallInput::Bytes(data) = &machine.input.data {
        machine.memory.write_padded(span.offset, data, data_offset(&from), span.len);
    }
    Ok(())
}

pub(super) fn code_copy(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [to, from, len] = pop(machine)?;
    let span = Span::new(&to, &len)?;
    charge_span(machine, &span, gas::COPY_WORD, 0)?;
    machine.memory.write_padded(span.offset, machine.bytecode.bytes(), data_offset(&from), span.len);
    Ok(())
}

pub(super) fn ext_code_size(context: Context<'_, '_>) -> Outcome {
    let word = top(context.interpreter)?;
    let len = match context.host.state.code_len(low_address(word)) {
        Ok(len) => len,
        Err(fault) => return Err(context.host.stop_with(fault)),
    };
    // RSKIP-90: a precompile has the greatest size.
    *word = if context.host.rules.r90 && context.host.is_precompile(word) { U256::MAX } else { U256::from(len) };
    Ok(())
}

pub(super) fn ext_code_hash(context: Context<'_, '_>) -> Outcome {
    let word = top(context.interpreter)?;
    let host = context.host;
    let hash = if host.is_precompile(word) {
        rhizome_primitives::KECCAK_EMPTY
    } else {
        match host.state.code_hash(low_address(word), host.rules.r169) {
            Ok(hash) => hash,
            Err(fault) => return Err(host.stop_with(fault)),
        }
    };
    *word = hash.into();
    Ok(())
}

pub(super) fn ext_code_copy(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [address, to, from, len] = pop(machine)?;
    let span = Span::new(&to, &len)?;
    charge_span(machine, &span, gas::COPY_WORD, 0)?;
    match context.host.state.code(low_address(&address)) {
        Ok(code) => {
            let code = code.as_ref().map_or(&[][..], |code| code.bytes());
            machine.memory.write_padded(span.offset, code, data_offset(&from), span.len);
            Ok(())
        }
        Err(fault) => Err(context.host.stop_with(fault)),
    }
}

pub(super) fn return_data_size(context: Context<'_, '_>) -> Outcome {
    let len = context.interpreter.return_data.0.len();
    push(context.interpreter, U256::from(len))
}

pub(super) fn return_data_copy(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [to, from, len] = pop(machine)?;
    let span = Span::new(&to, &len)?;
    charge_span(machine, &span, gas::COPY_WORD, 0)?;
    let from = data_offset(&from);
    let data = from.checked_add(span.len).and_then(|end| machine.return_data.0.get(from..end));
    let Some(data) = data else { return Err(InstructionResult::OutOfOffset) };
    machine.memory.write_padded(span.offset, data, 0, span.len);
    Ok(())
}

pub(super) fn block_hash(context: Context<'_, '_>) -> Outcome {
    let word = top(context.interpreter)?;
    let block = context.host.block;
    let wanted = saturated(word);
    let hash = if wanted < block.number && block.number - wanted <= 256 {
        match context.host.ancestors.ancestor_hash(&block.parent_hash, wanted) {
            Ok(hash) => hash.unwrap_or_default(),
            Err(error) => return Err(context.host.stop_with(error.into())),
        }
    } else {
        B256::ZERO
    };
    *word = hash.into();
    Ok(())
}

pub(super) fn chain_id(context: Context<'_, '_>) -> Outcome {
    push(context.interpreter, U256::from(context.host.block.chain_id))
}

pub(super) fn base_fee(context: Context<'_, '_>) -> Outcome {
    push(context.interpreter, context.host.block.minimum_gas_price)
}

pub(super) fn transaction_index(context: Context<'_, '_>) -> Outcome {
    push(context.interpreter, U256::from(context.host.tx.index))
}

pub(super) fn mload(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let offset = *top(machine)?;
    let needed = needed(&offset, 32);
    let price = memory_price(machine, needed)?;
    charge(machine, price)?;
    let word = U256::from_be_slice(machine.memory.read((needed - 32) as usize, 32));
    *top(machine)? = word;
    Ok(())
}

pub(super) fn mstore(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [offset, word] = pop(machine)?;
    let needed = needed(&offset, 32);
    let price = memory_price(machine, needed)?;
    charge(machine, price)?;
    machine.memory.room((needed - 32) as usize, 32).copy_from_slice(&word.to_be_bytes::<32>());
    Ok(())
}

pub(super) fn mstore8(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [offset, word] = pop(machine)?;
    let needed = needed(&offset, 1);
    let price = memory_price(machine, needed)?;
    charge(machine, price)?;
    machine.memory.room((needed - 1) as usize, 1)[0] = word.byte(0);
    Ok(())
}

pub(super) fn mcopy(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    let [to, from, len] = pop(machine)?;
    let (to, from) = (Span::new(&to, &len)?, Span::new(&from, &len)?);
    let further = if from.needed > to.needed { &from } else { &to };
    charge_span(machine, further, gas::COPY_WORD, 0)?;
    machine.memory.copy_inside(to.offset, from.offset, to.len);
    Ok(())
}

pub(super) fn sload(context: Context<'_, '_>) -> Outcome {
    let account = context.interpreter.input.account;
    let key = top(context.interpreter)?;
    match context.host.state.storage_of(account, *key) {
        Ok(value) => *key = value.to_word().ok_or(InstructionResult::PrecompileError)?,
        Err(fault) => return Err(context.host.stop_with(fault)),
    }
    Ok(())
}

/// Whether this frame may not change the state (RSKIP-91).
pub(super) fn is_protected(context: &Context<'_, '_>) -> bool {
    context.interpreter.runtime_flag.is_static && context.host.rules.r91
}

pub(super) fn sstore(context: Context<'_, '_>) -> Outcome {
    if is_protected(&context) {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let machine = context.interpreter;
    let account = machine.input.account;
    let [key, value] = pop(machine)?;
    let absent = match context.host.state.storage_of(account, key) {
        // A cell too long for a word cannot be read as one.
        Ok(old) => old.to_word().map(|_| old.is_absent()).ok_or(InstructionResult::PrecompileError)?,
        Err(fault) => return Err(context.host.stop_with(fault)),
    };
    let price = if absent && !value.is_zero() {
        gas::SSTORE_SET
    } else {
        if !absent && value.is_zero() {
            machine.extend.refund += gas::SSTORE_CLEAR_REFUND;
        }
        gas::SSTORE_RESET
    };
    charge(machine, price)?;
    context.host.state.set_storage_of(account, key, value).map_err(|fault| context.host.stop_with(fault))
}

pub(super) fn tload(context: Context<'_, '_>) -> Outcome {
    let address = context.interpreter.input.address;
    let key = top(context.interpreter)?;
    *key = context.host.state.transient(address, *key);
    Ok(())
}

pub(super) fn tstore(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    if machine.runtime_flag.is_static {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let [key, value] = pop(machine)?;
    context.host.state.set_transient(machine.input.address, key, value);
    Ok(())
}

pub(super) fn log<const TOPICS: usize>(context: Context<'_, '_>) -> Outcome {
    if is_protected(&context) {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let machine = context.interpreter;
    if machine.stack.len() < TOPICS + 2 {
        return Err(InstructionResult::StackUnderflow);
    }
    let [offset, len] = pop(machine)?;
    let span = Span::new(&offset, &len)?;
    let price = gas::LOG + gas::LOG_TOPIC * TOPICS as u64 + gas::LOG_BYTE * span.len as u64;
    charge_span(machine, &span, 0, price)?;
    let topics = pop::<TOPICS>(machine)?.into_iter().map(B256::from).collect();
    let data = Bytes::copy_from_slice(machine.memory.read(span.offset, span.len));
    context.host.state.log(Log { address: machine.input.address, topics, data });
    Ok(())
}

/// RETURN, and with the other result REVERT.
fn give_back(context: Context<'_, '_>, result: InstructionResult) -> Outcome {
    let machine = context.interpreter;
    let [offset, len] = pop(machine)?;
    let span = Span::new(&offset, &len)?;
    charge_span(machine, &span, 0, 0)?;
    if span.len > 0 {
        machine.extend.pending = Pending::Output(Bytes::copy_from_slice(machine.memory.read(span.offset, span.len)));
    }
    Err(result)
}

pub(super) fn return_(context: Context<'_, '_>) -> Outcome {
    give_back(context, InstructionResult::Return)
}

pub(super) fn revert(context: Context<'_, '_>) -> Outcome {
    give_back(context, InstructionResult::Revert)
}

/// DUPN's and SWAPN's operand; one above 31 bits ends the frame with an exception that has no text.
fn stack_operand(machine: &mut Machine) -> Outcome<usize> {
    let [word] = pop(machine)?;
    if word.bit_len() > 31 {
        machine.extend.silent = true;
        return Err(InstructionResult::InvalidImmediateEncoding);
    }
    Ok(word.as_limbs()[0] as usize)
}

/// DUPN, until RSKIP-191. It skips the byte behind it.
pub(super) fn dup_n(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    if machine.stack.len() < 2 {
        return Err(InstructionResult::StackUnderflow);
    }
    let n = stack_operand(machine)? + 1;
    if !machine.stack.dup(n) {
        return Err(InstructionResult::StackUnderflow);
    }
    machine.bytecode.relative_jump(1);
    Ok(())
}

/// SWAPN, until RSKIP-191. It skips the byte behind it.
pub(super) fn swap_n(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    if machine.stack.len() < 3 {
        return Err(InstructionResult::StackUnderflow);
    }
    let n = stack_operand(machine)? + 1;
    if !machine.stack.exchange(0, n) {
        return Err(InstructionResult::StackUnderflow);
    }
    machine.bytecode.relative_jump(1);
    Ok(())
}

pub(super) fn selfdestruct(context: Context<'_, '_>) -> Outcome {
    if is_protected(&context) {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let (machine, host) = (context.interpreter, context.host);
    let [heir] = pop(machine)?;
    let heir = low_address(&heir);
    let exists = match host.state.exists(heir) {
        Ok(exists) => exists,
        Err(fault) => return Err(host.stop_with(fault)),
    };
    charge(machine, gas::SELFDESTRUCT + if exists { 0 } else { gas::SELFDESTRUCT_NEW_ACCOUNT })?;
    match destroy(host, machine.input.address, heir) {
        Ok(moved) => machine.extend.internal_txs += u32::from(moved),
        Err(fault) => return Err(host.stop_with(fault)),
    }
    Err(InstructionResult::SelfDestruct)
}

/// Moves the balance and notes the contract for deletion (`Program.suicide`). Answers whether there was a balance.
fn destroy(
    host: &mut Host<'_>,
    owner: rhizome_primitives::Address,
    heir: rhizome_primitives::Address,
) -> Result<bool, crate::Fault> {
    let balance = host.state.balance(owner)?;
    let moved = !balance.is_zero();
    if moved {
        host.state.sub_balance(owner, balance)?;
        // What an account leaves to itself is burnt.
        if owner != heir {
            host.state.add_balance(heir, balance)?;
        }
    }
    if !host.destroyed.contains(&owner) {
        host.destroyed.push(owner);
    }
    Ok(moved)
}
