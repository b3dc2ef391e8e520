//! Documented and registered behaviours by which a run is right though no serial order explains all of it: each
//! names the statements that met it, and everything else must have an order still.

use std::collections::{BTreeMap, BTreeSet};

use super::newest_children::asks_newest;
use super::search::{SearchEnd, SerialOrderSearch};
use crate::engine::EngineError;
use crate::execute::SerialRun;
use crate::model::{
    CaseStatement, Doubt, ErrorClass, Form, Outcome, ReadMode, StatementId, StatementKind,
    StatementRecord,
};
use crate::oracle::Evidence;
use crate::oracle::evidence::Standing;
use crate::oracle::view::{Allowed, Alone, blind, standings};

/// The id of the registered behaviour by which writes were refused as READ ONLY, where some were.
pub(super) fn held_read_only(evidence: &Evidence) -> Option<String> {
    let mut statements = evidence.case.user_statements();
    let held = statements.find(|s| evidence.timeline.held_read_only(s.id))?;
    let doubt = Doubt::ReadOnlyOutlivesAbort;
    let id = evidence.dialect.known(doubt, held.effect.kind);
    id.map(str::to_owned)
}

/// The id of the registered behaviour by which some order explains the run after all, without what some statements
/// answered. The engine ended a transaction of its own at a return to an early savepoint, and what was read before it was
/// protected no longer; a locking read waited whose plain subquery is not locked; or an INSERT passed over a row, was undone
/// by a return to a savepoint, or was refused for a duplicate, which then is left out of the order.
pub(super) fn let_go(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
) -> Result<Option<String>, EngineError> {
    let evidence = search.evidence;
    let committed = |s: &&CaseStatement| search.transactions.contains(&s.id.transaction);
    let committed: Vec<&CaseStatement> =
        evidence.case.user_statements().filter(committed).collect();
    let those = |holds: &dyn Fn(&CaseStatement) -> bool| -> BTreeSet<StatementId> {
        let found = committed.iter().filter(|statement| holds(statement));
        found.map(|statement| statement.id).collect()
    };
    let refused = |kind| those(&|statement| met_a_duplicate(evidence, statement, kind));
    let doubts = [
        (
            Doubt::EarlySavepoint,
            StatementKind::RollbackTo,
            those(&|statement| evidence.timeline.let_go(statement.id).is_some()),
        ),
        (
            Doubt::PlainSubquery,
            StatementKind::LockingSelect,
            those(&|statement| reads_at_two_moments(evidence, statement)),
        ),
        (
            Doubt::UnreadConflict,
            StatementKind::Insert,
            those(&|statement| met_a_conflict(evidence, statement)),
        ),
        (
            Doubt::UndoneInsert,
            StatementKind::Insert,
            those(&|statement| was_undone(evidence, statement)),
        ),
        (
            Doubt::RefusedDuplicate,
            StatementKind::Insert,
            refused(StatementKind::Insert),
        ),
        (
            Doubt::RefusedDuplicate,
            StatementKind::Update,
            refused(StatementKind::Update),
        ),
        (
            Doubt::RefusedDuplicate,
            StatementKind::Merge,
            refused(StatementKind::Merge),
        ),
    ];
    let moved = of_other_moments(evidence, &committed);
    for (doubt, kind, let_go) in doubts.into_iter().chain(moved) {
        let Some(known) = evidence.dialect.known(doubt, kind) else {
            continue;
        };
        if let_go.is_empty() {
            continue;
        }
        let leaves_nothing = [
            Doubt::UnreadConflict,
            Doubt::UndoneInsert,
            Doubt::RefusedDuplicate,
        ]
        .contains(&doubt);
        let is_left_out = |id: &&StatementId| {
            leaves_nothing || (doubt == Doubt::MovedWhileWaiting && changed_nothing(evidence, **id))
        };
        let left_out = let_go.iter().filter(is_left_out).copied().collect();
        if has_order_without(search, serial, let_go, left_out)? {
            return Ok(Some(known.to_owned()));
        }
    }
    Ok(None)
}

