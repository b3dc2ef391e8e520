//! Which steps are watched while they run: those that may wait for somebody.

use super::InterleavedRun;
use crate::execute::scheduler::{SessionStep, Work};
use crate::model::Pace;
use crate::statement::SessionLock;

impl InterleavedRun<'_, '_> {
    /// Whether a step may wait for a lock of another session. A read that takes no lock may not, and is watched all
    /// the same: sent and waited for without a look at the locks, one that did wait would hold up the run until
    /// a lock timeout, and nobody would know why.
    pub(super) fn may_wait(&self, step: SessionStep) -> bool {
        let mut holders = self.holding.union(&self.locking_tables);
        let others_hold = holders.any(|session| *session != step.session);
        match step.work {
            Work::Rollback => false,
            Work::Statement { line } if self.lines[line].may_wait_for_any_lock() => {
                self.scheduler.others_busy(step.session) || others_hold
            }
            Work::Before { line, .. } | Work::Statement { line } | Work::After { line, .. }
                if self.lines[line].may_wait_for_snapshot =>
            {
                self.scheduler.others_busy(step.session)
            }
            Work::Before { .. } | Work::Statement { .. } | Work::After { .. } => {
                others_hold && (self.takes_locks(step) || self.is_plain_read(step))
            }
        }
    }

    /// Takes in what an accepted step makes of the tables that its session locks beyond its transactions.
    pub(super) fn note_session_lock(&mut self, step: SessionStep) {
        let lock = match step.work {
            Work::Statement { line } => self.lines[line].session_lock,
            Work::Before { .. } | Work::After { .. } | Work::Rollback => None,
        };
        match lock {
            Some(SessionLock::OfTables | SessionLock::OfServer) => {
                self.locking_tables.insert(step.session);
            }
            Some(SessionLock::LetsGo) => {
                self.locking_tables.remove(&step.session);
            }
            // What locks the whole server outlives it; to watch for too long does no harm.
            Some(SessionLock::LetsGoOfTables) | None => {}
        }
    }

    /// Whether a step may take locks on rows, and so hold or meet some.
    pub(super) fn takes_locks(&self, step: SessionStep) -> bool {
        match step.work {
            Work::Rollback => false,
            // A probe locks what its statement locks.
            Work::Before { .. } | Work::After { .. } => true,
            Work::Statement { line } => self.lines[line].takes_locks,
        }
    }

    pub(super) fn is_end(&self, step: SessionStep) -> bool {
        matches!(step.work, Work::Statement { line } if self.lines[line].kind.is_end())
    }

    pub(super) fn is_plain_read(&self, step: SessionStep) -> bool {
        match step.work {
            Work::Rollback | Work::Before { .. } | Work::After { .. } => false,
            Work::Statement { line } => self.lines[line].is_plain_read,
        }
    }

    /// Whether what runs and is not seen waiting are reads that take no lock, which may take their time.
    pub(super) fn only_plain_reads_run(&self) -> bool {
        let mut restless = self.scheduler.restless().peekable();
        let scheduled = self.case.pace == Pace::Scheduled;
        scheduled && restless.peek().is_some() && restless.all(|step| self.is_plain_read(step))
    }
}
