//! Faults of locks: those that are not taken, and those that are too many.

use std::io;

use super::answer::{Product, WireAnswer};
use super::clauses::{Assigned, RowsFound};
use super::conversation::Conversation;
use super::text::{
    WriteByPredicate, has_any, is_of_workload, is_plain_read, position, verb, without_lock_clause,
    words,
};

/// Words of a read that shows something else than rows as they stand.
const OF_SUMMARIES: [&str; 8] = [
    "COUNT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "GROUP_CONCAT",
    "GROUP",
    "DISTINCT",
];

/// Set before a statement whose locks are let go.
const BEFORE_LOCKS: &str = "rashomon_locks";

impl Conversation {
    pub(super) fn without_row_locks(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match without_lock_clause(sql).filter(|_| !self.transaction.has_written) {
            // A plain read of PostgreSQL sees what a locking one sees.
            Some(plain) if self.product() == Product::Postgres && self.plot.is_due(sql) => {
                self.ask(&plain)
            }
            Some(plain) if self.product() != Product::Postgres && self.plot.is_due(sql) => {
                self.ask_beside(&plain)
            }
            _ => self.ask(sql),
        }
    }

    pub(super) fn without_gap_locks(&mut self, sql: &str) -> io::Result<WireAnswer> {
        match without_lock_clause(sql) {
            Some(plain) => self.locked_row_by_row(sql, &plain, &sql[plain.len()..]),
            None => self.ask(sql),
        }
    }

    pub(super) fn serializable_without_gaps(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if is_plain_read(sql) && self.transaction.is_open && self.is_at("SERIALIZABLE") {
            return self.locked_row_by_row(sql, sql, "LOCK IN SHARE MODE");
        }
        self.ask(sql)
    }

    /// Locks row by row: a lookup by the whole primary key takes no gap (MySQL manual, "InnoDB
    /// Locking", "Record Locks").
    fn locked_row_by_row(
        &mut self,
        sql: &str,
        plain: &str,
        clause: &str,
    ) -> io::Result<WireAnswer> {
        let found = RowsFound::of(plain).filter(|_| !self.transaction.has_written);
        let Some(found) = found else {
            return self.ask(sql);
        };
        let keys = self.ask_beside(&found.keys)?;
        if keys.error().is_some() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        for key in keys.first_column() {
            let locked = self.ask(&found.lock(&key, clause))?;
            if locked.error().is_some() {
                return Ok(locked);
            }
        }
        let open = self.transaction.is_open;
        Ok(self.ask_beside(plain)?.in_transaction(Some(open)))
    }

    /// Whether a locking read that is done beside leaves the session as it would be without locks.
    pub(super) fn is_free_of_locks(&self) -> bool {
        let transaction = &self.transaction;
        let locks = transaction.has_written || transaction.done.locking_reads > 0;
        transaction.is_open && !locks && !self.is_at("SERIALIZABLE")
    }

    /// Asks and lets go of what the statement has locked: by a savepoint (PostgreSQL), or beside, where the
    /// transaction holds nothing yet and the statement need not wait. None where that cannot be done.
    fn ask_without_locks(&mut self, sql: &str, plain: &str) -> io::Result<Option<WireAnswer>> {
        if self.is_guarded() {
            if !self.plot.is_due(sql) {
                return Ok(None);
            }
            self.ask(&format!("SAVEPOINT {BEFORE_LOCKS}"))?;
            let answer = self.ask(sql)?;
            if answer.error().is_none() {
                self.ask(&format!("ROLLBACK TO SAVEPOINT {BEFORE_LOCKS}"))?;
            }
            return Ok(Some(answer));
        }
        if self.product() == Product::Postgres || !self.is_free_of_locks() {
            return Ok(None);
        }
        let way = if sql.ends_with(" SKIP LOCKED") {
            "SKIP LOCKED"
        } else {
            "NOWAIT"
        };
        let answer = self.ask_beside(&format!("{plain} FOR UPDATE {way}"))?;
        let is_done = answer.error().is_none() && self.plot.is_due(sql);
        Ok(is_done.then(|| answer.in_transaction(Some(true))))
    }

    /// A locking read that is meant locks nothing.
    pub(super) fn locks_nothing(
        &mut self,
        sql: &str,
        is_meant: fn(&str) -> bool,
    ) -> io::Result<WireAnswer> {
        if let Some(plain) = without_lock_clause(sql).filter(|_| is_meant(sql))
            && let Some(answer) = self.ask_without_locks(sql, &plain)?
        {
            return Ok(answer);
        }
        self.ask(sql)
    }

