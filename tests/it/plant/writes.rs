//! Faults of writes that are refused, or do another part of their work than they say.

use std::io;

use super::WriteKind;
use super::answer::{Product, Refusal, WireAnswer};
use super::conversation::Conversation;
use super::text::{WriteByPredicate, at_returning, verb, without_last_row, write_kind};

impl Conversation {
    pub(super) fn count_too_low(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        match answer.affected.filter(|affected| *affected > 0) {
            Some(affected) if write_kind(sql).is_some() && self.plot.is_due(sql) => {
                Ok(answer.with_affected(affected - 1))
            }
            _ => Ok(answer),
        }
    }

    pub(super) fn insert_drops_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_insert = write_kind(sql) == Some(WriteKind::Insert);
        match without_last_row(sql).filter(|_| is_insert) {
            Some(fewer) if self.plot.is_due(sql) => {
                let answer = self.ask(&fewer)?;
                Ok(match answer.affected {
                    Some(rows) => answer.with_affected(rows + 1),
                    None => answer,
                })
            }
            _ => self.ask(sql),
        }
    }

    pub(super) fn returning_hides_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let returns = write_kind(sql).is_some() && answer.has_rows();
        if !returns || !self.plot.is_due(sql) {
            return Ok(answer);
        }
        let fewer = answer.with_last_row(0);
        Ok(match fewer.affected {
            Some(rows) => fewer.with_affected(rows - 1),
            None => fewer,
        })
    }

    /// Does what can be done of a write of this kind after the refusal, which the client gets.
    pub(super) fn failed_write_leaves_rows(
        &mut self,
        sql: &str,
        kind: WriteKind,
    ) -> io::Result<WireAnswer> {
        let refused = self.ask(sql)?;
        let has_failed =
            write_kind(sql) == Some(kind) && refused.error() == Some(Refusal::Duplicate);
        let open = self.transaction.is_open;
        // A failed transaction of PostgreSQL leaves nothing anyway.
        if self.product() == Product::Postgres {
            if has_failed && !open && self.plot.is_due(sql) {
                let (write, returning) = at_returning(sql);
                self.ask(&format!("{write} ON CONFLICT DO NOTHING {returning}"))?;
            }
            return Ok(refused);
        }
        if has_failed && open && self.plot.is_due(sql) {
            let verb = verb(sql);
            let rest = &sql.trim_start()[verb.len()..];
            self.ask(&format!("{verb} IGNORE{rest}"))?;
        }
        Ok(refused)
    }

    pub(super) fn duplicate_answered(
        &mut self,
        sql: &str,
        refusal: Refusal,
    ) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if answer.error() == Some(Refusal::Duplicate) && self.plot.is_due(sql) {
            self.transaction.is_failed = answer.is_failed;
            return self.refuse(refusal);
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
            return self.aside(Some(sql.to_owned()), answer);
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
