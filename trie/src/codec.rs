//! A node as bytes (RSKIP107; rskj: `Trie.toMessage`, `Trie.fromMessage`).
//!
//! A message is, in order: flags; the shared path, if any, as length and packed bits; the left, then the right child, each
//! as a 32-byte hash or, embedded, as one length byte and its whole message; with a child, the size of all below as a
//! variable-length integer; then the value up to the end, or the hash and the 3-byte length of a value of over 32 bytes.
//!
//! What follows the last field *is* the value, so a message with bytes appended is another node, not an error: a message is
//! judged by its hash, never by reading and writing it again.

use alloy_primitives::{B256, b256};

use crate::bits::Bits;

/// The root of a tree without nodes: keccak of the RLP of the empty string.
pub const EMPTY_ROOT: B256 = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// The message of a root without path, children and value.
pub const EMPTY_MESSAGE: [u8; 1] = [FORMAT];

/// A longer value is stored under its hash.
pub const MAX_SHORT_VALUE: usize = 32;

/// The longest value whose length a node can hold.
pub const MAX_VALUE: usize = 0xff_ffff;

/// A node without children whose message is at most this long stands inside its parent.
pub const MAX_EMBEDDED: usize = 44;

const FORMAT: u8 = 0b0100_0000;
const LONG_VALUE: u8 = 0b0010_0000;
const SHARED_PATH: u8 = 0b0001_0000;
const CHILD: [u8; 2] = [0b0000_1000, 0b0000_0100];
const EMBEDDED: [u8; 2] = [0b0000_0010, 0b0000_0001];

/// The first byte of a message in the form before RSKIP107.
pub const ORCHID_ARITY: u8 = 2;

/// Bytes of a hash and the length of a long value.
const LONG_VALUE_FIELD: usize = 32 + 3;

/// Why bytes are no node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The bytes end inside a field.
    #[error("the message ends inside a field: expected {expected} bytes, got {got}")]
    Truncated {
        /// The field's bytes.
        expected: u32,
        /// The bytes that are left.
        got: u32,
    },
    /// Bytes follow the hash and length of a long value.
    #[error("bytes follow the length of a long value: expected none, got {got}")]
    Excess {
        /// How many.
        got: u32,
    },
    /// The path's length does not fit 31 bits.
    #[error("the length of the path is out of range: expected at most {} bits, got {got}", i32::MAX)]
    PathLength {
        /// The length in bits, cut to 32 bits as rskj cuts it.
        got: u32,
    },
    /// A node inside a node has children of its own.
    #[error("an embedded node has children: expected none")]
    EmbeddedChildren,
    /// A node stands inside its parent although it is longer than 44 bytes.
    #[error("an embedded node: expected at most {MAX_EMBEDDED} bytes, got {got}")]
    EmbeddedLength {
        /// Its length in bytes.
        got: u32,
    },
    /// A value of over 32 bytes stands in the message.
    #[error("a value in the message: expected at most {MAX_SHORT_VALUE} bytes, got {got}")]
    LongInPlace {
        /// Its length in bytes.
        got: u32,
    },
    /// The form before RSKIP107, which no state of ours holds.
    #[error("expected a message of the present form, got one of the form before RSKIP107")]
    OldForm,
    /// A node without children and value that is not the root.
    #[error("the node holds nothing: expected a value or a child")]
    Empty,
    /// A value of at most 32 bytes is given by its hash.
    #[error("a value given by its hash: expected more than {MAX_SHORT_VALUE} bytes, got {got}")]
    ShortByHash {
        /// Its length in bytes.
        got: u32,
    },
}

impl NodeError {
    /// A field of so many bytes does not fit what is left.
    #[cold]
    pub(crate) fn truncated(expected: usize, left: &[u8]) -> Self {
        Self::Truncated { expected: count(expected), got: count(left.len()) }
    }
}

