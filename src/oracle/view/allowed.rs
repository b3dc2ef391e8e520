//! Every outcome that documented behaviour allows of a statement whose view is not the only one.
//!
//! A view is chosen from the statement's latitude: for each row one of the versions it may have seen,
//! for the tables of a statement's snapshot one moment. The statement runs alone on that view, and
//! gives what the run gave or not; nothing here reads SQL. A row that the cursor may have passed over
//! is tried twice, once in the older version and once away: a version that counts would have been
//! locked, and then it would not be old.

use super::super::compare::Mismatch;
use super::alone::{Alone, Contents, SeenTables};
use crate::engine::EngineError;
use crate::model::{CaseStatement, Doubt, StatementId, TableShape, UndecidedReason, Value};
use crate::observe::{
    Latitude, RowId, RowLatitude, Sight, View, holds_a_key_twice, is_hidden_row_key,
};

/// How many views are tried before the answer is that nothing is known: 8 rows in two versions.
const MIXES: usize = 256;

/// What the views that a statement may have had say of its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::oracle) enum Allowed {
    /// It is the outcome at one moment.
    AtOneMoment,
    /// It is the outcome of a mix that this registered behaviour explains.
    Mixed(Doubt),
    /// No view of these gives it.
    Never { tried: usize },
    /// There may be views that were not tried.
    Unknown(UndecidedReason),
}

/// One way to see: per row of a latitude none for the promised version, else the place of a sight;
/// and the same of the snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SightChoice {
    rows: Vec<Option<usize>>,
    snapshot: Option<usize>,
}

impl SightChoice {
    /// Every row as promised.
    pub(super) fn promised(rows: usize) -> Self {
        Self {
            rows: vec![None; rows],
            snapshot: None,
        }
    }
}

