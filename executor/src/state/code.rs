//! Contract code with what execution needs to know about it, shared between all its users.

use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rhizome_primitives::map::HashMap;
use rhizome_primitives::{B256, Bytes, keccak256};

/// First byte of a code header.
const HEADER: u8 = 0xfc;
const JUMPDEST: u8 = 0x5b;
const PUSH1: u8 = 0x60;
const PUSH32: u8 = 0x7f;

/// Code of a contract or of a constructor.
///
/// The hash and the jump destinations are computed when first asked for.
pub struct Code {
    bytes: Bytes,
    hash: OnceLock<B256>,
    jumps: OnceLock<JumpMap>,
}

/// One bit for each byte of the code: whether a jump may land there.
#[derive(Debug)]
pub struct JumpMap(Box<[u64]>);

impl JumpMap {
    /// Whether a jump to this offset is allowed.
    #[inline]
    pub fn contains(&self, offset: usize) -> bool {
        self.0.get(offset / 64).is_some_and(|word| word & (1 << (offset % 64)) != 0)
    }

    /// Jump destinations from `start` on; only PUSH1 to PUSH32 have immediates (`Program.computeJumpDests`).
    fn of(code: &[u8], start: usize) -> Self {
        let mut words = vec![0u64; code.len().div_ceil(64)].into_boxed_slice();
        let mut offset = start;
        while let Some(&opcode) = code.get(offset) {
            offset += match opcode {
                JUMPDEST => {
                    words[offset / 64] |= 1 << (offset % 64);
                    1
                }
                PUSH1..=PUSH32 => usize::from(opcode - PUSH1) + 2,
                _ => 1,
            };
        }
        Self(words)
    }
}

impl Code {
    /// Code that nobody has looked at yet.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, hash: OnceLock::new(), jumps: OnceLock::new() }
    }

    /// Code whose hash is known, as of a trie value.
    pub fn with_hash(bytes: Bytes, hash: B256) -> Self {
        Self { bytes, hash: OnceLock::from(hash), jumps: OnceLock::new() }
    }

    /// The bytes as stored.
    #[inline]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Keccak hash of the bytes.
    pub fn hash(&self) -> B256 {
        *self.hash.get_or_init(|| keccak256(&self.bytes))
    }

    /// Where execution begins: behind the code header if there is one (`Program.processAndSkipCodeHeader`). May lie at or
    /// behind the end of the code.
    #[inline]
    pub fn start(&self) -> usize {
        match self.bytes.as_ref() {
            [HEADER, _, _, extra, ..] => 4 + usize::from(*extra),
            _ => 0,
        }
    }

    /// The jump destinations.
    #[inline]
    pub fn jumps(&self) -> &JumpMap {
        self.jumps.get_or_init(|| JumpMap::of(&self.bytes, self.start()))
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// Codes seen lately, by hash, so that the analysis of a contract is done once and not once a block.
///
/// Holds at most about [`CodeCache::BUDGET`] bytes of code; when full it starts over.
#[derive(Debug, Default)]
pub struct CodeCache(Mutex<CodeShelf>);

#[derive(Debug, Default)]
struct CodeShelf {
    codes: HashMap<B256, Arc<Code>>,
    bytes: usize,
}

impl CodeCache {
    /// Bytes of code that are kept.
    pub const BUDGET: usize = 32 << 20;

    /// The code with this hash, if it is held.
    pub fn get(&self, hash: &B256) -> Option<Arc<Code>> {
        self.0.lock().codes.get(hash).cloned()
    }

    /// Adds a code under its hash.
    pub fn insert(&self, hash: B256, code: Arc<Code>) {
        let mut shelf = self.0.lock();
        if shelf.bytes + code.len() > Self::BUDGET {
            shelf.codes.clear();
            shelf.bytes = 0;
        }
        let len = code.len();
        if shelf.codes.insert(hash, code).is_none() {
            shelf.bytes += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn immediates_hold_no_destination() {
        let code = Code::new(Bytes::from_static(&[0x5b, 0x60, 0x5b, 0x5b, 0x61, 0x5b]));
        let found: Vec<_> = (0..8).filter(|&offset| code.jumps().contains(offset)).collect();
        assert_eq!(found, [0, 3]);
    }

    #[test]
    fn a_header_moves_the_start() {
        let code = Code::new(Bytes::from_static(&[0xfc, 1, 1, 1, 0x5b, 0x5b]));
        assert_eq!(code.start(), 5);
        assert!(!code.jumps().contains(4));
        assert!(code.jumps().contains(5));
        assert_eq!(Code::new(Bytes::from_static(&[0xfc, 0, 0])).start(), 0);
    }
}
