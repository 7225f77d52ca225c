//! What the chain tells the rest of the node.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;
use rhizome_primitives::B256;

/// How many events may wait for a subscriber before it is dropped.
const BACKLOG: usize = 4096;

/// A change of what is known of the chain. Sent when it is visible; it is durable a moment later.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainEvent {
    /// There is a new best block.
    Head(HeadChange),
    /// A valid block was kept that is not on the main chain.
    Side {
        /// Its number.
        number: u64,
        /// Its hash.
        hash: B256,
    },
}

/// The move from one best block to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadChange {
    /// Blocks that left the main chain, highest first.
    pub retracted: Vec<(u64, B256)>,
    /// Blocks that joined it, lowest first; the last is the new head.
    pub adopted: Vec<(u64, B256)>,
}

impl HeadChange {
    /// Whether more happened than one block more on top.
    pub fn is_reorganisation(&self) -> bool {
        !self.retracted.is_empty()
    }
}

/// The subscribers.
#[derive(Debug, Default)]
pub(crate) struct Events {
    subscribers: Mutex<Vec<Sender<ChainEvent>>>,
}

impl Events {
    /// A new subscription: everything that happens from now on. A subscriber that falls 4,096 events behind loses its
    /// subscription (its channel closes) and has to look at the chain again; import never waits for it.
    pub(crate) fn subscribe(&self) -> Receiver<ChainEvent> {
        let (sender, receiver) = bounded(BACKLOG);
        self.subscribers.lock().push(sender);
        receiver
    }

    pub(crate) fn send(&self, event: &ChainEvent) {
        self.subscribers.lock().retain(|subscriber| match subscriber.try_send(event.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                tracing::warn!("a subscriber of chain events is {BACKLOG} events behind and was dropped");
                false
            }
            Err(TrySendError::Disconnected(_)) => false,
        });
    }
}
