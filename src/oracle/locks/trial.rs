//! What a read gives on rows of our choice.

use std::time::Duration;

use super::locking_read::{FoundRows, LockingRead};
use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{CaseStatement, Direction, ErrorClass, Outcome};
use crate::observe::RowId;
use crate::oracle::Evidence;
use crate::oracle::compare;
use crate::oracle::view::Alone;
use crate::statement::{analyze, without_limit};

/// How often two answers are asked for again before they are called different: an engine whose
/// answer alone on the same rows is not always the same predicts nothing.
const SECOND_OPINIONS: u32 = 3;

/// How much longer each of these waits than the one before: three take a tenth of a second, in which
/// another worker's transaction ends, which may disturb an answer.
const REST: Duration = Duration::from_millis(33);

/// The connection without concurrency, for reads.
pub(super) struct ReadTrial<'a> {
    alone: Alone<'a>,
}

impl<'a> ReadTrial<'a> {
    /// The serial run is as its set-up left it.
    pub(super) fn start(evidence: &'a Evidence, serial: &'a mut dyn SerialRun) -> Self {
        Self {
            alone: Alone::start(evidence, serial),
        }
    }

    /// What the read gives on these tables; none where no table can hold such rows.
    pub(super) fn answer(
        &mut self,
        read: &LockingRead<'_>,
        tables: &FoundRows,
    ) -> Result<Option<Outcome>, EngineError> {
        self.alone.answer(&read.sql, tables)
    }

    /// How many rows a table has more when a statement was run on these tables; none where it was refused.
    pub(super) fn added_by(
        &mut self,
        statement: &CaseStatement,
        tables: &FoundRows,
        table: &str,
    ) -> Result<Option<usize>, EngineError> {
        let before = tables.get(table).map_or(0, |rows| rows.len());
        let after = self.alone.left_by(statement, tables.clone(), table)?;
        Ok(after.and_then(|after| after.len().checked_sub(before)))
    }

    /// The rows of a table that a write changes or removes when it is run on these tables; none where it was refused.
    pub(super) fn touched_by(
        &mut self,
        statement: &CaseStatement,
        tables: &FoundRows,
        table: &str,
    ) -> Result<Option<Vec<RowId>>, EngineError> {
        let Some(after) = self.alone.left_by(statement, tables.clone(), table)? else {
            return Ok(None);
        };
        let before = tables.get(table).into_iter().flatten();
        let touched = before.filter(|(row, was)| after.get(*row) != Some(*was));
        Ok(Some(touched.map(|(row, _)| row.clone()).collect()))
    }

    /// How a statement is refused on these tables, if it is; none where no table can hold such rows.
    pub(super) fn refusal_on(
        &mut self,
        statement: &CaseStatement,
        tables: &FoundRows,
    ) -> Result<Option<Option<ErrorClass>>, EngineError> {
        let outcome = self.alone.answer_of(statement, tables.clone())?;
        Ok(outcome.map(|outcome| outcome.error_class()))
    }

    /// What the read would give on these tables if nothing cut its result, where it gives row by row then.
    pub(super) fn uncut_answer(
        &mut self,
        read: &LockingRead<'_>,
        tables: &FoundRows,
        dialect: &Dialect,
    ) -> Result<Option<Outcome>, EngineError> {
        let uncut = without_limit(&read.sql, dialect);
        let uncut = uncut.filter(|sql| analyze(sql, dialect).row_by_row);
        match uncut {
            Some(sql) => self.alone.answer(&sql, tables),
            None => Ok(None),
        }
    }

    /// Whether a write may have been carried out on these tables: its search gives as many rows there as the write had. True of
    /// what is no such write.
    pub(super) fn may_have_written(
        &mut self,
        read: &LockingRead<'_>,
        tables: &FoundRows,
    ) -> Result<bool, EngineError> {
        if !read.writes_what_it_matches {
            return Ok(true);
        }
        let found = self.answer(read, tables)?;
        Ok(found.is_some_and(|found| counts_as_the_write_did(read, &found)))
    }

    /// Whether the read gives on these tables what it gave in the run, or what the search of a write gives on
    /// its view; none where it cannot be said.
    pub(super) fn agrees(
        &mut self,
        read: &LockingRead<'_>,
        tables: &FoundRows,
    ) -> Result<Option<bool>, EngineError> {
        let expected = if read.statement.effect.kind.is_write() {
            let found = self.answer(read, &read.seen)?;
            found.filter(|found| counts_as_the_write_did(read, found))
        } else {
            Some(read.record.outcome.clone())
        };
        let answer = self.answer(read, tables)?;
        let both = answer.zip(expected);
        Ok(both.map(|(answer, expected)| same(read, &answer, &expected)))
    }

    /// Whether the read gives two different answers on these tables, every time.
    pub(super) fn tells_apart(
        &mut self,
        read: &LockingRead<'_>,
        one: &FoundRows,
        other: &FoundRows,
    ) -> Result<bool, EngineError> {
        Ok(self.difference(read, one, other)?.is_some())
    }

    /// In which direction the second of two answers on these tables differs from the first, where they differ
    /// every time.
    pub(super) fn difference(
        &mut self,
        read: &LockingRead<'_>,
        one: &FoundRows,
        other: &FoundRows,
    ) -> Result<Option<Direction>, EngineError> {
        let mut first: Option<(Outcome, Outcome)> = None;
        for opinion in 0..SECOND_OPINIONS {
            self.alone.rest(REST * opinion);
            let (Some(here), Some(there)) = (self.answer(read, one)?, self.answer(read, other)?)
            else {
                return Ok(None);
            };
            if same(read, &here, &there) {
                return Ok(None);
            }
            let (a, b) = first.get_or_insert_with(|| (here.clone(), there.clone()));
            if !same(read, a, &here) || !same(read, b, &there) {
                return Ok(None);
            }
        }
        let order = read.statement.effect.row_order;
        let mismatch = first.and_then(|(a, b)| compare::outcomes(&a, &b, order));
        Ok(mismatch.map(|mismatch| mismatch.direction))
    }
}

/// Whether the search of a write gave as many rows as the write had in the run: an engine may take a condition otherwise in a SELECT
/// than in a DELETE. True of what does not tell.
fn counts_as_the_write_did(read: &LockingRead<'_>, found: &Outcome) -> bool {
    if !read.writes_what_it_matches {
        return true;
    }
    let Outcome::Rows(rows) = found else {
        return false;
    };
    match rows.as_slice() {
        [row] if row.len() == 1 => {
            let counted = row[0].as_integer();
            let counted = counted.and_then(|count| u64::try_from(count).ok());
            counted.is_none() || counted == read.record.outcome.row_count()
        }
        _ => true,
    }
}

/// Whether two answers of a read are one, but for an order that it does not promise.
pub(super) fn same(read: &LockingRead<'_>, one: &Outcome, other: &Outcome) -> bool {
    compare::outcomes(one, other, read.statement.effect.row_order).is_none()
}
