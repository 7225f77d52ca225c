//! New nodes and long values on their way to the store.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use parking_lot::Mutex;

/// What a commit hands out: records by hash, children before their parents, all to be written in one batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeBatch {
    records: Vec<(B256, Bytes)>,
    bytes: usize,
}

impl NodeBatch {
    /// The records, as `TrieStore::put_batch` takes them.
    pub fn records(&self) -> &[(B256, Bytes)] {
        &self.records
    }

    /// The records by value.
    pub fn into_records(self) -> Vec<(B256, Bytes)> {
        self.records
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of all records without their hashes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends another batch.
    pub fn append(&mut self, mut other: NodeBatch) {
        self.records.append(&mut other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    fn push(&mut self, hash: B256, record: Bytes) {
        self.bytes = self.bytes.saturating_add(record.len());
        self.records.push((hash, record));
    }
}

/// Messages in one buffer, and long values.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) buffer: Vec<u8>,
    /// Hash, offset and length in the buffer.
    pub(crate) messages: Vec<(B256, usize, usize)>,
    pub(crate) values: Vec<(B256, Bytes)>,
}

/// What one version of the tree added and nobody has taken yet, linked to what earlier versions added.
pub(crate) struct Pending {
    inner: Mutex<PendingInner>,
}

struct PendingInner {
    written: Vec<Written>,
    earlier: Option<Arc<Pending>>,
}

impl Pending {
    pub(crate) fn new(written: Vec<Written>, earlier: Option<Arc<Pending>>) -> Self {
        let earlier = earlier.filter(|earlier| !earlier.is_taken());
        Self { inner: Mutex::new(PendingInner { written, earlier }) }
    }

    /// Whether nothing is left to take here and, thereby, in all earlier versions.
    pub(crate) fn is_taken(&self) -> bool {
        let inner = self.inner.lock();
        inner.written.is_empty() && inner.earlier.is_none()
    }

    /// Takes everything, oldest first.
    pub(crate) fn take(self: &Arc<Self>) -> NodeBatch {
        let mut versions = Vec::new();
        let mut next = Some(Arc::clone(self));
        while let Some(pending) = next {
            let mut inner = pending.inner.lock();
            versions.push(std::mem::take(&mut inner.written));
            next = inner.earlier.take();
        }
        let mut batch = NodeBatch::default();
        let written = versions.into_iter().rev().flatten();
        for Written { buffer, messages, values } in written {
            batch.records.reserve(messages.len().saturating_add(values.len()));
            for (hash, value) in values {
                batch.push(hash, value);
            }
            // One allocation for all messages; every record shares it.
            let buffer = Bytes::from(buffer);
            for (hash, offset, len) in messages {
                batch.push(hash, buffer.slice(offset..offset + len));
            }
        }
        batch
    }
}

impl Drop for Pending {
    /// Takes the chain of earlier versions apart in a loop: it can be longer than the stack allows.
    fn drop(&mut self) {
        let mut next = self.inner.get_mut().earlier.take();
        while let Some(pending) = next {
            next = Arc::into_inner(pending).and_then(|mut pending| pending.inner.get_mut().earlier.take());
        }
    }
}
