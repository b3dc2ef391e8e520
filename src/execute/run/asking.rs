//! When the server is asked whether a session's transaction is open, and what is taken for it where it is not asked.

use super::InterleavedRun;
use crate::engine::{EngineError, TransactionState};
use crate::execute::scheduler::{SessionStep, Work};
use crate::execute::sessions::{Ask, StatementReply};
use crate::model::{Effect, SessionId, Setting, StatementKind};

/// Asks for nothing.
const NOTHING: &str = "SELECT 1";

/// Whether a statement may have sessions open and end transactions otherwise than the kinds of their statements say.
/// A setting that the dialect names (how long locks are waited for, how plans are made, what texts mean) does neither.
fn leaves_rules(effect: &Effect) -> bool {
    let is_set = effect.kind == StatementKind::Set;
    let is_understood = effect.setting.is_some_and(Setting::is_understood);
    effect.kind == StatementKind::Opaque || (is_set && !is_understood)
}

impl InterleavedRun<'_, '_> {
    /// Whether to query the transaction's state after an accepted statement, too: where only the engine
    /// knows what it did, and where the case says that no transaction is open. Where the answer says so,
    /// too, there is nothing to ask.
    pub(super) fn ask(&self, work: Work) -> Ask {
        let Work::Statement { line } = work else {
            return Ask::AfterRejection;
        };
        let mut statements = self.case.statements.iter();
        if statements.any(|statement| leaves_rules(&statement.effect)) {
            Ask::Always
        } else if self.lines[line].kind.is_end() && !self.is_asked_later(line) {
            match self.lines[line].chains {
                true => Ask::Always,
                false => Ask::UnlessEnded,
            }
        } else {
            Ask::AfterRejection
        }
    }

    /// Whether the end of a transaction is not asked for before the end of the run, or never where its session
    /// goes on. A question waits for an end that is answered before it is done, and so would hide it; of every
    /// second transaction it is asked at once, because one that stays open disturbs what follows.
    fn is_asked_later(&self, line: usize) -> bool {
        self.lines[line].id.transaction.0.is_multiple_of(2)
    }

    /// Notes a statement that was answered as the end of a transaction, where the answer does not show it.
    pub(super) fn note_unasked(
        &mut self,
        session: SessionId,
        step: Option<SessionStep>,
        reply: &StatementReply,
    ) {
        self.unasked.remove(&session);
        let Some(Work::Statement { line }) = step.map(|step| step.work) else {
            return;
        };
        let line = &self.lines[line];
        let is_last = line.kind.is_end() && !line.chains;
        if is_last && reply.state.is_none() && !reply.says_ended {
            self.unasked.insert(session, line.id);
        }
    }

    /// Asks for the ends that were not asked for when they were answered, and ends what goes on.
    pub(super) fn ask_for_ends(&mut self) -> Result<(), EngineError> {
        for (session, id) in std::mem::take(&mut self.unasked) {
            let slot = self.slot(session);
            if self.stage.aside(slot, NOTHING, Ask::Always)? == Some(TransactionState::Open) {
                self.record.left_open(id);
                self.roll_back(slot)?;
            }
        }
        Ok(())
    }

    /// Whether a transaction is open after an accepted statement, by the statements' kinds alone.
    pub(super) fn open_by_rule(&self, step: SessionStep) -> bool {
        let before = self.open.contains(&step.session);
        match step.work {
            Work::Rollback => false,
            Work::Before { .. } | Work::After { .. } => before,
            Work::Statement { line } => {
                let line = &self.lines[line];
                line.kind.is_begin() || (before && (line.chains || !line.kind.is_end()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::leaves_rules;
    use crate::dialect::dialect_of;
    use crate::statement::analyze;

    #[test]
    fn only_what_may_open_and_end_transactions_by_itself_has_every_answer_asked_about() {
        let dialect = dialect_of("mariadb", "10.11");
        let leaves = |sql: &str| leaves_rules(&analyze(sql, &dialect));
        assert!(leaves("SET autocommit = 0"));
        assert!(leaves("SET SESSION completion_type = 'CHAIN'"));
        assert!(leaves("CALL p()"));
        assert!(!leaves("SET SESSION join_cache_level = 0"));
        assert!(!leaves("SET SESSION innodb_lock_wait_timeout = 1"));
        assert!(!leaves("COMMIT"));
    }
}