/// Statements of each kind beside whose wait another transaction changed a key of a table that they name, where no version of
/// a row tells which one was moved ([`known_views`] judges the others row by row).
fn of_other_moments(
    evidence: &Evidence,
    committed: &[&CaseStatement],
) -> Vec<(Doubt, StatementKind, BTreeSet<StatementId>)> {
    if blind(evidence).is_none() {
        return Vec::new();
    }
    let met = committed.iter().filter(|s| saw_a_key_move(evidence, s));
    let mut by_kind: BTreeMap<StatementKind, BTreeSet<StatementId>> = BTreeMap::new();
    for statement in met {
        let of_kind = by_kind.entry(statement.effect.kind).or_default();
        of_kind.insert(statement.id);
    }
    let doubt = Doubt::MovedWhileWaiting;
    let named = by_kind.into_iter();
    named.map(|(kind, ids)| (doubt, kind, ids)).collect()
}

/// Whether an UPDATE of another transaction that gives rows another key was answered while the statement waited.
fn saw_a_key_move(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let records = &evidence.execution.records;
    let Some(record) = records.get(&statement.id).filter(|record| record.resumed()) else {
        return false;
    };
    let names = |table: &str| {
        let mut uses = statement.effect.uses.iter();
        uses.any(|table_use| table_use.table == table)
    };
    evidence.case.user_statements().any(|other| {
        let ran_beside = records.get(&other.id).is_some_and(|other| {
            other.outcome.error_class().is_none()
                && other.answered > record.sent
                && other.sent < record.answered
        });
        let moves = |table: &str| {
            let shape = evidence.case.table(table);
            let mut keys = shape.into_iter().flat_map(|shape| shape.unique_keys.iter());
            keys.any(|key| key.iter().any(|name| other.effect.assigns(table, name)))
        };
        other.id.transaction != statement.id.transaction
            && other.effect.kind == StatementKind::Update
            && ran_beside
            && other
                .effect
                .targets()
                .any(|table| names(table) && moves(table))
    })
}

/// Whether a write was answered that no row was changed.
fn changed_nothing(evidence: &Evidence, id: StatementId) -> bool {
    let record = evidence.execution.records.get(&id);
    record.is_some_and(|record| matches!(record.outcome, Outcome::Affected(0)))
}

/// Whether an INSERT of VALUES found each of its keys taken, passed over, and depends on nothing else but, where it would update
/// the rows that it met, what these hold.
fn met_a_conflict(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    let record = evidence.execution.records.get(&statement.id);
    let inserted_nothing = record.is_some_and(|record| match &record.outcome {
        Outcome::Affected(rows) => *rows == 0,
        Outcome::Rows(returned) => returned.is_empty(),
        Outcome::Rejected(_) => false,
    });
    effect.kind == StatementKind::Insert
        && (effect.forms.contains(&Form::OnConflictDoNothing) || !effect.assigned.is_empty())
        && names_targets_alone(statement)
        && inserted_nothing
}

/// Whether an INSERT of VALUES put rows in that a return to a savepoint took back, and depends on nothing but its keys.
fn was_undone(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let effect = &statement.effect;
    let record = evidence.execution.records.get(&statement.id);
    effect.kind == StatementKind::Insert
        && effect.assigned.is_empty()
        && names_targets_alone(statement)
        && record.is_some_and(|record| record.outcome.error_class().is_none())
        && evidence.timeline.undone(statement.id).is_some()
}

/// Whether a statement depends on no table but those that it writes.
fn names_targets_alone(statement: &CaseStatement) -> bool {
    let mut uses = statement.effect.uses.iter();
    uses.all(|table_use| table_use.role.is_target())
}

/// Whether a statement of this kind, which names no other table, was refused for a duplicate.
fn met_a_duplicate(evidence: &Evidence, statement: &CaseStatement, kind: StatementKind) -> bool {
    let record = evidence.execution.records.get(&statement.id);
    statement.effect.kind == kind
        && names_targets_alone(statement)
        && record.and_then(|record| record.outcome.error_class()) == Some(ErrorClass::Duplicate)
}

