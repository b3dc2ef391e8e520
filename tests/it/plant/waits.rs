//! Faults of statements that waited: what they see, do or answer then. That a statement waited is told by
//! what other connections sent before it was answered.

use std::io;
use std::thread;
use std::time::Duration;

use super::answer::{Product, Refusal, WireAnswer};
use super::clauses::Assigned;
use super::conversation::Conversation;
use super::text::{
    WriteByPredicate, at_returning, is_of_workload, may_wait, without_lock_clause, write_kind,
};

/// Set before an UPDATE that may be done another way.
const BEFORE_WAIT: &str = "rashomon_wait";

/// How long the answers to the victim of a deadlock and to the survivor lie apart, at most.
const APART: Duration = Duration::from_millis(5);

/// A write by predicate, and the committed rows that it chose when it was sent.
pub(super) struct Chosen {
    pub(super) write: WriteByPredicate,
    /// A plain reading of the rows' keys.
    query: String,
    pub(super) keys: Vec<String>,
}

impl Conversation {
    pub(super) fn lost_after_wait(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() {
            return self.ask(sql);
        }
        let sent = self.sent_by_others();
        self.undone(sql, |this, answer| {
            let waited = this.sent_by_others() > sent;
            waited && answer.affected > Some(0) && this.plot.is_due(sql)
        })
    }

    /// The answer to a locking read that waited is what was there at this level when it was sent.
    pub(super) fn old_after_wait(&mut self, sql: &str, level: &str) -> io::Result<WireAnswer> {
        let plain = without_lock_clause(sql).filter(|_| !self.transaction.has_written);
        let Some(plain) = plain else {
            return self.ask(sql);
        };
        let old = self.ask_beside_at(level, &plain)?;
        let (answer, waited) = self.ask_waiting(sql)?;
        let answered = answer.error().is_none() && old.error().is_none();
        // The other transaction may have been rolled back, or have changed other rows.
        if waited && answered && old.rows != answer.rows && self.plot.is_due(sql) {
            return Ok(old.in_transaction(answer.in_transaction));
        }
        Ok(answer)
    }

