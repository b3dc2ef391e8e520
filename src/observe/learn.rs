//! From the record of a run to version chains, views and changes.
//!
//! One pass over events, observations and probe answers in the order of their ticks. A view is
//! worked out at the moment the statement reads: when it is sent, or at the resume when it waited.

mod after_table_wait;
mod after_write;
mod attribute;
mod contested;
mod doubts;
mod half_rows;
mod looked_again;
mod planned;
mod probed;
mod returned;
mod returned_row;
mod snapshot;
mod unreleased;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use self::returned_row::{ReturnedRow, ReturnedRows};
use self::unreleased::{UnreleasedWait, unreleased_waits};
use super::chain::{RowId, Version, VersionId};
use super::view::ProbedTable;
use super::visibility::{Reader, Timeline};
use super::{Account, Learner, TableView, View};
use crate::dialect::{Capability, Dialect, ObserverKind};
use crate::model::{
    CaseStatement, Doubt, EventKind, Execution, ExecutionEvent, Observation, ProbeAnswer, ReadMode,
    Row, StatementId, StatementKind, TableShape, TestCase, Tick, TransactionId, TransactionStatus,
    UndecidedReason, Value,
};

/// Learns from a run that was instrumented for this learner.
///
/// `initial` holds every table as the set-up left it, columns in the order of its shape.
pub fn learn(
    case: &TestCase,
    execution: &Execution,
    timeline: &Timeline,
    initial: &BTreeMap<String, Vec<Row>>,
    dialect: &Dialect,
    learner: Learner,
) -> Account {
    let mut learning = Learning {
        case,
        execution,
        dialect,
        learner,
        timeline,
        unreleased: unreleased_waits(case, execution, dialect),
        account: Account::default(),
        snapshots: BTreeMap::new(),
        promised_snapshots: BTreeMap::new(),
        moments: BTreeMap::new(),
        released_since_moment: false,
        waiting: BTreeSet::new(),
        newly_waiting: BTreeSet::new(),
        resumed: Vec::new(),
        batch_end: Tick::default(),
        released_at: Tick::default(),
        released_by: None,
        arrived: None,
        released: false,
        version_key_owner: BTreeMap::new(),
        contested: Vec::new(),
        returned: Vec::new(),
        probed: BTreeMap::new(),
    };
    learning.plant(initial);
    for item in in_order(execution) {
        match item {
            Item::Event(event) => learning.event(event),
            Item::Observation(observation) => learning.observation(observation),
            Item::Probe(probe) => learning.probe(probe),
        }
    }
    learning.see_resumed();
    learning.note_silent_writes();
    learning.doubt_keys_of_newer_rows();
    learning.look_at_the_end();
    learning.account
}

