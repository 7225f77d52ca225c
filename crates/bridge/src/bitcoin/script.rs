//! Scripts: cutting into chunks, recognition of output forms, building (bitcoinj's `Script`, `ScriptParser`,
//! `ScriptChunk`, `ScriptBuilder`).
//!
//! bitcoinj parses a script when it is made, so that a script which does not parse fails wherever it is first looked at.
//! Here a [`Script`] is only bytes and [`Script::chunks`] may fail; the functions that need chunks hand the failure on.

use super::address::Address;
use super::hash::{hash160, sha256};
use super::key::BtcKey;
use super::params::BtcNetwork;

/// Opcodes that the Bridge meets.
pub mod op {
    /// Pushes nothing (an empty string).
    pub const OP_0: u8 = 0x00;
    /// The next byte is a length.
    pub const PUSHDATA1: u8 = 0x4c;
    /// The next two bytes are a length.
    pub const PUSHDATA2: u8 = 0x4d;
    /// The next four bytes are a length.
    pub const PUSHDATA4: u8 = 0x4e;
    /// Pushes the number 1; the codes up to [`OP_16`] push the numbers up to 16.
    pub const OP_1: u8 = 0x51;
    /// Pushes the number 16.
    pub const OP_16: u8 = 0x60;
    /// Runs the next part if the top is false.
    pub const NOTIF: u8 = 0x64;
    /// The other part.
    pub const ELSE: u8 = 0x67;
    /// End of a conditional part.
    pub const ENDIF: u8 = 0x68;
    /// Marks an output as unspendable.
    pub const RETURN: u8 = 0x6a;
    /// Drops the top.
    pub const DROP: u8 = 0x75;
    /// Doubles the top.
    pub const DUP: u8 = 0x76;
    /// Compares.
    pub const EQUAL: u8 = 0x87;
    /// Compares and fails if unequal.
    pub const EQUALVERIFY: u8 = 0x88;
    /// RIPEMD-160 of SHA-256.
    pub const HASH160: u8 = 0xa9;
    /// Signatures cover the script from here on.
    pub const CODESEPARATOR: u8 = 0xab;
    /// Checks a signature.
    pub const CHECKSIG: u8 = 0xac;
    /// Checks several signatures.
    pub const CHECKMULTISIG: u8 = 0xae;
    /// Checks several signatures and fails if they do not hold.
    pub const CHECKMULTISIGVERIFY: u8 = 0xaf;
    /// Fails if the input is too young.
    pub const CHECKSEQUENCEVERIFY: u8 = 0xb2;
}

