//! Transactions that have ended and whose start timestamp is still a place in the engine's log.

use std::collections::VecDeque;

use super::WorkloadError;
use crate::engine::{Mark, Resolver};
use crate::history::{Recorded, Span, Status};

/// A transaction as its session hands it over.
#[derive(Debug)]
pub(super) struct Ended {
    /// Which of the clients; it has another session after a lost connection.
    pub client: u32,
    pub recorded: Recorded,
    pub mark: Option<Mark>,
    /// The commit timestamp of one that wrote.
    pub commit: Option<i64>,
}

/// Transactions in the order in which they ended.
#[derive(Default)]
pub(super) struct Pending {
    queue: VecDeque<Ended>,
    resolver: Option<Box<dyn Resolver>>,
}

impl Pending {
    pub(super) fn new(resolver: Option<Box<dyn Resolver>>) -> Self {
        Self {
            queue: VecDeque::new(),
            resolver,
        }
    }

    pub(super) fn push(&mut self, ended: Ended) {
        self.queue.push_back(ended);
    }

    /// Reads the engine's log on, where somebody waits for it.
    pub(super) fn advance(&mut self) -> Result<(), WorkloadError> {
        match &mut self.resolver {
            Some(resolver) if !self.queue.is_empty() => Ok(resolver.advance()?),
            _ => Ok(()),
        }
    }

    /// The next transaction and its client, unless its start is not known yet.
    pub(super) fn pop(&mut self) -> Option<(u32, Recorded)> {
        let first = self.queue.front()?;
        let start = match (&first.mark, &self.resolver) {
            (Some(mark), Some(resolver)) => Some(resolver.resolve(mark)?),
            _ => None,
        };
        let Ended {
            client,
            mut recorded,
            commit,
            ..
        } = self.queue.pop_front()?;
        if let Some(from) = start {
            // Who wrote nothing commits where it started; a commit that nobody answered for has
            // no time.
            let to = match (commit, recorded.status) {
                (Some(commit), _) => commit,
                (None, Status::Indeterminate) => i64::MAX,
                (None, _) => from,
            };
            recorded.timestamps = Some(Span { from, to });
        }
        Some((client, recorded))
    }

    /// Transactions whose start nobody can tell.
    pub(super) fn left(&self) -> usize {
        self.queue.len()
    }
}
