//! The thread that makes sealed layers durable while the next blocks execute.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{Result, StorageError};
use crate::stores::{Sealed, Stores};

/// Writes one layer at a time on a thread of its own.
///
/// At most one layer is in flight: a second [`Writer::submit`] waits for the first, which bounds memory and keeps the order.
#[derive(Debug)]
pub struct Writer {
    stores: Arc<Stores>,
    jobs: Option<SyncSender<Sealed>>,
    done: Receiver<(Result<()>, Duration)>,
    in_flight: bool,
    spent: Duration,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn spawn(stores: Arc<Stores>) -> Result<Self> {
        let (jobs, work) = sync_channel::<Sealed>(1);
        let (report, done) = sync_channel(1);
        let target = Arc::clone(&stores);
        let body = move || {
            for sealed in work {
                let start = Instant::now();
                let written = target.write(sealed);
                if report.send((written, start.elapsed())).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("persist".into())
            .spawn(body)
            .map_err(|source| StorageError::Refused(format!("cannot start the writer thread: {source}")))?;
        Ok(Self { stores, jobs: Some(jobs), done, in_flight: false, spent: Duration::ZERO, thread: Some(thread) })
    }

    /// Seals what was written so far and hands it to the thread, after waiting for the layer before.
    ///
    /// # Errors
    /// When that layer's write failed.
    pub fn submit(&mut self) -> Result<()> {
        self.wait()?;
        self.stores.healthy()?;
        let sealed = self.stores.seal();
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(sealed).is_ok());
        if !sent {
            return Err(StorageError::Poisoned { cause: "the writer thread has ended".into() });
        }
        self.in_flight = true;
        Ok(())
    }

    /// Whether a layer is being written at this moment.
    ///
    /// # Errors
    /// When the write that ended meanwhile failed.
    pub fn is_busy(&mut self) -> Result<bool> {
        if self.in_flight
            && let Ok((written, spent)) = self.done.try_recv()
        {
            self.in_flight = false;
            self.spent += spent;
            written?;
        }
        Ok(self.in_flight)
    }

    /// Waits until the layer in flight is durable.
    ///
    /// # Errors
    /// When its write failed.
    pub fn wait(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.in_flight) {
            return Ok(());
        }
        match self.done.recv() {
            Ok((written, spent)) => {
                self.spent += spent;
                written
            }
            Err(_) => Err(StorageError::Poisoned { cause: "the writer thread has ended".into() }),
        }
    }

    /// Time spent writing.
    pub fn spent(&self) -> Duration {
        self.spent
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        // A report that nobody waits for fits the channel, so the thread ends by itself.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
