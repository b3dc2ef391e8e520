//! Sessions that send prepared statements: a PREPARE where a text is new to the session, then its EXECUTE.
//!
//! The EXECUTE is what answers for the statement. A PREPARE takes no row locks, and may wait for a table; where it
//! is rejected, that is the statement's answer.

use crate::engine::EngineError;
use crate::execute::recording::ConnectionRole;
use crate::execute::scheduler::{SessionStep, Work};
use crate::execute::sessions::SentCommand;

use super::InterleavedRun;

impl InterleavedRun<'_, '_> {
    /// Has sessions forget what the cases before prepared, where a name cannot be prepared again.
    pub(super) fn forget_prepared(&mut self) -> Result<(), EngineError> {
        let Some(spelling) = &self.stage.dialect.spelling.prepared else {
            return Ok(());
        };
        if spelling.forget.is_empty() {
            return Ok(());
        }
        for session in &self.case.prepared {
            let slot = self.slot(*session);
            self.stage.run_aside(slot, &spelling.forget)?;
        }
        Ok(())
    }

    /// What a session sends for the text of a step.
    pub(super) fn command(&mut self, step: SessionStep, sql: &str) -> SentCommand {
        let is_prepared = self.case.prepared.contains(&step.session);
        let sent = match step.work {
            Work::Statement { line } if is_prepared => {
                let known = self.prepared.entry(step.session).or_default();
                known.sent(self.lines[line].kind, sql, self.stage.dialect)
            }
            Work::Statement { .. } | Work::Before { .. } | Work::After { .. } | Work::Rollback => {
                None
            }
        };
        sent.map_or_else(
            || SentCommand::plain(sql),
            |sent| SentCommand {
                prepare: sent.prepare,
                sql: sent.execute,
            },
        )
    }

    /// Takes in that a session's PREPARE of a step's text was rejected: nothing was sent behind it, and it is not prepared.
    pub(super) fn was_not_prepared(&mut self, step: SessionStep) {
        let role = ConnectionRole::Session(self.slot(step.session));
        self.stage.log.not_sent(role);
        let text = self.record.text(step.work).map(str::to_owned);
        let known = self.prepared.get_mut(&step.session);
        if let (Some(known), Some(text)) = (known, text) {
            known.forget(&text);
        }
    }
}
