//! Bitcoin transactions (bitcoinj's `BtcTransaction`, `TransactionInput`, `TransactionOutput`, `TransactionWitness`).
//!
//! Reading is as loose as bitcoinj's: integers in longer forms than needed, lengths cut to 32 bits, bytes behind the
//! transaction, and a first count of zero that is the marker of the segregated form. Writing is always the shortest form,
//! with witnesses only if one of them is not empty.

use super::Satoshi;
use super::encode::{DecodeError, Reader, put_var_bytes, put_var_int, var_int_len};
use super::hash::BtcHash;
use super::script::{Script, ScriptError, op, parse_chunks};

/// Sequence number of an input that asks for nothing.
pub const NO_SEQUENCE: u32 = u32::MAX;
/// Largest possible amount (`NetworkParameters.MAX_MONEY`).
pub const MAX_MONEY: Satoshi = 21_000_000 * 100_000_000;
/// Largest block and transaction that `verify` takes.
const MAX_BLOCK_SIZE: usize = 1_000_000;
/// Fee per kilobyte below which a release pays as if it were this (`REFERENCE_DEFAULT_MIN_TX_FEE`).
pub const REFERENCE_FEE: Satoshi = 5_000;

/// An input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxInput {
    /// Transaction that it spends from.
    pub prev_hash: BtcHash,
    /// Output of that transaction.
    pub prev_index: u32,
    /// Input script.
    pub script: Vec<u8>,
    /// Sequence number.
    pub sequence: u32,
    /// Amount of the spent output; known only to who built the transaction, and no part of its bytes.
    pub value: Option<Satoshi>,
}

impl TxInput {
    /// Whether it creates new coins.
    pub fn is_coinbase(&self) -> bool {
        self.prev_hash == BtcHash::ZERO && self.prev_index == u32::MAX
    }

    fn encoded_len(&self) -> usize {
        40 + var_int_len(self.script.len() as u64) + self.script.len()
    }
}

/// An output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxOutput {
    /// Amount; any 64 bits can be read.
    pub value: Satoshi,
    /// Output script.
    pub script: Vec<u8>,
}

impl TxOutput {
    /// An output to be made. Amounts below −1 or above [`MAX_MONEY`] are refused, which reading takes.
    pub fn new(value: Satoshi, script: Script) -> Result<Self, ScriptError> {
        if !(-1..=MAX_MONEY).contains(&value) {
            return Err(ScriptError::IllegalArgument("amount of an output"));
        }
        Ok(TxOutput { value, script: script.into_bytes() })
    }

    /// The script, not parsed.
    pub fn script(&self) -> Script {
        Script::new(self.script.clone())
    }

    /// Bytes of the output.
    pub fn encoded_len(&self) -> usize {
        8 + var_int_len(self.script.len() as u64) + self.script.len()
    }

    /// Smallest amount that is not dust: three times the reference fee for the output and the input that spends it.
    pub fn min_non_dust(&self) -> Satoshi {
        (3 * REFERENCE_FEE) * (self.encoded_len() as i64 + 148) / 1_000
    }

    /// `isDust`; data outputs never are.
    pub fn is_dust(&self) -> Result<bool, ScriptError> {
        if parse_chunks(&self.script)?.first().is_some_and(|chunk| chunk.opcode == op::RETURN) {
            return Ok(false);
        }
        Ok(self.value < self.min_non_dust())
    }
}

/// The witness of an input: a list of byte strings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Witness(pub Vec<Vec<u8>>);

