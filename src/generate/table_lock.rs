//! Locks of whole tables, asked for by name within a transaction.
//!
//! Such a lock stands where another session's transaction uses the table, at the beginning of its transaction most times: the manual
//! advises it, and what comes later waits in circles more often than in line.

use std::collections::{BTreeMap, BTreeSet};

use super::entropy::Entropy;
use super::session::DrawnStatement;
use crate::dialect::{Capability, Dialect};
use crate::model::{Effect, SessionId, StatementKind, TableLockMode};
use crate::statement::Catalog;

/// How many of these statements, of a hundred, do not wait.
const NOWAIT_PERCENT: usize = 20;

/// How many cases with one, of a hundred, have a second.
const SECOND_PERCENT: usize = 30;

/// The modes, those more often that keep something from others.
const MODES: [TableLockMode; 12] = [
    TableLockMode::AccessShare,
    TableLockMode::RowShare,
    TableLockMode::RowExclusive,
    TableLockMode::ShareUpdateExclusive,
    TableLockMode::Share,
    TableLockMode::Share,
    TableLockMode::ShareRowExclusive,
    TableLockMode::ShareRowExclusive,
    TableLockMode::Exclusive,
    TableLockMode::Exclusive,
    TableLockMode::AccessExclusive,
    TableLockMode::AccessExclusive,
];

/// Puts one or two into some cases that have a place for them, and no DDL, which would wait for them.
pub(super) fn add_table_locks(
    entropy: &mut Entropy<'_>,
    percent: usize,
    lines: &mut Vec<DrawnStatement>,
    catalog: &Catalog,
    dialect: &Dialect,
) {
    let changes_storage = |line: &DrawnStatement| line.effect.kind == StatementKind::PhysicalDdl;
    if !dialect.supports(Capability::LockTable)
        || !entropy.percent(percent)
        || lines.iter().any(changes_storage)
    {
        return;
    }
    let count = if entropy.percent(SECOND_PERCENT) {
        2
    } else {
        1
    };
    for _ in 0..count {
        let places = places(lines, catalog, dialect);
        let first: Vec<&LockPlace> = places.iter().filter(|place| place.is_first).collect();
        let all: Vec<&LockPlace> = places.iter().collect();
        let from = if entropy.percent(70) { &first } else { &all };
        let Some(place) = entropy.pick(from) else {
            return;
        };
        let Some(mode) = entropy.pick(&MODES) else {
            return;
        };
        let nowait = if entropy.percent(NOWAIT_PERCENT) {
            " NOWAIT"
        } else {
            ""
        };
        let sql = format!("LOCK TABLE {} IN {} MODE{nowait}", place.table, mode.sql());
        let line = DrawnStatement::inside(place.session, sql, dialect);
        lines.insert(place.at, line);
    }
}

/// Behind which line a transaction can lock a table that a transaction of another session uses, too.
struct LockPlace {
    at: usize,
    session: SessionId,
    table: String,
    /// The transaction has done nothing yet.
    is_first: bool,
}

fn places(lines: &[DrawnStatement], catalog: &Catalog, dialect: &Dialect) -> Vec<LockPlace> {
    let effects: Vec<Effect> = lines
        .iter()
        .map(|line| catalog.resolved(&line.sql, line.effect.clone(), dialect))
        .collect();
    let mut used_by: BTreeMap<&str, BTreeSet<SessionId>> = BTreeMap::new();
    for (line, effect) in lines.iter().zip(&effects) {
        for used in &effect.uses {
            used_by.entry(&used.table).or_default().insert(line.session);
        }
    }
    let mut found = Vec::new();
    for (at, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.is_inside())
    {
        let is_first = line.effect.kind.is_begin();
        let others = used_by
            .iter()
            .filter(|(_, by)| by.iter().any(|session| *session != line.session));
        found.extend(others.map(|(table, _)| LockPlace {
            at: at + 1,
            session: line.session,
            table: (*table).to_owned(),
            is_first,
        }));
    }
    found
}
