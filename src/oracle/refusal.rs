//! Cases whose statements do not mean the same when they are run again, one after another, and cases
//! that do not run by the levels of their header.

use std::collections::BTreeSet;

use super::counted;
use crate::dialect::{Capability, Dialect};
use crate::model::{
    CaseStatement, Role, Setting, SetupKind, SetupStatement, StatementKind, TableShape, TestCase,
    UndecidedReason,
};
use crate::statement;

/// What statements begin with that a serial run cannot follow, where they are not understood.
const OUT_OF_HAND: [&str; 8] = [
    "ABORT", "ALTER", "BEGIN", "COMMIT", "END", "ROLLBACK", "START", "TRUNCATE",
];

/// Why no serial run can predict the answers of this case; none where it can.
///
/// Generated cases hold nothing of the kind; hand-written ones do.
pub(super) fn unrepeatable(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    settings(case)
        .or_else(|| control(case, dialect))
        .or_else(|| unrepeatable_function(case, dialect))
        .or_else(|| set_up(case, dialect))
        .or_else(|| without_transactions(case, dialect))
        .or_else(|| counted_key(case, dialect))
        .or_else(|| foreign_key(case, dialect))
        .or_else(|| changed_while_read(case))
        .or_else(|| unknown_trigger(case, dialect))
}

/// Why the levels of the case's header do not say by which rules its statements run; none where they
/// do.
pub(super) fn other_rules(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    settings(case)
        .or_else(|| control(case, dialect))
        .or_else(|| unrepeatable_set_up(case, dialect))
        .or_else(|| set_up(case, dialect))
        .or_else(|| foreign_key(case, dialect))
        .or_else(|| without_transactions(case, dialect))
        .or_else(|| unknown_trigger(case, dialect))
}

/// What begins or ends a transaction in a way that the case does not tell: `COMMIT AND CHAIN` outside of one, which begins one on
/// MySQL and is refused by PostgreSQL, or a SAVEPOINT there, which begins one on SQLite and is nothing on MySQL. What leaves
/// half of its work when it fails (SQLite's `OR FAIL`). What only one session sees, and a serial run shows to all: a temporary
/// table, which may have the name of another. And what is done to rows behind the back of snapshots (PostgreSQL manual,
/// "Caveats" of "Concurrency Control").
fn control(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let is_misread = |s: &CaseStatement| {
        let word = s.sql.split_whitespace().next().unwrap_or_default();
        let mut words = OUT_OF_HAND.iter();
        let mut others = ["FAIL", "TEMP", "TEMPORARY"].into_iter();
        words.any(|other| other.eq_ignore_ascii_case(word))
            || others.any(|other| statement::mentions(&s.sql, other, dialect))
    };
    // Of what locks tables it is known what it does.
    let ends_unasked = |s: &CaseStatement| {
        case.is_explicit(s.id.transaction)
            && s.effect.table_lock.is_none()
            && statement::commits_by_itself(&s.sql, dialect)
    };
    let is_elsewhere = |s: &CaseStatement| {
        let name = s.effect.savepoint.as_deref().unwrap_or_default();
        // Which letters beyond ASCII are equal, a server's collation says.
        !case.is_explicit(s.id.transaction) || !name.is_ascii()
    };
    let is_unknown = |s: &CaseStatement| {
        (s.effect.kind == StatementKind::Opaque && (is_misread(s) || ends_unasked(s)))
            || (s.effect.kind == StatementKind::Savepoint && is_elsewhere(s))
    };
    let found = case.statements.iter().any(is_unknown);
    found.then_some(UndecidedReason::OpaqueStatement)
}

/// Constraints that look at a table at another moment than the statement that changes it, and rows that are in two
/// tables.
fn set_up(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let mentions = |word: &str| {
        let mut set_up = case.setup.iter();
        set_up.any(|setup| {
            setup.kind == SetupKind::Schema && statement::mentions(&setup.sql, word, dialect)
        })
    };
    if mentions("INITIALLY") && mentions("DEFERRED") {
        return Some(UndecidedReason::DeferredConstraint);
    }
    if mentions("INHERITS") {
        return Some(UndecidedReason::TableInheritance);
    }
    names_a_partition(case, dialect).then_some(UndecidedReason::PartitionByName)
}

