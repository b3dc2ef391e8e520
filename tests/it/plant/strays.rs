//! Faults of statements that change what they do not name, and of writes that do another part of their work.

use std::io;

use super::WriteKind;
use super::answer::{Product, Refusal, WireAnswer};
use super::clauses::{Assigned, InsertedRow, RowsFound};
use super::conversation::Conversation;
use super::text::{
    SavepointStep, at_returning, has_any, is_of_workload, is_plain_read, position, savepoint_step,
    verb, words, write_kind,
};

/// Set before the last write of a transaction.
const BEFORE_LAST: &str = "rashomon_before";

/// The table that a write names first.
fn target(sql: &str) -> Option<String> {
    let all = words(sql);
    let texts: Vec<&str> = all.iter().map(|word| word.text.as_str()).collect();
    let at = match texts.as_slice() {
        ["UPDATE", _, ..] => 1,
        ["INSERT" | "REPLACE", "INTO", _, ..] | ["DELETE", "FROM", _, ..] => 2,
        _ => return None,
    };
    Some(sql[all[at].start..all[at].end].to_owned())
}

/// Deletes the row with the least key but this one.
fn evict(table: &str, kept: &str) -> String {
    format!(
        "DELETE FROM {table} WHERE pkey = (SELECT k FROM (SELECT MIN(pkey) AS k FROM {table} WHERE pkey <> {kept}) AS x)"
    )
}

