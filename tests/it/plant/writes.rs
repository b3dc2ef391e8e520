//! Faults of writes that are refused, or do another part of their work than they say.

use std::io;

use super::WriteKind;
use super::conversation::Conversation;
use super::packet::WireAnswer;
use super::sabotage::DUPLICATE;
use super::text::{without_last_row, write_kind};

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

    /// Changes what can be changed after the refusal, which the client gets.
    pub(super) fn failed_update_leaves_rows(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let refused = self.ask(sql)?;
        let is_update = write_kind(sql) == Some(WriteKind::Update);
        let has_failed = refused.error() == Some(DUPLICATE);
        if is_update && has_failed && self.transaction.is_open && self.plot.is_due(sql) {
            let rest = sql.trim_start()["UPDATE".len()..].to_owned();
            self.ask(&format!("UPDATE IGNORE{rest}"))?;
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
