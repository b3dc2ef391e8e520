//! The effect of one statement: its kind, its tables and their roles.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, Insert, Merge, MergeAction, MergeUpdateKind,
    ObjectName, OnConflictAction, OnInsert, Query, SetExpr, SqliteOnConflict, Statement,
    TableFactor, TableObject, TableWithJoins, Update, UpdateTableFromKind, Value as Literal,
};

use super::contradiction::contradictions;
use super::control;
use super::form;
use super::parse::Parsed;
use super::physical_ddl;
use super::query::{
    Roles, by_call, deleted_from, last_name, locks, relations, row_by_row, surely_reads, uses_in,
};
use super::row_order::row_order;
use super::table_lock;
use super::token::{SqlToken, stands, tokens, without_end};
use super::unrepeatable;
use crate::dialect::{Dialect, ParserKind};
use crate::model::{Effect, Form, Role, StatementKind, TableUse};

/// One of these stands in every outer join, and in little else.
const OUTER: [&str; 5] = ["LEFT", "RIGHT", "FULL", "OUTER", "NATURAL"];

/// The effect of a statement. Never fails: a statement that is not understood is
/// [`StatementKind::Opaque`] and names no table.
pub fn analyze(sql: &str, dialect: &Dialect) -> Effect {
    let Some(words) = tokens(sql, dialect) else {
        return Effect::of_kind(StatementKind::Opaque);
    };
    let words = without_end(&words);
    let unrepeatable = unrepeatable::calls(words) || reports(words);
    let opaque = || Effect {
        unrepeatable,
        ..Effect::of_kind(StatementKind::Opaque)
    };
    let by_words = control::analyze(words, dialect)
        .or_else(|| physical_ddl::analyze(words, dialect))
        .or_else(|| table_lock::analyze(words, dialect));
    if let Some(effect) = by_words {
        return effect;
    }
    if is_misread(words, dialect) {
        return opaque();
    }
    let Some(parsed) = Parsed::new(sql, words, dialect) else {
        return opaque();
    };
    let mut effect = of_tree(&parsed.tree).unwrap_or_else(opaque);
    let locks_within = parsed.locks.weakest().is_some() && effect.kind == StatementKind::Select;
    let skips = after_lock_clause(words, &["SKIP", "LOCKED"]);
    // Some of its clauses wait, and others do not. Its own stands at the end: what one of a subquery does, it does not touch.
    let unwaiting = parsed.locks.unwaiting() + after_lock_clause(words, &["NOWAIT"]);
    let options = skips + unwaiting;
    let in_one_query = words.iter().filter(|word| word.is("SELECT")).count() == 1;
    let ends_so = |words: &[SqlToken<'_>]| match words {
        [.., last] if last.is_any(&["NOWAIT", "LOCKED"]) => true,
        [.., wait, last] => wait.is("WAIT") && last.text == "0",
        _ => false,
    };
    let own_waits = !ends_so(words);
    let is_mixed = (1..parsed.locks.count()).contains(&options) && (in_one_query || own_waits);
    if locks_within || locks_one_of_several(&parsed.tree) || is_mixed {
        return Effect {
            unrepeatable: unrepeatable || skips > 0,
            ..opaque()
        };
    }
    let known = effect.kind != StatementKind::Opaque;
    effect.depends_on_locks = known && skips > 0;
    effect.nowait = known && unwaiting > 0;
    effect.lock = parsed.locks.weakest().filter(|_| known);
    effect.outer_join = known && words.iter().any(|word| word.is_any(&OUTER));
    if known {
        effect.antijoin = form::is_antijoin(&parsed.tree);
        effect.forms = form::forms(words, &parsed.tree);
        effect.forms.extend(effect.nowait.then_some(Form::Nowait));
        let skips = effect.depends_on_locks;
        effect.forms.extend(skips.then_some(Form::SkipLocked));
        let contradictions = contradictions(&parsed.tree, &|_| None);
        effect.impossible_ranges = contradictions.impossible;
        effect.null_only = contradictions.null_only;
    }
    effect.unrepeatable = unrepeatable;
    effect
}

