//! Readers that open while a writer is at work.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};

use common::{Sha, keyed, put, small};
use rhizome_flatdb::{Digest, FlatDb, Key};

/// Tells that a place was reached, and what lets go on.
type Stop = (Sender<()>, Receiver<()>);

thread_local! {
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// SHA-256, which waits at the first hash of a thread that asked for it.
#[derive(Debug)]
struct Stopping;

impl Digest for Stopping {
    const ID: [u8; 8] = Sha::ID;

    fn digest(bytes: &[u8]) -> Key {
        if let Some((reached, go_on)) = STOP.with(|stop| stop.borrow_mut().take()) {
            reached.send(()).unwrap();
            go_on.recv().unwrap();
        }
        Sha::digest(bytes)
    }
}

fn stop() -> (Stop, Receiver<()>, Sender<()>) {
    let ((reached, is_reached), (go, go_on)) = (channel(), channel());
    ((reached, go_on), is_reached, go)
}

#[test]
fn a_reader_opens_beside_a_writer_that_places_the_tail_anew() {
    // With a mapped index, so that the reader sees slots that the writer has placed meanwhile.
    let options = || small().resident_index(0);
    let directory = tempfile::tempdir().unwrap();
    {
        let db: FlatDb<Sha> = options().open(directory.path()).unwrap();
        put(&db, &keyed::<Sha>(0..200)).unwrap();
        db.seal().unwrap();
        put(&db, &keyed::<Sha>(200..400)).unwrap();
        db.flush().unwrap();
    }
    let ((writer_stop, writer_stopped, writer_go), (reader_stop, reader_stopped, reader_go)) = (stop(), stop());
    std::thread::scope(|scope| {
        let path = directory.path();
        let writer = scope.spawn(move || {
            STOP.with(|stop| *stop.borrow_mut() = Some(writer_stop));
            options().open::<Stopping>(path).unwrap()
        });
        writer_stopped.recv().unwrap();
        let reader = scope.spawn(move || {
            STOP.with(|stop| *stop.borrow_mut() = Some(reader_stop));
            options().open_read_only::<Stopping>(path).unwrap()
        });
        reader_stopped.recv().unwrap();
        writer_go.send(()).unwrap();
        assert_eq!(writer.join().unwrap().stats().records, 400);
        reader_go.send(()).unwrap();
        let reader = reader.join().unwrap();
        assert_eq!((reader.stats().records, &reader.recovery().damage), (400, &None));
        for (key, record) in keyed::<Sha>(0..400) {
            assert_eq!(reader.get(&key).unwrap(), Some(record.as_slice()));
        }
    });
}
