//! The instructions that start another frame: they check, charge, and leave a request for the frame loop.

use revm_interpreter::InstructionResult;
use rhizome_primitives::U256;

use super::gas::{self, MAX_GAS};
use super::host::low_address;
use super::instructions::{Context, Outcome, Span, charge, is_protected, memory_price, pop, saturated};
use super::machine::{Area, CallRequest, CallScheme, CreateRequest, Machine, Pending};

pub(super) fn call(context: Context<'_, '_>) -> Outcome {
    request_call(context, CallScheme::Call)
}

pub(super) fn call_code(context: Context<'_, '_>) -> Outcome {
    request_call(context, CallScheme::CallCode)
}

pub(super) fn delegate_call(context: Context<'_, '_>) -> Outcome {
    request_call(context, CallScheme::DelegateCall)
}

pub(super) fn static_call(context: Context<'_, '_>) -> Outcome {
    request_call(context, CallScheme::StaticCall)
}

/// The value word, where the scheme has one. Until RSKIP-103 STATICCALL takes one like CALL (`VM.calculateCallValue`).
fn take_value(context: &mut Context<'_, '_>, scheme: CallScheme) -> Outcome<U256> {
    let takes = match scheme {
        CallScheme::Call | CallScheme::CallCode => true,
        CallScheme::DelegateCall => false,
        CallScheme::StaticCall => !context.host.rules.r103,
    };
    if takes { pop::<1>(context.interpreter).map(|[value]| value) } else { Ok(U256::ZERO) }
}

fn area(offset: &U256, span: &Span) -> Area {
    Area { offset: offset.as_limbs()[0], len: span.len }
}

fn request_call(mut context: Context<'_, '_>, scheme: CallScheme) -> Outcome {
    let words = match scheme {
        CallScheme::Call | CallScheme::CallCode => 7,
        CallScheme::DelegateCall | CallScheme::StaticCall => 6,
    };
    if context.interpreter.stack.len() < words {
        return Err(InstructionResult::StackUnderflow);
    }
    let [asked, target] = pop(context.interpreter)?;
    let value = take_value(&mut context, scheme)?;
    if context.interpreter.runtime_flag.is_static && scheme == CallScheme::Call && !value.is_zero() {
        return Err(InstructionResult::CallNotAllowedInsideStatic);
    }
    let Ok([in_offset, in_len, out_offset, out_len]) = pop(context.interpreter) else {
        // STATICCALL's seventh word is missing: Java's EmptyStackException, which has no text.
        context.interpreter.extend.silent = true;
        return Err(InstructionResult::StackUnderflow);
    };

    let mut price = gas::CALL;
    if scheme == CallScheme::Call {
        match context.host.state.exists(low_address(&target)) {
            Ok(true) => {}
            Ok(false) => price += gas::CALL_NEW_ACCOUNT,
            Err(fault) => return Err(context.host.stop_with(fault)),
        }
    }
    if !value.is_zero() {
        price += gas::CALL_VALUE;
    }
    let machine = context.interpreter;
    let (input, output) = (Span::new(&in_offset, &in_len)?, Span::new(&out_offset, &out_len)?);
    price += memory_price(machine, input.needed.max(output.needed))?;
    charge(machine, price)?;

    let remaining = machine.gas.remaining();
    let gas = callee_gas(remaining, saturated(&asked), !value.is_zero(), context.host.rules.r150)?;
    charge(machine, gas)?;
    let extend = &mut machine.extend;
    extend.peak = extend.peak.max(machine.gas.limit() - machine.gas.remaining());
    extend.moved_all |= gas == remaining;
    extend.value_call |= !value.is_zero();
    machine.memory.extend(output.offset, output.len);
    machine.extend.pending = Pending::Call(CallRequest {
        scheme,
        gas,
        cost: price + gas,
        target: low_address(&target),
        wide: target.bit_len() > 160,
        value,
        input: area(&in_offset, &input),
        output: area(&out_offset, &output),
    });
    Err(InstructionResult::Suspend)
}

/// The callee's gas: what was asked for and the stipend, which the caller pays, at most all that is left (`VM.getMessageCall`).
fn callee_gas(remaining: u64, asked: u64, with_value: bool, saturates: bool) -> Outcome<u64> {
    let stipend = if with_value { gas::CALL_STIPEND } else { 0 };
    if remaining < stipend {
        return Err(InstructionResult::OutOfGas);
    }
    let wanted = asked + stipend;
    if wanted > MAX_GAS && !saturates {
        // Before RSKIP-150 the sum wraps below zero, and a negative amount of gas is an exception.
        return Err(InstructionResult::InvalidOperandOOG);
    }
    Ok(remaining.min(wanted))
}

pub(super) fn create(context: Context<'_, '_>) -> Outcome {
    if is_protected(&context) {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let machine = context.interpreter;
    let [value, offset, len] = pop(machine)?;
    let code = Span::new(&offset, &len)?;
    let price = creation_price(machine, &code, context.host.rules.r438)?;
    request_create(machine, price, CreateRequest { value, code: area(&offset, &code), salt: None, cost: price })
}

pub(super) fn create2(context: Context<'_, '_>) -> Outcome {
    let machine = context.interpreter;
    if machine.runtime_flag.is_static {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let [value, offset, len, salt] = pop(machine)?;
    let code = Span::new(&offset, &len)?;
    let price = creation_price(machine, &code, context.host.rules.r438)? + gas::SHA3_WORD * code.words();
    request_create(machine, price, CreateRequest { value, code: area(&offset, &code), salt: Some(salt), cost: price })
}

fn creation_price(machine: &mut Machine, code: &Span, initcode_metered: bool) -> Outcome<u64> {
    let per_word = if initcode_metered { gas::INITCODE_WORD } else { 0 };
    Ok(gas::CREATE + memory_price(machine, code.needed)? + per_word * code.words())
}

fn request_create(machine: &mut Machine, price: u64, request: CreateRequest) -> Outcome {
    charge(machine, price)?;
    machine.extend.pending = Pending::Create(request);
    Err(InstructionResult::Suspend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_pays_the_stipend() {
        assert_eq!(callee_gas(5_000, 1_000, true, true), Ok(3_300));
        assert_eq!(callee_gas(3_000, 1_000, true, true), Ok(3_000));
        assert_eq!(callee_gas(2_299, 0, true, true), Err(InstructionResult::OutOfGas));
        assert_eq!(callee_gas(5_000, 1_000, false, true), Ok(1_000));
    }

    #[test]
    fn the_sum_wraps_until_it_saturates() {
        assert_eq!(callee_gas(5_000, MAX_GAS, true, true), Ok(5_000));
        assert_eq!(callee_gas(5_000, MAX_GAS, false, false), Ok(5_000));
        assert!(callee_gas(5_000, MAX_GAS, true, false).is_err());
        assert_eq!(callee_gas(5_000, MAX_GAS - 2_300, true, false), Ok(5_000));
    }
}