    pub(super) fn waited_read_misses_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if without_lock_clause(sql).is_none() {
            return self.ask(sql);
        }
        let (answer, waited) = self.ask_waiting(sql)?;
        if waited && answer.has_rows() && self.plot.is_due(sql) {
            return Ok(answer.with_last_row(0));
        }
        Ok(answer)
    }

    /// A statement that waited, and stands, is refused.
    pub(super) fn refused_after_wait(
        &mut self,
        sql: &str,
        refusal: Refusal,
    ) -> io::Result<WireAnswer> {
        if !may_wait(sql) || !self.transaction.is_open {
            return self.ask(sql);
        }
        let (answer, waited) = self.ask_waiting(sql)?;
        if waited && answer.error().is_none() && self.plot.is_due(sql) {
            return self.refuse(refusal);
        }
        Ok(answer)
    }

    pub(super) fn timeout_but_done(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() {
            return self.ask(sql);
        }
        self.refused_after_wait(sql, Refusal::LockTimeout)
    }

    /// A statement that waited is undone and refused, behind another one of ours.
    fn undone_after_wait(
        &mut self,
        sql: &str,
        refusal: Refusal,
        own: Option<&str>,
    ) -> io::Result<WireAnswer> {
        if !may_wait(sql) || !self.transaction.is_open {
            return self.ask(sql);
        }
        let sent = self.sent_by_others();
        let mut is_spoilt = false;
        let answer = self.undone(sql, |this, _| {
            is_spoilt = this.sent_by_others() > sent && this.plot.is_due(sql);
            is_spoilt
        })?;
        if !is_spoilt {
            return Ok(answer);
        }
        if let Some(own) = own {
            self.ask(own)?;
        }
        self.refuse(refusal)
    }

    pub(super) fn timeout_after_wait(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.undone_after_wait(sql, Refusal::LockTimeout, None)
    }

    pub(super) fn victim_commits(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !self.transaction.has_written {
            return self.ask(sql);
        }
        self.undone_after_wait(sql, Refusal::Deadlock, Some("COMMIT"))
    }

    pub(super) fn survivor_dies_too(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !may_wait(sql) || !self.transaction.is_open {
            return self.ask(sql);
        }
        let before = self.victims_among_others();
        let (answer, waited) = self.ask_waiting(sql)?;
        if waited && answer.error().is_none() {
            thread::sleep(APART);
            if self.victims_among_others() > before && self.plot.is_due(sql) {
                return self.refuse(Refusal::Deadlock);
            }
        }
        Ok(answer)
    }

    /// The query that works out the values of an UPDATE of one row which keeps its key; None for another statement.
    pub(super) fn worked_out(&self, sql: &str) -> Option<String> {
        let update = Assigned::of(sql)?;
        let moves = update.values.iter().any(|(name, _)| name == "pkey");
        (!moves).then(|| match self.product() {
            Product::Postgres => worked_out_by_postgres(&update, at_returning(sql).1),
            Product::MariaDb | Product::MySql => worked_out_by_mysql(&update),
        })
    }

    /// The UPDATE of one row whose values are worked out before it is sent.
    pub(super) fn update_of_old_value_after_wait(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let fits = self.transaction.is_open && !self.transaction.has_written;
        let Some(query) = self.worked_out(sql).filter(|_| fits) else {
            return self.ask(sql);
        };
        let old = self.ask_beside(&query)?.first_column();
        let [old] = old.as_slice() else {
            return self.ask(sql);
        };
        let is_guarded = self.is_guarded();
        if is_guarded {
            self.ask(&format!("SAVEPOINT {BEFORE_WAIT}"))?;
        }
        let (answer, waited) = self.ask_waiting(sql)?;
        if answer.error().is_some() || !waited || answer.affected != Some(1) {
            return Ok(answer);
        }
        let new = self.ask_beside(&query)?.first_column();
        if new.len() != 1 || new[0] == *old || !self.plot.is_due(sql) {
            return Ok(answer);
        }
        if is_guarded {
            self.ask(&format!("ROLLBACK TO SAVEPOINT {BEFORE_WAIT}"))?;
            return self.ask(old);
        }
        self.ask(old)?;
        Ok(answer)
    }

    /// The committed rows that a write by predicate chooses; None for another statement, outside of a transaction
    /// and in one that has written.
    pub(super) fn chosen_before(&mut self, sql: &str) -> io::Result<Option<Chosen>> {
        let fits = self.transaction.is_open && !self.transaction.has_written;
        let write = WriteByPredicate::of(sql).filter(|_| fits && !is_of_workload(sql));
        let Some(write) = write else {
            return Ok(None);
        };
        let Some(query) = write.keys() else {
            return Ok(None);
        };
        let keys = self.ask_beside(&query)?;
        let answered = keys.error().is_none();
        let keys = keys.first_column();
        Ok(answered.then_some(Chosen { write, query, keys }))
    }

    pub(super) fn predicate_not_rechecked(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let chosen = self.chosen_before(sql)?;
        let (answer, waited) = self.ask_waiting(sql)?;
        let changes_none = answer.error().is_none() && answer.affected.unwrap_or(0) == 0;
        let chosen = chosen.filter(|chosen| !chosen.keys.is_empty());
        match chosen.filter(|_| waited && changes_none && answer.rows.is_empty()) {
            Some(chosen) if self.plot.is_due(sql) => self.ask(&chosen.write.of_keys(&chosen.keys)),
            Some(_) | None => Ok(answer),
        }
    }

    pub(super) fn write_looks_twice(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let chosen = self.chosen_before(sql)?;
        let (answer, waited) = self.ask_waiting(sql)?;
        let Some(chosen) = chosen.filter(|_| waited && answer.error().is_none()) else {
            return Ok(answer);
        };
        let mut new = self.ask_beside(&chosen.query)?.first_column();
        new.retain(|key| !chosen.keys.contains(key));
        if new.is_empty() || !self.plot.is_due(sql) {
            return Ok(answer);
        }
        let more = self.ask(&chosen.write.of_keys(&new))?;
        Ok(answer.and_then(more))
    }

    /// A write that waited is done on some of its rows alone, of which there are so many or more.
    pub(super) fn waited_write_leaves(
        &mut self,
        sql: &str,
        enough: usize,
        kept: fn(&[String]) -> &[String],
    ) -> io::Result<WireAnswer> {
        let Some(chosen) = self.chosen_before(sql)? else {
            return self.ask(sql);
        };
        let sent = self.sent_by_others();
        let mut now = None;
        let answer = self.undone(sql, |this, _| {
            if this.sent_by_others() == sent {
                return false;
            }
            let keys = this.ask_beside(&chosen.query);
            let keys = keys.map(|keys| keys.first_column()).unwrap_or_default();
            now = (keys.len() >= enough && this.plot.is_due(sql)).then_some(keys);
            now.is_some()
        })?;
        match now {
            Some(keys) => self.ask(&chosen.write.of_keys(kept(&keys))),
            None => Ok(answer),
        }
    }
}

/// A query that answers the text of the same UPDATE with the values in it.
fn worked_out_by_mysql(update: &Assigned) -> String {
    let Assigned {
        table,
        values,
        predicate,
    } = update;
    let value = |(name, value): &(String, String)| format!("'{name} = ', QUOTE({value})");
    let values: Vec<String> = values.iter().map(value).collect();
    let values = values.join(", ', ', ");
    format!(
        "SELECT CONCAT('UPDATE {table} SET ', {values}, ' WHERE pkey = ', {table}.pkey) FROM {table} WHERE {predicate}"
    )
}

/// The same for PostgreSQL.
fn worked_out_by_postgres(update: &Assigned, returning: &str) -> String {
    let Assigned {
        table,
        values,
        predicate,
    } = update;
    let value = |(name, value): &(String, String)| {
        format!("'{name} = ' || quote_nullable(({value})::text)")
    };
    let values: Vec<String> = values.iter().map(value).collect();
    let values = values.join(" || ', ' || ");
    let returning = returning.replace('\'', "''");
    format!(
        "SELECT 'UPDATE {table} SET ' || {values} || ' WHERE pkey = ' || {table}.pkey || ' {returning}' FROM {table} WHERE {predicate}"
    )
}