/// How an operation on a script fails in rskj. Some of its code catches the first kind only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// bitcoinj's `ScriptException`.
    #[error("script: {0}")]
    Script(&'static str),
    /// A `VerificationException` that is not a `ScriptException`.
    #[error("verification: {0}")]
    Verification(&'static str),
    /// `IllegalArgumentException` and its subclasses.
    #[error("illegal argument: {0}")]
    IllegalArgument(&'static str),
    /// `IllegalStateException`.
    #[error("illegal state: {0}")]
    IllegalState(&'static str),
    /// Any other exception: null pointer, index, arithmetic.
    #[error("{0}")]
    Runtime(&'static str),
}

impl ScriptError {
    pub(crate) const NO_SUCH_INPUT: Self = Self::Runtime("expected the index of an input, got one beyond the last");
    pub(crate) const NO_REDEEM_SCRIPT: Self = Self::Runtime("expected a redeem script, got none");

    /// Whether a `catch (ScriptException e)` takes it.
    pub const fn is_script_exception(&self) -> bool {
        matches!(self, ScriptError::Script(_))
    }

    /// Whether a `catch (VerificationException e)` takes it.
    pub const fn is_verification_exception(&self) -> bool {
        matches!(self, ScriptError::Script(_) | ScriptError::Verification(_))
    }

    /// Whether a `catch (IllegalStateException e)` takes it.
    pub const fn is_illegal_state(&self) -> bool {
        matches!(self, ScriptError::IllegalState(_))
    }

    /// Whether a `catch (IllegalArgumentException e)` takes it.
    pub const fn is_illegal_argument(&self) -> bool {
        matches!(self, ScriptError::IllegalArgument(_))
    }
}

/// One step of a script: an opcode, or a push with its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The opcode, or the first byte of the push.
    pub opcode: u8,
    /// Pushed data; present for opcodes up to `OP_PUSHDATA4`, also when empty.
    pub data: Option<&'a [u8]>,
    /// Offset of the chunk's first byte in the script.
    pub start: usize,
}

impl Chunk<'_> {
    /// `ScriptChunk.isOpCode`: everything above the push opcodes.
    pub const fn is_op_code(&self) -> bool {
        self.opcode > op::PUSHDATA4
    }

    /// `ScriptChunk.isPushData`: pushes and the small numbers (and two opcodes between them).
    pub const fn is_push_data(&self) -> bool {
        self.opcode <= op::OP_16
    }

    /// `ScriptChunk.isOpCheckMultiSig`.
    pub const fn is_check_multisig(&self) -> bool {
        matches!(self.opcode, op::CHECKMULTISIG | op::CHECKMULTISIGVERIFY)
    }

    /// `ScriptChunk.decodePositiveN`: a number that is not negative, as opcode or as pushed bytes. `Ok(None)` stands for
    /// the exception that callers expect, an empty push is an index out of bounds.
    pub fn positive_number(&self) -> Result<Option<i32>, ScriptError> {
        if (op::OP_1..=op::OP_16).contains(&self.opcode) {
            return Ok(Some(i32::from(self.opcode - op::OP_1) + 1));
        }
        let Some(data) = self.data else { return Ok(None) };
        let Some(last) = data.last() else { return Err(ScriptError::Runtime("expected a number, got no bytes")) };
        if last & 0x80 != 0 || data.len() > 4 {
            return Ok(None);
        }
        Ok(Some(data.iter().rev().fold(0, |value, byte| (value << 8) | i32::from(*byte))))
    }
}

/// Cuts a script into chunks (`ScriptParser.parseScriptProgram`).
pub fn parse_chunks(program: &[u8]) -> Result<Vec<Chunk<'_>>, ScriptError> {
    const END: ScriptError = ScriptError::Script("expected more bytes, got the end");
    let mut chunks = Vec::with_capacity(5);
    let mut pos = 0;
    while let Some(&opcode) = program.get(pos) {
        let start = pos;
        pos += 1;
        let length_bytes = match opcode {
            op::PUSHDATA1 => 1,
            op::PUSHDATA2 => 2,
            op::PUSHDATA4 => 4,
            _ => 0,
        };
        let data = if opcode > op::PUSHDATA4 {
            None
        } else {
            let mut len = usize::from(opcode);
            if length_bytes > 0 {
                let bytes = program.get(pos..pos + length_bytes).ok_or(END)?;
                len = bytes.iter().rev().fold(0, |len, byte| (len << 8) | usize::from(*byte));
                pos += length_bytes;
            }
            if len > program.len() - pos {
                return Err(ScriptError::Script("expected as many bytes as the push says, got fewer"));
            }
            pos += len;
            Some(&program[pos - len..pos])
        };
        chunks.push(Chunk { opcode, data, start });
    }
    Ok(chunks)
}

/// A script's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Script(Vec<u8>);

impl Script {
    /// Takes bytes as they are.
    pub fn new(program: impl Into<Vec<u8>>) -> Self {
        Script(program.into())
    }

    /// Takes bytes that parse, like bitcoinj's constructor.
    pub fn parsed(program: impl Into<Vec<u8>>) -> Result<Self, ScriptError> {
        let script = Script(program.into());
        script.chunks()?;
        Ok(script)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Gives the bytes away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The chunks.
    pub fn chunks(&self) -> Result<Vec<Chunk<'_>>, ScriptError> {
        parse_chunks(&self.0)
    }

    /// `isPayToScriptHash`: by bytes alone.
    pub fn is_p2sh(&self) -> bool {
        is_p2sh(&self.0)
    }

    /// `isSentToAddress` of a script that parses.
    pub fn is_sent_to_address(&self) -> Result<bool, ScriptError> {
        is_sent_to_address(&self.chunks()?)
    }

    /// `isSentToRawPubKey` of a script that parses.
    pub fn is_sent_to_raw_pub_key(&self) -> Result<bool, ScriptError> {
        Ok(is_sent_to_raw_pub_key(&self.chunks()?))
    }

    /// `isOpReturn` of a script that parses: it begins with the opcode.
    pub fn is_op_return(&self) -> Result<bool, ScriptError> {
        Ok(self.chunks()?.first().is_some_and(|chunk| chunk.opcode == op::RETURN))
    }

    /// `isSentToMultiSig`: a redeem script of any kind that bitcoinj-thin knows, asking for at least one signature.
    pub fn is_sent_to_multisig(&self) -> Result<bool, ScriptError> {
        match super::redeem::RedeemScript::parse(&self.0) {
            Ok(redeem) => Ok(redeem.required_signatures() > 0),
            Err(error) if error.is_script_exception() && self.chunks().is_ok() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// `getPubKeyHash`: the hash in an output to an address of either form.
    pub fn pub_key_hash(&self) -> Result<[u8; 20], ScriptError> {
        let chunks = self.chunks()?;
        let data = if is_sent_to_address(&chunks)? {
            chunks[2].data
        } else if self.is_p2sh() {
            chunks[1].data
        } else {
            None
        };
        data.and_then(|data| data.try_into().ok()).ok_or(ScriptError::Script("expected a standard output, got another"))
    }

    /// `getToAddress` without raw keys.
    pub fn to_address(&self, network: BtcNetwork) -> Result<Address, ScriptError> {
        let hash = self.pub_key_hash()?;
        Ok(if self.is_p2sh() && !self.is_sent_to_address()? {
            Address::p2sh(network, hash)
        } else {
            Address::p2pkh(network, hash)
        })
    }

    /// Output that pays to the hash of a key.
    pub fn p2pkh(hash: &[u8; 20]) -> Self {
        let mut out = Vec::with_capacity(25);
        out.extend_from_slice(&[op::DUP, op::HASH160, 20]);
        out.extend_from_slice(hash);
        out.extend_from_slice(&[op::EQUALVERIFY, op::CHECKSIG]);
        Script(out)
    }

    /// Output that pays to a script by its hash160.
    pub fn p2sh(hash: &[u8; 20]) -> Self {
        let mut out = Vec::with_capacity(23);
        out.extend_from_slice(&[op::HASH160, 20]);
        out.extend_from_slice(hash);
        out.push(op::EQUAL);
        Script(out)
    }

    /// `createP2SHOutputScript(redeemScript)`.
    pub fn p2sh_of(redeem: &Script) -> Self {
        Self::p2sh(&hash160(&redeem.0))
    }

    /// The witness program of a script: `OP_0`, its SHA-256.
    pub fn witness_program(redeem: &Script) -> Self {
        let mut out = Vec::with_capacity(34);
        out.extend_from_slice(&[op::OP_0, 32]);
        out.extend_from_slice(&sha256(&redeem.0));
        Script(out)
    }

    /// `createP2SHP2WSHOutputScript(redeemScript)`.
    pub fn p2sh_p2wsh_of(redeem: &Script) -> Self {
        Self::p2sh_of(&Self::witness_program(redeem))
    }

    /// `createRedeemScript`: M of the keys, sorted by their encodings. Keys are compressed or not, as given.
    pub fn multisig<'k>(threshold: usize, keys: impl IntoIterator<Item = &'k BtcKey>) -> Result<Self, ScriptError> {
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_by(|a, b| a.bytes().cmp(b.bytes()));
        if threshold == 0 || threshold > keys.len() || keys.len() > 20 {
            return Err(ScriptError::IllegalArgument(
                "expected up to 20 keys and at most as many signatures, got another number",
            ));
        }
        let mut builder = ScriptBuilder::new().number(threshold as i64);
        for key in &keys {
            builder = builder.data(key.bytes())?;
        }
        Ok(builder.number(keys.len() as i64).op(op::CHECKMULTISIG).build())
    }
}

/// `Script.isPayToScriptHash` on bytes.
pub fn is_p2sh(program: &[u8]) -> bool {
    program.len() == 23 && program[0] == op::HASH160 && program[1] == 20 && program[22] == op::EQUAL
}

/// `Script.isSentToAddress`; an opcode in the place of the hash is a null pointer.
pub fn is_sent_to_address(chunks: &[Chunk<'_>]) -> Result<bool, ScriptError> {
    if chunks.len() != 5 || chunks[0].opcode != op::DUP || chunks[1].opcode != op::HASH160 {
        return Ok(false);
    }
    let hash = chunks[2].data.ok_or(ScriptError::Runtime("expected a hash, got an opcode"))?;
    Ok(hash.len() == 20 && chunks[3].opcode == op::EQUALVERIFY && chunks[4].opcode == op::CHECKSIG)
}

/// `Script.isSentToRawPubKey`.
pub fn is_sent_to_raw_pub_key(chunks: &[Chunk<'_>]) -> bool {
    chunks.len() == 2 && chunks[1].opcode == op::CHECKSIG && chunks[0].data.is_some_and(|data| data.len() > 1)
}

/// Puts scripts together (`ScriptBuilder`).
#[derive(Debug, Clone, Default)]
pub struct ScriptBuilder(Vec<u8>);

impl ScriptBuilder {
    /// An empty script.
    pub fn new() -> Self {
        ScriptBuilder(Vec::new())
    }

    /// An opcode.
    #[must_use]
    pub fn op(mut self, opcode: u8) -> Self {
        self.0.push(opcode);
        self
    }

    /// Pushes data in the shortest form, except that single bytes stay pushes. bitcoinj cannot write a single byte of 1 to
    /// 16, nor more than 65,535 bytes.
    pub fn data(mut self, data: &[u8]) -> Result<Self, ScriptError> {
        match data.len() {
            1 if (1..=16).contains(&data[0]) => {
                return Err(ScriptError::IllegalState("expected other data than a byte of 1 to 16, got that"));
            }
            len @ 0..=0x4b => self.0.push(len as u8),
            len @ 0x4c..=0xff => self.0.extend_from_slice(&[op::PUSHDATA1, len as u8]),
            len @ 0x100..=0xffff => {
                self.0.push(op::PUSHDATA2);
                self.0.extend_from_slice(&(len as u16).to_le_bytes());
            }
            _ => return Err(ScriptError::Runtime("expected at most 65,535 bytes to push, got more")),
        }
        self.0.extend_from_slice(data);
        Ok(self)
    }

    /// A number: an opcode from 0 to 15, else little endian bytes with a sign bit. 16 is bytes as well, as in bitcoinj.
    #[must_use]
    pub fn number(mut self, number: i64) -> Self {
        if (0..16).contains(&number) {
            self.0.push(if number == 0 { op::OP_0 } else { op::OP_1 + number as u8 - 1 });
            return self;
        }
        let mut bytes = Vec::with_capacity(9);
        let mut rest = number.unsigned_abs();
        while rest != 0 {
            bytes.push(rest as u8);
            rest >>= 8;
        }
        match bytes.last_mut() {
            Some(last) if *last & 0x80 != 0 => bytes.push(if number < 0 { 0x80 } else { 0 }),
            Some(last) if number < 0 => *last |= 0x80,
            _ => {}
        }
        self.0.push(bytes.len() as u8);
        self.0.extend_from_slice(&bytes);
        self
    }

    /// Appends whole chunks.
    #[must_use]
    pub fn chunks(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The script.
    pub fn build(self) -> Script {
        Script(self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn chunks_of_all_push_forms() {
        let program = [0x00, 0x02, 1, 2, 0x4c, 1, 9, 0x4d, 1, 0, 8, 0x4e, 1, 0, 0, 0, 7, 0x51, 0xac];
        let chunks = parse_chunks(&program).unwrap();
        let data: Vec<_> = chunks.iter().map(|c| c.data).collect();
        assert_eq!(
            data,
            [Some(&[][..]), Some(&[1, 2]), Some(&[9]), Some(&[8]), Some(&[7]), None, None].map(|d: Option<&[u8]>| d)
        );
        assert_eq!(chunks[4].start, 11);
        for cut in [[0x05u8, 1].as_slice(), &[0x4c], &[0x4d, 1], &[0x4e, 0xff, 0xff, 0xff, 0xff]] {
            assert!(parse_chunks(cut).is_err());
        }
    }

    #[test]
    fn an_opcode_for_a_hash_is_a_null_pointer() {
        let script = Script::new([op::DUP, op::HASH160, op::OP_1, op::EQUALVERIFY, op::CHECKSIG]);
        assert!(matches!(script.is_sent_to_address(), Err(ScriptError::Runtime(_))));
        let hash = [7; 20];
        assert!(Script::p2pkh(&hash).is_sent_to_address().unwrap());
        assert_eq!(Script::p2sh(&hash).pub_key_hash().unwrap(), hash);
        assert!(Script::p2sh(&hash).to_address(BtcNetwork::Mainnet).unwrap().is_p2sh());
    }

    #[test]
    fn numbers() {
        let bytes = |n| ScriptBuilder::new().number(n).build().into_bytes();
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(15), [0x5f]);
        assert_eq!(bytes(16), [1, 16]);
        assert_eq!(bytes(128), [2, 0x80, 0]);
        assert_eq!(bytes(-5), [1, 0x85]);
        assert_eq!(bytes(500), [2, 0xf4, 1]);
    }
}