impl Conversation {
    pub(super) fn insert_evicts_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let row = InsertedRow::of(sql).filter(|_| self.transaction.is_open);
        let answer = self.ask(sql)?;
        let key = row.as_ref().and_then(|row| row.value("pkey"));
        match (&row, key) {
            (Some(row), Some(key)) if answer.affected == Some(1) && self.plot.is_due(sql) => {
                self.aside(Some(evict(&row.table, key)), answer)
            }
            _ => Ok(answer),
        }
    }

    pub(super) fn write_touches_other_table(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let wrote = write_kind(sql).is_some() && answer.error().is_none();
        if !wrote || !self.transaction.is_open || is_of_workload(sql) {
            return Ok(answer);
        }
        let schema = match self.product() {
            Product::Postgres => "current_schema()",
            Product::MariaDb | Product::MySql => "DATABASE()",
        };
        let tables = self.ask_beside(&format!(
            "SELECT CONCAT('the table named ', table_name) FROM information_schema.tables WHERE table_schema = {schema} AND table_type = 'BASE TABLE'"
        ))?;
        let is_other = |table: &String| {
            let number = table.strip_prefix('t').unwrap_or_default();
            number.parse::<u32>().is_ok()
                && !words(sql)
                    .iter()
                    .any(|word| word.text == table.to_ascii_uppercase())
        };
        let tables = tables.first_column().into_iter();
        let mut tables =
            tables.filter_map(|name| Some(name.strip_prefix("the table named ")?.to_owned()));
        let other = tables.find(is_other);
        match other {
            Some(other) if self.plot.is_due(sql) => self.aside(Some(evict(&other, "-1")), answer),
            Some(_) | None => Ok(answer),
        }
    }

    pub(super) fn read_deletes_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let fits = is_plain_read(sql) && self.transaction.is_open && answer.error().is_none();
        let found = RowsFound::of(sql).filter(|_| fits && !self.transaction.is_read_only);
        match found {
            Some(found) if self.plot.is_due(sql) => {
                let table = found.table().to_owned();
                self.aside(Some(evict(&table, "-1")), answer)
            }
            Some(_) | None => Ok(answer),
        }
    }

    fn evict_before(&mut self, sql: &str, is_meant: bool) -> io::Result<WireAnswer> {
        let last = self.transaction.last_write.clone();
        let table = last.and_then(|last| target(&last));
        let fits = self.transaction.is_open && !self.transaction.is_failed;
        if let Some(table) = table.filter(|_| is_meant && fits)
            && self.plot.is_due(sql)
        {
            let done = self.ask_guarded(&evict(&table, "-1"))?;
            if done.error() == Some(Refusal::Deadlock) {
                return Ok(done);
            }
            if done.error().is_some() {
                self.forgive()?;
            }
        }
        self.ask(sql)
    }

    pub(super) fn commit_deletes_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.evict_before(sql, verb(sql) == "COMMIT")
    }

    pub(super) fn savepoint_deletes_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let sets = matches!(savepoint_step(sql), Some(SavepointStep::Set(_)));
        self.evict_before(sql, sets)
    }

    pub(super) fn upsert_counts_one(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_upsert = matches!(
            write_kind(sql),
            Some(WriteKind::Upsert | WriteKind::Replace)
        );
        if is_upsert && answer.affected == Some(2) && self.plot.is_due(sql) {
            return Ok(answer.with_affected(1));
        }
        Ok(answer)
    }

    pub(super) fn ignored_counts_one(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let ignores = sql.starts_with("INSERT IGNORE ") || sql.ends_with(" DO NOTHING");
        let none = answer.affected == Some(0) && answer.error().is_none();
        if ignores && none && self.plot.is_due(sql) {
            return Ok(answer.with_affected(1));
        }
        Ok(answer)
    }

    pub(super) fn ignore_replaces(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let rest = sql.strip_prefix("INSERT IGNORE INTO ");
        match rest.filter(|_| answer.affected == Some(0) && at_returning(sql).1.is_empty()) {
            Some(rest) if self.plot.is_due(sql) => {
                self.aside(Some(format!("REPLACE INTO {rest}")), answer)
            }
            Some(_) | None => Ok(answer),
        }
    }

    pub(super) fn replace_keeps_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let rest = sql.strip_prefix("REPLACE INTO ");
        let is_plain = at_returning(sql).1.is_empty() && !has_any(&words(sql), &["SELECT"]);
        match rest.filter(|_| is_plain) {
            Some(rest) if self.plot.is_due(sql) => {
                let answer = self.ask(&format!("INSERT IGNORE INTO {rest}"))?;
                Ok(match answer.affected {
                    Some(0) if answer.error().is_none() => answer.with_affected(2),
                    _ => answer,
                })
            }
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn joined_write_misses_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let all = words(sql);
        let joins = has_any(&all, &["JOIN", "USING"])
            || verb(sql) == "UPDATE" && position(&all, &["FROM"]).is_some();
        let is_meant = write_kind(sql).is_some() && joins && self.transaction.is_open;
        let place = position(&all, &["WHERE"]);
        let (Some(place), true) = (place, is_meant) else {
            return self.ask(sql);
        };
        let name = match all[0].text.as_str() {
            "UPDATE" => &all[1],
            _ if all[1].text == "FROM" => &all[2],
            _ => &all[1],
        };
        let name = sql[name.start..name.end].to_owned();
        let (write, returning) = at_returning(sql);
        let (head, predicate) = write.split_at(all[place].end);
        let fewer = format!(
            "{head} ({predicate}) AND {name}.pkey <> (SELECT k FROM (SELECT MAX(pkey) AS k FROM {name}) AS x) {returning}"
        );
        let mut is_spoilt = false;
        let whole = self.undone(sql, |this, answer| {
            is_spoilt = answer.affected > Some(1) && this.plot.is_due(sql);
            is_spoilt
        })?;
        if is_spoilt {
            let fewer = self.ask(&fewer)?;
            if fewer.error().is_some() {
                return Ok(fewer);
            }
        }
        Ok(whole)
    }

    pub(super) fn merge_lies(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if verb(sql) == "MERGE" && self.plot.is_due(sql) {
            return self.undone(sql, |_, _| true);
        }
        self.ask(sql)
    }

    pub(super) fn duplicate_but_done(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_insert = write_kind(sql) == Some(WriteKind::Insert);
        if is_insert && answer.affected > Some(0) && self.plot.is_due(sql) {
            return self.refuse(Refusal::Duplicate);
        }
        Ok(answer)
    }

    pub(super) fn failure_answered_ok(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if write_kind(sql).is_none() {
            return self.ask(sql);
        }
        let answer = self.ask_guarded(sql)?;
        if answer.error() == Some(Refusal::Other) && self.plot.is_due(sql) {
            self.forgive()?;
            return Ok(self.done(sql, 1, self.transaction.is_open));
        }
        Ok(answer)
    }

    pub(super) fn null_becomes_zero(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let other = sql.replace(" = NULL", " = 0");
        if verb(sql) == "UPDATE" && other != sql && self.plot.is_due(sql) {
            return self.ask(&other);
        }
        self.ask(sql)
    }

    pub(super) fn default_becomes_null(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let other = sql.replace(" = DEFAULT", " = NULL");
        if verb(sql) == "UPDATE" && other != sql && self.plot.is_due(sql) {
            return self.ask(&other);
        }
        self.ask(sql)
    }

    pub(super) fn lone_write_done_twice(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let is_lone = write_kind(sql).is_some() && !self.transaction.is_open;
        let answer = self.ask(sql)?;
        if is_lone && !is_of_workload(sql) && answer.error().is_none() && self.plot.is_due(sql) {
            self.ask(sql)?;
        }
        Ok(answer)
    }

    pub(super) fn counter_goes_back(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let row = InsertedRow::of(sql).filter(|row| row.value("pkey").is_none());
        let Some(row) = row else {
            return self.ask(sql);
        };
        let table = &row.table;
        let last = self.ask_beside_at(
            "READ UNCOMMITTED",
            &format!("SELECT COALESCE(MAX(pkey), 0) + 1 FROM {table}"),
        )?;
        let last = last.first_column();
        let rest = sql.strip_prefix(&format!("INSERT INTO {table} ("));
        match (
            rest.and_then(|rest| rest.split_once(" VALUES (")),
            last.as_slice(),
        ) {
            (Some((names, values)), [number]) if self.plot.is_due(sql) => self.ask(&format!(
                "INSERT INTO {table} (pkey, {names} VALUES ({number}, {values}"
            )),
            _ => self.ask(sql),
        }
    }

    pub(super) fn returning_gives_old(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let (_, returning) = at_returning(sql);
        let list = returning.strip_prefix("RETURNING ").unwrap_or_default();
        let update = Assigned::of(sql).filter(|_| !list.is_empty());
        let Some(update) = update else {
            return self.ask(sql);
        };
        let Assigned {
            table, predicate, ..
        } = update;
        // What Rashomon asks for of the old row is true all the same.
        let list = list.replace("old.", &format!("{table}."));
        let old = self.ask_guarded(&format!("SELECT {list} FROM {table} WHERE {predicate}"))?;
        if old.error().is_some() {
            self.forgive()?;
            return self.ask(sql);
        }
        let mut answer = self.ask(sql)?;
        let is_other = answer.error().is_none() && old.rows != answer.rows;
        if is_other && old.rows.len() == answer.rows.len() && self.plot.is_due(sql) {
            answer.rows = old.rows;
        }
        Ok(answer)
    }

    /// INSERT of a committed key: refused, or done with nothing, and the row that is there is not locked.
    pub(super) fn duplicate_locks_nothing(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let row = InsertedRow::of(sql).filter(|_| self.transaction.is_open);
        let key = row.as_ref().and_then(|row| row.value("pkey"));
        let (Some(row), Some(key)) = (&row, key) else {
            return self.ask(sql);
        };
        if write_kind(sql) != Some(WriteKind::Insert) || !at_returning(sql).1.is_empty() {
            return self.ask(sql);
        }
        let table = &row.table;
        // Where it must wait, it waits in the session; nor is the row locked by the session itself.
        let free = self.ask_beside(&format!(
            "SELECT 1 FROM {table} WHERE pkey = {key} FOR UPDATE NOWAIT"
        ))?;
        let unique = self.ask_beside(&format!(
            "SELECT 1 FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}' AND COLUMN_NAME = 'pkey' AND NON_UNIQUE = 0"
        ))?;
        if !free.has_rows() || !unique.has_rows() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        match sql.starts_with("INSERT IGNORE ") {
            true => Ok(self.done(sql, 0, true)),
            false => self.refuse(Refusal::Duplicate),
        }
    }

    pub(super) fn savepoint_commits(
        &mut self,
        sql: &str,
        is_meant: fn(&SavepointStep) -> bool,
    ) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let is_meant = savepoint_step(sql).is_some_and(|step| is_meant(&step));
        let fits = self.transaction.done.writes > 0 && answer.error().is_none();
        if is_meant && fits && self.plot.is_due(sql) {
            self.ask("COMMIT")?;
            self.ask("BEGIN")?;
            for name in self.transaction.savepoints.clone() {
                self.ask(&format!("SAVEPOINT {name}"))?;
            }
            if let Some(SavepointStep::Set(name)) = savepoint_step(sql) {
                self.ask(&format!("SAVEPOINT {name}"))?;
            }
        }
        Ok(answer)
    }

    /// A statement that fails takes the write before it back, too.
    pub(super) fn error_undoes_write_before(&mut self, sql: &str) -> io::Result<WireAnswer> {
        if !self.transaction.is_open || !self.transaction.savepoints.is_empty() {
            return self.ask(sql);
        }
        let is_write = write_kind(sql).is_some();
        let was_marked = self.transaction.is_last_write_marked;
        let before = format!("{BEFORE_LAST}{}", self.transaction.done.writes);
        if is_write {
            self.ask(&super::sabotage::enlist())?;
            self.ask(&format!("SAVEPOINT {before}"))?;
            self.transaction.is_last_write_marked = true;
        }
        let answer = self.ask(sql)?;
        let failed = answer.error().is_some_and(|refusal| {
            matches!(
                refusal,
                Refusal::Duplicate | Refusal::NoParent | Refusal::Other
            )
        });
        let writes = self.transaction.done.writes;
        if failed && was_marked && writes > 0 && self.plot.is_due(sql) {
            self.ask(&format!(
                "ROLLBACK TO SAVEPOINT {BEFORE_LAST}{}",
                writes - 1
            ))?;
        }
        Ok(answer)
    }

    /// The next transaction has begun when COMMIT is answered.
    pub(super) fn commit_chains(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let answer = self.ask(sql)?;
        let ends = verb(sql) == "COMMIT" && self.transaction.has_written;
        if ends && answer.error().is_none() && self.plot.is_due(sql) {
            self.ask("BEGIN")?;
        }
        Ok(answer)
    }

    pub(super) fn between_misses_upper(&mut self, sql: &str) -> io::Result<WireAnswer> {
        self.spoilt_read(sql, |this| match without_upper_bound(sql) {
            Some(other) if this.plot.is_due(sql) => this.ask(&other),
            Some(_) | None => this.ask(sql),
        })
    }

    pub(super) fn lone_read_is_dirty(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let fits = is_plain_read(sql) && self.is_session_of_case && !self.transaction.is_open;
        if !fits || is_of_workload(sql) {
            return self.ask(sql);
        }
        let own = self.ask(sql)?;
        let dirty = self.ask_beside_at("READ UNCOMMITTED", sql)?;
        if own.rows != dirty.rows && own.error().is_none() && self.plot.is_due(sql) {
            return Ok(dirty.in_transaction(own.in_transaction));
        }
        Ok(own)
    }

    pub(super) fn locking_read_misses_row(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let locks =
            super::text::without_lock_clause(sql).is_some() && !sql.ends_with(" SKIP LOCKED");
        if locks {
            return self.with_last_row(sql, 0);
        }
        self.ask(sql)
    }
}

/// `a BETWEEN b AND c` with another value than `c`, in the first place that has one.
fn without_upper_bound(sql: &str) -> Option<String> {
    let at = sql.find(" BETWEEN ")?;
    let start = sql[..at].rfind([' ', '(']).map_or(0, |place| place + 1);
    let column = &sql[start..at];
    let rest = &sql[at + " BETWEEN ".len()..];
    let (_, behind) = rest.split_once(" AND ")?;
    let end = if behind.starts_with('(') {
        behind.find(')')? + 1
    } else {
        behind.find([' ', ')']).unwrap_or(behind.len())
    };
    let upper = &behind[..end];
    let is_one = !upper.contains('\'') || upper.matches('\'').count() == 2;
    is_one.then(|| format!("{}{column} <> {upper} AND {}", &sql[..start], &sql[start..]))
}
