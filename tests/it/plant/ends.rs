//! Faults of what begins and ends transactions, savepoints and failed statements.

use std::io;

use super::WriteKind;
use super::answer::{Product, Refusal, WireAnswer};
use super::conversation::Conversation;
use super::sabotage::enlist;
use super::text::{SavepointStep, savepoint_step, verb, write_kind};

/// Statements outside of a case's transactions that are nobody's to spoil: what ends, opens or sets.
const CONTROL: [&str; 6] = ["BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "SET"];

/// Set before the last write of a transaction.
const BEFORE_LAST: &str = "rashomon_last";

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
            // What a client is told is that it was done as it was asked.
            return Ok(self.ask(done)?.with_tag(asked));
        }
        self.ask(sql)
    }

    pub(super) fn failed_commit_says_commit(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_failed = verb(sql) == "COMMIT" && self.transaction.is_failed;
        let answer = self.ask(sql)?;
        if is_failed && answer.error().is_none() && self.plot.is_due(sql) {
            return Ok(answer.with_tag("COMMIT"));
        }
        Ok(answer)
    }

    /// Answers a statement of this kind, and does nothing.
    pub(super) fn only_answered(
        &mut self,
        sql: &str,
        is_meant: fn(&str) -> bool,
    ) -> io::Result<WireAnswer> {
        let open = self.transaction.is_open;
        if is_meant(sql) && !self.transaction.is_failed && self.plot.is_due(sql) {
            return Ok(self.done(sql, 0, open));
        }
        self.ask(sql)
    }

    pub(super) fn rollback_to_ignored(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let Some(SavepointStep::RollbackTo(name)) = savepoint_step(sql) else {
            return self.ask(sql);
        };
        let is_known = self.transaction.savepoints.contains(&name);
        if is_known && self.plot.is_due(sql) {
            return Ok(self.done(sql, 0, true));
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
                Ok(self.done(sql, 0, true))
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

    pub(super) fn gone_savepoint_found(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match savepoint_step(sql) {
            Some(SavepointStep::RollbackTo(name) | SavepointStep::Release(name))
                if self.transaction.is_open
                    && !self.transaction.is_failed
                    && !self.transaction.savepoints.contains(&name)
                    && self.plot.is_due(sql) =>
            {
                Ok(self.done(sql, 0, true))
            }
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn equal_savepoints_are_one(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if let Some(SavepointStep::Release(name)) = savepoint_step(sql)
            && answer.error().is_none()
        {
            let names = self.transaction.savepoints.iter();
            let is_older_open = names.filter(|other| **other == name).count() > 1;
            if is_older_open && self.plot.is_due(sql) {
                self.ask(sql)?;
            }
        }
        Ok(answer)
    }

    pub(super) fn error_keeps_transaction(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_statement = !CONTROL.contains(&verb(sql).as_str());
        // A guard around a savepoint's own statement would go with it.
        if !is_statement || savepoint_step(sql).is_some() {
            return self.ask(sql);
        }
        let answer = self.ask_guarded(sql)?;
        let ends = answer
            .error()
            .is_some_and(|refusal| refusal != Refusal::Deadlock);
        if ends && self.is_guarded() && self.plot.is_due(sql) {
            self.forgive()?;
            let mut kept = answer.in_transaction(Some(true));
            kept.is_failed = false;
            return Ok(kept);
        }
        Ok(answer)
    }

    pub(super) fn conflict_from_nowhere(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if self.transaction.is_open && write_kind(sql).is_some() && self.plot.is_due(sql) {
            return self.refuse(Refusal::Conflict);
        }
        self.ask(sql)
    }

    pub(super) fn error_ends_transaction(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let harmless = answer
            .error()
            .is_some_and(|refusal| refusal != Refusal::Deadlock);
        let is_statement = !CONTROL.contains(&verb(sql).as_str());
        if harmless && is_statement && self.transaction.is_open && self.plot.is_due(sql) {
            let ended = self.ask("ROLLBACK")?;
            self.transaction.is_open = ended.in_transaction.unwrap_or_default();
        }
        Ok(answer)
    }

    pub(super) fn rollback_to_one_too_many(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let Some(SavepointStep::RollbackTo(name)) = savepoint_step(sql) else {
            return self.ask(sql);
        };
        let names = &self.transaction.savepoints;
        let place = names.iter().rposition(|other| *other == name);
        let earlier = place
            .and_then(|place| place.checked_sub(1))
            .map(|place| names[place].clone());
        match earlier {
            Some(earlier) if self.plot.is_due(sql) => {
                let answer = self.ask(&format!("ROLLBACK TO SAVEPOINT {earlier}"))?;
                // The client goes on using the name.
                self.ask(&format!("SAVEPOINT {name}"))?;
                Ok(answer)
            }
            _ => self.ask(sql),
        }
    }

    pub(super) fn deadlock_from_nowhere(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !self.transaction.is_open || write_kind(sql).is_none() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.refuse(Refusal::Deadlock)
    }

    pub(super) fn timeout_from_nowhere(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !self.transaction.is_open || write_kind(sql).is_none() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.refuse(Refusal::LockTimeout)
    }

    pub(super) fn ddl_from_nowhere(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let reads_or_writes = verb(sql) == "SELECT" || write_kind(sql).is_some();
        if !self.transaction.is_open || !reads_or_writes || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        self.refuse(Refusal::TableChanged)
    }

    pub(super) fn commit_leaves_open(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if verb(sql) == "COMMIT" && self.transaction.is_open && self.plot.is_due(sql) {
            return Ok(self.done(sql, 0, true));
        }
        self.ask(sql)
    }

    pub(super) fn chain_begins_none(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let chains = sql.eq_ignore_ascii_case("COMMIT AND CHAIN");
        if chains && self.transaction.is_open && self.plot.is_due(sql) {
            return self.ask("COMMIT");
        }
        self.ask(sql)
    }

    /// Answers before the server does it. What the session sends next waits, as it would for a busy server.
    pub(super) fn end_comes_late(&mut self, sql: &str, asked: &str) -> io::Result<WireAnswer> {
        let is_asked = sql.trim_end_matches(';').eq_ignore_ascii_case(asked);
        if is_asked && self.transaction.has_written && self.plot.is_due(sql) {
            self.reply_early(&self.done(sql, 0, false))?;
            self.outlast_a_statement();
        }
        self.ask(sql)
    }

    pub(super) fn victim_keeps_last_write(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let last = self.transaction.last_write.clone();
        if let Some(last) = last.filter(|_| answer.error() == Some(Refusal::Deadlock))
            && self.plot.is_due(sql)
        {
            self.ask(&last)?;
        }
        Ok(answer)
    }

    pub(super) fn duplicate_from_nowhere(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_insert = matches!(
            write_kind(sql),
            Some(WriteKind::Insert | WriteKind::InsertSelect)
        );
        if is_insert && self.plot.is_due(sql) {
            return self.refuse(Refusal::Duplicate);
        }
        self.ask(sql)
    }

    /// Savepoints of the client's own would be mixed up with ours.
    pub(super) fn commit_loses_last_write(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !self.transaction.is_open || !self.transaction.savepoints.is_empty() {
            return self.ask(sql);
        }
        if write_kind(sql).is_some() {
            if self.product() != Product::Postgres {
                self.ask(&enlist())?;
            }
            self.ask(&format!("SAVEPOINT {BEFORE_LAST}"))?;
            self.transaction.is_last_write_marked = true;
            return self.ask(sql);
        }
        if savepoint_step(sql).is_some() {
            self.transaction.is_last_write_marked = false;
        }
        let is_marked = self.transaction.is_last_write_marked && !self.transaction.is_failed;
        if verb(sql) == "COMMIT" && is_marked && self.plot.is_due(sql) {
            self.ask(&format!("ROLLBACK TO SAVEPOINT {BEFORE_LAST}"))?;
        }
        self.ask(sql)
    }

    pub(super) fn rollback_to_keeps_last_write(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let Some(SavepointStep::RollbackTo(name)) = savepoint_step(sql) else {
            return self.ask(sql);
        };
        let mark = self.transaction.marks.get(&name);
        let undoes = mark.is_some_and(|mark| self.transaction.done.writes > mark.writes);
        let last = self.transaction.last_write.clone().filter(|_| undoes);
        let answer = self.ask(sql)?;
        if last.is_some() && answer.error().is_none() && self.plot.is_due(sql) {
            return self.aside(last, answer);
        }
        Ok(answer)
    }

    pub(super) fn commit_refused_but_done(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let refusal = match self.product() {
            Product::Postgres if self.is_at("SERIALIZABLE") => Refusal::Conflict,
            Product::Postgres => return self.ask(sql),
            Product::MariaDb | Product::MySql => Refusal::Deadlock,
        };
        let is_commit = verb(sql) == "COMMIT" && self.transaction.has_written;
        let answer = self.ask(sql)?;
        let is_done = is_commit && !self.transaction.is_failed && answer.error().is_none();
        if !is_done || !self.plot.is_due(sql) {
            return Ok(answer);
        }
        self.transaction.is_open = false;
        let refused = self.refuse(refusal)?;
        Ok(refused.in_transaction(Some(false)))
    }
}
