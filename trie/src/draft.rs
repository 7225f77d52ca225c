//! The pieces that a descent works with: changes by key, and nodes not yet written.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use rhizome_keccak::keccak256_batch;

use crate::bits::{BitBuf, Bits};
use crate::codec::{ChildView, MAX_EMBEDDED, MAX_SHORT_VALUE, MAX_VALUE, ValueView};
use crate::node::{Node, Place};
use crate::{ChangeSet, TrieError};

/// A change of one key.
#[derive(Clone, Copy)]
pub(crate) struct Op<'a> {
    pub(crate) key: &'a [u8],
    /// All that lies at and below the key goes first.
    pub(crate) recursive: bool,
    pub(crate) put: Put<'a>,
}

/// What happens to the value of a key.
#[derive(Clone, Copy)]
pub(crate) enum Put<'a> {
    Keep,
    Remove,
    Set(NewValue<'a>),
}

/// A value to be set.
#[derive(Clone, Copy)]
pub(crate) enum NewValue<'a> {
    Short(&'a [u8]),
    Long {
        bytes: &'a Bytes,
        hash: B256,
    },
    /// A long value of which only the hash is wanted.
    Hashed {
        len: u32,
        hash: B256,
    },
}

impl<'a> Op<'a> {
    pub(crate) fn set(&self) -> Option<NewValue<'a>> {
        match self.put {
            Put::Set(value) => Some(value),
            Put::Keep | Put::Remove => None,
        }
    }

    /// The key's bit at a depth that it reaches.
    #[inline]
    pub(crate) fn bit(&self, depth: usize) -> bool {
        self.key.get(depth / 8).is_some_and(|byte| byte & (0x80 >> (depth % 8)) != 0)
    }

    pub(crate) fn ends_at(&self, depth: usize) -> bool {
        self.key.len() * 8 == depth
    }

    #[inline]
    pub(crate) fn below(&self, depth: usize) -> Bits<'a> {
        Bits::of_key(self.key).from(depth)
    }
}

/// A value of a node to be written.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    None,
    Short(&'a [u8]),
    /// `bytes` as long as the value may not be in the store.
    Long {
        hash: B256,
        len: u32,
        bytes: Option<&'a Bytes>,
    },
}

impl<'a> Value<'a> {
    pub(crate) fn of(place: &Place<'a>) -> Self {
        match place.view.value {
            ValueView::None => Self::None,
            ValueView::Short(bytes) => Self::Short(bytes),
            ValueView::Long { hash, len } => Self::Long { hash: *hash, len, bytes: place.long_value() },
        }
    }

    pub(crate) fn new(value: NewValue<'a>) -> Self {
        match value {
            NewValue::Short(bytes) => Self::Short(bytes),
            NewValue::Long { bytes, hash } => Self::Long { hash, len: bytes.len() as u32, bytes: Some(bytes) },
            NewValue::Hashed { len, hash } => Self::Long { hash, len, bytes: None },
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.view().is_empty()
    }

    pub(crate) fn view(&self) -> ValueView<'_> {
        match self {
            Self::None => ValueView::None,
            Self::Short(bytes) => ValueView::Short(bytes),
            Self::Long { hash, len, .. } => ValueView::Long { hash, len: *len },
        }
    }

    pub(crate) fn bytes(&self) -> Option<&'a Bytes> {
        match self {
            Self::Long { bytes, .. } => *bytes,
            _ => None,
        }
    }
}

/// A child of a node to be written.
pub(crate) enum Kid {
    Empty,
    /// Its hash is known.
    Ready {
        hash: B256,
        node: Option<Arc<Node>>,
    },
    /// Its message stands in the parent's; the node only when its long value is in memory.
    Embedded {
        bytes: [u8; MAX_EMBEDDED],
        len: u8,
        node: Option<Arc<Node>>,
    },
    /// Written in the arena, its hash not yet known.
    New(usize),
}

impl Kid {
    /// The child of a node as it stands.
    pub(crate) fn of(parent: &Place<'_>, side: usize) -> Self {
        let node = || parent.node.and_then(|node| node.child(side)).cloned();
        match parent.view.children[side] {
            ChildView::Empty => Self::Empty,
            ChildView::Hash(hash) => Self::Ready { hash: *hash, node: node() },
            ChildView::Embedded(message) => Self::embedded(message, node()),
        }
    }

