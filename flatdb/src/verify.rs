//! Checking a whole store: every record is hashed and looked up.

use crate::digest::{Digest, Key};
use crate::error::Result;
use crate::{FlatDb, Records, heap};

/// What [`FlatDb::verify`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Records that hash to the key under which they are found.
    pub records: u64,
    /// Their bytes, lengths not counted.
    pub bytes: u64,
    /// Records longer than 254 bytes.
    pub long: u64,
    /// Records written twice by writers that raced: found under their key at another place.
    pub twice: u64,
}

impl<D: Digest> FlatDb<D> {
    /// Hashes every record and looks it up. `progress` is told the heap bytes done and in all.
    ///
    /// # Errors
    /// At the first record that is damaged or that the index does not find.
    pub fn verify(&self, mut progress: impl FnMut(u64, u64)) -> Result<Verification> {
        // With the writers out, so that everything below the end is written and placed.
        let (index, total) = {
            let _alone = self.gate.pause();
            (self.index(), self.read_end())
        };
        let mut found = Verification::default();
        let mut records = Records::between(&self.heap, heap::HEADER, total);
        loop {
            let group = records.by_ref().take(64).collect::<Result<Vec<_>>>()?;
            let Some((last, _)) = group.last() else { break };
            progress(*last, total);
            let bytes: Vec<&[u8]> = group.iter().map(|(_, record)| *record).collect();
            let mut keys = vec![Key::default(); bytes.len()];
            D::digest_many(&bytes, &mut keys);
            for ((offset, record), key) in group.iter().zip(&keys) {
                let mut here = false;
                let mut elsewhere = false;
                for (_, slot) in index.candidates(key) {
                    here |= slot.offset() == *offset;
                    elsewhere |= slot.offset() != *offset
                        && slot.offset() < total
                        && self.heap.record(slot.offset(), total)? == *record;
                }
                if !here && !elsewhere {
                    return Err(self.heap.corrupt(*offset, "no slot of the index leads to this record"));
                }
                found.twice += u64::from(!here);
                found.records += u64::from(here);
                found.bytes += record.len() as u64;
                found.long += u64::from(record.len() > 254);
            }
        }
        Ok(found)
    }
}