impl Witness {
    /// A witness of nothing.
    pub const EMPTY: &'static Witness = &Witness(Vec::new());

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `verify` found a rule broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("transaction is not sane: {0}")]
pub struct VerificationError(pub &'static str);

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BtcTransaction {
    /// Version.
    pub version: u32,
    /// Inputs.
    pub inputs: Vec<TxInput>,
    /// Outputs.
    pub outputs: Vec<TxOutput>,
    /// Witnesses of the first inputs; inputs beyond the list have none.
    pub witnesses: Vec<Witness>,
    /// First block or time that may hold it.
    pub lock_time: u32,
}

impl BtcTransaction {
    /// A transaction of nothing.
    pub fn new(version: u32) -> Self {
        BtcTransaction { version, inputs: Vec::new(), outputs: Vec::new(), witnesses: Vec::new(), lock_time: 0 }
    }

    /// Reads a transaction; what follows it is ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::decode_prefix(bytes).map(|(tx, _)| tx)
    }

    /// Reads a transaction and tells how many bytes it took.
    pub fn decode_prefix(bytes: &[u8]) -> Result<(Self, usize), DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut tx = BtcTransaction::new(reader.u32()?);
        tx.inputs = read_inputs(&mut reader)?;
        let mut flags = 0;
        if tx.inputs.is_empty() {
            flags = reader.u8()?;
            if flags != 0 {
                tx.inputs = read_inputs(&mut reader)?;
                tx.outputs = read_outputs(&mut reader)?;
            }
        } else {
            tx.outputs = read_outputs(&mut reader)?;
        }
        if flags & 1 != 0 {
            flags ^= 1;
            for _ in 0..tx.inputs.len() {
                let count = reader.count()?;
                let mut pushes = Vec::new();
                for _ in 0..count {
                    pushes.push(reader.var_bytes()?.to_vec());
                }
                tx.witnesses.push(Witness(pushes));
            }
        }
        if flags != 0 {
            return Err(DecodeError("expected no optional data but witnesses, got other flags"));
        }
        tx.lock_time = reader.u32()?;
        Ok((tx, reader.position()))
    }

    /// `parseNoInputs`: the base form, where a count of zero inputs means just that.
    pub fn decode_no_inputs(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let mut tx = BtcTransaction::new(reader.u32()?);
        tx.inputs = read_inputs(&mut reader)?;
        tx.outputs = read_outputs(&mut reader)?;
        tx.lock_time = reader.u32()?;
        Ok(tx)
    }

    /// `bitcoinSerialize`: with witnesses if there are any.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(self.has_witness())
    }

    /// Without witnesses.
    pub fn encode_base(&self) -> Vec<u8> {
        self.encode_with(false)
    }

    fn encode_with(&self, witness: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_base_len() + if witness { 256 } else { 0 });
        out.extend_from_slice(&self.version.to_le_bytes());
        if witness {
            out.extend_from_slice(&[0, 1]);
        }
        put_var_int(&mut out, self.inputs.len() as u64);
        for input in &self.inputs {
            out.extend_from_slice(&input.prev_hash.wire_bytes());
            out.extend_from_slice(&input.prev_index.to_le_bytes());
            put_var_bytes(&mut out, &input.script);
            out.extend_from_slice(&input.sequence.to_le_bytes());
        }
        put_var_int(&mut out, self.outputs.len() as u64);
        for output in &self.outputs {
            out.extend_from_slice(&output.value.to_le_bytes());
            put_var_bytes(&mut out, &output.script);
        }
        if witness {
            for index in 0..self.inputs.len() {
                let pushes = &self.witness(index).0;
                put_var_int(&mut out, pushes.len() as u64);
                for push in pushes {
                    put_var_bytes(&mut out, push);
                }
            }
        }
        out.extend_from_slice(&self.lock_time.to_le_bytes());
        out
    }

    /// Length of [`Self::encode_base`].
    pub fn encoded_base_len(&self) -> usize {
        8 + var_int_len(self.inputs.len() as u64)
            + self.inputs.iter().map(TxInput::encoded_len).sum::<usize>()
            + var_int_len(self.outputs.len() as u64)
            + self.outputs.iter().map(TxOutput::encoded_len).sum::<usize>()
    }

    /// `getHash`: the id, which leaves witnesses out.
    pub fn txid(&self) -> BtcHash {
        BtcHash::of_wire_data(&self.encode_base())
    }

    /// `getHash(true)`: over the form with witnesses. Not zero for a coinbase.
    pub fn wtxid(&self) -> BtcHash {
        BtcHash::of_wire_data(&self.encode())
    }

    /// Witness of an input.
    pub fn witness(&self, index: usize) -> &Witness {
        self.witnesses.get(index).unwrap_or(Witness::EMPTY)
    }

    /// Sets the witness of an input.
    pub fn set_witness(&mut self, index: usize, witness: Witness) {
        if self.witnesses.len() <= index {
            self.witnesses.resize_with(index + 1, Witness::default);
        }
        self.witnesses[index] = witness;
    }

    /// Whether any input has a witness.
    pub fn has_witness(&self) -> bool {
        self.witnesses.iter().take(self.inputs.len()).any(|witness| !witness.is_empty())
    }

    /// Whether this input has a witness (`BitcoinUtils.inputHasWitness`).
    pub fn input_has_witness(&self, index: usize) -> bool {
        !self.witness(index).is_empty()
    }

    /// A copy of its serialised form without witnesses (`BitcoinUtils.getTransactionWithoutWitness`).
    #[must_use]
    pub fn without_witness(&self) -> Self {
        let mut tx = self.clone();
        tx.witnesses = Vec::new();
        for input in &mut tx.inputs {
            input.value = None;
        }
        tx
    }

    /// Whether its only input creates new coins.
    pub fn is_coinbase(&self) -> bool {
        matches!(self.inputs.as_slice(), [input] if input.is_coinbase())
    }

    /// `verify`: at least one input and output, size, no output spent twice, amounts in range, coinbase rules.
    pub fn verify(&self) -> Result<(), VerificationError> {
        let fail = |what| Err(VerificationError(what));
        if self.inputs.is_empty() || self.outputs.is_empty() {
            return fail("expected inputs and outputs, got none of one kind");
        }
        // The size as it was read is not known here; callers pass transactions that they read from shorter input.
        if self.encode().len() > MAX_BLOCK_SIZE {
            return fail("expected at most the size of a block, got more");
        }
        let mut outpoints: Vec<_> = self.inputs.iter().map(|i| (*i.prev_hash.display_bytes(), i.prev_index)).collect();
        outpoints.sort_unstable();
        if outpoints.windows(2).any(|pair| pair[0] == pair[1]) {
            return fail("expected each output to be spent once, got one twice");
        }
        let mut sum: Satoshi = 0;
        for output in &self.outputs {
            if output.value < 0 {
                return fail("expected amounts from zero on, got one below");
            }
            sum = match sum.checked_add(output.value) {
                Some(sum) if sum <= MAX_MONEY => sum,
                _ => return fail("expected at most 21 million bitcoins of amounts, got more"),
            };
        }
        if self.is_coinbase() {
            if !(2..=100).contains(&self.inputs[0].script.len()) {
                return fail("expected 2 to 100 bytes of script in a coinbase, got another length");
            }
        } else if self.inputs.iter().any(TxInput::is_coinbase) {
            return fail("expected inputs that spend outputs, got that of a coinbase");
        }
        Ok(())
    }

    /// Sum of the outputs; `None` on overflow, where bitcoinj throws.
    pub fn output_sum(&self) -> Option<Satoshi> {
        self.outputs.iter().try_fold(0i64, |sum, output| sum.checked_add(output.value))
    }

    /// Adds an input that spends an output with nothing in its script.
    pub fn add_input(&mut self, prev_hash: BtcHash, prev_index: u32, script: Vec<u8>, value: Option<Satoshi>) {
        self.inputs.push(TxInput { prev_hash, prev_index, script, sequence: NO_SEQUENCE, value });
    }

    /// Adds an output of an amount that [`TxOutput::new`] takes.
    pub fn add_output(&mut self, value: Satoshi, script: Script) -> Result<(), ScriptError> {
        self.outputs.push(TxOutput::new(value, script)?);
        Ok(())
    }
}