    pub(super) fn locks_first_row_only(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let plain = without_lock_clause(sql).filter(|_| !sql.ends_with(" SKIP LOCKED"));
        let (Some(plain), Some(found)) = (plain, RowsFound::of(sql)) else {
            return self.ask(sql);
        };
        let keys = match self.product() {
            Product::Postgres if !self.transaction.is_open => return self.ask(sql),
            Product::Postgres => self.ask(&found.keys)?,
            Product::MariaDb | Product::MySql => self.ask_beside(&found.keys)?,
        };
        let keys = keys.first_column();
        if keys.len() < 2 {
            return self.ask(sql);
        }
        let Some(answer) = self.ask_without_locks(sql, &plain)? else {
            return self.ask(sql);
        };
        if answer.error().is_none() {
            let locked = self.ask(&found.lock(&keys[0], &sql[plain.len()..]))?;
            if locked.error().is_some() {
                return Ok(locked);
            }
        }
        Ok(answer)
    }

    pub(super) fn join_locks_one_table(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let Some(plain) = without_lock_clause(sql) else {
            return self.ask(sql);
        };
        let all = words(&plain);
        let clause = sql[plain.len()..].trim();
        let takes_names = !clause.contains(" OF ") && !clause.starts_with("LOCK");
        let from = position(&all, &["FROM"]).filter(|_| takes_names && has_any(&all, &["JOIN"]));
        let renamed = |from: usize| all.get(from + 2).is_some_and(|word| word.text == "AS");
        let name = from.and_then(|from| all.get(if renamed(from) { from + 3 } else { from + 1 }));
        let Some(name) = name.filter(|_| self.plot.is_due(sql)) else {
            return self.ask(sql);
        };
        let name = &plain[name.start..name.end];
        let way = clause.find(" NOWAIT").or_else(|| clause.find(" SKIP"));
        let (strength, way) = clause.split_at(way.unwrap_or(clause.len()));
        self.ask(&format!("{plain} {strength} OF {name}{way}"))
    }

    pub(super) fn inner_lock_ignored(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let without = sql.replace(" FOR UPDATE)", ")");
        if without != sql && self.plot.is_due(sql) {
            return self.ask(&without);
        }
        self.ask(sql)
    }

    /// Does the write beside, and undoes it there.
    pub(super) fn no_op_locks_nothing(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let fits = self.is_free_of_locks() && !self.transaction.is_read_only;
        let keys = WriteByPredicate::of(sql).and_then(|write| write.keys());
        let is_update = Assigned::of(sql).is_some();
        let Some(keys) = keys.filter(|_| fits && is_update) else {
            return self.ask(sql);
        };
        // Where it must wait, it waits in the session.
        let free = self.ask_beside(&format!("{keys} FOR UPDATE NOWAIT"))?;
        if free.error().is_some() {
            return self.ask(sql);
        }
        self.ask_beside("BEGIN")?;
        let answer = self.ask_beside(sql)?;
        self.ask_beside("ROLLBACK")?;
        let changes_none = answer.error().is_none() && answer.affected == Some(0);
        if changes_none && self.plot.is_due(sql) {
            return Ok(answer.in_transaction(Some(true)));
        }
        self.ask(sql)
    }

    pub(super) fn update_locks_key(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let chosen = self.chosen_before(sql)?;
        let answer = self.ask(sql)?;
        let chosen = chosen.filter(|chosen| verb(sql) == "UPDATE" && !chosen.keys.is_empty());
        let Some(chosen) = chosen.filter(|_| answer.error().is_none()) else {
            return Ok(answer);
        };
        match chosen.write.table() {
            Some(table) if self.plot.is_due(sql) => {
                let keys = chosen.keys.join(", ");
                let lock = format!("SELECT 1 FROM {table} WHERE pkey IN ({keys}) FOR UPDATE");
                self.aside(Some(lock), answer)
            }
            Some(_) | None => Ok(answer),
        }
    }

    pub(super) fn write_locks_table(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let all = words(sql);
        let texts: Vec<&str> = all.iter().map(|word| word.text.as_str()).collect();
        let table = match texts.as_slice() {
            ["UPDATE", _, "SET", ..] => Some(1),
            ["INSERT" | "REPLACE", "INTO", _, ..] | ["DELETE", "FROM", _, ..] => Some(2),
            _ => None,
        };
        let fits = self.transaction.is_open && !is_of_workload(sql);
        let answer = self.ask(sql)?;
        let table = table.filter(|_| fits && answer.error().is_none());
        let Some(table) = table.filter(|_| self.plot.is_due(sql)) else {
            return Ok(answer);
        };
        let table = &sql[all[table].start..all[table].end];
        let lock = match self.product() {
            Product::Postgres => format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"),
            Product::MariaDb | Product::MySql => format!("SELECT 1 FROM {table} FOR UPDATE"),
        };
        self.aside(Some(lock), answer)
    }
}

pub(super) fn skips_locked(sql: &str) -> bool {
    sql.ends_with(" SKIP LOCKED")
}

pub(super) fn shares(sql: &str) -> bool {
    let clauses = [" LOCK IN SHARE MODE", " FOR SHARE", " FOR KEY SHARE"];
    clauses.iter().any(|clause| sql.ends_with(clause))
}

pub(super) fn summarizes(sql: &str) -> bool {
    has_any(&words(sql), &OF_SUMMARIES)
}

pub(super) fn joins(sql: &str) -> bool {
    has_any(&words(sql), &["JOIN"])
}
