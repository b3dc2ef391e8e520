//! Transactions that have ended and whose start timestamp is still a place in the engine's log.

use std::collections::VecDeque;

use super::WorkloadError;
use crate::engine::{Mark, Resolver};
use crate::history::{Recorded, Span, Status};

/// A transaction as its session hands it over.
#[derive(Debug)]
pub(super) struct Ended {
    /// The client's place; it has another session number after a lost connection.
    pub client: u32,
    /// Values the client has drawn so far. Each is in this or an earlier transaction, or was never
    /// written.
    pub values: u64,
    pub recorded: Recorded,
    /// Where in the engine's log it started, when timestamps are recorded.
    pub mark: Option<Mark>,
    /// The commit timestamp of one that wrote.
    pub commit: Option<i64>,
}

/// Transactions in the order in which they ended.
#[derive(Default)]
pub(super) struct EndedQueue {
    queue: VecDeque<Ended>,
    resolver: Option<Box<dyn Resolver>>,
}

impl EndedQueue {
    pub(super) fn new(resolver: Option<Box<dyn Resolver>>) -> Self {
        Self {
            queue: VecDeque::new(),
            resolver,
        }
    }

    pub(super) fn push(&mut self, ended: Ended) {
        self.queue.push_back(ended);
    }

    /// Reads on in the engine's log while a transaction waits for it.
    pub(super) fn advance(&mut self) -> Result<(), WorkloadError> {
        match &mut self.resolver {
            Some(resolver) if !self.queue.is_empty() => Ok(resolver.advance()?),
            _ => Ok(()),
        }
    }

    /// The next transaction, unless its start is not known yet.
    pub(super) fn pop(&mut self) -> Option<Ended> {
        let first = self.queue.front()?;
        let start = match (&first.mark, &self.resolver) {
            (Some(mark), Some(resolver)) => Some(resolver.resolve(mark)?),
            _ => None,
        };
        let mut ended = self.queue.pop_front()?;
        if let Some(from) = start {
            // A read-only transaction commits where it started; an unanswered commit has no
            // timestamp.
            let to = match (ended.commit, ended.recorded.status) {
                (Some(commit), _) => commit,
                (None, Status::Indeterminate) => i64::MAX,
                (None, _) => from,
            };
            ended.recorded.timestamps = Some(Span { from, to });
        }
        Some(ended)
    }

    /// Transactions whose start timestamp is unknown.
    pub(super) fn left(&self) -> usize {
        self.queue.len()
    }
}