/// Whether a statement tells of the server or of a plan, not of rows.
fn reports(words: &[SqlToken<'_>]) -> bool {
    let all = ["ANALYZE", "CHECK", "EXPLAIN", "OPTIMIZE", "SHOW"];
    words.first().is_some_and(|first| first.is_any(&all))
}

/// Whether the parser takes a word before the name of a table for the name: `UPDATE IGNORE t` (MySQL), `FROM ONLY t`
/// (PostgreSQL). What SQLite's `OR FAIL` leaves of a statement that fails half-way, its serial run cannot tell, nor that `OR
/// ROLLBACK` ends the transaction; `UPDATE OR REPLACE` deletes rows of which its answer counts none.
fn is_misread(words: &[SqlToken<'_>], dialect: &Dialect) -> bool {
    let is_any = |at: usize, of: &[&str]| words.get(at).is_some_and(|word| word.is_any(of));
    match dialect.spelling.parser {
        ParserKind::MySql => {
            is_any(0, &["UPDATE", "DELETE"])
                && is_any(1, &["LOW_PRIORITY", "QUICK", "IGNORE"])
                && !is_any(2, &["SET"])
        }
        ParserKind::PostgreSql => (1..words.len()).any(|at| {
            let before = ["FROM", "UPDATE", "JOIN", "INTO", "USING"];
            is_any(at, &["ONLY"]) && (is_any(at - 1, &before) || words[at - 1].is_mark(','))
        }),
        ParserKind::Sqlite => {
            let unlike = |at, how: &[&str]| is_any(at, &["OR"]) && is_any(at + 1, how);
            (is_any(0, &["INSERT"]) && unlike(1, &["FAIL", "ROLLBACK"]))
                || (is_any(0, &["UPDATE"]) && unlike(1, &["FAIL", "REPLACE", "ROLLBACK"]))
        }
    }
}

/// Whether a lock clause stands behind several SELECTs that UNION or its like joins: engines differ in which of them it
/// locks.
fn locks_one_of_several(tree: &Statement) -> bool {
    let Statement::Query(query) = tree else {
        return false;
    };
    !query.locks.is_empty() && matches!(query.body.as_ref(), SetExpr::SetOperation { .. })
}

/// How often these words stand after a lock clause.
fn after_lock_clause(words: &[SqlToken<'_>], tail: &[&str]) -> usize {
    let after_lock =
        |at: usize| {
            words[..at].iter().rev().take(4).any(|word| {
                word.is("UPDATE") || word.is("SHARE") || word.is("MODE") || word.is("OF")
            })
        };
    let stands_there = |at: &usize| stands(words, *at, tail) && after_lock(*at);
    (0..words.len()).filter(stands_there).count()
}

/// The effect of a parsed statement; None for a kind that is not known here.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of sqlparser, which grows with its releases"
)]
fn of_tree(tree: &Statement) -> Option<Effect> {
    match tree {
        Statement::Query(query) => select(query),
        Statement::Insert(insert) => self::insert(insert),
        Statement::Update(update) => self::update(update),
        Statement::Delete(delete) => self::delete(delete),
        Statement::Merge(merge) => self::merge(merge),
        _ => None,
    }
}

fn with_uses(kind: StatementKind, uses: BTreeSet<TableUse>) -> Effect {
    Effect {
        uses: uses.into_iter().collect(),
        ..Effect::of_kind(kind)
    }
}

fn select(query: &Query) -> Option<Effect> {
    let locking = locks(query);
    let roles = if locking {
        Roles {
            plain: Role::LockingSelectSource,
            outermost: Role::LockingSelect,
        }
    } else {
        Roles {
            plain: Role::PlainSelect,
            outermost: Role::PlainSelect,
        }
    };
    let uses = uses_in(query, roles)?;
    let any_lock = uses.iter().any(|u| u.role == Role::LockingSelect);
    Some(Effect {
        row_order: row_order(query),
        row_by_row: row_by_row(query),
        surely_takes_snapshot: !any_lock && surely_reads(query),
        ..with_uses(
            if locking {
                StatementKind::LockingSelect
            } else {
                StatementKind::Select
            },
            uses,
        )
    })
}

/// The role of every table that queries inside a write read, where they have no lock clause.
fn sources(role: Role) -> Roles {
    Roles {
        plain: role,
        outermost: role,
    }
}

fn target(table: &str, role: Role) -> TableUse {
    TableUse {
        table: table.to_owned(),
        role,
    }
}

fn insert(insert: &Insert) -> Option<Effect> {
    let TableObject::TableName(name) = &insert.table else {
        return None;
    };
    let values = insert
        .source
        .as_ref()
        .is_none_or(|query| matches!(query.body.as_ref(), SetExpr::Values(_)));
    let role = if values {
        Role::InsertValuesSource
    } else {
        Role::InsertSelectSource
    };
    let mut uses = uses_in(insert, sources(role))?;
    uses.insert(target(last_name(name)?, Role::InsertTarget));
    let replaces = insert.replace_into || insert.or == Some(SqliteOnConflict::Replace);
    let kind = match (replaces, values) {
        (true, _) => StatementKind::Replace,
        (false, true) => StatementKind::Insert,
        (false, false) => StatementKind::InsertSelect,
    };
    let assignments: &[Assignment] = match &insert.on {
        Some(OnInsert::DuplicateKeyUpdate(assignments)) => assignments,
        Some(OnInsert::OnConflict(conflict)) => match &conflict.action {
            OnConflictAction::DoUpdate(update) => &update.assignments,
            OnConflictAction::DoNothing => &[],
        },
        Some(_) | None => &[],
    };
    Some(Effect {
        assigned: assigned_columns(assignments),
        ..with_uses(kind, uses)
    })
}

fn update(update: &Update) -> Option<Effect> {
    let (tables, _) = relations(std::slice::from_ref(&update.table));
    let calls = by_call(&tables);
    // Engines treat an UPDATE over a join as another statement, with other locks.
    let is_join = !update.table.joins.is_empty()
        || matches!(update.table.relation, TableFactor::NestedJoin { .. });
    let source = if is_join {
        Role::UpdateJoinSource
    } else {
        Role::UpdateSource
    };
    let mut uses = uses_in(update, sources(source))?;
    let mut targets = BTreeSet::new();
    for assignment in &update.assignments {
        match assigned_owner(assignment)? {
            Some(owner) => {
                let table = calls.get(&owner.to_ascii_lowercase()).copied();
                targets.insert(table.unwrap_or(owner).to_owned());
            }
            // The table of an unqualified column is unknown here: all may be written.
            None => targets.extend(tables.iter().map(|table| table.table.clone())),
        }
    }
    if targets.is_empty() {
        return None;
    }
    let from: &[TableWithJoins] = match &update.from {
        Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) => from,
        None => &[],
    };
    let mut seen = targets.clone();
    for table in tables.iter().chain(&relations(from).0) {
        // A table that is written and joined to itself stands in both roles.
        if !seen.remove(&table.table) {
            uses.insert(target(&table.table, source));
        }
    }
    uses.extend(targets.iter().map(|name| target(name, Role::UpdateTarget)));
    Some(Effect {
        assigned: assigned_columns(&update.assignments),
        ..with_uses(StatementKind::Update, uses)
    })
}

