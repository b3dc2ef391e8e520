//! What no second look explains, where a level looks again at rows that changed while a statement waited and which rows
//! it was joined with is not told (PostgreSQL manual, "Read Committed Isolation Level"): the rows that did not change
//! are those of its snapshot, and a read gives no row but as those that it locked are now.

use super::alone::{Alone, SeenTables};
use crate::dialect::LockingWrite;
use crate::engine::EngineError;
use crate::model::{CaseStatement, Doubt, Outcome, StatementKind, UndecidedReason};
use crate::observe::{Latitude, RowId, Sight};
use crate::oracle::compare;
use crate::statement::{count_mentions, mentions};

impl Alone<'_> {
    /// Whether a statement of several tables did what looking again at these rows cannot have done.
    pub(super) fn is_beyond_looking_again(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let looks_again = latitude.beyond == Some(UndecidedReason::RowReadAgainAfterAWait)
            && latitude.snapshots.is_empty();
        let mut doubts = latitude.rows.iter().flat_map(|row| &row.sights);
        let is_re_evaluated = |(_, doubt): &(Sight, Doubt)| *doubt == Doubt::ReEvaluated;
        if !looks_again || latitude.rows.is_empty() || !doubts.all(is_re_evaluated) {
            return Ok(false);
        }
        match statement.effect.kind {
            StatementKind::Update | StatementKind::Delete => {
                self.leaves_an_unchanged_row_otherwise(statement, latitude)
            }
            StatementKind::LockingSelect => self.gives_rows_beside(statement, latitude),
            StatementKind::Begin
            | StatementKind::BeginSnapshot
            | StatementKind::BeginImmediate
            | StatementKind::Commit
            | StatementKind::Rollback
            | StatementKind::Savepoint
            | StatementKind::RollbackTo
            | StatementKind::ReleaseSavepoint
            | StatementKind::Select
            | StatementKind::Insert
            | StatementKind::InsertSelect
            | StatementKind::Replace
            | StatementKind::Set
            | StatementKind::PhysicalDdl
            | StatementKind::LockTable
            | StatementKind::Opaque => Ok(false),
        }
    }

    /// Whether a write touched other rows than its snapshot says, of those that nobody had changed meanwhile. What it gave
    /// them is not compared: of several rows that a row is joined with, any may be taken.
    fn leaves_an_unchanged_row_otherwise(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let promised = self.promised(statement.id);
        for table in statement.effect.counted_targets() {
            let version = evidence
                .case
                .table(table)
                .and_then(|t| t.version_key.as_ref());
            let assigned = &statement.effect.assigned;
            let leaves_a_trace = version.is_some_and(|name| {
                statement.effect.kind == StatementKind::Delete
                    || assigned.contains_key(&name.to_ascii_lowercase())
            });
            let Some(before) = promised.get(table).filter(|_| leaves_a_trace) else {
                return Ok(false);
            };
            let Some(after) = self.left_by(statement, promised.clone(), table)? else {
                return Ok(false);
            };
            let changes = evidence.account.changes.get(&statement.id);
            let is_touched = |row: &RowId| {
                let mut changes = changes.into_iter().flatten();
                changes.any(|change| change.table == table && change.row == *row)
            };
            let is_known = |row: &RowId| {
                let mut changed = latitude.rows.iter();
                row.predecessors == 0
                    && !changed.any(|other| other.table == table && other.row == *row)
            };
            let mut known = before.iter().filter(|(row, _)| is_known(row));
            if known.any(|(row, cells)| (after.get(row) != Some(cells)) != is_touched(row)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a join of which every row shows by itself gives a row that it does not give on the rows as they are now, or
    /// lacks one that it gives without those that changed.
    fn gives_rows_beside(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let (sql, dialect) = (&statement.sql, &evidence.dialect);
        let effect = &statement.effect;
        // A weaker lock stands beside a change of the row, which is shown as it was then.
        let rules = &dialect.lock_rules;
        let keeps_changes_out = effect
            .lock
            .is_some_and(|lock| rules.exclude(lock, rules.of_write(LockingWrite::Update)));
        // Of a table that is joined to itself the clause may lock one of the two, and the other stays as it was.
        let mut uses = effect.uses.iter();
        let is_plain = uses.all(|used| count_mentions(sql, &used.table, dialect) == Some(1))
            && keeps_changes_out
            && effect.row_by_row
            && !effect.outer_join
            && !mentions(sql, "LIMIT", dialect)
            && count_mentions(sql, "SELECT", dialect) == Some(1);
        let record = evidence.execution.records.get(&statement.id);
        let Some(Outcome::Rows(got)) = record.map(|record| &record.outcome).filter(|_| is_plain)
        else {
            return Ok(false);
        };
        let (now, without) = (
            self.changed(statement, latitude, true),
            self.changed(statement, latitude, false),
        );
        let (Some(Outcome::Rows(most)), Some(Outcome::Rows(least))) =
            (self.answer(sql, &now)?, self.answer(sql, &without)?)
        else {
            return Ok(false);
        };
        let beyond = compare::table_difference(&most, got).map_or(0, |(_, extra)| extra.len());
        let lacking =
            compare::table_difference(&least, got).map_or(0, |(missing, _)| missing.len());
        Ok(beyond > 0 || lacking > 0)
    }

    /// The promised tables with the rows that changed as they are now.
    pub(super) fn as_they_are_now(
        &self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> SeenTables {
        self.changed(statement, latitude, true)
    }

    /// The promised tables with the rows that changed as they are now, or without them.
    fn changed(&self, statement: &CaseStatement, latitude: &Latitude, stand: bool) -> SeenTables {
        let mut tables = self.promised(statement.id);
        for row in &latitude.rows {
            let Some(contents) = tables.get_mut(&row.table) else {
                continue;
            };
            contents.remove(&row.row);
            if let Some((Sight::Version(version), _)) = row.sights.last().filter(|_| stand)
                && let Some(cells) = self.evidence.account.chains.row(*version)
            {
                contents.insert(row.row.clone(), cells.clone());
            }
        }
        tables
    }
}