impl Alone<'_> {
    /// Whether documented behaviour allows what a statement gave, which its promised view does not
    /// give.
    pub(in crate::oracle) fn allowed(&mut self, id: StatementId) -> Result<Allowed, EngineError> {
        let evidence = self.evidence;
        let (Some(statement), Some(latitude)) = (
            evidence.case.statement(id),
            evidence.account.latitudes.get(&id),
        ) else {
            return Ok(Allowed::Never { tried: 0 });
        };
        if self.is_refused_for_what_it_locked(statement, latitude) {
            return Ok(Allowed::Never { tried: 0 });
        }
        let mut beyond = latitude.beyond;
        let mut tried = 0;
        let every_row: Vec<&RowLatitude> = latitude.rows.iter().collect();
        for choice in self.moments(id, latitude, &every_row) {
            tried += 1;
            if self.gives(statement, latitude, &every_row, &choice)? == Some(true) {
                return Ok(Allowed::AtOneMoment);
            }
        }
        let rows = self.untouched(statement, latitude);
        let (choices, all) = choices(&rows, latitude.snapshots.len());
        for choice in &choices {
            tried += 1;
            match self.gives(statement, latitude, &rows, choice)? {
                Some(true) => {
                    return Ok(doubt(&rows, choice).map_or(Allowed::AtOneMoment, Allowed::Mixed));
                }
                Some(false) => {}
                None => beyond = Some(UndecidedReason::TwoRowsOfOneUniqueKey),
            }
        }
        if self.is_beyond_looking_again(statement, latitude)?
            || self.is_beyond_reading_again(statement, latitude)?
        {
            beyond = None;
        }
        if !all {
            beyond = beyond.or(Some(UndecidedReason::MixesOutOfBudget));
        }
        Ok(beyond.map_or(Allowed::Never { tried }, Allowed::Unknown))
    }

    /// Runs a statement on its promised view and compares; where it gives the same by a row that it cannot have
    /// seen so any more, on the rows as they stood when it went on.
    pub(in crate::oracle) fn judge_as_it_went_on(
        &mut self,
        id: StatementId,
    ) -> Result<Option<Vec<Mismatch>>, EngineError> {
        let judged = self.judge(id, true)?;
        let evidence = self.evidence;
        let (Some(statement), Some(latitude)) = (
            evidence.case.statement(id),
            evidence.account.latitudes.get(&id),
        ) else {
            return Ok(judged);
        };
        let agrees = judged.as_ref().is_some_and(Vec::is_empty);
        if agrees && self.is_beyond_looking_again(statement, latitude)? {
            return self.judge_on(statement, self.newest(id, latitude), true);
        }
        if !agrees || latitude.replaced.is_empty() {
            return Ok(judged);
        }
        let promised = SightChoice::promised(0);
        if self.gives(statement, latitude, &[], &promised)? != Some(false) {
            return Ok(judged);
        }
        self.judge_on(statement, self.newest(id, latitude), true)
    }

    /// The promised tables with each row of a latitude as it stood when the statement went on.
    pub(super) fn newest(&self, id: StatementId, latitude: &Latitude) -> SeenTables {
        let rows: Vec<&RowLatitude> = latitude.rows.iter().collect();
        let last = |row: &&RowLatitude| row.sights.len().checked_sub(1);
        let newest = SightChoice {
            rows: rows.iter().map(last).collect(),
            snapshot: None,
        };
        self.as_chosen(id, latitude, &rows, &newest, Passed::Stand)
    }

    /// The promised tables without the rows of a latitude.
    pub(super) fn unchanged(&self, id: StatementId, latitude: &Latitude) -> SeenTables {
        let mut unchanged = self.promised(id);
        for row in &latitude.rows {
            if let Some(contents) = unchanged.get_mut(&row.table) {
                contents.remove(&row.row);
            }
        }
        unchanged
    }

    /// The rows of a latitude without those that the statement wrote: it had them under a lock, in the
    /// newest version.
    fn untouched<'l>(
        &self,
        statement: &CaseStatement,
        latitude: &'l Latitude,
    ) -> Vec<&'l RowLatitude> {
        let account = &self.evidence.account;
        let wrote = |row: &RowLatitude| account.has_changed(statement.id, &row.table, &row.row);
        latitude.rows.iter().filter(|row| !wrote(row)).collect()
    }

    /// The choices that show all rows as of one earlier moment, each with every snapshot.
    fn moments(
        &self,
        id: StatementId,
        latitude: &Latitude,
        rows: &[&RowLatitude],
    ) -> Vec<SightChoice> {
        let mut found: Vec<SightChoice> = Vec::new();
        for moment in &latitude.moments {
            let chosen: Option<Vec<Option<usize>>> = rows
                .iter()
                .map(|row| self.sight_at(id, row, moment))
                .collect();
            let Some(chosen) = chosen else {
                continue;
            };
            for snapshot in snapshots(latitude.snapshots.len()) {
                let choice = SightChoice {
                    rows: chosen.clone(),
                    snapshot,
                };
                if !found.contains(&choice) {
                    found.push(choice);
                }
            }
        }
        found
    }

    /// How a row shows at a moment: none inside where it is as promised, none where that is no choice.
    fn sight_at(&self, id: StatementId, row: &RowLatitude, moment: &View) -> Option<Option<usize>> {
        let account = &self.evidence.account;
        let content = |version: Option<_>| version.and_then(|id| account.chains.row(id));
        let seen = |view: Option<&View>| {
            let rows = view.and_then(|view| view.get(&row.table));
            rows.and_then(|rows| rows.get(&row.row)).copied().flatten()
        };
        let then = content(seen(Some(moment)));
        if then == content(seen(account.views.get(&id))) {
            return Some(None);
        }
        let is_then = |(sight, _): &(Sight, Doubt)| match sight {
            Sight::Nothing => then.is_none(),
            Sight::Version(id) | Sight::PassedOver(id) => {
                then.is_some() && content(Some(*id)) == then
            }
            Sight::Beside(_) => false,
        };
        row.sights.iter().position(is_then).map(Some)
    }

    /// Whether the statement, alone on the view of this choice, gives what the run gave. None where no
    /// table can hold the view.
    fn gives(
        &mut self,
        statement: &CaseStatement,
        latitude: &Latitude,
        rows: &[&RowLatitude],
        choice: &SightChoice,
    ) -> Result<Option<bool>, EngineError> {
        let seen = self.as_chosen(statement.id, latitude, rows, choice, Passed::Stand);
        if !self.can_stand(&seen) {
            return Ok(None);
        }
        let looked_again = rows.iter().zip(&choice.rows);
        let mut looked_again =
            looked_again.filter_map(|(row, sight)| Some(row.sights[(*sight)?].1));
        if looked_again.any(|doubt| doubt == Doubt::ReEvaluated)
            && let Some(gives) = self.gives_in_the_old_order(statement, &seen)?
        {
            return Ok(Some(gives));
        }
        if !self.does_the_same(statement, seen, true)? {
            return Ok(Some(false));
        }
        let passes = sights(rows, choice).any(|(sight, _)| matches!(sight, Sight::PassedOver(_)))
            || latitude
                .replaced
                .iter()
                .any(|row| stands_as_promised(row, rows, choice));
        let record = self.evidence.execution.records.get(&statement.id);
        let rejected = record.is_some_and(|record| record.outcome.error_class().is_some());
        if !passes || rejected {
            // An error may come from looking at a row, whether it counts or not.
            return Ok(Some(true));
        }
        let without = self.as_chosen(statement.id, latitude, rows, choice, Passed::Away);
        Ok(Some(self.does_the_same(statement, without, true)?))
    }

    /// The tables as this choice shows them to a statement that does nothing by a row which its cursor passed over.
    pub(super) fn as_used(
        &self,
        id: StatementId,
        latitude: &Latitude,
        rows: &[&RowLatitude],
        choice: &SightChoice,
    ) -> SeenTables {
        self.as_chosen(id, latitude, rows, choice, Passed::Away)
    }

    /// The tables as this choice shows them.
    fn as_chosen(
        &self,
        id: StatementId,
        latitude: &Latitude,
        rows: &[&RowLatitude],
        choice: &SightChoice,
        passed: Passed,
    ) -> SeenTables {
        let mut place = self.promised(id);
        if let Some(at) = choice.snapshot {
            for (table, seen) in &latitude.snapshots[at] {
                place.insert(table.clone(), self.rows_of(seen));
            }
        }
        for (row, sight) in rows.iter().zip(&choice.rows) {
            let (Some(at), Some(contents)) = (sight, place.get_mut(&row.table)) else {
                continue;
            };
            match row.sights[*at].0 {
                Sight::Nothing => {
                    contents.remove(&row.row);
                }
                Sight::PassedOver(_) if passed == Passed::Away => {
                    contents.remove(&row.row);
                }
                Sight::Version(version) | Sight::PassedOver(version) => {
                    if let Some(values) = self.evidence.account.chains.row(version) {
                        contents.insert(row.row.clone(), values.clone());
                    }
                }
                Sight::Beside(version) => {
                    let shape = self.evidence.case.table(&row.table);
                    let values = self.evidence.account.chains.row(version);
                    if let (Some(shape), Some(values)) = (shape, values) {
                        beside(shape, contents, &row.row, values.clone());
                    }
                }
            }
        }
        if passed == Passed::Away {
            let replaced = latitude.replaced.iter();
            for gone in replaced.filter(|row| stands_as_promised(row, rows, choice)) {
                if let Some(contents) = place.get_mut(&gone.0) {
                    contents.remove(&gone.1);
                }
            }
        }
        place
    }

    /// Whether the unique keys of each table allow its rows to stand side by side.
    pub(super) fn can_stand(&self, place: &SeenTables) -> bool {
        place.iter().all(|(table, contents)| {
            let Some(shape) = self.evidence.case.table(table) else {
                return true;
            };
            !holds_a_key_twice(shape, contents.values())
        })
    }
}

