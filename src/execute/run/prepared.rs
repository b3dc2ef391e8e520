//! Sessions that send prepared statements: a PREPARE where a text is new to the session, then its EXECUTE.
//!
//! The EXECUTE is what may wait and what answers for the statement. A PREPARE takes no row locks; where it
//! is rejected, that is the statement's answer.

use std::ops::ControlFlow;

use crate::engine::EngineError;
use crate::execute::recording::ConnectionRole;
use crate::execute::scheduler::{SessionStep, Work};
use crate::execute::sessions::{Ask, StatementReply};
use crate::model::Outcome;

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

    /// What stands for a step's text in its session. Prepares it where it has to be; where that is rejected,
    /// the rejection is the step's answer.
    pub(super) fn ready(
        &mut self,
        step: SessionStep,
        sql: String,
    ) -> ControlFlow<Result<StatementReply, EngineError>, String> {
        let Work::Statement { line } = step.work else {
            return ControlFlow::Continue(sql);
        };
        if !self.case.prepared.contains(&step.session) {
            return ControlFlow::Continue(sql);
        }
        let known = self.prepared.entry(step.session).or_default();
        let Some(sent) = known.sent(self.lines[line].kind, &sql, self.stage.dialect) else {
            return ControlFlow::Continue(sql);
        };
        let Some(prepare) = &sent.prepare else {
            return ControlFlow::Continue(sent.execute);
        };
        let slot = self.slot(step.session);
        let role = ConnectionRole::Session(slot);
        self.stage.log.sent(role, prepare);
        let reply = self.stage.sessions.run(slot, prepare, Ask::AfterRejection);
        let accepted = |reply: &StatementReply| !matches!(reply.outcome, Outcome::Rejected(_));
        if reply.as_ref().is_ok_and(accepted) {
            self.stage.log.answered(role, false);
            return ControlFlow::Continue(sent.execute);
        }
        if let Some(known) = self.prepared.get_mut(&step.session) {
            known.forget(&sql);
        }
        ControlFlow::Break(reply)
    }
}
