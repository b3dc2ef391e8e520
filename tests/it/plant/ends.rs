//! Faults of what begins and ends transactions, savepoints and failed statements.

use std::io;

use super::conversation::Conversation;
use super::packet::WireAnswer;
use super::text::{SavepointStep, savepoint_step, write_kind};

impl Conversation {
    /// Ends the transaction the other way.
    pub(super) fn ended_by(
        &mut self,
        sql: &str,
        asked: &str,
        done: &str,
    ) -> io::Result<WireAnswer> {
        let is_asked = sql.trim_end_matches(';').eq_ignore_ascii_case(asked);
        if is_asked && self.transaction.has_written && self.plot.is_due(sql) {
            return self.ask(done);
        }
        self.ask(sql)
    }

    pub(super) fn rollback_to_ignored(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let Some(SavepointStep::RollbackTo(name)) = savepoint_step(sql) else {
            return self.ask(sql);
        };
        let is_known = self.transaction.savepoints.contains(&name);
        if is_known && self.plot.is_due(sql) {
            return Ok(WireAnswer::done(0, true));
        }
        self.ask(sql)
    }

    /// The client is told that its transaction is open, and another one is.
    pub(super) fn write_commits(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_write = write_kind(sql).is_some() && answer.error().is_none();
        if is_write && self.transaction.is_open && self.plot.is_due(sql) {
            self.ask("COMMIT")?;
            self.ask("BEGIN")?;
        }
        Ok(answer)
    }

    pub(super) fn rollback_keeps_last_write(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_rollback = sql.trim_end_matches(';').eq_ignore_ascii_case("ROLLBACK");
        let last = self.transaction.last_write.clone();
        if let Some(last) = last.filter(|_| is_rollback)
            && self.plot.is_due(sql)
        {
            self.ask(&last)?;
        }
        Ok(answer)
    }

    pub(super) fn rollback_to_forgets(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if let Some(SavepointStep::RollbackTo(name)) = savepoint_step(sql)
            && answer.error().is_none()
            && self.plot.is_due(sql)
        {
            self.ask(&format!("RELEASE SAVEPOINT {name}"))?;
        }
        Ok(answer)
    }

    pub(super) fn savepoint_keeps_place(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match savepoint_step(sql) {
            Some(SavepointStep::Set(name))
                if self.transaction.savepoints.contains(&name) && self.plot.is_due(sql) =>
            {
                Ok(WireAnswer::done(0, true))
            }
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn release_rolls_back(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match savepoint_step(sql) {
            Some(SavepointStep::Release(name)) if self.plot.is_due(sql) => {
                self.ask(&format!("ROLLBACK TO SAVEPOINT {name}"))?;
                self.ask(sql)
            }
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn snapshot_taken_late(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let snapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT";
        if sql.starts_with(snapshot) && self.plot.is_due(sql) {
            return self.ask("START TRANSACTION");
        }
        self.ask(sql)
    }
}
