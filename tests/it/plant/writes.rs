//! Faults of writes that are refused, or do another part of their work than they say.

use std::io;

use super::WriteKind;
use super::conversation::Conversation;
use super::packet::WireAnswer;
use super::sabotage::{DEADLOCK, DUPLICATE};
use super::text::{WriteByPredicate, verb, without_last_row, write_kind};

impl Conversation {
    pub(super) fn count_too_low(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let counted = answer.affected().filter(|affected| *affected > 0);
        match (counted, answer.in_transaction) {
            (Some(affected), Some(open)) if write_kind(sql).is_some() && self.plot.is_due(sql) => {
                Ok(WireAnswer::done(affected - 1, open))
            }
            _ => Ok(answer),
        }
    }

    pub(super) fn insert_drops_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_insert = write_kind(sql) == Some(WriteKind::Insert);
        match without_last_row(sql).filter(|_| is_insert) {
            Some(fewer) if self.plot.is_due(sql) => {
                let answer = self.ask(&fewer)?;
                match (answer.affected(), answer.in_transaction) {
                    (Some(rows), Some(open)) => Ok(WireAnswer::done(rows + 1, open)),
                    _ => Ok(answer),
                }
            }
            _ => self.ask(sql),
        }
    }

    /// Does what can be done of a write of this kind after the refusal, which the client gets.
    pub(super) fn failed_write_leaves_rows(
        &mut self,
        sql: &str,
        kind: WriteKind,
    ) -> io::Result<WireAnswer> {
        let refused = self.ask(sql)?;
        let has_failed = write_kind(sql) == Some(kind) && refused.error() == Some(DUPLICATE);
        if has_failed && self.transaction.is_open && self.plot.is_due(sql) {
            let verb = verb(sql);
            let rest = &sql.trim_start()[verb.len()..];
            self.ask(&format!("{verb} IGNORE{rest}"))?;
        }
        Ok(refused)
    }

    pub(super) fn duplicate_answered(
        &mut self,
        sql: &str,
        code: u16,
        state: &str,
    ) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if answer.error() == Some(DUPLICATE) && self.plot.is_due(sql) {
            return Ok(WireAnswer::failed(code, state, "not what happened"));
        }
        Ok(answer)
    }

    /// Looks for the rows by a read of their keys, and writes those that are there still.
    pub(super) fn write_of_keys(
        &mut self,
        sql: &str,
        look: impl FnOnce(&mut Self, &str) -> io::Result<WireAnswer>,
    ) -> io::Result<WireAnswer> {
        let write = WriteByPredicate::of(sql).filter(|_| self.transaction.is_open);
        let Some((write, keys)) = write.and_then(|write| write.keys().map(|keys| (write, keys)))
        else {
            return self.ask(sql);
        };
        if !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        let keys = look(self, &keys)?;
        if keys.error().is_some() {
            return self.ask(sql);
        }
        self.ask(&write.of_keys(&keys.first_column()))
    }

    pub(super) fn write_done_twice(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_write = write_kind(sql).is_some() && answer.error().is_none();
        if is_write && self.transaction.is_open && self.plot.is_due(sql) {
            let again = self.ask(sql)?;
            // A deadlock ends the transaction, and its client has to know.
            if again.error() == Some(DEADLOCK) {
                return Ok(again);
            }
        }
        Ok(answer)
    }

    pub(super) fn without_checks(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.ask("SET SESSION check_constraint_checks = 0")?;
        let answer = self.ask(sql)?;
        self.ask("SET SESSION check_constraint_checks = 1")?;
        Ok(answer)
    }
}
