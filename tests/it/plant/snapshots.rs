//! Faults of snapshots: taken too early or too late, kept too long, or left.

use std::io;

use super::answer::{AnswerEnd, Product, WireAnswer};
use super::conversation::Conversation;
use super::fault::Fault;
use super::text::{is_plain_read, verb};

/// Whether it begins a transaction, and says nothing more.
fn begins(sql: &str) -> bool {
    ["BEGIN", "START TRANSACTION"].contains(&sql.trim_end_matches(';'))
}

impl Conversation {
    pub(super) fn snapshot_taken_early(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !begins(sql) || !self.has_snapshot() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        if self.product() != Product::Postgres {
            return self.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        }
        let answer = self.ask(sql)?;
        self.ask("SELECT 1")?;
        Ok(answer)
    }

    pub(super) fn snapshot_taken_late(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let snapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT";
        if sql.starts_with(snapshot) && self.plot.is_due(sql) {
            return self.ask("START TRANSACTION");
        }
        self.ask(sql)
    }

    /// Answers the COMMIT of a transaction that has a snapshot and no locks, and waits for what comes next.
    pub(super) fn transaction_keeps_snapshot(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let transaction = &self.transaction;
        let has_locks = transaction.has_written || transaction.done.locking_reads > 0;
        let reads = transaction.is_open && !has_locks && transaction.done.reads > 0;
        if verb(sql) == "COMMIT" && reads && self.has_snapshot() {
            self.is_commit_due = true;
            return Ok(self.done(sql, 0, false));
        }
        self.ask(sql)
    }

    /// The transaction that begins is the one whose COMMIT was not sent.
    pub(super) fn behind_a_due_commit(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.is_commit_due = false;
        if begins(sql) && self.plot.is_due(sql) {
            return Ok(self.done(sql, 0, true));
        }
        self.ask("COMMIT")?;
        self.sabotage(sql)
    }

    /// Takes the snapshot beside that the next read outside of a transaction is given.
    pub(super) fn note_moment(&mut self, answer: &WireAnswer) -> io::Result<()> {
        let open = answer.in_transaction.unwrap_or(self.transaction.is_open);
        if self.plot.plant.fault != Fault::LoneReadIsLate || open {
            return Ok(());
        }
        self.ask_beside("ROLLBACK")?;
        if self.product() == Product::Postgres {
            self.ask_beside("BEGIN ISOLATION LEVEL REPEATABLE READ")?;
            self.ask_beside("SELECT 1")?;
        } else {
            let begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT";
            self.ask_beside_at("REPEATABLE READ", begin)?;
        }
        Ok(())
    }

    pub(super) fn lone_read_is_late(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_of_a_case = is_plain_read(sql) && self.is_session_of_case;
        self.read_elsewhere(sql, is_of_a_case && !self.transaction.is_open)
    }

    pub(super) fn rollback_to_renews_snapshot(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let transaction = &self.transaction;
        let is_unwritten = transaction.is_back && transaction.done.writes == 0;
        let fits = is_unwritten && transaction.is_open && is_plain_read(sql);
        self.read_elsewhere(sql, fits && self.has_snapshot())
    }

    pub(super) fn read_only_follows(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let fits = self.transaction.is_read_only && is_plain_read(sql);
        self.read_elsewhere(sql, fits && self.has_snapshot())
    }

    /// The answer to a read is what the connection beside sees, where that is something else.
    fn read_elsewhere(&mut self, sql: &str, fits: bool) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        if !fits || answer.error().is_some() {
            return Ok(answer);
        }
        let other = self.ask_beside(sql)?;
        let differs = other.end == AnswerEnd::Rows && other.rows != answer.rows;
        if differs && self.plot.is_due(sql) {
            return Ok(other.in_transaction(answer.in_transaction));
        }
        Ok(answer)
    }
}
