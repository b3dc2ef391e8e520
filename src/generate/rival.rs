//! Statements aimed at what is open at that moment: the key of a row that another session has inserted and not
//! committed, rows that another session's transaction holds, and what a transaction sees when it has returned to a
//! savepoint.
//!
//! Drawn one by one, statements of several sessions seldom meet there: a new row has a key of its own, and a return
//! to a savepoint is seldom followed by a read of what it has taken back.

use std::collections::BTreeSet;

use super::schema::TablePlan;
use super::session::{DrawnStatement, SessionGenerator, began_read_only};
use crate::dialect::Capability;
use crate::model::{SessionId, StatementKind, Value};
use crate::statement::{RowWrite, row_write};

/// How many cases with such statements, of a hundred, have a second one.
const SECOND_PERCENT: usize = 40;

/// How many transactions, of a hundred, that read after a return have read the same before.
const BEFORE_PERCENT: usize = 75;

/// How many reads, of a hundred, that meet a row which is held are of the whole table.
const WHOLE_PERCENT: usize = 40;

/// Where a statement of a session can stand, and whether a transaction of it is open there.
#[derive(Clone, Copy)]
struct Opening {
    at: usize,
    session: SessionId,
    is_inside: bool,
}

impl SessionGenerator<'_, '_, '_> {
    /// Puts one or two into some cases that have a place for them.
    pub(super) fn add_rivals(&mut self, lines: &mut Vec<DrawnStatement>) {
        if !self.entropy.percent(self.options.rival_percent) {
            return;
        }
        let count = 1 + usize::from(self.entropy.percent(SECOND_PERCENT));
        for _ in 0..count {
            let added = match self.entropy.below(3) {
                0 => self.same_key(lines),
                1 => self.held_row(lines),
                _ => self.after_return(lines),
            };
            // The last line first, so that the places of the others stand.
            for (at, line) in added {
                lines.insert(at, line);
            }
        }
    }

    /// An INSERT of the same key as another session's, whose transaction is open.
    fn same_key(&mut self, lines: &[DrawnStatement]) -> Vec<(usize, DrawnStatement)> {
        let inserts = lines.iter().enumerate().filter_map(|(at, line)| {
            let insert = self.keyed_insert(line)?;
            (line.is_inside() && !self.openings(lines, at, false).is_empty())
                .then_some((at, insert))
        });
        let inserts: Vec<(usize, KeyedInsert)> = inserts.collect();
        let Some((at, insert)) = self.entropy.pick(&inserts) else {
            return Vec::new();
        };
        let sql = insert.with_version(self.stock.version());
        self.beside(lines, *at, false, sql)
    }

    /// A read that locks what another session's open transaction has written.
    fn held_row(&mut self, lines: &[DrawnStatement]) -> Vec<(usize, DrawnStatement)> {
        if !self.dialect.supports(Capability::LockingRead) {
            return Vec::new();
        }
        let writes = lines.iter().enumerate().filter_map(|(at, line)| {
            let table = line.effect.counted_targets().next()?.to_owned();
            let stands = line.is_inside() && line.effect.kind.is_write();
            (stands && !self.openings(lines, at, true).is_empty()).then_some((at, table))
        });
        let writes: Vec<(usize, String)> = writes.collect();
        let Some((at, table)) = self.entropy.pick(&writes) else {
            return Vec::new();
        };
        let Some(clause) = self.text("lock-clause") else {
            return Vec::new();
        };
        let key = match self.entropy.percent(WHOLE_PERCENT) {
            true => None,
            false => key_named(&lines[*at].sql),
        };
        let condition = key.map_or(String::new(), |key| format!(" WHERE {table}.pkey = {key}"));
        let sql = format!("SELECT * FROM {table}{condition} {clause}");
        self.beside(lines, *at, true, sql)
    }

    /// A read behind a ROLLBACK TO, of a table that its transaction or another session has written, and mostly the same
    /// read at the beginning of the transaction.
    fn after_return(&mut self, lines: &[DrawnStatement]) -> Vec<(usize, DrawnStatement)> {
        let is_return = |at: &usize| lines[*at].effect.kind == StatementKind::RollbackTo;
        let returns: Vec<usize> = (0..lines.len()).filter(is_return).collect();
        let Some(&at) = self.entropy.pick(&returns) else {
            return Vec::new();
        };
        let session = lines[at].session;
        let is_written = |table: &&TablePlan| {
            let writes = |line: &DrawnStatement| {
                line.effect
                    .counted_targets()
                    .any(|target| target == table.name)
            };
            lines.iter().any(writes)
        };
        let written: Vec<&TablePlan> = self.tables.iter().filter(is_written).collect();
        let Some(table) = self.entropy.pick(&written) else {
            return Vec::new();
        };
        let sql = format!("SELECT * FROM {}", table.name);
        let line = DrawnStatement::inside(session, sql, self.dialect);
        let mut added = vec![(self.before_next(lines, at), line.clone())];
        let is_begin =
            |at: &usize| lines[*at].session == session && lines[*at].effect.kind.is_begin();
        if let Some(begin) = (0..at).rev().find(is_begin)
            && self.entropy.percent(BEFORE_PERCENT)
        {
            added.push((self.before_next(lines, begin), line));
        }
        added
    }

    /// A place behind a line and before the next one of its session.
    fn before_next(&mut self, lines: &[DrawnStatement], at: usize) -> usize {
        let session = lines[at].session;
        let others = lines[at + 1..].iter();
        let room = others.take_while(|line| line.session != session).count();
        at + 1 + self.entropy.below(room + 1)
    }

    /// A statement of another session while the transaction of a line is open.
    pub(super) fn beside(
        &mut self,
        lines: &[DrawnStatement],
        at: usize,
        reads: bool,
        sql: String,
    ) -> Vec<(usize, DrawnStatement)> {
        let openings = self.openings(lines, at, reads);
        let Some(opening) = self.entropy.pick(&openings).copied() else {
            return Vec::new();
        };
        let line = match opening.is_inside {
            true => DrawnStatement::inside(opening.session, sql, self.dialect),
            false => DrawnStatement::outside(opening.session, sql, self.dialect),
        };
        let resolved = self
            .catalog
            .resolved(&line.sql, line.effect.clone(), self.dialect);
        match resolved.changes_what_it_uses() {
            true => Vec::new(),
            false => vec![(opening.at, line)],
        }
    }

    /// Where another session can send a statement before the transaction of a line ends. A transaction that was started
    /// READ ONLY refuses what locks or writes.
    fn openings(&self, lines: &[DrawnStatement], at: usize, reads: bool) -> Vec<Opening> {
        let own = lines[at].session;
        let is_end = |line: &DrawnStatement| line.session == own && line.effect.kind.is_end();
        let behind = lines[at + 1..].iter().position(is_end);
        let end = behind.map_or(lines.len(), |behind| at + 1 + behind);
        let lone = self.dialect.supports(Capability::AutocommitStatement);
        let others: BTreeSet<SessionId> = lines.iter().map(|line| line.session).collect();
        let mut openings = Vec::new();
        for place in at + 1..=end {
            let before = &lines[..place];
            for &session in others.iter().filter(|session| **session != own) {
                let mut own_lines = before.iter().filter(|line| line.session == session);
                let last = own_lines.next_back();
                let is_inside = last.is_some_and(DrawnStatement::is_inside);
                let refuses = began_read_only(before, session, self.dialect);
                if (is_inside && !refuses) || (!is_inside && lone) {
                    openings.push(Opening {
                        at: place,
                        session,
                        is_inside,
                    });
                }
            }
        }
        // A lone read that locks shows most, for it is drawn nowhere else.
        if reads && openings.iter().any(|opening| !opening.is_inside) {
            openings.retain(|opening| !opening.is_inside);
        }
        openings
    }

    /// What an INSERT of one row that names its key says.
    fn keyed_insert(&self, line: &DrawnStatement) -> Option<KeyedInsert> {
        let Some(RowWrite::Insert {
            table,
            columns,
            rows,
        }) = row_write(&line.sql, self.dialect)
        else {
            return None;
        };
        let plan = self.tables.iter().find(|plan| plan.name == table)?;
        let [row] = rows.as_slice() else {
            return None;
        };
        let version = columns.iter().position(|column| column == plan.version)?;
        let is_whole = columns.first().is_some_and(|column| column == "pkey");
        let names_key = matches!(row.first(), Some(Value::Integer(_)));
        let Some(Value::Integer(number)) = row.get(version) else {
            return None;
        };
        (is_whole && names_key && plan.keyed).then(|| KeyedInsert {
            sql: line.sql.clone(),
            version: *number,
        })
    }
}

/// An INSERT of one row that names its key.
struct KeyedInsert {
    sql: String,
    /// The number that it gives the version key.
    version: i64,
}

impl KeyedInsert {
    /// The same with another version key.
    fn with_version(&self, version: i64) -> String {
        let old = format!(", {}", self.version);
        self.sql.replacen(&old, &format!(", {version}"), 1)
    }
}

/// The row key that a statement names alone.
fn key_named(sql: &str) -> Option<i64> {
    let (_, behind) = sql.split_once("pkey = ")?;
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
