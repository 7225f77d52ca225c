//! Whether an input spends an output to a script's hash (bitcoinj's `Script.correctlySpends` with all flags).
//!
//! The script behind the hash is looked at only if the hash fits, and then it is one of a federation's redeem scripts. So the
//! interpreter knows what those consist of, and refuses to guess about anything else.

use crate::bitcoin::hash::{hash160, sha256d};
use crate::bitcoin::script::{Chunk, op, parse_chunks};
use crate::bitcoin::sighash::legacy_sighash;
use crate::bitcoin::{BtcKey, BtcTransaction, EcdsaSignature, Script, ScriptError, TxOutput};
use crate::failure::{Failure, Result};
use crate::host::HostFault;

const OP_1NEGATE: u8 = 0x4f;
const OP_IF: u8 = 0x63;
const MAX_ELEMENT: usize = 520;
const MAX_PROGRAM: usize = 10_000;
const MAX_OPERATIONS: usize = 201;
const MAX_STACK: usize = 1_000;

/// How a script ends before its end.
enum Stop {
    /// bitcoinj's `ScriptException`: the input does not spend the output.
    Invalid,
    /// The script uses what no federation's script uses.
    NotKnown(u8),
}

impl From<ScriptError> for Stop {
    fn from(_: ScriptError) -> Self {
        Stop::Invalid
    }
}

type Stack = Vec<Vec<u8>>;

/// Whether input `index` spends `output`, a script of the form P2SH.
pub(crate) fn correctly_spends(tx: &BtcTransaction, index: usize, output: &Script) -> Result<bool> {
    let program = &tx.inputs[index].script;
    let Ok(chunks) = parse_chunks(program) else { return Ok(false) };
    if chunks.iter().any(|chunk| chunk.is_op_code() && chunk.opcode > op::OP_16) || program.len() > MAX_PROGRAM {
        return Ok(false);
    }
    let Ok(mut stack) = pushed(&chunks) else { return Ok(false) };
    let Some(redeem) = stack.pop() else { return Ok(false) };
    if Script::p2sh(&hash160(&redeem)) != *output {
        return Ok(false);
    }
    match execute(tx, index, &redeem, &mut stack) {
        Ok(()) => Ok(stack.last().is_some_and(|top| is_true(top))),
        Err(Stop::Invalid) => Ok(false),
        Err(Stop::NotKnown(opcode)) => {
            Err(Failure::Host(HostFault(format!("federation's script with opcode {opcode:#04x}").into())))
        }
    }
}

