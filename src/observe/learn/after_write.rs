//! What a write left, as plain reads in its own transaction show it.

use super::attribute::same_place;
use super::writer::gives_key;
use super::{Learning, cell, holds_a_key_twice};
use crate::model::{
    CaseStatement, Outcome, ReadMode, Row, StatementId, StatementKind, TableShape, Tick,
    TransactionId, UndecidedReason,
};
use crate::observe::TableView;
use crate::observe::chain::{Chains, RowId, VersionId};
use crate::observe::instrument::promised_mode;
use crate::observe::view::ProbedTable;
use crate::observe::visibility::Reader;

impl Learning<'_> {
    /// Takes in the whole of a table, read right after a statement wrote it.
    pub(super) fn after_write(
        &mut self,
        table: &str,
        rows: &[Row],
        id: StatementId,
        mode: ReadMode,
        at: Tick,
    ) {
        let (Some(shape), Some(statement)) = (self.case.table(table), self.case.statement(id))
        else {
            return;
        };
        if mode == ReadMode::TransactionSnapshot {
            self.snapshots.entry(id.transaction).or_insert(at);
        }
        if mode == ReadMode::Anything {
            let before = self.standing(table, at);
            self.adopt(table, rows, &before, &[id], at);
            return;
        }
        let (before, left) = if self.writes_in_its_snapshot(statement, table) {
            (self.shown_before(table, id, mode, at), rows.to_vec())
        } else {
            let before = self.standing_for(table, id, at);
            let left = match mode == ReadMode::Current {
                true => rows.to_vec(),
                false => self.rows_left(shape, statement, (rows, mode), &before, at),
            };
            (before, left)
        };
        // What others do half-way is not seen.
        let waiting = std::mem::take(&mut self.waiting);
        self.adopt(table, &left, &before, &[id], at);
        self.waiting = waiting;
    }

    /// Whether a write changes the rows of its transaction's snapshot, whatever others have committed since, and is
    /// refused for that when it commits: what it left is what a plain read shows.
    fn writes_in_its_snapshot(&self, statement: &CaseStatement, table: &str) -> bool {
        let mut targets = statement
            .effect
            .uses
            .iter()
            .filter(|table_use| table_use.role.is_target() && table_use.table == table);
        targets.any(|target| {
            let mode = promised_mode(self.case, self.dialect, statement, target.role);
            mode == ReadMode::TransactionSnapshot
        })
    }

    /// What a plain read in the transaction of a write showed before it.
    fn shown_before(&self, table: &str, id: StatementId, mode: ReadMode, at: Tick) -> TableView {
        let reader = self.reader_behind(id, mode, at);
        self.timeline.view(&self.account.chains, table, reader)
    }

    /// A plain read in the transaction of a write, behind all its statements.
    fn reader_behind(&self, id: StatementId, mode: ReadMode, at: Tick) -> Reader {
        Reader {
            statement: StatementId {
                position: u32::MAX,
                ..id
            },
            mode,
            at,
            snapshot: self.snapshot(id, at),
        }
    }

    /// The rows that stand for a write's transaction after it: its own work as the read shows it, the
    /// others as they stood. A snapshot may be older than what stands, but the work of its own transaction
    /// always shows in it.
    fn rows_left(
        &mut self,
        shape: &TableShape,
        statement: &CaseStatement,
        (rows, mode): (&[Row], ReadMode),
        before: &TableView,
        at: Tick,
    ) -> Vec<Row> {
        let id = statement.id;
        let reader = self.reader_behind(id, mode, at);
        let chains = &self.account.chains;
        let shown_before = self.timeline.view(chains, &shape.name, reader);
        let mut own: Vec<&Row> = rows.iter().collect();
        for row in shown_before.values().filter_map(|v| row_of(chains, *v)) {
            take(&mut own, |shown| *shown == row);
        }
        for row in self.rows_at_old_places(shape, &shown_before, reader) {
            take(&mut own, |shown| *shown == row);
        }
        let changed = own.len();
        let mut left: Vec<Row> = Vec::new();
        let mut unclear: Vec<GivenBack<'_>> = Vec::new();
        let mut elsewhere: Vec<(&Row, bool)> = Vec::new();
        for (row_id, version) in before {
            let Some(stood) = row_of(chains, *version) else {
                continue;
            };
            let shown = shown_before.get(row_id).copied().flatten();
            let was = row_of(chains, shown);
            // A row that another moved or replaced since is another row to the engine.
            let stays = |was: &&Row| {
                self.is_the_same_row(shape, row_id, (shown, was), stood, id.transaction)
            };
            let was = was.filter(stays);
            if let Some(new) = take(&mut own, |new| same_place(shape, stood, new)) {
                left.push(new.clone());
            } else if let Some(was) = was.filter(|was| rows.contains(was)) {
                if was == stood {
                    left.push(stood.clone());
                } else {
                    unclear.push(GivenBack { stood, was });
                }
            } else {
                elsewhere.push((stood, was.is_some()));
            }
        }
        let answer = self.execution.records.get(&id).map(|r| &r.outcome);
        let matched = self.matched(id, &shape.name);
        let count = given_back(shape, statement, answer, changed);
        let Some(given_back) = GivenBack::settle(&unclear, count, matched) else {
            self.gap(UndecidedReason::ChangeBackToTheSnapshot);
            return rows.to_vec();
        };
        left.extend(given_back);
        let stood = left.len() + elsewhere.len();
        // A row that is not where it stood was changed into the new one under its key, or is gone.
        let key = |row: &Row| cell(shape, shape.row_key.as_deref(), row);
        let mut hidden: Vec<Row> = Vec::new();
        for (row, was_shown) in elsewhere {
            if let Some(new) = take(&mut own, |new| key(new) == key(row)) {
                left.push(new.clone());
            } else if !was_shown {
                hidden.push(row.clone());
            }
        }
        left.extend(own.into_iter().cloned());
        let beyond = Beyond {
            shape,
            statement,
            matched,
            answer,
        };
        match beyond.remaining(&hidden, &left, stood) {
            Some(remaining) => left.extend(remaining),
            None => {
                left.extend(hidden);
                self.gap(UndecidedReason::DeletionBeyondTheSnapshot);
            }
        }
        left
    }

    /// Whether a version of a row and what stands under its row key later are one row to the engine, whatever the
    /// transaction `own` did to it.
    fn is_the_same_row(
        &self,
        shape: &TableShape,
        row: &RowId,
        (version, was): (Option<VersionId>, &Row),
        now: &Row,
        own: TransactionId,
    ) -> bool {
        match shape.clustered_key() {
            Some(_) => same_place(shape, was, now),
            None => !self.others_replaced(&shape.name, row, version, own),
        }
    }

    /// Whether another transaction than this one deleted a row, or replaced it, after this version: what stands under
    /// its row key then is another row of a table whose rows lie by a key of the engine's own.
    fn others_replaced(
        &self,
        table: &str,
        row: &RowId,
        shown: Option<VersionId>,
        own: TransactionId,
    ) -> bool {
        let chains = &self.account.chains;
        let chain = chains.chain(table, row).iter();
        let mut since = chain.skip_while(|version| Some(**version) != shown).skip(1);
        since.any(|version| {
            let is_another = self.came_by_replace(*version) || chains.row(*version).is_none();
            chains.version(*version).writer.transaction != own && is_another
        })
    }

    /// Whether a REPLACE made a version.
    pub(super) fn came_by_replace(&self, version: VersionId) -> bool {
        let writer = self.account.chains.version(version).writer;
        let statement = self.case.statement(writer);
        statement.is_some_and(|s| s.effect.kind == StatementKind::Replace)
    }

    /// Rows of a snapshot that show beside their own newer versions: others moved them to another place, or replaced
    /// them, and the transaction of the reader changed or deleted them there.
    fn rows_at_old_places(
        &self,
        shape: &TableShape,
        shown: &TableView,
        reader: Reader,
    ) -> Vec<&Row> {
        if reader.mode != ReadMode::TransactionSnapshot {
            return Vec::new();
        }
        let nobody = StatementId {
            transaction: TransactionId(u32::MAX),
            position: 0,
        };
        let of_others = Reader {
            statement: nobody,
            ..reader
        };
        let chains = &self.account.chains;
        let snapshot = self.timeline.view(chains, &shape.name, of_others);
        let rows = snapshot.into_iter().filter_map(|(row_id, version)| {
            let row = row_of(chains, version)?;
            let newer = shown.get(&row_id).and_then(|v| row_of(chains, *v));
            // Of a row that the reader has deleted, the place where it stood last.
            let versions = || chains.chain(&shape.name, &row_id).iter().rev();
            let newer = newer.or_else(|| versions().find_map(|v| chains.row(*v)))?;
            let own = reader.statement.transaction;
            (!self.is_the_same_row(shape, &row_id, (version, row), newer, own)).then_some(row)
        });
        rows.collect()
    }

    /// The rows that a write was to touch, where a probe asked.
    fn matched(&self, id: StatementId, table: &str) -> Option<&[Row]> {
        match self.probed.get(&id)?.get(table)? {
            ProbedTable::Matched(rows) => Some(rows),
            ProbedTable::Whole(_) => None,
        }
    }
}

