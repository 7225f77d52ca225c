//! Decoded arguments as handlers ask for them. The table's types were used to decode, so a handler that asks for another
//! type is a mistake in the table, found by the test that calls each handler.

use rhizome_primitives::{Address, B256};

use crate::abi::{Value, Word};
use crate::bitcoin::BtcHash;

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Arguments<'a>(pub(crate) Vec<Value<'a>>);

macro_rules! argument {
    ($name:ident, $variant:ident, $value:ident => $result:expr, $type:ty) => {
        pub(crate) fn $name(&self, index: usize) -> $type {
            match self.0.get(index) {
                Some(Value::$variant($value)) => $result,
                other => unreachable!("argument {index} is {other:?}, not {}", stringify!($variant)),
            }
        }
    };
}

impl<'a> Arguments<'a> {
    argument!(bytes, Bytes, value => value, &'a [u8]);
    argument!(int, Int, value => *value, Word);
    argument!(flag, Bool, value => *value, bool);
    argument!(address, Address, value => *value, Address);
    argument!(word, Bytes32, value => *value, B256);
    argument!(text, String, value => value, &str);
    argument!(byte_strings, BytesArray, value => value, &[&'a [u8]]);
    argument!(words, Bytes32Array, value => value, &[B256]);

    /// A Bitcoin hash in display order.
    pub(crate) fn btc_hash(&self, index: usize) -> BtcHash {
        BtcHash::from_display(self.word(index).0)
    }
}
