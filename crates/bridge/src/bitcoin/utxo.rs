//! Unspent outputs of the federations (bitcoinj's `UTXO`) and amounts of spent ones (rskj's `UtxoUtils`).

use super::Satoshi;
use super::encode::{DecodeError, Reader, put_var_int, unsigned_le, var_int_len};
use super::hash::BtcHash;
use super::script::{Script, parse_chunks};

/// An output that a federation can spend. Equal by transaction and index alone, as in bitcoinj.
#[derive(Debug, Clone)]
pub struct Utxo {
    /// Transaction that made it.
    pub tx_hash: BtcHash,
    /// Index in that transaction.
    pub index: u32,
    /// Amount.
    pub value: Satoshi,
    /// Height of its block; the Bridge always writes 0.
    pub height: i32,
    /// Made by a coinbase.
    pub coinbase: bool,
    /// Output script.
    pub script: Script,
}

impl PartialEq for Utxo {
    fn eq(&self, other: &Self) -> bool {
        (self.tx_hash, self.index) == (other.tx_hash, other.index)
    }
}

impl Eq for Utxo {}

impl Utxo {
    /// `serializeToStream`: amount, script with a length of four bytes, transaction in display order, index, height, flag.
    pub fn encode(&self) -> Vec<u8> {
        let script = self.script.as_bytes();
        let mut out = Vec::with_capacity(53 + script.len());
        out.extend_from_slice(&unsigned_le(self.value));
        out.extend_from_slice(&(script.len() as u32).to_le_bytes());
        out.extend_from_slice(script);
        out.extend_from_slice(self.tx_hash.display_bytes());
        out.extend_from_slice(&self.index.to_le_bytes());
        out.extend_from_slice(&self.height.to_le_bytes());
        out.push(u8::from(self.coinbase));
        out
    }

    /// Reads what [`Utxo::encode`] writes; the script must parse.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = reader.i64()?;
        let script_len = usize::try_from(reader.u32()? as i32)
            .map_err(|_| DecodeError("expected a length from zero on, got one below"))?;
        let script = Script::new(reader.bytes(script_len)?);
        parse_chunks(script.as_bytes())
            .map_err(|_| DecodeError("expected a script in an unspent output, got bytes that do not parse"))?;
        let tx_hash = BtcHash::from_display(reader.hash()?);
        let index = reader.u32()?;
        let height = reader.u32()? as i32;
        let coinbase = reader.u8()? == 1;
        Ok(Utxo { tx_hash, index, value, height, coinbase, script })
    }
}

/// `UtxoUtils.encodeOutpointValues`: variable-length integers back to back. `None` for a negative amount, where rskj throws.
pub fn encode_outpoint_values(values: &[Satoshi]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(5 * values.len());
    for value in values {
        put_var_int(&mut out, u64::try_from(*value).ok()?);
    }
    Some(out)
}

/// `UtxoUtils.decodeOutpointValues`. Each integer is stepped over by the length of its *shortest* form.
pub fn decode_outpoint_values(bytes: &[u8]) -> Result<Vec<Satoshi>, DecodeError> {
    let mut values = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let value = Reader::new(rest).var_int()?;
        rest = rest.get(var_int_len(value)..).unwrap_or_default();
        values
            .push(Satoshi::try_from(value).map_err(|_| DecodeError("expected an amount from zero on, got one below"))?);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn round_trips() {
        let utxo = Utxo {
            tx_hash: BtcHash::from_display([3; 32]),
            index: 7,
            value: 1 << 40,
            height: 9,
            coinbase: true,
            script: Script::p2sh(&[1; 20]),
        };
        let back = Utxo::decode(&utxo.encode()).unwrap();
        assert_eq!(back.encode(), utxo.encode());
        assert!(Utxo::decode(&utxo.encode()[..70]).is_err());
        let values = [0, 252, 253, 1 << 33];
        assert_eq!(decode_outpoint_values(&encode_outpoint_values(&values).unwrap()).unwrap(), values);
        assert!(encode_outpoint_values(&[-1]).is_none());
        assert!(decode_outpoint_values(&[255; 9]).is_err());
    }
}
