//! A locking read of a rarer form, and a write of another session that meets what it has locked.
//!
//! Aggregates, joins, DISTINCT, subqueries and derived tables lock by other paths of an engine than a plain read of one
//! table, and each form is drawn seldom: that its locks are missing shows only where somebody writes such a row while the
//! transaction is open.

use super::schema::{ColumnPlan, TablePlan};
use super::session::{DrawnStatement, SessionGenerator, began_read_only};
use crate::dialect::Capability;
use crate::model::SessionId;

/// How many of these writes, of a hundred, are of every row: one of a row that the read left out need not wait.
const WHOLE_PERCENT: usize = 35;

/// How many of these writes, of a hundred, delete: what counts rows shows no other change.
const DELETE_PERCENT: usize = 40;

impl SessionGenerator<'_, '_, '_> {
    /// Puts such a read and such a write into some cases that have a place for them.
    pub(super) fn add_locked_read(&mut self, lines: &mut Vec<DrawnStatement>) {
        if !self.dialect.supports(Capability::LockingRead)
            || !self.entropy.percent(self.options.locked_read_percent)
        {
            return;
        }
        let places: Vec<usize> = (0..lines.len())
            .filter(|at| {
                lines[*at].is_inside()
                    && !began_read_only(&lines[..=*at], lines[*at].session, self.dialect)
            })
            .collect();
        let Some(&before) = self.entropy.pick(&places) else {
            return;
        };
        let Some(read) = self.rare_read(lines[before].session) else {
            return;
        };
        let mut tried = lines.clone();
        tried.insert(before + 1, read);
        let Some(sql) = self.write_of_a_table_of(&tried[before + 1]) else {
            return;
        };
        if let [(at, write)] = self.beside(&tried, before + 1, false, sql).as_slice() {
            tried.insert(*at, write.clone());
            *lines = tried;
        }
    }

    /// A locking read of a rarer form, in a transaction of this session.
    fn rare_read(&mut self, session: SessionId) -> Option<DrawnStatement> {
        let (sql, productions) = self.drawn("rare-locking-select")?;
        let mut read = DrawnStatement::inside(session, sql, self.dialect);
        read.productions = productions;
        Some(read)
    }

    /// A write of rows of a table that a statement reads. An UPDATE assigns some column, which the read may not show.
    fn write_of_a_table_of(&mut self, read: &DrawnStatement) -> Option<String> {
        let is_read =
            |plan: &TablePlan| read.effect.uses.iter().any(|used| used.table == plan.name);
        let read: Vec<usize> = (0..self.tables.len())
            .filter(|at| is_read(&self.tables[*at]))
            .collect();
        let (tables, table) = (self.tables, *self.entropy.pick(&read)?);
        let name = &tables[table].name;
        let place = match self.entropy.percent(WHOLE_PERCENT) {
            true => String::new(),
            false => format!(" WHERE pkey = {}", self.stock.hot_key(self.entropy, table)),
        };
        if self.entropy.percent(DELETE_PERCENT) {
            return Some(format!("DELETE FROM {name}{place}"));
        }
        let assigned = self.plain_assignment(table);
        let (version, number) = (tables[table].version, self.stock.version());
        Some(format!(
            "UPDATE {name} SET {assigned}{version} = {number}{place}"
        ))
    }

    /// A value for a column of a table that any row may have, and a comma; nothing where there is no such column.
    fn plain_assignment(&mut self, table: usize) -> String {
        let tables = self.tables;
        let columns = tables[table].columns.iter();
        let plain: Vec<&ColumnPlan> = columns
            .filter(|column| column.generated.is_none() && column.references.is_none())
            .filter(|column| !column.unique)
            .collect();
        let column = self.entropy.pick(&plain).copied();
        let assigned = column.and_then(|column| {
            let value = self.entropy.pick(&column.literals)?;
            Some(format!("{} = {value}, ", column.name))
        });
        assigned.unwrap_or_default()
    }
}