enum Item<'a> {
    Event(&'a ExecutionEvent),
    Observation(&'a Observation),
    Probe(&'a ProbeAnswer),
}

fn in_order(execution: &Execution) -> Vec<Item<'_>> {
    let mut items: Vec<(Tick, Item<'_>)> = Vec::new();
    items.extend(execution.events.iter().map(|e| (e.tick, Item::Event(e))));
    items.extend(
        execution
            .observations
            .iter()
            .map(|o| (o.tick, Item::Observation(o))),
    );
    items.extend(execution.probes.iter().map(|p| (p.tick, Item::Probe(p))));
    items.sort_by_key(|(tick, _)| *tick);
    items.into_iter().map(|(_, item)| item).collect()
}

struct Learning<'a> {
    case: &'a TestCase,
    execution: &'a Execution,
    dialect: &'a Dialect,
    learner: Learner,
    timeline: &'a Timeline,
    /// Commits at an unknown moment.
    unreleased: Vec<UnreleasedWait>,
    account: Account,
    /// Snapshot points of explicit transactions, once passed.
    snapshots: BTreeMap<TransactionId, Tick>,
    /// The first snapshot points of transactions whose snapshot the engine let go.
    promised_snapshots: BTreeMap<TransactionId, Tick>,
    /// What statements that will have waited see at each moment of their wait so far: when they were
    /// sent, and when locks were released. Each view once, oldest first.
    moments: BTreeMap<StatementId, Vec<View>>,
    /// Locks were released since the last moment was noted.
    released_since_moment: bool,
    waiting: BTreeSet<StatementId>,
    /// The statement sent last, if it was answered without being seen waiting.
    arrived: Option<(StatementId, Tick)>,
    /// Resumed since the last observation, and when.
    resumed: Vec<(StatementId, Tick)>,
    /// When the last statement of the batch that resumed last was answered.
    batch_end: Tick,
    /// When the last transaction had ended that did not end with a statement which had waited.
    released_at: Tick,
    /// That transaction.
    released_by: Option<TransactionId>,
    /// Seen waiting since the last observation.
    newly_waiting: BTreeSet<StatementId>,
    /// Locks were released since the last observation: a statement that still waits may have gone
    /// some way and met the next lock.
    released: bool,
    /// Which statement first gave a version key out.
    version_key_owner: BTreeMap<(String, Value), StatementId>,
    /// Changes of the observation that is looked at, each with several statements that may have made it.
    contested: Vec<ContestedChange>,
    /// Rows that writes returned since the last statement was sent, with their tables, in the order of
    /// the answers.
    returned: Vec<ReturnedRows>,
    /// Tables as probes showed them, for statements still to run.
    probed: BTreeMap<StatementId, BTreeMap<String, ProbedTable>>,
}

/// A change between two looks at a table, and who may have made it.
struct ContestedChange {
    row: RowId,
    before: Option<VersionId>,
    /// None for a row that is gone.
    now: Option<Row>,
    candidates: Vec<StatementId>,
}

impl Learning<'_> {
    fn plant(&mut self, initial: &BTreeMap<String, Vec<Row>>) {
        for shape in &self.case.tables {
            for row in initial.get(&shape.name).into_iter().flatten() {
                let Some(key) = cell(shape, shape.row_key.as_deref(), row) else {
                    continue;
                };
                let is_taken = self.account.chains.rows_with_key(&shape.name, &key).count() > 0;
                if is_taken || key == Value::Null {
                    self.gap(UndecidedReason::NoRowIdentity);
                }
                self.own_version_key(shape, row, StatementId::SETUP);
                self.account.chains.push(Version {
                    table: shape.name.clone(),
                    id: RowId::first(key),
                    row: Some(row.clone()),
                    writer: StatementId::SETUP,
                    undone: None,
                });
            }
        }
    }

    fn own_version_key(&mut self, shape: &TableShape, row: &Row, writer: StatementId) {
        if let Some(version_key) = cell(shape, shape.version_key.as_deref(), row) {
            let key = (shape.name.clone(), version_key);
            self.version_key_owner.entry(key).or_insert(writer);
        }
    }

    fn event(&mut self, event: &ExecutionEvent) {
        let Some(statement) = self.case.statement(event.statement) else {
            return;
        };
        let Some(record) = self.execution.records.get(&event.statement) else {
            return;
        };
        match event.kind {
            EventKind::Sent => {
                self.see_resumed();
                if std::mem::take(&mut self.released_since_moment) {
                    self.note_moment(event.tick);
                }
                if record.resumed() {
                    self.note_view(statement, event.tick);
                } else {
                    self.see(statement, event.tick);
                    self.arrived = Some((event.statement, event.tick));
                }
            }
            EventKind::Waiting => {
                self.waiting.insert(event.statement);
                self.newly_waiting.insert(event.statement);
            }
            EventKind::Answered => {
                self.waiting.remove(&event.statement);
                if self.releases(statement, event.tick) {
                    self.released = true;
                    self.released_since_moment = true;
                    self.note_moment(Tick(event.tick.0 + 1));
                    if !record.resumed() {
                        self.released_at = Tick(event.tick.0 + 1);
                        self.released_by = Some(event.statement.transaction);
                    }
                }
                if record.resumed() {
                    self.resumed.push((event.statement, event.tick));
                }
                self.pass_snapshot_point(statement, record.sent, event.tick);
                self.lose_snapshot(statement, event.tick);
            }
        }
    }

    /// Notes what everything that waits would see now.
    fn note_moment(&mut self, at: Tick) {
        for id in self.waiting.clone() {
            if let Some(statement) = self.case.statement(id) {
                self.note_view(statement, at);
            }
        }
    }

    fn note_view(&mut self, statement: &CaseStatement, at: Tick) {
        let mut seen = self.views_by_mode(statement, at);
        let by_index = seen.iter().filter_map(|view| self.without_half_rows(view));
        seen.extend(by_index.collect::<Vec<View>>());
        let views = self.moments.entry(statement.id).or_default();
        for view in seen {
            if !views.contains(&view) {
                views.push(view);
            }
        }
    }

    /// The view of a statement at a moment. Where it reads a table in two modes that show different rows,
    /// there is one view for each: a source is read as it stands when the statement is sent, and the look
    /// for a parent row in the same table waits for what is committed.
    fn views_by_mode(&self, statement: &CaseStatement, at: Tick) -> Vec<View> {
        let view = self.view(statement, at).0;
        let other_modes = self.reads(statement, at).into_iter();
        let others: Vec<View> = other_modes
            .filter(|(table, _, seen)| view.get(*table) != Some(seen))
            .map(|(table, _, seen)| {
                let mut other = view.clone();
                other.insert(table.to_owned(), seen);
                other
            })
            .collect();
        std::iter::once(view).chain(others).collect()
    }

    /// Whether this answer ended a transaction, and with it the locks it held.
    fn releases(&self, statement: &CaseStatement, at: Tick) -> bool {
        let ended = match self.execution.transactions.get(&statement.id.transaction) {
            Some(TransactionStatus::Committed(tick) | TransactionStatus::Aborted(tick)) => {
                *tick <= at
            }
            Some(TransactionStatus::Indeterminate) | None => false,
        };
        ended || statement.effect.kind == StatementKind::RollbackTo || self.failed(statement.id)
    }

    /// Whether the statement was rejected and its transaction failed by that.
    fn failed(&self, id: StatementId) -> bool {
        let record = self.execution.records.get(&id);
        self.dialect.supports(Capability::FailedTransaction)
            && record.is_some_and(|record| record.outcome.error_class().is_some())
    }

    /// Works out what the statements saw that resumed since the last observation: what another
    /// autocommit statement wrote right before them is known only now.
    ///
    /// Of statements that one release woke, the answers may come in another order than the locks
    /// were granted: what depends on that order is not known. The same holds for a statement whose
    /// arrival closed a circle: it waited too, until the victim had gone.
    fn see_resumed(&mut self) {
        self.take_in_returned();
        let batch = std::mem::take(&mut self.resumed);
        let arrived = self.arrived.take();
        let Some(last) = batch.iter().map(|(_, at)| Tick(at.0 + 1)).max() else {
            return;
        };
        self.batch_end = last;
        let first = batch.iter().map(|(_, at)| *at).min().unwrap_or(last);
        for (id, at) in &batch {
            let Some(statement) = self.case.statement(*id) else {
                continue;
            };
            self.see(statement, *at);
            if batch.len() > 1 {
                self.doubt_order(statement, first, last);
                self.doubt_dirty_read(statement, *at, &batch);
            }
        }
        let victim = |(id, _): &(StatementId, Tick)| {
            let record = self.execution.records.get(id);
            let class = record.and_then(|record| record.outcome.error_class());
            class.is_some_and(|class| class.is_concurrency())
        };
        if let Some((id, sent)) = arrived
            && batch.iter().any(victim)
            && let Some(statement) = self.case.statement(id)
        {
            self.doubt_order(statement, sent, last);
        }
    }

    /// Gives a statement up that would see something else at one of these two moments, in any of
    /// its roles: one table may be read in two modes, of which only one moves with the moment.
    fn doubt_order(&mut self, statement: &CaseStatement, first: Tick, last: Tick) {
        if self.reads(statement, first) != self.reads(statement, last) {
            let unsure = &mut self.account.unsure;
            unsure.insert(statement.id, UndecidedReason::WokenTogether);
        }
    }

    /// Gives a statement up that reads whatever stands, where it would see what another wrote that woke
    /// with it: either may have come first.
    fn doubt_dirty_read(
        &mut self,
        statement: &CaseStatement,
        at: Tick,
        batch: &[(StatementId, Tick)],
    ) {
        let wrote = |id: StatementId| id != statement.id && batch.iter().any(|(b, _)| *b == id);
        let chains = &self.account.chains;
        let dirty = self
            .reads(statement, at)
            .into_iter()
            .any(|(_, mode, seen)| {
                let mut versions = seen.values().flatten();
                mode == ReadMode::Anything && versions.any(|v| wrote(chains.version(*v).writer))
            });
        if dirty {
            let unsure = &mut self.account.unsure;
            unsure.insert(statement.id, UndecidedReason::WokenTogether);
        }
    }

    /// Works out what the statement sees at this moment, and notes what is doubtful about it.
    fn see(&mut self, statement: &CaseStatement, at: Tick) {
        let id = statement.id;
        let (mut view, mut unsure) = self.view(statement, at);
        if self.learner == Learner::Probes {
            unsure = unsure.or(self.overlay_probes(id, &mut view));
        }
        unsure = unsure.or(self.snapshot_taken_anew(id));
        self.note_lost_snapshot(statement, at);
        if self.timeline.held_read_only(id) {
            self.account
                .registered
                .insert(id, Doubt::ReadOnlyOutlivesAbort);
        }
        if let Some(reason) = unsure {
            self.account.unsure.insert(id, reason);
        }
        self.account.views.insert(id, view);
        if self.re_evaluates(statement) {
            self.overlay_replaced(id);
        }
        self.note_newest(statement);
        self.note_latitude(statement);
    }

    /// What the statement reads of each table that it names, in each role, if it reads at this
    /// moment.
    fn reads<'s>(
        &'s self,
        statement: &'s CaseStatement,
        at: Tick,
    ) -> Vec<(&'s str, ReadMode, TableView)> {
        let snapshot = self.snapshot(statement.id, at);
        self.reads_through(statement, at, snapshot)
    }

    /// The same through a given snapshot.
    fn reads_through<'s>(
        &'s self,
        statement: &'s CaseStatement,
        at: Tick,
        snapshot: Tick,
    ) -> Vec<(&'s str, ReadMode, TableView)> {
        let id = statement.id;
        self.modes(statement)
            .map(|(table, mode)| {
                let at = match mode {
                    ReadMode::StatementSnapshot => self.statement_snapshot(id, at),
                    ReadMode::TransactionSnapshot
                    | ReadMode::EitherSnapshot
                    | ReadMode::Current
                    | ReadMode::Anything => at,
                };
                let reader = Reader {
                    statement: id,
                    mode,
                    at,
                    snapshot,
                };
                let seen = self.timeline.view(&self.account.chains, table, reader);
                (table, mode, seen)
            })
            .collect()
    }

    /// What the statement sees if it reads at this moment, and why that is not certain.
    fn view(&self, statement: &CaseStatement, at: Tick) -> (View, Option<UndecidedReason>) {
        let id = statement.id;
        let mut view = View::new();
        let mut unsure = None;
        for (table, mode, seen) in self.reads(statement, at) {
            if mode == ReadMode::Anything && self.someone_is_writing(table, id) {
                unsure = Some(UndecidedReason::UncommittedRowsOfAWaitingWrite);
            }
            if view.get(table).is_some_and(|other| *other != seen) {
                unsure = Some(UndecidedReason::OneTableInTwoReadModes);
            }
            let moment = match mode {
                ReadMode::TransactionSnapshot => self.snapshot(id, at),
                ReadMode::StatementSnapshot => self.statement_snapshot(id, at),
                ReadMode::EitherSnapshot | ReadMode::Current | ReadMode::Anything => at,
            };
            if mode == ReadMode::EitherSnapshot
                && seen != self.in_the_older_snapshot(statement, table, at)
            {
                unsure = Some(UndecidedReason::PlanChoosesTheSnapshot);
            }
            if self
                .unreleased
                .iter()
                .any(|wait| wait.concerns(table, moment))
            {
                unsure = Some(UndecidedReason::CommitAtAnUnknownMoment);
            }
            let is_snapshot = matches!(
                mode,
                ReadMode::TransactionSnapshot | ReadMode::EitherSnapshot
            );
            if is_snapshot && self.holds_a_key_twice(table, &seen) {
                unsure = Some(UndecidedReason::TwoRowsOfOneUniqueKey);
            }
            view.insert(table.to_owned(), seen);
        }
        (view, unsure)
    }

    /// Whether two rows of a view have the same value of a unique key: the snapshot's row, and one
    /// of the reader's own that took the key over.
    fn holds_a_key_twice(&self, table: &str, seen: &TableView) -> bool {
        let Some(shape) = self.case.table(table) else {
            return false;
        };
        let rows = seen.values();
        let rows = rows.filter_map(|version| self.account.chains.row((*version)?));
        holds_a_key_twice(shape, rows)
    }

    /// Whether a statement that is active or waits may write a table by a trigger.
    fn may_be_triggered(&self, table: &str, active: &[StatementId]) -> bool {
        let mut under_way = active.iter().chain(&self.waiting);
        under_way.any(|id| {
            let statement = self.case.statement(*id);
            statement.is_some_and(|s| s.effect.is_triggered_on(table))
        })
    }

    fn someone_is_writing(&self, table: &str, reader: StatementId) -> bool {
        self.waiting.iter().any(|&id| {
            id != reader
                && self
                    .case
                    .statement(id)
                    .is_some_and(|s| s.effect.targets().any(|t| t == table))
        })
    }

    fn observation(&mut self, observation: &Observation) {
        // What fired a trigger is known first, and then what the trigger did.
        let (last, first): (Vec<_>, Vec<_>) = observation
            .tables
            .iter()
            .partition(|(table, _)| self.may_be_triggered(table, &observation.active));
        for (table, rows) in first.into_iter().chain(last) {
            let before = match (self.dialect.observer, observation.active.as_slice()) {
                (ObserverKind::Writer, &[writer]) => {
                    self.standing_for(table, writer, observation.tick)
                }
                _ => self.standing(table, observation.tick),
            };
            self.adopt(table, rows, &before, &observation.active, observation.tick);
        }
        self.newly_waiting.clear();
        self.released = false;
        self.see_resumed();
    }

    /// Takes the final state for one more observation: a rollback may have uncovered a version that
    /// nothing had shown.
    fn look_at_the_end(&mut self) {
        if self.learner != Learner::Observer {
            return;
        }
        // What a case leaves open is rolled back after its last statement.
        let ended = self.execution.transactions.values();
        let ended = ended.filter_map(|status| match status {
            TransactionStatus::Committed(tick) | TransactionStatus::Aborted(tick) => Some(*tick),
            TransactionStatus::Indeterminate => None,
        });
        let events = self.execution.events.iter().map(|event| event.tick);
        let end = Tick(events.chain(ended).max().unwrap_or_default().0 + 1);
        for (table, rows) in &self.execution.final_state {
            let mut before = self.standing(table, end);
            let rows = self.without_moved(table, &mut before, rows);
            self.adopt(table, &rows, &before, &[], end);
        }
    }

    /// What physically stands in a table.
    fn standing(&self, table: &str, at: Tick) -> TableView {
        let chains = &self.account.chains;
        chains
            .table(table)
            .map(|(key, chain)| (key.clone(), self.timeline.top(chains, chain, at)))
            .collect()
    }

    /// What stands in a table for a statement at this moment, without what it writes itself.
    fn standing_for_before(&self, table: &str, statement: StatementId, at: Tick) -> TableView {
        let reader = Reader {
            statement,
            mode: ReadMode::Current,
            at,
            snapshot: at,
        };
        self.timeline.view(&self.account.chains, table, reader)
    }

    /// What stands in a table for the transaction of this statement, its own work included.
    fn standing_for(&self, table: &str, statement: StatementId, at: Tick) -> TableView {
        let after_all = StatementId {
            position: u32::MAX,
            ..statement
        };
        let reader = Reader {
            statement: after_all,
            mode: ReadMode::Current,
            at,
            snapshot: at,
        };
        self.timeline.view(&self.account.chains, table, reader)
    }
}

/// Whether two of these rows have the same value of a unique key, so that no table can hold both.
pub fn holds_a_key_twice<'r>(shape: &TableShape, rows: impl Iterator<Item = &'r Row>) -> bool {
    let rows: Vec<&Row> = rows.collect();
    shape.keys().any(|key| {
        let mut values = BTreeSet::new();
        rows.iter()
            .filter_map(|row| shape.key_of(key, row))
            .any(|value| !values.insert(value))
    })
}

/// The cell of a column, by name.
fn cell(shape: &TableShape, column: Option<&str>, row: &Row) -> Option<Value> {
    row.get(shape.column(column?)?).cloned()
}
