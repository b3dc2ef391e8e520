//! Faults of what a statement reads beside its own rows: its subqueries, and the source of an INSERT .. SELECT.

use std::io;

use super::answer::WireAnswer;
use super::clauses::{Subquery, parts};
use super::conversation::Conversation;
use super::fault::WriteKind;
use super::text::{at_returning, is_plain_read, position, words, write_kind};

/// How a query of ours is asked.
type Look = fn(&mut Conversation, &str) -> io::Result<WireAnswer>;

/// What stands before the SELECT of an INSERT .. SELECT, and a query that answers its rows as they are written
/// behind VALUES (MySQL).
fn source_of(sql: &str) -> Option<(&str, String)> {
    let words = words(sql);
    let (select, from) = (position(&words, &["SELECT"])?, position(&words, &["FROM"])?);
    let is_meant =
        write_kind(sql) == Some(WriteKind::InsertSelect) && at_returning(sql).1.is_empty();
    let columns = parts(&sql[words[select].end..words[from].start]);
    let quoted = columns.iter().map(|column| format!("QUOTE({column})"));
    let quoted = quoted.collect::<Vec<_>>().join(", ',', ");
    let tail = &sql[words[from].start..];
    is_meant.then(|| {
        let query = format!("SELECT CONCAT('(', {quoted}, ')') {tail}");
        (&sql[..words[select].start], query)
    })
}

impl Conversation {
    pub(super) fn insert_select_of_snapshot(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let fits = self.transaction.is_open && self.transaction.done.reads > 0;
        self.insert_of_source(sql, fits && self.has_snapshot(), Self::ask)
    }

    pub(super) fn insert_select_locks_nothing(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let fits = self.transaction.is_open && !self.transaction.has_written;
        self.insert_of_source(sql, fits && self.reads_of_writes_lock(), Self::ask_beside)
    }

    /// Whether the session's writes lock what they read beside their own rows (MySQL).
    fn reads_of_writes_lock(&self) -> bool {
        self.is_at("REPEATABLE READ") || self.is_at("SERIALIZABLE")
    }

    /// INSERT .. SELECT, its source read by `look`.
    fn insert_of_source(&mut self, sql: &str, fits: bool, look: Look) -> io::Result<WireAnswer> {
        let source = source_of(sql).filter(|_| fits && !self.transaction.is_read_only);
        let Some((head, query)) = source else {
            return self.ask(sql);
        };
        let rows = look(self, &query)?;
        if rows.error().is_some() || !self.plot.is_due(sql) {
            return self.ask(sql);
        }
        let values = rows.first_column();
        if values.is_empty() {
            return Ok(self.done(sql, 0, self.transaction.is_open));
        }
        self.ask(&format!("{head} VALUES {}", values.join(", ")))
    }

    /// The statement with an answer in the place of the first subquery that is answered otherwise by `look`
    /// than by `right`, where there is one.
    fn with_subquery_of(
        &mut self,
        sql: &str,
        look: Look,
        right: Option<Look>,
    ) -> io::Result<Option<String>> {
        for subquery in Subquery::all_of(sql) {
            let answer = look(self, &subquery.query)?;
            if answer.error().is_some() {
                // It depends on the row around it.
                continue;
            }
            if let Some(right) = right {
                let right = right(self, &subquery.query)?;
                if right.error().is_some() || right.rows == answer.rows {
                    continue;
                }
            }
            let rows = answer.rows.len();
            let other = subquery.answered(sql, &answer.first_column(), rows);
            if other.is_some() {
                return Ok(other);
            }
        }
        Ok(None)
    }

    pub(super) fn ask_with_subquery_of(
        &mut self,
        sql: &str,
        look: Look,
        right: Option<Look>,
    ) -> io::Result<WireAnswer> {
        match self.with_subquery_of(sql, look, right)? {
            Some(other) if self.plot.is_due(sql) => self.ask(&other),
            Some(_) | None => self.ask(sql),
        }
    }

    pub(super) fn subquery_reads_fresher(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let transaction = &self.transaction;
        let reads = transaction.is_open && !transaction.has_written && transaction.done.reads > 0;
        if !reads || !is_plain_read(sql) || !self.has_snapshot() {
            return self.ask(sql);
        }
        self.ask_with_subquery_of(sql, Self::ask_beside, Some(Self::ask))
    }

    pub(super) fn write_subquery_of_snapshot(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let transaction = &self.transaction;
        let reads = transaction.is_open && !transaction.has_written && transaction.done.reads > 0;
        if !reads || write_kind(sql).is_none() || !self.has_snapshot() {
            return self.ask(sql);
        }
        self.ask_with_subquery_of(sql, Self::ask, Some(Self::ask_beside))
    }

    pub(super) fn write_subquery_locks_nothing(&mut self, sql: &str) -> io::Result<WireAnswer> {
        let transaction = &self.transaction;
        let writes = transaction.is_open && !transaction.has_written && !transaction.is_read_only;
        if !writes || write_kind(sql).is_none() || !self.reads_of_writes_lock() {
            return self.ask(sql);
        }
        self.ask_with_subquery_of(sql, Self::ask_beside, None)
    }
}

#[test]
fn the_source_of_an_insert_is_read_as_values() {
    let sql = "INSERT INTO t (a, b) SELECT c, COALESCE(d, 'x, y') FROM u WHERE e";
    let (head, query) = source_of(sql).expect("one");
    assert_eq!(head, "INSERT INTO t (a, b) ");
    assert_eq!(
        query,
        "SELECT CONCAT('(', QUOTE(c), ',', QUOTE(COALESCE(d, 'x, y')), ')') FROM u WHERE e"
    );
    assert!(source_of("INSERT INTO t (a) VALUES (1)").is_none());
}
