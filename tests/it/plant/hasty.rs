//! Faults of statements that should wait, and do not.

use std::io;

use super::answer::{Product, Refusal, WireAnswer};
use super::clauses::InsertedRow;
use super::conversation::Conversation;
use super::fault::WriteKind;
use super::text::{WriteByPredicate, at_returning, write_kind};

/// Set before a statement that may be given up.
const BEFORE_HASTE: &str = "rashomon_haste";

/// How a server refuses what did not get its lock in time.
const UNGRANTED: [Option<Refusal>; 2] = [Some(Refusal::LockedNowait), Some(Refusal::LockTimeout)];

impl Conversation {
    pub(super) fn duplicate_told_early(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql) != Some(WriteKind::Insert) {
            return self.ask(sql);
        }
        self.unless_it_waits(sql, |this| this.refuse(Refusal::Duplicate))
    }

    pub(super) fn ignore_does_not_wait(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let (write, returning) = at_returning(sql);
        let ignores = match self.product() {
            Product::Postgres => write.trim_end().ends_with("DO NOTHING"),
            Product::MariaDb | Product::MySql => sql.starts_with("INSERT IGNORE "),
        };
        if !ignores || !returning.is_empty() {
            return self.ask(sql);
        }
        self.unless_it_waits(sql, |this| Ok(this.done(sql, 0, this.transaction.is_open)))
    }

    /// Asks; gives another answer where an INSERT in a transaction meets a key that is not committed.
    fn unless_it_waits(
        &mut self,
        sql: &str,
        other: impl FnOnce(&mut Self) -> io::Result<WireAnswer>,
    ) -> io::Result<WireAnswer> {
        if !self.transaction.is_open {
            return self.ask(sql);
        }
        if self.product() == Product::Postgres {
            return match self.ask_hastily(sql)? {
                Some(answer) => Ok(answer),
                None if self.plot.is_due(sql) => other(self),
                None => self.ask(sql),
            };
        }
        if self.meets_uncommitted_key(sql)? && self.plot.is_due(sql) {
            return other(self);
        }
        self.ask(sql)
    }

    /// The answer of PostgreSQL to a statement that need not wait; None where it must, and then it is undone.
    fn ask_hastily(&mut self, sql: &str) -> io::Result<Option<WireAnswer>> {
        let setting = "SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'";
        let kept = self.ask(setting)?.first_column();
        self.ask(&format!("SAVEPOINT {BEFORE_HASTE}"))?;
        self.ask("SET LOCAL lock_timeout = '15ms'")?;
        let answer = self.ask(sql)?;
        if UNGRANTED.contains(&answer.error()) {
            self.ask(&format!("ROLLBACK TO SAVEPOINT {BEFORE_HASTE}"))?;
            return Ok(None);
        }
        if let Some(kept) = kept.first().filter(|_| answer.error().is_none()) {
            self.ask(&format!("SET LOCAL lock_timeout = {kept}"))?;
            self.ask(&format!("RELEASE SAVEPOINT {BEFORE_HASTE}"))?;
        }
        Ok(Some(answer))
    }

    /// Whether the row key of an INSERT of one row is there, and not committed, by another transaction.
    fn meets_uncommitted_key(&mut self, sql: &str) -> io::Result<bool> {
        let row = InsertedRow::of(sql).filter(|_| !self.transaction.has_written);
        let key = row.as_ref().and_then(|row| row.value("pkey"));
        let (Some(row), Some(key)) = (&row, key) else {
            return Ok(false);
        };
        let query = format!("SELECT pkey FROM {} WHERE pkey = {key}", row.table);
        let is_there = self.ask_beside_at("READ UNCOMMITTED", &query)?.has_rows();
        let is_committed = self.ask_beside_at("READ COMMITTED", &query)?.has_rows();
        Ok(is_there && !is_committed)
    }

    /// Answers before the wait what the write would have done then.
    pub(super) fn write_answered_early(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let write = WriteByPredicate::of(sql).filter(|_| self.is_free_of_locks());
        let keys = write.and_then(|write| write.keys());
        let Some(keys) = keys.filter(|_| at_returning(sql).1.is_empty()) else {
            return self.ask(sql);
        };
        let locked = self.ask_beside(&format!("{keys} FOR UPDATE NOWAIT"))?;
        if !UNGRANTED.contains(&locked.error()) {
            return self.ask(sql);
        }
        let rows = self.ask_beside(&keys)?.rows.len();
        if rows > 0 && self.plot.is_due(sql) {
            self.reply_early(&self.done(sql, rows as u64, true))?;
        }
        self.ask(sql)
    }

    /// Looks for the parents of one inserted row beside, and has the server look for none.
    pub(super) fn foreign_key_check_does_not_wait(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let transaction = &self.transaction;
        let fits = !transaction.is_read_only && !transaction.has_written;
        let Some(row) = InsertedRow::of(sql).filter(|_| fits) else {
            return self.ask(sql);
        };
        let references = self.ask_beside(&format!(
            "SELECT CONCAT(COLUMN_NAME, '|', REFERENCED_TABLE_NAME, '|', REFERENCED_COLUMN_NAME) FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{}' AND REFERENCED_TABLE_NAME IS NOT NULL",
            row.table
        ))?;
        let references = references.first_column();
        let mut has_parents = !references.is_empty();
        for reference in references {
            let names: Vec<&str> = reference.split('|').collect();
            let [column, parent, key] = names.as_slice() else {
                return self.ask(sql);
            };
            let Some(value) = row.value(column) else {
                continue;
            };
            let query = format!("SELECT 1 FROM {parent} WHERE {key} = {value}");
            has_parents &= self.ask_beside(&query)?.has_rows();
        }
        if has_parents {
            return self.without_foreign_keys(sql);
        }
        self.ask(sql)
    }
}