/// The stack that an input script of pushes leaves. The output's script needs one place more on it.
fn pushed(chunks: &[Chunk<'_>]) -> Result<Stack, Stop> {
    let mut stack = Stack::new();
    for chunk in chunks {
        stack.push(push_of(chunk)?.ok_or(Stop::Invalid)?);
        if stack.len() >= MAX_STACK {
            return Err(Stop::Invalid);
        }
    }
    Ok(stack)
}

/// What a chunk pushes; `None` for an opcode that does something else.
fn push_of(chunk: &Chunk<'_>) -> Result<Option<Vec<u8>>, Stop> {
    if let Some(data) = chunk.data {
        return if data.len() > MAX_ELEMENT { Err(Stop::Invalid) } else { Ok(Some(data.to_vec())) };
    }
    Ok(match chunk.opcode {
        OP_1NEGATE => Some(vec![0x81]),
        op::OP_1..=op::OP_16 => Some(vec![chunk.opcode - op::OP_1 + 1]),
        _ => None,
    })
}

fn is_true(data: &[u8]) -> bool {
    match data.iter().position(|byte| *byte != 0) {
        None => false,
        Some(at) => !(at == data.len() - 1 && data[at] == 0x80),
    }
}

fn execute(tx: &BtcTransaction, index: usize, program: &[u8], stack: &mut Stack) -> Result<(), Stop> {
    let mut operations = 0;
    let mut branches: Vec<bool> = Vec::new();
    for chunk in parse_chunks(program)? {
        let active = branches.iter().all(|branch| *branch);
        if !chunk.is_op_code() {
            let data = push_of(&chunk)?;
            stack.extend(data.filter(|_| active));
        } else {
            if chunk.opcode > op::OP_16 {
                operations += 1;
                if operations > MAX_OPERATIONS {
                    return Err(Stop::Invalid);
                }
            }
            match chunk.opcode {
                OP_IF | op::NOTIF if !active => branches.push(false),
                OP_IF => branches.push(is_true(&stack.pop().ok_or(Stop::Invalid)?)),
                op::NOTIF => branches.push(!is_true(&stack.pop().ok_or(Stop::Invalid)?)),
                op::ELSE => {
                    let branch = branches.last_mut().ok_or(Stop::Invalid)?;
                    *branch = !*branch;
                }
                op::ENDIF => {
                    branches.pop().ok_or(Stop::Invalid)?;
                }
                _ if !active => {}
                op::DROP => {
                    stack.pop().ok_or(Stop::Invalid)?;
                }
                op::CHECKSEQUENCEVERIFY => check_sequence(tx, index, stack.last().ok_or(Stop::Invalid)?)?,
                op::CHECKMULTISIG => {
                    let valid = check_multisig(tx, index, program, stack, &mut operations)?;
                    stack.push(if valid { vec![1] } else { Vec::new() });
                }
                other => stack.push(push_of(&chunk)?.ok_or(Stop::NotKnown(other))?),
            }
        }
        if stack.len() > MAX_STACK {
            return Err(Stop::Invalid);
        }
    }
    if branches.is_empty() { Ok(()) } else { Err(Stop::Invalid) }
}

/// A number of up to `max` bytes, little endian with the sign in the last bit.
fn number(data: &[u8], max: usize) -> Result<i64, Stop> {
    if data.len() > max {
        return Err(Stop::Invalid);
    }
    let Some((last, rest)) = data.split_last() else { return Ok(0) };
    let magnitude = rest.iter().rev().fold(i64::from(last & 0x7f), |value, byte| (value << 8) | i64::from(*byte));
    Ok(if last & 0x80 != 0 { -magnitude } else { magnitude })
}

/// Relative lock time (BIP-112).
fn check_sequence(tx: &BtcTransaction, index: usize, top: &[u8]) -> Result<(), Stop> {
    const DISABLED: i64 = 1 << 31;
    const BY_TIME: i64 = 1 << 22;
    const MASK: i64 = BY_TIME | 0xffff;
    let wanted = number(top, 5)?;
    if wanted < 0 {
        return Err(Stop::Invalid);
    }
    if wanted & DISABLED != 0 {
        return Ok(());
    }
    let sequence = i64::from(tx.inputs[index].sequence);
    // bitcoinj takes the version for a signed number.
    if (tx.version as i32) < 2 || sequence & DISABLED != 0 {
        return Err(Stop::Invalid);
    }
    let (wanted, sequence) = (wanted & MASK, sequence & MASK);
    if (wanted < BY_TIME) != (sequence < BY_TIME) || wanted > sequence {
        return Err(Stop::Invalid);
    }
    Ok(())
}

fn check_multisig(
    tx: &BtcTransaction,
    index: usize,
    program: &[u8],
    stack: &mut Stack,
    operations: &mut usize,
) -> Result<bool, Stop> {
    if stack.len() < 2 {
        return Err(Stop::Invalid);
    }
    let keys = popped_group(stack, 20)?;
    *operations += keys.len();
    if *operations > MAX_OPERATIONS || stack.is_empty() {
        return Err(Stop::Invalid);
    }
    let signatures = popped_group(stack, keys.len())?;
    // An element more than needed is taken, as Bitcoin does, and must be empty.
    let dummy = stack.pop().ok_or(Stop::Invalid)?;
    let mut script = program.to_vec();
    for signature in &signatures {
        script = without_push(&script, signature)?;
    }
    let mut keys = keys.into_iter();
    let mut signatures = signatures.as_slice();
    let mut valid = true;
    while let Some((signature, rest)) = signatures.split_first() {
        let key = keys.next().ok_or(Stop::Invalid)?;
        if is_signed(tx, index, &script, signature, &key) {
            signatures = rest;
        }
        if signatures.len() > keys.len() {
            valid = false;
            break;
        }
    }
    if dummy.is_empty() { Ok(valid) } else { Err(Stop::Invalid) }
}

/// A count and so many elements, the last pushed first.
fn popped_group(stack: &mut Stack, max: usize) -> Result<Vec<Vec<u8>>, Stop> {
    let count = number(&stack.pop().ok_or(Stop::Invalid)?, 4)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= max).ok_or(Stop::Invalid)?;
    if stack.len() < count + 1 {
        return Err(Stop::Invalid);
    }
    Ok((0..count).filter_map(|_| stack.pop()).collect())
}