/// What becomes of rows in a version that the cursor passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passed {
    Stand,
    Away,
}

/// Puts an older version beside a row. Under a row key that no statement can name it gets one that
/// no other row has.
fn beside(shape: &TableShape, contents: &mut Contents, row: &RowId, mut values: Vec<Value>) {
    let hidden = is_hidden_row_key(shape);
    let key = shape.row_key.as_deref().filter(|_| hidden);
    let mut id = row.clone();
    if let Some(at) = key.and_then(|key| shape.column(key)) {
        let last = contents.keys().filter_map(|row| row.key.as_integer()).max();
        id = RowId::first(Value::Integer(last.unwrap_or(0) + 1));
        values[at] = id.key.clone();
    }
    while contents.contains_key(&id) {
        id.predecessors += 1;
    }
    contents.insert(id, values);
}

fn snapshots(count: usize) -> impl Iterator<Item = Option<usize>> {
    std::iter::once(None).chain((0..count).map(Some))
}

/// Choices with the fewest rows otherwise than promised first, the promised view left out; and whether
/// these are all.
pub(super) fn choices(rows: &[&RowLatitude], snapshot_count: usize) -> (Vec<SightChoice>, bool) {
    let mut found = Vec::new();
    let mut level = vec![vec![None; rows.len()]];
    for _ in 0..=rows.len() {
        for chosen in &level {
            for snapshot in snapshots(snapshot_count) {
                if found.len() == MIXES {
                    return (found, false);
                }
                let choice = SightChoice {
                    rows: chosen.clone(),
                    snapshot,
                };
                if snapshot.is_some() || choice.rows.iter().any(Option::is_some) {
                    found.push(choice);
                }
            }
        }
        level = one_more(&level, rows);
    }
    (found, true)
}

/// Each choice with one more row seen otherwise, behind the last that is.
fn one_more(level: &[Vec<Option<usize>>], rows: &[&RowLatitude]) -> Vec<Vec<Option<usize>>> {
    let mut next = Vec::new();
    for chosen in level {
        let first_free = chosen
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |at| at + 1);
        for at in first_free..rows.len() {
            for sight in 0..rows[at].sights.len() {
                let mut more = chosen.clone();
                more[at] = Some(sight);
                next.push(more);
                if next.len() > MIXES {
                    return next;
                }
            }
        }
    }
    next
}

/// Whether a choice shows this row in the promised version.
fn stands_as_promised(row: &(String, RowId), rows: &[&RowLatitude], choice: &SightChoice) -> bool {
    let mut chosen = rows.iter().zip(&choice.rows);
    !chosen.any(|(other, sight)| sight.is_some() && other.table == row.0 && other.row == row.1)
}

/// The registered behaviour that a choice needs; none where all rows are as promised.
fn doubt(rows: &[&RowLatitude], choice: &SightChoice) -> Option<Doubt> {
    sights(rows, choice).map(|(_, doubt)| *doubt).min()
}

/// What a choice shows otherwise than promised.
fn sights<'l>(
    rows: &[&'l RowLatitude],
    choice: &SightChoice,
) -> impl Iterator<Item = &'l (Sight, Doubt)> {
    let rows = rows.iter().zip(&choice.rows);
    rows.filter_map(|(row, sight)| Some(&row.sights[(*sight)?]))
}