    pub(crate) fn embedded(message: &[u8], node: Option<Arc<Node>>) -> Self {
        let mut bytes = [0; MAX_EMBEDDED];
        let len = message.len().min(MAX_EMBEDDED);
        bytes[..len].copy_from_slice(&message[..len]);
        Self::Embedded { bytes, len: len as u8, node }
    }

    pub(crate) fn view(&self) -> ChildView<'_> {
        match self {
            Self::Empty => ChildView::Empty,
            Self::Ready { hash, .. } => ChildView::Hash(hash),
            Self::Embedded { bytes, len, .. } => ChildView::Embedded(&bytes[..usize::from(*len)]),
            Self::New(_) => ChildView::Hash(&B256::ZERO),
        }
    }
}

/// A path: part of a key or of a message, or joined from such.
pub(crate) enum Path<'a> {
    Slice(Bits<'a>),
    Joined(Box<BitBuf>),
}

impl Path<'_> {
    pub(crate) fn bits(&self) -> Bits<'_> {
        match self {
            Self::Slice(bits) => *bits,
            Self::Joined(buffer) => buffer.as_bits(),
        }
    }
}

/// A node to be written; its path can still grow at the front.
pub(crate) struct Draft<'a> {
    pub(crate) path: Path<'a>,
    pub(crate) kids: [Kid; 2],
    pub(crate) children_size: u64,
    pub(crate) value: Value<'a>,
}

impl<'a> Draft<'a> {
    /// The node of a place whose path has lost its first bits.
    pub(crate) fn of(place: &Place<'a>, skip: usize) -> Self {
        Self {
            path: Path::Slice(place.view.path.from(skip)),
            kids: [Kid::of(place, 0), Kid::of(place, 1)],
            children_size: place.view.children_size,
            value: Value::of(place),
        }
    }

    pub(crate) fn leaf(path: Bits<'a>, value: NewValue<'a>) -> Self {
        Self { path: Path::Slice(path), kids: [Kid::Empty, Kid::Empty], children_size: 0, value: Value::new(value) }
    }

    /// Joins a valueless parent whose only child this is.
    pub(crate) fn prefixed(mut self, path: Bits<'_>, side: usize) -> Self {
        let mut joined = Box::new(BitBuf::copy_of(path));
        joined.push(side == 1);
        joined.push_bits(self.path.bits());
        self.path = Path::Joined(joined);
        self
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.kids.iter().all(|kid| matches!(kid, Kid::Empty))
    }
}

/// Whether a value is the one that is there already.
pub(crate) fn same(old: &Value<'_>, new: NewValue<'_>) -> bool {
    match (old, new) {
        (Value::Short(old), NewValue::Short(new)) => *old == new,
        (Value::Long { hash, len, .. }, NewValue::Long { bytes, hash: new }) => {
            *len as usize == bytes.len() && *hash == new
        }
        _ => false,
    }
}

/// The operation list of a change set: recursive deletes and puts merged by key; long values hashed together.
pub(crate) fn operations<'a>(changes: &'a ChangeSet) -> Result<Vec<Op<'a>>, TrieError> {
    let mut long: Vec<&[u8]> = Vec::new();
    for (_, value) in changes.puts() {
        if let Some(value) = value
            && value.len() > MAX_SHORT_VALUE
        {
            if value.len() > MAX_VALUE {
                return Err(TrieError::ValueTooLong { length: value.len() });
            }
            long.push(value);
        }
    }
    let mut hashes = vec![B256::ZERO; long.len()];
    keccak256_batch(&long, &mut hashes);
    let mut hashes = hashes.into_iter();

    let mut ops = Vec::with_capacity(changes.len());
    let mut deletes = changes.deletes().iter().peekable();
    for (key, value) in changes.puts() {
        while let Some(delete) = deletes.next_if(|delete| *delete < key) {
            ops.push(Op { key: delete, recursive: true, put: Put::Keep });
        }
        let put = match value {
            None => Put::Remove,
            Some(bytes) if bytes.len() > MAX_SHORT_VALUE => {
                Put::Set(NewValue::Long { bytes, hash: hashes.next().unwrap_or_default() })
            }
            Some(bytes) => Put::Set(NewValue::Short(bytes)),
        };
        let recursive = deletes.next_if(|delete| *delete == key).is_some();
        ops.push(Op { key, recursive, put });
    }
    ops.extend(deletes.map(|delete| Op { key: delete, recursive: true, put: Put::Keep }));
    Ok(ops)
}
