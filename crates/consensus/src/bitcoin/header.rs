//! Bitcoin block headers as the reference's library reads them (`co.rsk.bitcoinj.core.BtcBlock`).

use crate::bitcoin::hash::{BtcHash, hash256};

/// Length of a header.
pub const BTC_HEADER_LENGTH: usize = 80;

/// Longest byte string that the library reads (`Message.MAX_SIZE`).
const MAX_LENGTH: i32 = 0x0200_0000;

/// What merged mining needs of a Bitcoin header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtcHeader {
    /// Hash of the first 80 bytes.
    pub hash: BtcHash,
    /// Root over the block's transactions.
    pub merkle_root: BtcHash,
    /// Seconds since 1970.
    pub time: u32,
}

/// Bytes that do not begin with a Bitcoin header, or go on with something else than transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Bitcoin header: {0}")]
pub struct BtcHeaderError(&'static str);

const CUT: BtcHeaderError = BtcHeaderError("the bytes end too early");
const NEGATIVE: BtcHeaderError = BtcHeaderError("a count is negative");

impl BtcHeader {
    /// Reads a header.
    ///
    /// Before RSKIP98 more than 80 bytes are possible. The library reads what follows as a list of transactions: they must
    /// parse, and whatever follows them is ignored.
    ///
    /// # Errors
    /// [`BtcHeaderError`] where the library throws.
    pub fn parse(bytes: &[u8]) -> Result<Self, BtcHeaderError> {
        let (header, rest) = bytes.split_at_checked(BTC_HEADER_LENGTH).ok_or(CUT)?;
        if !rest.is_empty() {
            skip_transactions(rest)?;
        }
        let mut reader = Reader { rest: &header[36..] };
        let merkle_root = reader.array()?;
        let time = u32::from_le_bytes(reader.array()?);
        Ok(Self { hash: hash256(header), merkle_root, time })
    }
}

fn skip_transactions(bytes: &[u8]) -> Result<(), BtcHeaderError> {
    let mut reader = Reader { rest: bytes };
    // The block's count is cut to 32 bits before it is used.
    let count = reader.count()? as i32;
    for _ in 0..count {
        reader.transaction()?;
    }
    Ok(())
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], BtcHeaderError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(CUT)?;
        self.rest = rest;
        Ok(*array)
    }

    /// A number of variable length; the library's are signed.
    fn var_int(&mut self) -> Result<i64, BtcHeaderError> {
        Ok(match self.array::<1>()?[0] {
            253 => u16::from_le_bytes(self.array()?).into(),
            254 => u32::from_le_bytes(self.array()?).into(),
            255 => i64::from_le_bytes(self.array()?),
            byte => byte.into(),
        })
    }

    /// A count of things, for which the library makes a list whose size is the count cut to 32 bits.
    fn count(&mut self) -> Result<i64, BtcHeaderError> {
        let count = self.var_int()?;
        if (count as i32) < 0 { Err(NEGATIVE) } else { Ok(count) }
    }

    fn skip(&mut self, length: i32) -> Result<(), BtcHeaderError> {
        let length = usize::try_from(length).map_err(|_| NEGATIVE)?;
        if length > MAX_LENGTH as usize {
            return Err(BtcHeaderError("a length is too large"));
        }
        self.rest = self.rest.get(length..).ok_or(CUT)?;
        Ok(())
    }

    /// A byte string with its length, which is cut to 32 bits.
    fn skip_bytes(&mut self) -> Result<(), BtcHeaderError> {
        let length = self.var_int()? as i32;
        self.skip(length)
    }

    fn transaction(&mut self) -> Result<(), BtcHeaderError> {
        self.skip(4)?;
        let mut inputs = self.inputs()?;
        let mut flags = 0;
        if inputs == 0 {
            [flags] = self.array()?;
            if flags != 0 {
                inputs = self.inputs()?;
                self.outputs()?;
            }
        } else {
            self.outputs()?;
        }
        if flags & 1 != 0 {
            flags ^= 1;
            for _ in 0..inputs {
                for _ in 0..self.count()? {
                    self.skip_bytes()?;
                }
            }
        }
        if flags != 0 {
            return Err(BtcHeaderError("unknown data in a transaction"));
        }
        self.skip(4)
    }

    /// Skips the inputs and says how many there were.
    fn inputs(&mut self) -> Result<i64, BtcHeaderError> {
        let count = self.count()?;
        for _ in 0..count {
            self.skip(36)?;
            self.skip_bytes()?;
            self.skip(4)?;
        }
        Ok(count.max(0))
    }

    fn outputs(&mut self) -> Result<(), BtcHeaderError> {
        for _ in 0..self.count()? {
            self.skip(8)?;
            self.skip_bytes()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_header_must_be_transactions() {
        let with = |rest: &[u8]| BtcHeader::parse(&[&[7; 80][..], rest].concat());
        let plain = BtcHeader::parse(&[7; 80]).unwrap();
        assert_eq!(plain.time, 0x0707_0707);
        assert!(BtcHeader::parse(&[7; 79]).is_err());
        assert_eq!(with(&[0]), Ok(plain));
        assert_eq!(with(&[0, 9, 9, 9]), Ok(plain));
        assert_eq!(with(&[1]), Err(CUT));
        // One transaction without inputs: version, no inputs, no flags, lock time.
        assert_eq!(with(&[1, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0]), Ok(plain));
        // A count that is negative as 32 bits, and one that is zero as 32 bits.
        assert_eq!(with(&[254, 255, 255, 255, 255]), Err(NEGATIVE));
        assert_eq!(with(&[255, 0, 0, 0, 0, 1, 0, 0, 0]), Ok(plain));
        // Inputs without end.
        assert_eq!(with(&[1, 1, 0, 0, 0, 254, 255, 255, 255, 127]), Err(CUT));
    }
}
