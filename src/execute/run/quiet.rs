//! Waits on an engine that does not show them: a statement waits that goes unanswered while nothing else is answered.
//!
//! The server may merely have been slow. What waited is answered when a lock was released, or refused; an answer without either
//! makes the run no evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::InterleavedRun;
use crate::engine::EngineError;
use crate::execute::fate::TransactionFate;
use crate::execute::scheduler::{SessionStep, Work};
use crate::model::{SessionId, StatementKind, UndecidedReason};

impl InterleavedRun<'_, '_> {
    /// Takes all that run for waiting, once there was no answer for this long, and what waited before as long as nothing
    /// was released. A read that takes no lock may take its time.
    pub(super) fn take_silence(&mut self, limit: Duration) -> Result<(), EngineError> {
        self.pause.polls += 1;
        let is_silent = self.pause.since.elapsed() >= limit && !self.only_plain_reads_run();
        let waits = |session: &SessionId| is_silent || self.silent.get(session) == Some(&false);
        let running = self.scheduler.in_flight();
        let waiting: BTreeMap<SessionId, BTreeSet<SessionId>> = running
            .filter(waits)
            .map(|session| (session, BTreeSet::new()))
            .collect();
        self.silent
            .extend(waiting.keys().map(|session| (*session, false)));
        let noted = self.scheduler.polled(&waiting);
        self.note(noted)
    }

    /// Takes an answer in. One that was refused may have reached the limit of its wait.
    pub(super) fn note_answer(&mut self, step: SessionStep, fate: TransactionFate) {
        let reply = self.replies.get(&step.session);
        let refused = reply.is_some_and(|reply| reply.outcome.error_class().is_some());
        if self.silent.remove(&step.session) == Some(false) && !refused {
            self.record.unreliable(UndecidedReason::BlockedByTimer);
        }
        let releases = match step.work {
            Work::Statement { line } => self.lines[line].kind == StatementKind::RollbackTo,
            Work::Rollback => true,
            Work::Before { .. } | Work::After { .. } => false,
        };
        if refused || releases || fate != TransactionFate::Continues {
            for released in self.silent.values_mut() {
                *released = true;
            }
        }
    }
}
