//! Queue of ended transactions, from the sessions to the recorder's thread.
//!
//! A vector behind a lock that is held for an instant, and fetched a hundred times a second: a
//! channel would wake the recorder's thread for every transaction, which costs more than the
//! transaction's statements cost us.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::pending::Ended;
use crate::history::{Operation, Recorded};

/// How many values that were read or written may wait for the recorder before the sessions wait for
/// it: about 20 MB. Values and not transactions, because one may have read a thousand lists.
const VALUES_MAX: u64 = 1 << 19;

/// How long a session waits before it looks again whether there is room.
const PAUSE: Duration = Duration::from_millis(1);

/// Transactions that have ended and were not fetched yet.
///
/// The bound counts every transaction that the recorder has not taken, fetched or not, because a
/// fetched one may wait for another session's. A session therefore leaves its transaction first
/// and waits for room afterwards, when it holds no locks, so a writer that others wait for always
/// arrives.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: Mutex<Vec<Ended>>,
    /// Values of the transactions left here that the recorder has not taken.
    values: AtomicU64,
    /// The recorder has stopped.
    closed: AtomicBool,
    /// Sessions that have not ended.
    sessions: AtomicUsize,
    /// By client, how many values it has drawn: every one of them is left here with the
    /// transaction that it was drawn for.
    drawn: Vec<AtomicU64>,
}

impl Outbox {
    pub(super) fn new(sessions: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            values: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            sessions: AtomicUsize::new(sessions),
            drawn: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Notes how many values a client has drawn, before it sends the last of them.
    pub(super) fn draw(&self, client: u32, values: u64) {
        self.drawn[client as usize].store(values, Ordering::Release);
    }

    /// How many values a client has drawn. A reader asks after the value was drawn, so the count
    /// includes it.
    pub(super) fn drawn(&self, client: usize) -> u64 {
        self.drawn[client].load(Ordering::Acquire)
    }

    /// Leaves a transaction, and waits then until there is room for the next one.
    pub(super) fn push(&self, ended: Ended) {
        if self.is_closed() {
            return;
        }
        // Counted first: the recorder may take it as soon as it is there.
        let values = values(&ended.recorded);
        self.values.fetch_add(values, Ordering::Relaxed);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(ended);
        drop(waiting);
        while self.values.load(Ordering::Relaxed) >= VALUES_MAX && !self.is_closed() {
            thread::sleep(PAUSE);
        }
    }

    /// Makes room: the recorder has taken a transaction.
    pub(super) fn taken(&self, recorded: &Recorded) {
        self.values.fetch_sub(values(recorded), Ordering::Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Swaps the waiting transactions for an empty vector.
    pub(super) fn fetch(&self, into: &mut Vec<Ended>) {
        into.clear();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *waiting, into);
    }

    /// Stops the recorder's side: transactions left from now on are dropped.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// A session has left its last transaction.
    pub(super) fn leave(&self) {
        self.sessions.fetch_sub(1, Ordering::Release);
    }

    /// Whether every session has ended: a fetch after this returns the rest.
    pub(super) fn is_last(&self) -> bool {
        self.sessions.load(Ordering::Acquire) == 0
    }
}

/// How much of the room a transaction takes; one for itself.
fn values(recorded: &Recorded) -> u64 {
    let of_one = |operation: &Operation| match operation {
        Operation::Read { .. } | Operation::Write { .. } => 1,
        Operation::ReadList { values, .. } => 1 + values.len() as u64,
    };
    1 + recorded.operations.iter().map(of_one).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::super::held::{Held, value_of};
    use super::*;
    use crate::history::Status;

    fn ended(session: u32) -> Ended {
        Ended {
            client: session,
            values: 0,
            recorded: Recorded {
                session,
                status: Status::Committed,
                timestamps: None,
                real_time: None,
                operations: Vec::new(),
            },
            mark: None,
            commit: None,
        }
    }

    /// A transaction that has read a list of so many elements, the last of which is this one.
    fn reader(session: u32, elements: u64, last: i64) -> Ended {
        let mut ended = ended(session);
        let mut values = vec![0; elements as usize];
        values.push(last);
        let operation = Operation::ReadList { key: 0, values };
        ended.recorded.operations.push(operation);
        ended
    }

    fn of_session(batch: &[Ended], session: u32) -> usize {
        let of_it = batch.iter().filter(|ended| ended.client == session);
        of_it.count()
    }

    #[test]
    fn a_full_outbox_blocks_sessions_and_loses_no_transaction() {
        const ELEMENTS: u64 = 10_000;
        let outbox = Outbox::new(2);
        let each = 4 * (VALUES_MAX / ELEMENTS) as usize;
        let mut fetched = [0, 0];
        thread::scope(|scope| {
            for session in 0..2 {
                let outbox = &outbox;
                scope.spawn(move || {
                    (0..each).for_each(|_| outbox.push(reader(session, ELEMENTS, 0)));
                    outbox.leave();
                });
            }
            let mut batch = Vec::new();
            loop {
                let is_last = outbox.is_last();
                outbox.fetch(&mut batch);
                // Each session has left at most one when there was no more room.
                let most = VALUES_MAX / ELEMENTS + 2;
                assert!(batch.len() as u64 <= most, "{} of {most}", batch.len());
                for session in [0, 1] {
                    fetched[session as usize] += of_session(&batch, session);
                }
                for ended in &batch {
                    outbox.taken(&ended.recorded);
                }
                if is_last {
                    break;
                }
                thread::sleep(PAUSE);
            }
        });
        assert_eq!(fetched, [each, each]);
        // Released sessions leave nothing and do not wait.
        outbox.close();
        let far = VALUES_MAX / ELEMENTS + 2;
        (0..far).for_each(|_| outbox.push(reader(0, ELEMENTS, 0)));
        let mut rest = Vec::new();
        outbox.fetch(&mut rest);
        assert!(rest.is_empty());
    }

    /// Readers of a value fill the room before its writer leaves its transaction. The writer gets
    /// in nevertheless.
    #[test]
    fn a_writer_gets_into_an_outbox_full_of_its_readers() {
        let outbox = Outbox::new(2);
        let written = value_of(1, 0, 2);
        outbox.draw(1, 1);
        let mut held = Held::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                outbox.push(reader(0, VALUES_MAX, written));
                outbox.leave();
            });
            while outbox.values.load(Ordering::Relaxed) < VALUES_MAX {
                thread::sleep(PAUSE);
            }
            scope.spawn(|| {
                let mut writer = ended(1);
                writer.values = 1;
                let (key, value) = (0, written);
                writer
                    .recorded
                    .operations
                    .push(Operation::Write { key, value });
                outbox.push(writer);
                outbox.leave();
            });
            let mut told = Vec::new();
            let mut batch = Vec::new();
            for _ in 0..10_000 {
                outbox.fetch(&mut batch);
                for ended in batch.drain(..) {
                    held.push(ended.client, ended.values, ended.recorded);
                }
                let tell = |recorded: Recorded| {
                    outbox.taken(&recorded);
                    told.push(recorded.session);
                    Ok(())
                };
                held.release(|client| outbox.drawn(client), tell)
                    .expect("told");
                if told.len() == 2 {
                    break;
                }
                thread::sleep(PAUSE);
            }
            // Or the threads would wait for ever where this fails.
            outbox.close();
            assert_eq!(told, [1, 0]);
        });
    }
}
