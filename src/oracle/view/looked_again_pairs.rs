//! Pairs of rows that a statement of two tables joins by its snapshot, of which one changed while it waited and still fits: looking
//! again at a row means with the rows that it was joined with (PostgreSQL manual, "Read Committed Isolation Level": "the search
//! condition of the command is re-evaluated to see if the updated version of the row still matches").

use std::collections::BTreeMap;

use super::alone::{Alone, Contents, SeenTables};
use crate::engine::EngineError;
use crate::model::{CaseStatement, Outcome, Pace, Row};
use crate::observe::{Latitude, RowId, Sight};
use crate::statement::count_mentions;

/// How many pairs are tried of one statement.
const PAIRS_MAX: usize = 32;

/// A row that a statement has locked in a newer version than its snapshot shows.
struct MetRow<'l> {
    table: &'l str,
    row: &'l RowId,
    now: Row,
}

/// Two rows as the snapshot shows them, and as they were when they were locked.
struct Pair {
    then: SeenTables,
    now: SeenTables,
}

impl Alone<'_> {
    /// What a read of two tables surely gives of pairs of which a row changed.
    pub(super) fn pairs_given(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<Vec<Row>, EngineError> {
        let mut given = Vec::new();
        for pair in self.changed_pairs(statement, latitude) {
            let then = self.answer(&statement.sql, &pair.then)?;
            if !is_one_row(then.as_ref()) {
                continue;
            }
            let now = self.answer(&statement.sql, &pair.now)?;
            if let Some(Outcome::Rows(rows)) = now.filter(|now| is_one_row(Some(now))) {
                given.extend(rows);
            }
        }
        Ok(given)
    }

    /// Whether a write left a row of its target alone which changed and which it finds by the same row of the other table as before.
    pub(super) fn passes_over_a_pair(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
    ) -> Result<bool, EngineError> {
        let evidence = self.evidence;
        let (sql, effect) = (&statement.sql, &statement.effect);
        let mut targets = effect.targets();
        let (Some(target), None) = (targets.next(), targets.next()) else {
            return Ok(false);
        };
        let is_plain = !effect.outer_join
            && count_mentions(sql, "SELECT", &evidence.dialect) == Some(0)
            && latitude.rows.iter().all(|row| row.table == target);
        if !is_plain {
            return Ok(false);
        }
        for pair in self.changed_pairs(statement, latitude) {
            let row = pair.now.get(target).and_then(|rows| rows.keys().next());
            let is_left =
                row.is_some_and(|row| !evidence.account.has_changed(statement.id, target, row));
            if is_left
                && self.touches(statement, &pair.then, target)?
                && self.touches(statement, &pair.now, target)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a write changes its target when it is run on these tables.
    fn touches(
        &mut self,
        statement: &CaseStatement,
        tables: &SeenTables,
        target: &str,
    ) -> Result<bool, EngineError> {
        let (before, after) = (
            tables.get(target),
            self.left_by(statement, tables.clone(), target)?,
        );
        // A row that was given another key before has the name of that key behind the write, and is the same.
        let both = before.zip(after);
        Ok(both.is_some_and(|(before, after)| !before.values().eq(after.values())))
    }

    /// The pairs of rows of a statement's snapshot, one of each of its two tables, of which one or both were surely locked in a newer
    /// version. None where a table is named twice, or rows may have been met in several versions.
    fn changed_pairs(&self, statement: &CaseStatement, latitude: &Latitude) -> Vec<Pair> {
        let promised = self.promised(statement.id);
        let mut uses = statement.effect.uses.iter();
        let tables: Vec<(&String, &Contents)> = promised.iter().collect();
        let [first, second] = tables.as_slice() else {
            return Vec::new();
        };
        if uses.any(|used| used.role.is_unnamed()) || !self.names_each_table_once(statement) {
            return Vec::new();
        }
        let met = self.surely_met(statement, latitude);
        let (ones, others) = (ways(first, &met, latitude), ways(second, &met, latitude));
        let pairs = ones
            .iter()
            .flat_map(|one| others.iter().map(move |other| (one, other)));
        let changed = pairs.filter(|(one, other)| one.1 != one.2 || other.1 != other.2);
        let at = |table: &String, row: &RowId, cells: &Row| {
            (
                table.clone(),
                BTreeMap::from([(row.clone(), cells.clone())]),
            )
        };
        let both = changed.take(PAIRS_MAX).map(|(one, other)| Pair {
            then: SeenTables::from([at(first.0, one.0, one.1), at(second.0, other.0, other.1)]),
            now: SeenTables::from([at(first.0, one.0, one.2), at(second.0, other.0, other.2)]),
        });
        both.collect()
    }

    /// The rows that changed before the statement came to them: in a run that goes step by step, by a transaction that waited for
    /// nobody when it ended.
    fn surely_met<'l>(&self, statement: &CaseStatement, latitude: &'l Latitude) -> Vec<MetRow<'l>> {
        let evidence = self.evidence;
        let (chains, execution) = (&evidence.account.chains, &evidence.execution);
        let in_steps = evidence.case.pace == Pace::Scheduled && execution.unreliable.is_none();
        let Some(record) = execution.records.get(&statement.id).filter(|_| in_steps) else {
            return Vec::new();
        };
        let met = latitude.rows.iter().filter_map(|row| {
            let [(Sight::Version(version), _)] = row.sights.as_slice() else {
                return None;
            };
            let end = execution.commit_record(chains.version(*version).writer.transaction)?;
            // Another row under the same key is none that was waited for.
            let chain = chains.chain(&row.table, &row.row);
            let stayed = chain.iter().all(|version| chains.row(*version).is_some());
            let is_before = stayed && !end.resumed() && end.sent < record.answered;
            Some(MetRow {
                table: &row.table,
                row: &row.row,
                now: chains.row(*version).filter(|_| is_before)?.clone(),
            })
        });
        met.collect()
    }
}

/// The rows of a table as the snapshot shows them and as they were when they were locked, without those of which that is not known.
fn ways<'t>(
    (table, rows): &'t (&'t String, &'t Contents),
    met: &'t [MetRow<'_>],
    latitude: &Latitude,
) -> Vec<(&'t RowId, &'t Row, &'t Row)> {
    let ways = rows.iter().filter_map(|(row, then)| {
        let newer = met
            .iter()
            .find(|met| met.table == table.as_str() && met.row == row);
        let mut all = latitude.rows.iter();
        let is_open = all.any(|other| other.table == **table && other.row == *row);
        let now = match newer {
            Some(newer) => &newer.now,
            None if is_open => return None,
            None => then,
        };
        (row.predecessors == 0).then_some((row, then, now))
    });
    ways.collect()
}

fn is_one_row(answer: Option<&Outcome>) -> bool {
    answer.is_some_and(|answer| matches!(answer, Outcome::Rows(rows) if rows.len() == 1))
}
