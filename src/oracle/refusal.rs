//! Cases whose statements do not mean the same when they are run again, one after another.

use crate::dialect::Dialect;
use crate::model::{Role, Setting, TestCase, UndecidedReason};
use crate::statement;

/// Why no serial run can predict the answers of this case; none where it can.
///
/// Generated cases hold nothing of the kind; hand-written ones do.
pub(super) fn unrepeatable(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let settings = || case.statements.iter().filter_map(|s| s.effect.setting);
    if settings().any(|setting| setting == Setting::Level) {
        return Some(UndecidedReason::LevelSetInSession);
    }
    if settings().any(|setting| setting == Setting::Other) {
        return Some(UndecidedReason::SessionSetting);
    }
    let in_set_up = |sql: &String| statement::is_unrepeatable(sql, dialect);
    if case.statements.iter().any(|s| s.effect.unrepeatable)
        || case.setup.iter().map(|setup| &setup.sql).any(in_set_up)
    {
        return Some(UndecidedReason::UnrepeatableFunction);
    }
    let has_no_transactions = |table: &crate::model::TableShape| {
        let engine = table.storage_engine.as_ref();
        engine.is_some_and(|engine| dialect.has_no_transactions(engine))
    };
    if case.tables.iter().any(has_no_transactions) {
        return Some(UndecidedReason::TableWithoutTransactions);
    }
    let is_counted = |name: &str| {
        let table = case.table(name);
        table.is_some_and(|table| table.columns.iter().any(|column| column.counted))
    };
    let inserts = |role: Role| role == Role::InsertTarget;
    let mut uses = case.statements.iter().flat_map(|s| &s.effect.uses);
    uses.any(|u| inserts(u.role) && is_counted(&u.table))
        .then_some(UndecidedReason::AutoIncrement)
}