/// A row that others have changed since the snapshot of a write's transaction, and that a plain read shows as it was
/// then: the write left it as it stood, or gave it back what it had.
struct GivenBack<'r> {
    stood: &'r Row,
    was: &'r Row,
}

impl GivenBack<'_> {
    /// These rows as they are now, if so many of them were given back what they had; None where it is not known which.
    fn settle(
        all: &[GivenBack<'_>],
        count: Option<usize>,
        matched: Option<&[Row]>,
    ) -> Option<Vec<Row>> {
        if all.is_empty() {
            return Some(Vec::new());
        }
        let count = count?;
        let may_be = |row: &GivenBack<'_>| matched.is_none_or(|rows| rows.contains(row.stood));
        let candidates = all.iter().filter(|row| may_be(row)).count();
        (count == 0 || count == candidates).then(|| {
            let now = |row: &GivenBack<'_>| match count > 0 && may_be(row) {
                true => row.was.clone(),
                false => row.stood.clone(),
            };
            all.iter().map(now).collect()
        })
    }
}

/// How many rows a write changed beside those `changed` ones that a plain read shows with new values; none where its
/// count does not tell.
fn given_back(
    shape: &TableShape,
    statement: &CaseStatement,
    answer: Option<&Outcome>,
    changed: usize,
) -> Option<usize> {
    let effect = &statement.effect;
    let assigns = |key: &String| effect.assigns(&shape.name, key);
    let inserts = effect.kind != StatementKind::Update && effect.assigned.is_empty();
    let version_key = shape.version_key.as_ref();
    // A version of its own is one that no snapshot from before the write shows.
    let gives_version = version_key.is_some_and(|key| inserts || assigns(key));
    if gives_version || effect.kind == StatementKind::Delete {
        return Some(0);
    }
    match answer? {
        Outcome::Affected(count)
            if effect.kind == StatementKind::Update && effect.counts_rows_of(&shape.name) =>
        {
            usize::try_from(*count).ok()?.checked_sub(changed)
        }
        // It may have been refused half-way, and left nothing.
        Outcome::Rejected(_) => Some(0),
        Outcome::Affected(_) | Outcome::Rows(_) => None,
    }
}

