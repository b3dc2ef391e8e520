//! Where sessions leave what they did, and the recorder's thread fetches it.
//!
//! A vector behind a lock that is held for an instant, and fetched a hundred times a second: a
//! channel would wake the recorder's thread for every transaction, which costs more than the
//! transaction's statements cost us.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::pending::Ended;

/// How many transactions may wait for the recorder before the sessions wait for it.
const WAITING_MAX: usize = 65_536;

/// How long a session waits before it looks again whether there is room.
const PAUSE: Duration = Duration::from_millis(1);

/// Transactions that have ended and that nobody has fetched yet.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: Mutex<Vec<Ended>>,
    /// Nobody fetches any more.
    closed: AtomicBool,
    /// Sessions that may still leave something.
    sessions: AtomicUsize,
    /// By client, how many values it has drawn: every one of them is left here with the
    /// transaction that it was drawn for.
    drawn: Vec<AtomicU64>,
}

impl Outbox {
    pub(super) fn new(sessions: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            closed: AtomicBool::new(false),
            sessions: AtomicUsize::new(sessions),
            drawn: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Says how many values a client has drawn, before it sends the last of them.
    pub(super) fn draw(&self, client: u32, values: u64) {
        self.drawn[client as usize].store(values, Ordering::Release);
    }

    /// How many values a client has drawn. Whoever has read one asks later than it was drawn.
    pub(super) fn drawn(&self, client: usize) -> u64 {
        self.drawn[client].load(Ordering::Acquire)
    }

    /// Leaves a transaction, as soon as there is room.
    pub(super) fn push(&self, ended: Ended) {
        while !self.closed.load(Ordering::Relaxed) {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() < WAITING_MAX {
                waiting.push(ended);
                return;
            }
            drop(waiting);
            thread::sleep(PAUSE);
        }
    }

    /// Swaps what waits for an empty vector.
    pub(super) fn fetch(&self, into: &mut Vec<Ended>) {
        into.clear();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *waiting, into);
    }

    /// Nobody fetches any more: what is left from now on is dropped.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// A session has left its last transaction.
    pub(super) fn leave(&self) {
        self.sessions.fetch_sub(1, Ordering::Release);
    }

    /// Whether every session has left: what is fetched after this is the rest.
    pub(super) fn is_last(&self) -> bool {
        self.sessions.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Recorded, Status};

    fn ended(session: u32) -> Ended {
        Ended {
            client: session,
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

    /// The order of each session is kept, and a session that finds no room waits for it.
    #[test]
    fn a_full_outbox_makes_sessions_wait_and_loses_nothing() {
        let outbox = Outbox::new(2);
        let each = WAITING_MAX;
        let mut fetched = Vec::new();
        thread::scope(|scope| {
            for session in 0..2 {
                let outbox = &outbox;
                scope.spawn(move || {
                    (0..each).for_each(|_| outbox.push(ended(session)));
                    outbox.leave();
                });
            }
            let mut batch = Vec::new();
            let mut total = [0, 0];
            loop {
                let is_last = outbox.is_last();
                outbox.fetch(&mut batch);
                assert!(batch.len() <= WAITING_MAX);
                for ended in &batch {
                    total[ended.recorded.session as usize] += 1;
                }
                if is_last {
                    break;
                }
                thread::sleep(PAUSE);
            }
            fetched.extend(total);
        });
        assert_eq!(fetched, [each, each]);
        // A closed one swallows.
        outbox.close();
        (0..=WAITING_MAX).for_each(|_| outbox.push(ended(0)));
    }
}