fn read_inputs(reader: &mut Reader<'_>) -> Result<Vec<TxInput>, DecodeError> {
    let count = reader.count()?;
    let mut inputs = Vec::new();
    for _ in 0..count {
        let prev_hash = BtcHash::from_wire(reader.hash()?);
        let prev_index = reader.u32()?;
        let script = reader.var_bytes()?.to_vec();
        let sequence = reader.u32()?;
        inputs.push(TxInput { prev_hash, prev_index, script, sequence, value: None });
    }
    Ok(inputs)
}

fn read_outputs(reader: &mut Reader<'_>) -> Result<Vec<TxOutput>, DecodeError> {
    let count = reader.count()?;
    let mut outputs = Vec::new();
    for _ in 0..count {
        let value = reader.i64()?;
        let script = reader.var_bytes()?.to_vec();
        outputs.push(TxOutput { value, script });
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> BtcTransaction {
        let mut tx = BtcTransaction::new(2);
        tx.add_input(BtcHash::from_display([1; 32]), 3, vec![5, 6], None);
        tx.add_output(1_000, Script::p2sh(&[9; 20])).unwrap();
        tx
    }

    #[test]
    fn both_forms_round_trip() {
        let mut tx = sample();
        let base = tx.encode();
        assert_eq!(base.len(), tx.encoded_base_len());
        assert_eq!(BtcTransaction::decode_prefix(&base).unwrap(), (tx.clone(), base.len()));
        let id = tx.txid();
        tx.set_witness(0, Witness(vec![vec![], vec![7; 300]]));
        let full = tx.encode();
        assert_eq!(full[4..6], [0, 1]);
        assert_eq!(BtcTransaction::decode(&full).unwrap(), tx);
        assert_eq!(tx.txid(), id);
        assert_ne!(tx.wtxid(), id);
        assert_eq!(tx.without_witness().encode(), base);
    }

    #[test]
    fn empty_inputs_are_the_marker() {
        let empty = [1, 0, 0, 0, 0, 0, 9, 0, 0, 0];
        assert_eq!(BtcTransaction::decode(&empty).unwrap().lock_time, 9);
        // A base form with an output but no input reads as the other form, and fails.
        let mut tx = sample();
        tx.inputs.clear();
        assert!(BtcTransaction::decode(&tx.encode()).is_err());
        assert_eq!(BtcTransaction::decode_no_inputs(&tx.encode()).unwrap(), tx);
        assert!(BtcTransaction::decode(&[1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(tx.verify().is_err());
    }

    #[test]
    fn amounts_of_made_outputs() {
        let mut tx = sample();
        for (value, taken) in
            [(-2, false), (-1, true), (0, true), (MAX_MONEY, true), (MAX_MONEY + 1, false), (i64::MIN, false)]
        {
            let result = tx.add_output(value, Script::default());
            assert_eq!(result.is_ok(), taken);
            assert!(result.is_ok_and(|()| true) || result.is_err_and(|error| error.is_illegal_argument()));
        }
        assert_eq!(tx.outputs.len(), 4);
    }

    #[test]
    fn dust_limits() {
        let output = |script: Script, value| TxOutput { value, script: script.into_bytes() };
        assert!(output(Script::p2pkh(&[0; 20]), 2_729).is_dust().unwrap());
        assert!(!output(Script::p2pkh(&[0; 20]), 2_730).is_dust().unwrap());
        assert!(!output(Script::p2sh(&[0; 20]), 2_700).is_dust().unwrap());
        assert!(!output(Script::new([op::RETURN]), 0).is_dust().unwrap());
    }
}