/// The columns that are given a value, in lower case, and the value where it is an integer as it stands.
fn assigned_columns<'a>(
    assignments: impl IntoIterator<Item = &'a Assignment>,
) -> BTreeMap<String, Option<i64>> {
    let mut columns: BTreeMap<String, Option<i64>> = BTreeMap::new();
    for assignment in assignments {
        let (names, value) = match &assignment.target {
            AssignmentTarget::ColumnName(name) => {
                (std::slice::from_ref(name), integer(&assignment.value))
            }
            AssignmentTarget::Tuple(names) => (names.as_slice(), None),
        };
        for name in names.iter().filter_map(last_name) {
            // Columns of one name, of two tables of a join, may get different values.
            let known = columns.entry(name.to_ascii_lowercase()).or_insert(value);
            *known = known.filter(|known| Some(*known) == value);
        }
    }
    columns
}

/// The integer that an expression is.
fn integer(expression: &Expr) -> Option<i64> {
    let Expr::Value(value) = expression else {
        return None;
    };
    let Literal::Number(digits, _) = &value.value else {
        return None;
    };
    digits.parse().ok()
}

/// The table name before an assigned column, if any; the outer None for tuples.
fn assigned_owner(assignment: &Assignment) -> Option<Option<&str>> {
    let AssignmentTarget::ColumnName(ObjectName(parts)) = &assignment.target else {
        return None;
    };
    match parts.as_slice() {
        [_] => Some(None),
        [.., owner, _] => Some(Some(owner.as_ident()?.value.as_str())),
        [] => None,
    }
}

fn delete(delete: &Delete) -> Option<Effect> {
    let from = deleted_from(delete);
    let (tables, _) = relations(from);
    let mut joined = tables.clone();
    if let Some(using) = &delete.using {
        joined.extend(relations(using).0);
    }
    let calls = by_call(&joined);
    let named: Vec<&str> = if delete.tables.is_empty() {
        tables.iter().map(|table| table.table.as_str()).collect()
    } else {
        delete
            .tables
            .iter()
            .map(|name| {
                let name = last_name(name)?;
                Some(
                    calls
                        .get(&name.to_ascii_lowercase())
                        .copied()
                        .unwrap_or(name),
                )
            })
            .collect::<Option<_>>()?
    };
    if named.is_empty() {
        return None;
    }
    let mut uses = uses_in(delete, sources(Role::DeleteSource))?;
    for table in joined.iter().map(|table| table.table.as_str()) {
        if !named.contains(&table) {
            uses.insert(target(table, Role::DeleteSource));
        }
    }
    uses.extend(named.iter().map(|name| target(name, Role::DeleteTarget)));
    Some(with_uses(StatementKind::Delete, uses))
}

/// A MERGE finds the rows of its target as an UPDATE does, whatever its clauses do to them; what it puts in meets the newest
/// rows by their keys alone, as a row does that an UPDATE gives another key.
fn merge(merge: &Merge) -> Option<Effect> {
    let TableFactor::Table { name, .. } = &merge.table else {
        return None;
    };
    let mut uses = uses_in(merge, sources(Role::UpdateSource))?;
    let written = last_name(name)?;
    if let TableFactor::Table { name, .. } = &merge.source {
        uses.insert(target(last_name(name)?, Role::UpdateSource));
    }
    uses.insert(target(written, Role::UpdateTarget));
    let mut assignments: Vec<&Assignment> = Vec::new();
    for clause in &merge.clauses {
        if let MergeAction::Update(update) = &clause.action {
            let MergeUpdateKind::Set(set) = &update.kind else {
                return None;
            };
            assignments.extend(set);
        }
    }
    Some(Effect {
        assigned: assigned_columns(assignments),
        ..with_uses(StatementKind::Merge, uses)
    })
}