fn is_signed(tx: &BtcTransaction, index: usize, script: &[u8], signature: &[u8], key: &[u8]) -> bool {
    if !EcdsaSignature::is_canonical_encoding(signature) {
        return false;
    }
    let Some(kind) = signature.last() else { return false };
    let (Ok(decoded), Ok(key)) = (EcdsaSignature::decode_der(signature), BtcKey::decode(key)) else { return false };
    let Ok(digest) = digest(tx, index, script, *kind) else { return false };
    key.verify(&digest, &decoded)
}

/// The digest for a type of signature.
fn digest(tx: &BtcTransaction, index: usize, script: &[u8], kind: u8) -> Result<[u8; 32], ScriptError> {
    const NONE: u8 = 2;
    const SINGLE: u8 = 3;
    const ANYONE_CAN_PAY: u8 = 0x80;
    if kind & 0x1f != NONE && kind & 0x1f != SINGLE && kind & ANYONE_CAN_PAY == 0 {
        return legacy_sighash(tx, index, script);
    }
    let mut copy = tx.clone();
    copy.inputs.iter_mut().for_each(|input| input.script.clear());
    copy.inputs[index].script = script.to_vec();
    if kind & 0x1f == NONE {
        copy.outputs.clear();
    } else if kind & 0x1f == SINGLE {
        if index >= copy.outputs.len() {
            let mut one = [0; 32];
            one[0] = 1;
            return Ok(one);
        }
        copy.outputs.truncate(index + 1);
        copy.outputs[..index].fill(TxOutput { value: -1, script: Vec::new() });
    }
    if matches!(kind & 0x1f, NONE | SINGLE) {
        for (other, input) in copy.inputs.iter_mut().enumerate() {
            if other != index {
                input.sequence = 0;
            }
        }
    }
    if kind & ANYONE_CAN_PAY != 0 {
        copy.inputs = vec![copy.inputs.swap_remove(index)];
    }
    let mut data = copy.encode();
    data.extend_from_slice(&u32::from(kind).to_le_bytes());
    Ok(sha256d(&data))
}

