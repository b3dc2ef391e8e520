//! SKIP LOCKED: rows are left out where somebody else holds a lock on them, and nowhere else.

use super::breach::BrokenLock;
use super::held_twice::{FoundRow, held_rows};
use super::holders::LockHolders;
use super::locking_read::{FoundRows, LockingRead, held_versions};
use super::trial::ReadTrial;
use super::{may_hold, strength};
use crate::engine::EngineError;
use crate::model::{LockBreach, Outcome, Row};
use crate::oracle::Evidence;
use crate::oracle::compare::{self, outcome_text, rows_text};

/// What became of a SKIP LOCKED.
pub(super) enum SkipJudged {
    /// Nothing can be said of it.
    Left,
    /// It left out what others held; these rows were free.
    Right(FoundRows),
    /// It left out something else as well, or too little, which the locks of others may explain.
    Open,
    Wrong(BrokenLock),
}

impl SkipJudged {
    pub(super) fn is_judged(&self) -> bool {
        !matches!(self, Self::Left)
    }
}

/// Compares a SKIP LOCKED with what it gives without the rows that open transactions have changed, or found
/// by reads that lock: where nobody else may hold a lock it must give the same, and otherwise no other row.
pub(super) fn judge(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'_>,
    earlier: &[LockingRead<'_>],
    trial: &mut ReadTrial<'_>,
) -> Result<SkipJudged, EngineError> {
    // What it locks beside waits, and is given as it is then.
    if !strength::is_of_its_clause_alone(evidence, read.statement) {
        return Ok(SkipJudged::Left);
    }
    let chains = &evidence.account.chains;
    let changed = held_versions(evidence, holders, read, &[]);
    let found = held_rows(evidence, holders, read, earlier, trial)?;
    let changed_rows = changed
        .iter()
        .map(|held| (held.table, &chains.version(held.version).id));
    let found_rows = found.iter().map(|held| (held.table, held.row));
    let rows: Vec<_> = changed_rows.chain(found_rows).collect();
    let free = read.without(&rows);
    let Some(predicted) = trial.answer(read, &free)? else {
        return Ok(SkipJudged::Left);
    };
    let order = read.statement.effect.row_order;
    let got = &read.record.outcome;
    if compare::outcomes(&predicted, got, order).is_none() {
        return Ok(SkipJudged::Right(free));
    }
    let others_may_hold = holders.someone_may_hold(read.statement, read.record);
    let told = match (&predicted, got) {
        (Outcome::Rows(_), Outcome::Rows(got)) if others_may_hold => {
            // Whichever rows a LIMIT leaves, each of them was free.
            let all = match read.statement.effect.row_by_row {
                true => Some(predicted.clone()),
                false => trial.uncut_answer(read, &free, &evidence.dialect)?,
            };
            let Some(Outcome::Rows(all)) = all else {
                return Ok(SkipJudged::Left);
            };
            match beyond(got, &all) {
                None => left_out(evidence, holders, read, earlier, trial)?,
                told => told,
            }
        }
        _ => Some("nobody else may hold a lock".to_owned()),
    };
    let Some(told) = told else {
        return Ok(SkipJudged::Open);
    };
    for held in &found {
        if !is_found_every_time(held, trial)? {
            return Ok(SkipJudged::Open);
        }
    }
    let writer = changed
        .first()
        .map(|held| chains.version(held.version).writer);
    let reader = found.first().map(|held| held.by.statement.id);
    Ok(SkipJudged::Wrong(BrokenLock {
        padded: false,
        kind: LockBreach::WrongSkip,
        statement: read.statement.id,
        against: writer.or(reader),
        expected: outcome_text(&predicted, order),
        got: outcome_text(got, order),
        told,
    }))
}

/// The rows that a result has not, though nobody else may hold a lock on them, in words.
fn left_out(
    evidence: &Evidence,
    holders: &LockHolders<'_>,
    read: &LockingRead<'_>,
    earlier: &[LockingRead<'_>],
    trial: &mut ReadTrial<'_>,
) -> Result<Option<String>, EngineError> {
    let Some(held) = may_hold::rows(evidence, holders, read, earlier, trial)? else {
        return Ok(None);
    };
    let held: Vec<_> = held.into_iter().collect();
    let free = trial.answer(read, &read.without(&held))?;
    let (Some(Outcome::Rows(free)), Outcome::Rows(got)) = (free, &read.record.outcome) else {
        return Ok(None);
    };
    let missing = compare::table_difference(&free, got).map(|(missing, _)| missing);
    Ok(missing
        .filter(|missing| !missing.is_empty())
        .map(|missing| {
            let rows = rows_text(&missing);
            format!("it left out {rows}, on which nobody else may hold a lock")
        }))
}

/// Whether the read that holds a row gives another answer without it, however often it is asked.
fn is_found_every_time(
    held: &FoundRow<'_, '_>,
    trial: &mut ReadTrial<'_>,
) -> Result<bool, EngineError> {
    let FoundRow { by, table, row } = held;
    trial.tells_apart(by, &by.seen, &by.without(&[(table, row)]))
}

/// The rows that a result has beyond what was free, in words.
fn beyond(got: &[Row], free: &[Row]) -> Option<String> {
    let (_, extra) = compare::table_difference(free, got)?;
    (!extra.is_empty()).then(|| {
        let rows = rows_text(&extra);
        format!(
            "it returned {rows}, which another transaction had changed or locked, or which is not there"
        )
    })
}