/// A number of bytes for a text.
pub(crate) fn count(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// A child as its parent's message has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildView<'a> {
    /// None.
    Empty,
    /// By hash.
    Hash(&'a B256),
    /// The child's own message.
    Embedded(&'a [u8]),
}

impl ChildView<'_> {
    /// Whether there is no child.
    pub fn is_empty(&self) -> bool {
        matches!(self, ChildView::Empty)
    }

    /// Bytes in the parent's message.
    fn encoded_len(&self) -> usize {
        match self {
            ChildView::Empty => 0,
            ChildView::Hash(_) => 32,
            ChildView::Embedded(message) => 1 + message.len(),
        }
    }
}

/// A value as its node's message has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueView<'a> {
    /// None.
    None,
    /// The bytes.
    Short(&'a [u8]),
    /// A value stored under its hash.
    Long {
        /// Its keccak.
        hash: &'a B256,
        /// Its length in bytes.
        len: u32,
    },
}

impl ValueView<'_> {
    /// The value's length in bytes, 0 without one.
    pub fn len(&self) -> u32 {
        match self {
            ValueView::None => 0,
            ValueView::Short(bytes) => bytes.len() as u32,
            ValueView::Long { len, .. } => *len,
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of a value that is stored apart.
    pub fn stored_apart(&self) -> u64 {
        match self {
            ValueView::Long { len, .. } => u64::from(*len),
            _ => 0,
        }
    }

    fn encoded_len(&self) -> usize {
        match self {
            ValueView::None => 0,
            ValueView::Short(bytes) => bytes.len(),
            ValueView::Long { .. } => LONG_VALUE_FIELD,
        }
    }
}

/// A message taken apart; nothing is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeView<'a> {
    /// The whole message.
    pub message: &'a [u8],
    /// The bits that all keys below share, behind the bit that leads here.
    pub path: Bits<'a>,
    /// Left, then right.
    pub children: [ChildView<'a>; 2],
    /// Bytes of all messages and long values below; 0 without children.
    pub children_size: u64,
    /// The value of the key that ends here.
    pub value: ValueView<'a>,
}

impl<'a> NodeView<'a> {
    /// Takes a message of the present form apart. The version bits are not looked at, as in rskj.
    ///
    /// # Errors
    /// When the message is too short, or longer than its long value says.
    #[inline]
    pub fn parse(message: &'a [u8]) -> Result<Self, NodeError> {
        let mut reader = Reader { rest: message };
        let flags = reader.byte()?;
        let mut path = Bits::EMPTY;
        if flags & SHARED_PATH != 0 {
            let len = reader.path_len()?;
            path = Bits::packed(reader.take(len.div_ceil(8))?, len);
        }
        let mut children = [ChildView::Empty; 2];
        for (side, child) in children.iter_mut().enumerate() {
            if flags & CHILD[side] == 0 {
                continue;
            }
            *child = if flags & EMBEDDED[side] != 0 {
                let len = usize::from(reader.byte()?);
                ChildView::Embedded(reader.take(len)?)
            } else {
                ChildView::Hash(reader.hash()?)
            };
        }
        let children_size = if flags & (CHILD[0] | CHILD[1]) != 0 { reader.var_int()? } else { 0 };
        let value = if flags & LONG_VALUE != 0 {
            let hash = reader.hash()?;
            let len = reader.take(3)?;
            if !reader.rest.is_empty() {
                return Err(NodeError::Excess { got: count(reader.rest.len()) });
            }
            ValueView::Long { hash, len: u32::from_be_bytes([0, len[0], len[1], len[2]]) }
        } else if reader.rest.is_empty() {
            ValueView::None
        } else {
            ValueView::Short(reader.rest)
        };
        Ok(Self { message, path, children, children_size, value })
    }

    /// Whether the node has no children.
    pub fn is_terminal(&self) -> bool {
        self.children.iter().all(ChildView::is_empty)
    }

    /// Whether this node stands inside its parent.
    pub fn is_embeddable(&self) -> bool {
        self.message.len() <= MAX_EMBEDDED && self.is_terminal()
    }

    /// What the node counts for in the children size of its parent: its message, its long value and all below it.
    pub fn reference_size(&self) -> u64 {
        (self.message.len() as u64).wrapping_add(self.value.stored_apart()).wrapping_add(self.children_size)
    }

    /// Writes the node as rskj writes what it has read: every embedded child anew, a value of over 32 bytes by its hash.
    ///
    /// # Errors
    /// When an embedded child is no node, or a value that would stand in the message is given by its hash.
    pub fn reencode(&self) -> Result<Vec<u8>, NodeError> {
        let mut inner: [Vec<u8>; 2] = [Vec::new(), Vec::new()];
        let mut hashes = [B256::ZERO; 2];
        for (side, child) in self.children.iter().enumerate() {
            if let ChildView::Embedded(message) = child {
                let view = NodeView::parse(message)?;
                if view.is_terminal() && view.value.is_empty() {
                    continue;
                }
                inner[side] = view.reencode()?;
                if !view.is_terminal() || inner[side].len() > MAX_EMBEDDED {
                    hashes[side] = alloy_primitives::keccak256(&inner[side]);
                }
            }
        }
        let children = [0, 1].map(|side| match self.children[side] {
            ChildView::Embedded(_) if inner[side].is_empty() => ChildView::Empty,
            ChildView::Embedded(_) if !hashes[side].is_zero() => ChildView::Hash(&hashes[side]),
            ChildView::Embedded(_) => ChildView::Embedded(&inner[side]),
            other => other,
        });
        let hash;
        let value = match self.value {
            ValueView::Short(bytes) if bytes.len() > MAX_SHORT_VALUE => {
                hash = alloy_primitives::keccak256(bytes);
                ValueView::Long { hash: &hash, len: (bytes.len() & MAX_VALUE) as u32 }
            }
            ValueView::Long { len: 0, .. } => ValueView::None,
            ValueView::Long { len, .. } if len as usize <= MAX_SHORT_VALUE => {
                return Err(NodeError::ShortByHash { got: len });
            }
            other => other,
        };
        let mut out = Vec::with_capacity(self.message.len());
        encode_into(&mut out, self.path, children, self.children_size, value);
        Ok(out)
    }
}

/// The front of a message, all that a reader passing by needs.
#[derive(Clone, Copy)]
pub(crate) struct NodeHead<'a> {
    flags: u8,
    pub(crate) path: Bits<'a>,
}

impl<'a> NodeHead<'a> {
    #[inline]
    pub(crate) fn parse(message: &'a [u8]) -> Result<Self, NodeError> {
        let mut reader = Reader { rest: message };
        let flags = reader.byte()?;
        if flags & SHARED_PATH == 0 {
            return Ok(Self { flags, path: Bits::EMPTY });
        }
        let len = reader.path_len()?;
        Ok(Self { flags, path: Bits::packed(reader.take(len.div_ceil(8))?, len) })
    }

    /// Whether the child on one side has a record of its own.
    #[inline]
    pub(crate) fn has_child_by_hash(&self, side: usize) -> bool {
        self.flags & (CHILD[side] | EMBEDDED[side]) == CHILD[side]
    }
}

/// Appends a node's message.
#[inline]
pub fn encode_into(
    out: &mut Vec<u8>,
    path: Bits<'_>,
    children: [ChildView<'_>; 2],
    children_size: u64,
    value: ValueView<'_>,
) {
    let mut flags = FORMAT;
    if matches!(value, ValueView::Long { .. }) {
        flags |= LONG_VALUE;
    }
    if !path.is_empty() {
        flags |= SHARED_PATH;
    }
    for (side, child) in children.iter().enumerate() {
        match child {
            ChildView::Empty => {}
            ChildView::Hash(_) => flags |= CHILD[side],
            ChildView::Embedded(_) => flags |= CHILD[side] | EMBEDDED[side],
        }
    }
    out.push(flags);
    if !path.is_empty() {
        put_path_len(out, path.len());
        path.pack_into(out);
    }
    for child in &children {
        match child {
            ChildView::Empty => {}
            ChildView::Hash(hash) => out.extend_from_slice(hash.as_slice()),
            ChildView::Embedded(message) => {
                out.push(message.len() as u8);
                out.extend_from_slice(message);
            }
        }
    }
    if flags & (CHILD[0] | CHILD[1]) != 0 {
        put_var_int(out, children_size);
    }
    match value {
        ValueView::None => {}
        ValueView::Short(bytes) => out.extend_from_slice(bytes),
        ValueView::Long { hash, len } => {
            out.extend_from_slice(hash.as_slice());
            out.extend_from_slice(&len.to_be_bytes()[1..]);
        }
    }
}

/// The length of the message that [`encode_into`] writes.
#[inline]
pub fn encoded_len(path_bits: usize, children: [ChildView<'_>; 2], children_size: u64, value: ValueView<'_>) -> usize {
    let path = if path_bits == 0 { 0 } else { path_len_size(path_bits) + path_bits.div_ceil(8) };
    let below = children[0].encoded_len() + children[1].encoded_len();
    let size = if below == 0 { 0 } else { var_int_size(children_size) };
    1 + path + below + size + value.encoded_len()
}

/// The least and most path bits, and what is taken off, of the two ranges that one byte can say.
const SHORT_PATH: std::ops::RangeInclusive<usize> = 1..=32;
const LONG_PATH: std::ops::RangeInclusive<usize> = 160..=382;
const LONG_PATH_BASE: usize = 128;
const PATH_VAR_INT: u8 = 255;

fn put_path_len(out: &mut Vec<u8>, bits: usize) {
    if SHORT_PATH.contains(&bits) {
        out.push((bits - 1) as u8);
    } else if LONG_PATH.contains(&bits) {
        out.push((bits - LONG_PATH_BASE) as u8);
    } else {
        out.push(PATH_VAR_INT);
        put_var_int(out, bits as u64);
    }
}

fn path_len_size(bits: usize) -> usize {
    if SHORT_PATH.contains(&bits) || LONG_PATH.contains(&bits) { 1 } else { 1 + var_int_size(bits as u64) }
}

/// Appends a Bitcoin variable-length integer.
fn put_var_int(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfc => out.push(value as u8),
        0xfd..=0xffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xfe);
            out.extend_from_slice(&(value as u32).to_le_bytes());
        }
        _ => {
            out.push(0xff);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

fn var_int_size(value: u64) -> usize {
    match value {
        0..=0xfc => 1,
        0xfd..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// Takes fields off the front.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], NodeError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| NodeError::truncated(len, self.rest))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], NodeError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| NodeError::truncated(N, self.rest))?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, NodeError> {
        self.array::<1>().map(|byte| byte[0])
    }

    fn hash(&mut self) -> Result<&'a B256, NodeError> {
        self.array::<32>().map(Into::into)
    }

    fn var_int(&mut self) -> Result<u64, NodeError> {
        Ok(match self.byte()? {
            0xfd => u64::from(u16::from_le_bytes(*self.array()?)),
            0xfe => u64::from(u32::from_le_bytes(*self.array()?)),
            0xff => u64::from_le_bytes(*self.array()?),
            byte => u64::from(byte),
        })
    }

    /// The length of a path in bits. Of a length above 32 bits rskj keeps the low ones, and refuses a negative rest.
    fn path_len(&mut self) -> Result<usize, NodeError> {
        Ok(match self.byte()? {
            byte @ 0..=31 => usize::from(byte) + 1,
            byte @ 32..=254 => usize::from(byte) + LONG_PATH_BASE,
            PATH_VAR_INT => {
                let low = (self.var_int()? & 0xffff_ffff) as u32;
                if low > i32::MAX as u32 {
                    return Err(NodeError::PathLength { got: low });
                }
                low as usize
            }
        })
    }
}