/// Whether some order explains the run without what these statements answered, and without those that are left out.
fn has_order_without(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
    let_go: BTreeSet<StatementId>,
    left_out: BTreeSet<StatementId>,
) -> Result<bool, EngineError> {
    serial.reset()?;
    let search = SerialOrderSearch {
        let_go,
        left_out,
        asks_newest: BTreeSet::new(),
        ..*search
    };
    Ok(matches!(search.run(serial)?, SearchEnd::Found))
}

/// The id of the registered behaviour by which some order explains the run after all, without what statements answered
/// that met it: alone on its view, each gives something else, and on a view that the behaviour allows what it gave.
///
/// A write among them is left out of the order where it changed nothing; one that changed rows runs as the others do.
pub(super) fn known_views(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
) -> Result<Option<String>, EngineError> {
    let evidence = search.evidence;
    if blind(evidence).is_some() {
        return Ok(None);
    }
    serial.reset()?;
    let mut known = None;
    let mut let_go = BTreeSet::new();
    let mut alone = Alone::start(evidence, serial);
    for (&id, standing) in standings(evidence) {
        if *standing != Standing::Lenient || !search.transactions.contains(&id.transaction) {
            continue;
        }
        let Some(statement) = evidence.case.statement(id) else {
            continue;
        };
        let mismatches = alone.judge(id, true)?;
        if mismatches.is_none_or(|mismatches| mismatches.is_empty()) {
            continue;
        }
        if let Allowed::Mixed(doubt) = alone.allowed(id)?
            && let Some(by) = evidence.dialect.known(doubt, statement.effect.kind)
        {
            known.get_or_insert(by);
            let_go.insert(id);
        }
    }
    let Some(known) = known else {
        return Ok(None);
    };
    let changes_nothing = |id: &&StatementId| {
        let writes = evidence
            .case
            .statement(**id)
            .is_some_and(|s| s.effect.kind.is_write());
        writes && evidence.account.changes.get(*id).is_none_or(Vec::is_empty)
    };
    let left_out = let_go.iter().filter(changes_nothing).copied().collect();
    let explained = has_order_without(search, serial, let_go, left_out)?;
    Ok(explained.then(|| known.to_owned()))
}

/// The id of the registered behaviour by which some order explains the run after all, where foreign keys look for children
/// among the newest rows.
pub(super) fn newest_children(
    search: &SerialOrderSearch<'_>,
    serial: &mut dyn SerialRun,
) -> Result<Option<String>, EngineError> {
    let evidence = search.evidence;
    let registered = |statement: &CaseStatement| {
        let doubt = Doubt::NewestChildren;
        evidence.dialect.known(doubt, statement.effect.kind)
    };
    let mut met = evidence.case.user_statements().filter(|statement| {
        search.transactions.contains(&statement.id.transaction)
            && registered(statement).is_some()
            && asks_newest(evidence, statement)
    });
    let Some(first) = met.next() else {
        return Ok(None);
    };
    serial.reset()?;
    let search = SerialOrderSearch {
        let_go: BTreeSet::new(),
        left_out: BTreeSet::new(),
        asks_newest: met.chain([first]).map(|statement| statement.id).collect(),
        ..*search
    };
    let explained = match search.run(serial) {
        Ok(end) => matches!(end, SearchEnd::Found),
        // Another row has taken the place of one that was put back.
        Err(EngineError::Setup { .. }) => false,
        Err(error) => return Err(error),
    };
    Ok(registered(first).filter(|_| explained).map(str::to_owned))
}

/// Whether a read that locks has waited and reads a table through a snapshot of its own beside: taken before the wait.
fn reads_at_two_moments(evidence: &Evidence, statement: &CaseStatement) -> bool {
    let modes = statement.effect.uses.iter();
    let modes: Vec<ReadMode> = modes
        .map(|table_use| evidence.promised_mode(statement, table_use.role))
        .collect();
    let record = evidence.execution.records.get(&statement.id);
    statement.effect.kind == StatementKind::LockingSelect
        && record.is_some_and(StatementRecord::resumed)
        && modes.contains(&ReadMode::Current)
        && modes.contains(&ReadMode::StatementSnapshot)
}
