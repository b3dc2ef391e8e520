//! Rows that an INSERT of given rows met and left as they were, whose locks it keeps, and what others did to them meanwhile.

use super::strength::excludes_change;
use crate::model::{Effect, LockStrength, Role, StatementKind, StatementRecord};
use crate::observe::Change;
use crate::oracle::Evidence;

/// Whether a statement puts in rows that its text has whole: no source, no subquery and no trigger says what it does.
pub(super) fn puts_in_given_rows(effect: &Effect) -> bool {
    let mut uses = effect.uses.iter();
    effect.kind == StatementKind::Insert
        && !effect.unrepeatable
        && uses.all(|used| used.role == Role::InsertTarget || used.role == Role::ForeignKeyCheck)
}

/// The one table that a statement writes; none where there are several.
pub(super) fn only_target(effect: &Effect) -> Option<&str> {
    let mut targets = effect.targets();
    targets.next().filter(|_| targets.next().is_none())
}

/// What others changed of a table, by writes beside the statement, though it had a lock of this strength: rows in the version that it
/// met.
pub(super) fn changes_beside<'e>(
    evidence: &'e Evidence,
    (statement, table): (&StatementRecord, &str),
    strength: LockStrength,
    is_beside: impl Fn(&StatementRecord) -> bool,
) -> Vec<(&'e StatementRecord, &'e Change)> {
    let account = &evidence.account;
    let seen = account.views.get(&statement.id);
    let seen = seen.and_then(|view| view.get(table));
    let is_met = |change: &&Change| {
        let met = seen.and_then(|seen| seen.get(&change.row).copied().flatten());
        change.table == table
            && met.is_some()
            && met == change.before
            && excludes_change(evidence, strength, change)
    };
    let order = evidence.execution.execution_order().into_iter();
    let writes = order.filter_map(|id| evidence.execution.records.get(&id));
    let beside = writes.filter(|write| write.outcome.error_class().is_none() && is_beside(write));
    let changes = beside.flat_map(|write| {
        let changes = account.changes.get(&write.id).into_iter().flatten();
        changes.map(move |change| (write, change))
    });
    changes.filter(|(_, change)| is_met(change)).collect()
}
