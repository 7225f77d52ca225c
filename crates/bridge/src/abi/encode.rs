//! Writing results and event data (`SolidityType.*.encode`, `CallTransaction.Function.encodeArguments`).

use rhizome_primitives::{Address, B256, U256};

use super::{Type, Word};

/// A result or an event's argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A number of any type
    Int(Word),
    /// `bytes`
    Bytes(Vec<u8>),
    /// `string`
    String(String),
    /// `bool`
    Bool(bool),
    /// `address`
    Address(Address),
    /// `bytes32`
    Bytes32(B256),
    /// `string[]`
    Strings(Vec<String>),
}

impl Output {
    /// A number that fits 64 bits.
    pub fn int(value: impl Into<i64>) -> Self {
        Output::Int(Word::from(value.into()))
    }

    /// A number that is not negative.
    pub fn uint(value: U256) -> Self {
        Output::Int(Word(value))
    }

    fn is_dynamic(&self) -> bool {
        matches!(self, Output::Bytes(_) | Output::String(_) | Output::Strings(_))
    }

    fn fits(&self, kind: Type) -> bool {
        matches!(
            (self, kind),
            (Output::Int(_), Type::Int(_))
                | (Output::Bytes(_), Type::Bytes)
                | (Output::String(_), Type::String)
                | (Output::Bool(_), Type::Bool)
                | (Output::Address(_), Type::Address)
                | (Output::Strings(_), Type::StringArray)
                | (Output::Bytes32(_), Type::Bytes32)
        )
    }
}

/// Encodes a method's single result.
pub fn encode_output(kind: Type, output: &Output) -> Vec<u8> {
    debug_assert!(output.fits(kind), "result {output:?} of a method that returns {}", kind.canonical_name());
    encode_event_data(std::slice::from_ref(output))
}

/// Encodes the data part of an event, or any list of arguments: heads, then the dynamic parts.
pub fn encode_event_data(arguments: &[Output]) -> Vec<u8> {
    let mut heads = Vec::with_capacity(arguments.len() * 32);
    let mut tails = Vec::new();
    let heads_length = arguments.len() * 32;
    for argument in arguments {
        if argument.is_dynamic() {
            put_length(&mut heads, heads_length + tails.len());
            put(&mut tails, argument);
        } else {
            put(&mut heads, argument);
        }
    }
    heads.append(&mut tails);
    heads
}

fn put(out: &mut Vec<u8>, argument: &Output) {
    match argument {
        Output::Int(word) => out.extend_from_slice(&word.0.to_be_bytes::<32>()),
        Output::Bool(value) => put_length(out, usize::from(*value)),
        Output::Address(address) => out.extend_from_slice(address.into_word().as_slice()),
        Output::Bytes32(word) => out.extend_from_slice(word.as_slice()),
        Output::Bytes(bytes) => put_bytes(out, bytes),
        Output::String(text) => put_bytes(out, text.as_bytes()),
        Output::Strings(texts) => {
            put_length(out, texts.len());
            let mut tails = Vec::new();
            for text in texts {
                put_length(out, texts.len() * 32 + tails.len());
                put_bytes(&mut tails, text.as_bytes());
            }
            out.append(&mut tails);
        }
    }
}

/// Length word and padded content. An empty string still takes one word of padding.
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    let padded = bytes.len().div_ceil(32).max(1) * 32;
    let start = out.len();
    out.extend_from_slice(bytes);
    out.resize(start + padded, 0);
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&U256::from(length).to_be_bytes::<32>());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bytes_take_three_words() {
        let encoded = encode_output(Type::Bytes, &Output::Bytes(Vec::new()));
        assert_eq!(encoded.len(), 96);
        assert_eq!(encoded[31], 32);
        assert!(encoded[32..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn negative_numbers_are_filled_with_ones() {
        let encoded = encode_output(Type::Int("int256"), &Output::int(-2));
        assert_eq!(encoded[31], 0xfe);
        assert!(encoded[..31].iter().all(|byte| *byte == 0xff));
    }
}