/// A script without the pushes of this element in its shortest form.
fn without_push(script: &[u8], element: &[u8]) -> Result<Vec<u8>, Stop> {
    let mut needle = Vec::with_capacity(element.len() + 3);
    match element.len() {
        length @ 0..=75 => needle.push(length as u8),
        length @ 76..=255 => needle.extend_from_slice(&[op::PUSHDATA1, length as u8]),
        length => {
            needle.push(op::PUSHDATA2);
            needle.extend_from_slice(&(length as u16).to_le_bytes());
        }
    }
    needle.extend_from_slice(element);
    let chunks = parse_chunks(script)?;
    let ends = chunks.iter().skip(1).map(|chunk| chunk.start).chain([script.len()]);
    let mut out = Vec::with_capacity(script.len());
    for (chunk, end) in chunks.iter().zip(ends) {
        if !script[chunk.start..].starts_with(&needle) {
            out.extend_from_slice(&script[chunk.start..end]);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::bitcoin::BtcHash;

    fn tx(version: u32, sequences: &[u32]) -> BtcTransaction {
        let mut tx = BtcTransaction::new(version);
        for (index, sequence) in sequences.iter().enumerate() {
            tx.add_input(BtcHash::from_display([index as u8 + 1; 32]), index as u32, vec![op::OP_1], None);
            tx.inputs[index].sequence = *sequence;
        }
        tx.outputs = [1_000, 2_000].map(|value| TxOutput { value, script: vec![op::OP_1; 3] }).to_vec();
        tx
    }

    #[test]
    fn digests_of_all_types_are_bitcoins() {
        let tx = tx(2, &[1, 2, 3]);
        let script = [op::OP_1, op::OP_16];
        let other: bitcoin::Transaction = bitcoin::consensus::deserialize(&tx.encode()).unwrap();
        let cache = bitcoin::sighash::SighashCache::new(&other);
        for kind in [0x01u8, 0x02, 0x03, 0x81, 0x82, 0x83] {
            for index in 0..3 {
                let expected =
                    cache.legacy_signature_hash(index, bitcoin::Script::from_bytes(&script), u32::from(kind)).unwrap();
                let got = digest(&tx, index, &script, kind).unwrap();
                assert_eq!(got, *AsRef::<[u8; 32]>::as_ref(&expected), "type {kind:#x}, input {index}");
            }
        }
    }

    /// `<wanted> CHECKSEQUENCEVERIFY` with the number in its shortest form.
    fn passes(tx: &BtcTransaction, wanted: &[u8]) -> bool {
        let program = [&[wanted.len() as u8], wanted, &[op::CHECKSEQUENCEVERIFY]].concat();
        execute(tx, 0, &program, &mut Stack::new()).is_ok()
    }

    #[test]
    fn relative_lock_time() {
        let old_enough = tx(2, &[500]);
        assert!(passes(&old_enough, &[0xf4, 0x01]));
        assert!(!passes(&old_enough, &[0xf5, 0x01]));
        assert!(!passes(&old_enough, &[0x85]), "below zero");
        assert!(passes(&old_enough, &[0xff, 0xff, 0xff, 0xff, 0x00]), "not asked for");
        assert!(!passes(&old_enough, &[1, 0, 0x40]), "time instead of blocks");
        assert!(!passes(&old_enough, &[1, 0, 0, 0, 0, 0]), "six bytes");
        assert!(!passes(&tx(1, &[500]), &[1]), "version");
        assert!(!passes(&tx(u32::MAX, &[500]), &[1]), "version below zero");
        assert!(!passes(&tx(2, &[u32::MAX]), &[1]), "final input");
        assert!(passes(&tx(2, &[0x0040_0002]), &[1, 0, 0x40]));
    }

    #[test]
    fn branches_and_limits() {
        let tx = tx(2, &[0]);
        let run = |program: &[u8], mut stack: Stack| match execute(&tx, 0, program, &mut stack) {
            Ok(()) => Some(stack),
            Err(_) => None,
        };
        let choice = [op::NOTIF, op::OP_1, op::ELSE, op::OP_16, op::ENDIF];
        assert_eq!(run(&choice, vec![vec![]]), Some(vec![vec![1]]));
        assert_eq!(run(&choice, vec![vec![1]]), Some(vec![vec![16]]));
        assert_eq!(run(&choice, vec![vec![0, 0x80]]), Some(vec![vec![1]]), "a negative zero is false");
        assert_eq!(run(&choice[..4], vec![vec![]]), None, "no end");
        assert_eq!(run(&choice, vec![]), None);
        assert_eq!(run(&[op::ELSE], vec![]), None);
        assert_eq!(run(&[op::DROP], vec![]), None);
        // 1,000 elements fit; the input's own must leave one place.
        assert!(run(&[op::OP_1], vec![vec![]; 999]).is_some());
        assert!(run(&[op::OP_1], vec![vec![]; 1_000]).is_none());
        assert!(pushed(&parse_chunks(&[0; 999]).unwrap()).is_ok());
        assert!(pushed(&parse_chunks(&[0; 1_000]).unwrap()).is_err());
        // 201 operations, keys of a multisig counted.
        assert!(run(&[op::DROP; 201], vec![vec![]; 300]).is_some());
        assert!(run(&[op::DROP; 202], vec![vec![]; 300]).is_none());
    }
}
