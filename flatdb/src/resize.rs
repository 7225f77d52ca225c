//! Moving an index to a table of another size.
//!
//! Position and tag of a slot nearly always say where its record's probe begins in the new table. So the old table is read and the
//! new one written from begin to end, and only a few records are read and hashed. The new table has the same slots, which were all
//! placed before the next checkpoint: nothing depends on their order.

use crate::digest::{Digest, Key};
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::index::Index;
use crate::slots::{self, Slot};

/// Records that are hashed together.
const GROUP: usize = 64;

/// Fills an empty index with everything that another one has. With the writers out of both.
pub(crate) fn transfer<D: Digest>(from: &Index, to: &Index, heap: &Heap) -> Result<()> {
    let sizes = (from.len(), to.len());
    let mut moved = Moved { to, sum: 0 };
    let mut asked: Vec<Slot> = Vec::with_capacity(GROUP);
    slots::walk(&from.slots, |position, steps, slot| {
        match slots::moved(sizes, position, steps, slot) {
            Some(home) => moved.put(home, slot)?,
            None => asked.push(slot),
        }
        if asked.len() == GROUP { moved.put_hashed::<D>(&mut asked, heap) } else { Ok(()) }
    })?;
    moved.put_hashed::<D>(&mut asked, heap)?;
    to.take_tally(&from.tally(), moved.sum);
    Ok(())
}

struct Moved<'a> {
    to: &'a Index,
    /// Over positions and slots, as the checkpoint has it.
    sum: u64,
}

impl Moved<'_> {
    fn put(&mut self, home: usize, slot: Slot) -> Result<()> {
        let Some(position) = self.to.put(home, slot) else {
            let problem = "the index has no empty slot".to_owned();
            return Err(Error::Corrupt { path: self.to.path.clone(), offset: 0, problem });
        };
        self.sum = self.sum.wrapping_add(slots::mix(position as u64, slot.unmarked()));
        Ok(())
    }

    fn put_hashed<D: Digest>(&mut self, asked: &mut Vec<Slot>, heap: &Heap) -> Result<()> {
        let records =
            asked.iter().map(|slot| heap.record(slot.offset(), heap.written())).collect::<Result<Vec<&[u8]>>>()?;
        let mut keys = vec![Key::default(); records.len()];
        D::digest_many(&records, &mut keys);
        for (slot, key) in asked.drain(..).zip(&keys) {
            if !slot.has_tag_of(key) {
                return Err(heap.corrupt(slot.offset(), "the record is not the one that the index points to"));
            }
            self.put(slots::home(self.to.len(), key), slot)?;
        }
        Ok(())
    }
}