/// Whether a statement names a partition as a table of its own: its rows are those of another table then.
fn names_a_partition(case: &TestCase, dialect: &Dialect) -> bool {
    let names = case.statements.iter().flat_map(|statement| {
        let effect = &statement.effect;
        let used = effect.uses.iter().map(|used| &used.table);
        let locked = effect.table_lock.iter().flat_map(|lock| &lock.tables);
        let changed = effect.storage_change.iter().map(|change| &change.table);
        used.chain(locked).chain(changed)
    });
    // A partition is no table of the case: the set-up is read for names that are none.
    let others = names.filter(|name| case.table(name).is_none());
    let others: BTreeSet<String> = others.map(|name| name.to_ascii_lowercase()).collect();
    let makes_one = |setup: &SetupStatement| {
        let made = statement::made_partition(&setup.sql, dialect);
        made.is_some_and(|made| others.contains(&made))
    };
    !others.is_empty() && case.setup.iter().any(makes_one)
}

/// The set-up gives rows other values each time that it is run.
pub(super) fn unrepeatable_set_up(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let mut set_up = case.setup.iter();
    let found = set_up.any(|setup| statement::is_unrepeatable(&setup.sql, dialect));
    found.then_some(UndecidedReason::UnrepeatableFunction)
}

fn settings(case: &TestCase) -> Option<UndecidedReason> {
    let settings = || case.statements.iter().filter_map(|s| s.effect.setting);
    if settings().any(|setting| setting == Setting::Level) {
        return Some(UndecidedReason::LevelSetInSession);
    }
    let other = settings().any(|setting| setting == Setting::Other);
    other.then_some(UndecidedReason::SessionSetting)
}

fn unrepeatable_function(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let found = case.statements.iter().any(|s| s.effect.unrepeatable);
    let found = found.then_some(UndecidedReason::UnrepeatableFunction);
    found.or_else(|| unrepeatable_set_up(case, dialect))
}

fn without_transactions(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let has_no_transactions = |table: &TableShape| {
        let engine = table.storage_engine.as_ref();
        engine.is_some_and(|engine| dialect.has_no_transactions(engine))
    };
    let found = case.tables.iter().any(has_no_transactions);
    found.then_some(UndecidedReason::TableWithoutTransactions)
}

/// Which version of a parent or a child a foreign key looks at, or which rows of a child it changes, the dialect does not
/// say.
fn foreign_key(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let mut uses = case.statements.iter().flat_map(|s| &s.effect.uses);
    let found = uses.any(|used| {
        let needed = match used.role == Role::ForeignKeyTarget {
            true => Capability::ForeignKeyAction,
            false => Capability::ForeignKey,
        };
        used.role.is_by_foreign_key() && !dialect.supports(needed)
    });
    found.then_some(UndecidedReason::ForeignKey)
}

/// What a statement finds in a table that a foreign key of another, or a trigger, changes meanwhile is a matter of
/// its plan (MySQL manual, "DELETE Statement", of several tables with foreign keys).
fn changed_while_read(case: &TestCase) -> Option<UndecidedReason> {
    let mut statements = case.statements.iter();
    let found = statements.any(|statement| statement.effect.changes_what_it_uses());
    found.then_some(UndecidedReason::ReadAndChangedByAForeignKey)
}

/// A trigger does what its text does not tell, so that nothing says which tables a statement reads and writes.
pub(super) fn unknown_trigger(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let found = statement::has_unknown_trigger(case, dialect);
    found.then_some(UndecidedReason::TriggerNotUnderstood)
}

/// A session takes numbers from a counter, and a statement that is run again cannot be given the same ones: the engine
/// has no word for it, or the set-up takes numbers of its own, which are others each time. Nor can a row be put in place with its
/// number where the engine always gives one (GENERATED ALWAYS AS IDENTITY). Or the counter may run out: where
/// it does, an engine may answer as if a lock had not been granted (MariaDB's error 1467 says both).
fn counted_key(case: &TestCase, dialect: &Dialect) -> Option<UndecidedReason> {
    let mut statements = case.statements.iter();
    let counts = statements.any(|s| statement::counted_insert(case, s, dialect).is_some());
    let always = |table: &TableShape| table.columns.iter().any(|c| c.counted && c.generated);
    if case.statements.iter().any(|s| fires_a_counter(case, s)) || case.tables.iter().any(always) {
        return Some(UndecidedReason::AutoIncrement);
    }
    let cannot_give = dialect.spelling.count_from.is_empty();
    let is_unsure =
        || statement::set_up_counts(case, dialect) || counted::may_run_out(case, dialect);
    (counts && (cannot_give || is_unsure())).then_some(UndecidedReason::AutoIncrement)
}

/// Whether a trigger that a statement fires may put a row into a table that numbers its rows: nothing gives that row its
/// number again.
fn fires_a_counter(case: &TestCase, statement: &CaseStatement) -> bool {
    let mut writes = statement.effect.trigger_writes.iter();
    writes.any(|write| {
        let shape = case.table(&write.table);
        write.kind == StatementKind::Insert && shape.is_some_and(TableShape::has_counter)
    })
}
