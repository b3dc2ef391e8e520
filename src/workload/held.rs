//! Holds transactions back until the transactions they read from are recorded.
//!
//! A reader may be answered before its writer: the commit took effect, but the writer's thread has
//! not run since. A history with the reader and without the writer would show a thin-air read. So
//! a transaction is recorded only after every transaction it read from. A history that is cut
//! anywhere, because it still grows or its recorder was killed, is then one that the engine
//! could have produced.

use std::collections::VecDeque;

use crate::history::{Operation, Recorded};

/// Transactions on their way to the recorder, in a queue for each client.
///
/// A value names the client that wrote it and its place among the values of that client
/// ([`value_of`]). Clients hand over in order, so two counters for each say which values have
/// arrived.
#[derive(Debug)]
pub(super) struct Held {
    /// Each transaction with the number of values that its client had drawn at its end.
    queues: Vec<VecDeque<(Recorded, u64)>>,
    /// By client: values before this one were handed over.
    known: Vec<u64>,
    /// By client: values before this one are recorded.
    told: Vec<u64>,
}

/// The value that a client writes at a place, counted from 0; it is written once.
pub(super) fn value_of(client: u32, place: u64, clients: u32) -> i64 {
    let value = u128::from(place) * u128::from(clients) + u128::from(client) + 1;
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The client that writes a value and the value's place; None for an initial value.
fn source(value: i64, clients: usize) -> Option<(usize, u64)> {
    let number = u64::try_from(value.checked_sub(1)?).ok()?;
    let clients = clients.max(1) as u64;
    Some(((number % clients) as usize, number / clients))
}

impl Held {
    pub(super) fn new(clients: usize) -> Self {
        Self {
            queues: (0..clients).map(|_| VecDeque::new()).collect(),
            known: vec![0; clients],
            told: vec![0; clients],
        }
    }

    /// Takes the next transaction of a client that had drawn `values` values when it ended. Values
    /// that no transaction contains were never written, and no reader waits for them.
    pub(super) fn push(&mut self, client: u32, values: u64, recorded: Recorded) {
        let client = client as usize;
        self.known[client] = values;
        self.queues[client].push_back((recorded, values));
    }

    /// Records every transaction that waits for none, writers before readers unless the engine let
    /// transactions read from each other in a circle. `drawn` gives the values a client has drawn
    /// so far: a read of a later value has no writer, so it is not held back.
    pub(super) fn release(
        &mut self,
        drawn: impl Fn(usize) -> u64,
        mut tell: impl FnMut(Recorded) -> Result<(), super::WorkloadError>,
    ) -> Result<(), super::WorkloadError> {
        let mut free = self.free(&drawn);
        while free.iter().any(|free| *free > 0) {
            let mut goes_on = false;
            for (client, free) in free.iter_mut().enumerate() {
                while *free > 0 && self.waits_for(client, 0, &self.told, &drawn).is_none() {
                    *free -= 1;
                    goes_on = true;
                    self.pop(client).map_or(Ok(()), &mut tell)?;
                }
            }
            if !goes_on && let Some(client) = free.iter().position(|free| *free > 0) {
                // They read each other's writes, and all of them have arrived.
                free[client] -= 1;
                self.pop(client).map_or(Ok(()), &mut tell)?;
            }
        }
        Ok(())
    }

    /// How many of each queue wait for nothing but each other.
    fn free(&self, drawn: &impl Fn(usize) -> u64) -> Vec<usize> {
        let mut free: Vec<usize> = self.queues.iter().map(VecDeque::len).collect();
        // Values before this are recorded, or were never written.
        let mut bound = self.known.clone();
        loop {
            let mut is_settled = true;
            for client in 0..free.len() {
                let waits = |at: &usize| self.waits_for(client, *at, &bound, drawn).is_some();
                let Some(first) = (0..free[client]).find(waits) else {
                    continue;
                };
                free[client] = first;
                bound[client] = self.before_writes(client, first);
                is_settled = false;
            }
            if is_settled {
                return free;
            }
        }
    }

    /// The client whose value a transaction has read and that has not arrived yet.
    fn waits_for(
        &self,
        client: usize,
        at: usize,
        there: &[u64],
        drawn: &impl Fn(usize) -> u64,
    ) -> Option<usize> {
        let clients = self.queues.len();
        let is_missing = |value: i64| {
            let (writer, place) = source(value, clients)?;
            let is_missing = writer != client && place >= there[writer];
            (is_missing && place < drawn(writer)).then_some(writer)
        };
        let operations = &self.queues[client].get(at)?.0.operations;
        operations.iter().find_map(|operation| match operation {
            Operation::Read { value, .. } => value.and_then(is_missing),
            Operation::ReadList { values, .. } => values.iter().copied().find_map(is_missing),
            Operation::Write { .. } => None,
        })
    }

    /// Values of a client before this one are in transactions before the one at `at`.
    fn before_writes(&self, client: usize, at: usize) -> u64 {
        let before = at.checked_sub(1).and_then(|at| self.queues[client].get(at));
        before.map_or(self.told[client], |(_, values)| *values)
    }

    fn pop(&mut self, client: usize) -> Option<Recorded> {
        let (recorded, values) = self.queues[client].pop_front()?;
        self.told[client] = values;
        Some(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Status;

    const CLIENTS: u32 = 3;

    /// A transaction of a client that reads and writes values by client and place.
    fn transaction(client: u32, reads: &[(u32, u64)], writes: &[u64]) -> Recorded {
        let read = |&(writer, place): &(u32, u64)| Operation::Read {
            key: 0,
            value: Some(value_of(writer, place, CLIENTS)),
        };
        let write = |place: &u64| Operation::Write {
            key: 0,
            value: value_of(client, *place, CLIENTS),
        };
        let operations = reads.iter().map(read).chain(writes.iter().map(write));
        Recorded {
            session: client,
            status: Status::Committed,
            timestamps: None,
            real_time: None,
            operations: operations.collect(),
        }
    }

    /// Hands over a transaction of a client that has drawn so many values by then.
    fn push(held: &mut Held, values: u64, recorded: Recorded) {
        held.push(recorded.session, values, recorded);
    }

    /// The sessions of what is told.
    fn told(held: &mut Held, drawn: [u64; CLIENTS as usize]) -> Vec<u32> {
        let mut told = Vec::new();
        let tell = |recorded: Recorded| {
            told.push(recorded.session);
            Ok(())
        };
        held.release(|client| drawn[client], tell).expect("told");
        told
    }

    #[test]
    fn value_of_and_source_are_inverse() {
        for (client, place) in [(0, 0), (2, 0), (1, 7), (2, 1 << 40)] {
            let value = value_of(client, place, CLIENTS);
            let found = source(value, CLIENTS as usize);
            assert_eq!(found, Some((client as usize, place)));
        }
        for nobodys in [0, -1, i64::MIN] {
            assert_eq!(source(nobodys, 3), None);
        }
    }

    #[test]
    fn a_reader_is_held_until_its_writer_arrives_and_delays_its_session() {
        let mut held = Held::new(CLIENTS as usize);
        push(&mut held, 1, transaction(0, &[(1, 4)], &[0]));
        push(&mut held, 2, transaction(0, &[], &[1]));
        push(&mut held, 0, transaction(2, &[(0, 0)], &[]));
        assert_eq!(told(&mut held, [2, 5, 0]), Vec::<u32>::new());
        push(&mut held, 4, transaction(1, &[], &[0, 1, 2, 3]));
        assert_eq!(told(&mut held, [2, 5, 0]), [1]);
        push(&mut held, 5, transaction(1, &[], &[4]));
        assert_eq!(told(&mut held, [2, 5, 0]), [1, 0, 0, 2]);
    }

    /// An append to a row that is gone draws a value and writes nothing.
    #[test]
    fn a_skipped_value_holds_no_reader_once_its_client_has_moved_on() {
        let mut held = Held::new(CLIENTS as usize);
        push(&mut held, 0, transaction(0, &[(1, 0)], &[]));
        assert!(told(&mut held, [0, 1, 0]).is_empty());
        push(&mut held, 1, transaction(1, &[], &[]));
        let mut told = told(&mut held, [0, 1, 0]);
        told.sort_unstable();
        assert_eq!(told, [0, 1]);
    }

    #[test]
    fn a_value_that_was_never_drawn_holds_no_reader() {
        let mut held = Held::new(CLIENTS as usize);
        push(&mut held, 0, transaction(0, &[(1, 5)], &[]));
        assert_eq!(told(&mut held, [0, 5, 0]), [0]);
    }

    /// As dirty reads do, or an engine that is wrong.
    #[test]
    fn transactions_that_read_each_other_are_recorded_together() {
        let mut held = Held::new(CLIENTS as usize);
        push(&mut held, 1, transaction(0, &[(1, 0)], &[0]));
        assert!(told(&mut held, [1, 1, 0]).is_empty());
        push(&mut held, 0, transaction(2, &[(0, 0)], &[]));
        push(&mut held, 1, transaction(1, &[(0, 0)], &[0]));
        let mut told = told(&mut held, [1, 1, 0]);
        told.sort_unstable();
        assert_eq!(told, [0, 1, 2]);
    }
}