/// Rows that are newer than the snapshot of a write's transaction: a plain read does not show whether
/// they are gone.
struct Beyond<'a> {
    shape: &'a TableShape,
    statement: &'a CaseStatement,
    matched: Option<&'a [Row]>,
    answer: Option<&'a Outcome>,
}

impl Beyond<'_> {
    /// Those of the `hidden` rows that still stand; none where that is not known. `left` are the other
    /// rows that stand, `stood` is how many there were before in all.
    fn remaining(&self, hidden: &[Row], left: &[Row], stood: usize) -> Option<Vec<Row>> {
        let effect = &self.statement.effect;
        let moves = gives_key(self.shape, self.statement);
        let table = &self.shape.name;
        // A REPLACE removes rows by their keys, and its count holds those that it puts in, too.
        let deletes = effect.removes_from(table)
            && (effect.kind != StatementKind::Replace || effect.is_triggered_on(table));
        if hidden.is_empty() || (!deletes && !moves) {
            // Whoever had a unique key of a row that stands now had to go: a REPLACE saw to it.
            let fits = |row: &&Row| {
                let all = left.iter().chain(std::iter::once(*row));
                effect.kind != StatementKind::Replace || !holds_a_key_twice(self.shape, all)
            };
            return Some(hidden.iter().filter(fits).cloned().collect());
        }
        let one_target = effect.counts_rows_of(table);
        let deleted = match self.answer.filter(|_| one_target && !moves)? {
            Outcome::Affected(count) => *count,
            // Those that it deleted; a REPLACE returns those that it put in.
            Outcome::Rows(rows) if effect.kind == StatementKind::Delete => rows.len() as u64,
            Outcome::Rows(_) | Outcome::Rejected(_) => return None,
        };
        let shown = stood.checked_sub(left.len() + hidden.len())?;
        let unseen = usize::try_from(deleted).ok()?.checked_sub(shown)?;
        if unseen == 0 {
            return Some(hidden.to_vec());
        }
        let (touched, stays): (Vec<&Row>, Vec<&Row>) = match self.matched {
            Some(matched) => hidden.iter().partition(|row| matched.contains(row)),
            None => (hidden.iter().collect(), Vec::new()),
        };
        (touched.len() == unseen).then(|| stays.into_iter().cloned().collect())
    }
}

fn row_of(chains: &Chains, version: Option<VersionId>) -> Option<&Row> {
    chains.row(version?)
}

/// Takes the first such row out.
fn take<'r>(rows: &mut Vec<&'r Row>, is_it: impl Fn(&&'r Row) -> bool) -> Option<&'r Row> {
    let place = rows.iter().position(is_it)?;
    Some(rows.remove(place))
}
