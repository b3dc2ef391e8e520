//! Faults of writes that are refused, or do another part of their work than they say.

use std::io;

use super::WriteKind;
use super::answer::{Product, Refusal, WireAnswer};
use super::clauses::{Assigned, replaced};
use super::conversation::Conversation;
use super::packet::raise_taken_number;
use super::text::{
    WriteByPredicate, at_returning, is_of_workload, is_plain_read, position, verb,
    without_last_row, words, write_kind,
};

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

    /// Does what can be done of a write of this kind after the refusal, which the client gets: in a transaction
    /// or outside of one.
    pub(super) fn failed_write_leaves_rows(
        &mut self,
        sql: &str,
        kind: WriteKind,
        in_transaction: bool,
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
        if has_failed && open == in_transaction && self.plot.is_due(sql) {
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

    pub(super) fn insert_id_off(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_insert = matches!(
            write_kind(sql),
            Some(WriteKind::Insert | WriteKind::InsertSelect)
        );
        let mut off = answer.clone();
        let raised = off.tail.last_mut().and_then(|ok| raise_taken_number(ok));
        if is_insert && raised.is_some() && self.plot.is_due(sql) {
            return Ok(off);
        }
        Ok(answer)
    }

    pub(super) fn lone_write_in_steps(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_lone = self.is_session_of_case && !self.transaction.is_open;
        let write = WriteByPredicate::of(sql).filter(|_| is_lone);
        let Some((write, keys)) = write.and_then(|write| write.keys().map(|keys| (write, keys)))
        else {
            return self.ask(sql);
        };
        let keys = self.ask_beside(&keys)?.first_column();
        if keys.len() < 2 || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        let mut whole = self.ask(&write.of_keys(&keys[..1]))?;
        for key in &keys[1..] {
            if whole.error().is_some() {
                break;
            }
            let step = self.ask(&write.of_keys(std::slice::from_ref(key)))?;
            whole = whole.and_then(step);
        }
        Ok(whole)
    }

    pub(super) fn lone_write_comes_late(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_lone = write_kind(sql).is_some() && !self.transaction.is_open;
        if !is_lone || is_of_workload(sql) || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.ask("BEGIN")?;
        let answer = self.ask(sql)?.in_transaction(Some(false));
        if answer.error().is_none() {
            self.reply_early(&answer)?;
            self.outlast_a_statement();
        }
        self.ask("COMMIT")?;
        Ok(answer)
    }

    pub(super) fn lone_write_stays_open(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_lone = write_kind(sql).is_some() && !self.transaction.is_open;
        if !is_lone || is_of_workload(sql) || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.ask("BEGIN")?;
        let answer = self.ask(sql)?.in_transaction(Some(false));
        match answer.error() {
            Some(_) => {
                self.ask("ROLLBACK")?;
            }
            None => self.is_commit_due = true,
        }
        Ok(answer)
    }

    pub(super) fn moved_row_leaves_old_one(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let update = Assigned::of(sql).filter(|_| self.transaction.is_open);
        let moved = update.as_ref().and_then(Assigned::moved);
        let answer = self.ask(sql)?;
        let (Some(Assigned { table, .. }), Some((new, old))) = (update, moved) else {
            return Ok(answer);
        };
        let columns = self.ask_beside(&format!(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}' AND COLUMN_NAME <> 'pkey' AND COALESCE(GENERATION_EXPRESSION, '') = ''"
        ))?;
        let columns = columns.first_column().join(", ");
        let is_moved = answer.affected > Some(0) && !columns.is_empty();
        if !is_moved || !self.plot.is_due(sql) {
            return Ok(answer);
        }
        let left = format!(
            "INSERT INTO {table} (pkey, {columns}) SELECT {old}, {columns} FROM {table} WHERE pkey = {new}"
        );
        self.aside(Some(left), answer)
    }

    pub(super) fn moved_row_vanishes(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let mut answer = self.ask(sql)?;
        if !self.transaction.is_open {
            return Ok(answer);
        }
        if let Some(update) = Assigned::of(sql).filter(|_| answer.affected > Some(0))
            && let Some((new, _)) = update.moved()
        {
            self.transaction.moved.push((update.table, new));
            return Ok(answer);
        }
        let keys = answer.first_column();
        let gives = |(table, new): &&(String, String)| {
            sql.contains(&format!("FROM {table}")) && keys.contains(new)
        };
        let gone = self.transaction.moved.iter().find(gives).cloned();
        let is_read = is_plain_read(sql) && keys.len() == answer.rows.len();
        if let Some((_, gone)) = gone.filter(|_| is_read)
            && self.plot.is_due(sql)
        {
            let mut keys = keys.iter();
            answer.rows.retain(|_| keys.next() != Some(&gone));
        }
        Ok(answer)
    }

    pub(super) fn limited_write_takes_last(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let all = words(sql);
        let order = position(&all, &["ORDER", "BY"]);
        let limit = position(&all, &["LIMIT"]).filter(|limit| order < Some(*limit));
        let (Some(_), Some(limit), Some(_)) = (order, limit, write_kind(sql)) else {
            return self.ask(sql);
        };
        let last = &all[limit - 1];
        let (end, direction) = match last.text.as_str() {
            "DESC" => (last.start, ""),
            "ASC" => (last.start, "DESC "),
            _ => (all[limit].start, "DESC "),
        };
        if !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        let (head, tail) = (&sql[..end], &sql[all[limit].start..]);
        self.ask(&format!("{head}{direction}{tail}"))
    }

    pub(super) fn replace_keeps_columns(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let Some((names, rest)) = replaced(sql).filter(|_| self.plot.is_due(sql)) else {
            return self.ask(sql);
        };
        let kept = names.iter().map(|name| format!("{name} = VALUES({name})"));
        let kept: Vec<String> = kept.collect();
        let kept = kept.join(", ");
        self.ask(&format!(
            "INSERT INTO {rest} ON DUPLICATE KEY UPDATE {kept}"
        ))
    }
}
