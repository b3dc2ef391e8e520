//! Rows that refer to no row, though the engine enforces their foreign key.

use std::collections::BTreeSet;

use crate::dialect::{Capability, Dialect};
use crate::model::{
    Execution, ForeignKey, ForeignKeyAction, Row, Setting, StatementKind, TableShape, TestCase,
    Value,
};
use crate::oracle::compare;

/// A row at the end that refers to no row, though the engine enforces its foreign key: a check or an action went past
/// another transaction. Keys of integers alone are looked at, which are equal only where they look equal.
///
/// A session that did something which only the engine understands may have switched the checks off.
pub(super) fn find(case: &TestCase, execution: &Execution, dialect: &Dialect) -> Option<OrphanRow> {
    if !dialect.supports(Capability::ForeignKey) || checks_may_be_off(case) {
        return None;
    }
    case.tables.iter().find_map(|child| {
        let mut keys = child.foreign_keys.iter();
        keys.find_map(|key| {
            let row = orphan_of(case, execution, child, key)?;
            Some(OrphanRow {
                table: child.name.clone(),
                parent: key.parent.clone(),
                row: compare::rows_text(&[row]),
                words: words(case, execution, child, key),
            })
        })
    })
}

/// A row that refers to no row.
pub(super) struct OrphanRow {
    pub(super) table: String,
    pub(super) parent: String,
    /// As findings show it.
    pub(super) row: String,
    /// Of its signature.
    pub(super) words: Vec<String>,
}

/// What tells one broken key from another: what it does when its parent goes, whether the parent may have gone by a key of
/// its own, whether the orphan is a parent, too, and which writes may have deleted the parent.
fn words(
    case: &TestCase,
    execution: &Execution,
    child: &TableShape,
    key: &ForeignKey,
) -> Vec<String> {
    let action = match key.on_delete {
        ForeignKeyAction::Refuse => "refuse",
        ForeignKeyAction::Cascade => "cascade",
        ForeignKeyAction::Set => "set",
    };
    let mut words = vec!["orphan".to_owned(), format!("orphan-on-delete:{action}")];
    let cascades = |shape: &TableShape| {
        let mut keys = shape.foreign_keys.iter();
        keys.any(|key| key.on_delete == ForeignKeyAction::Cascade)
    };
    if case.table(&key.parent).is_some_and(cascades) {
        words.push("orphan-of-a-cascade".to_owned());
    }
    let mut keys = case.tables.iter().flat_map(|table| &table.foreign_keys);
    if keys.any(|key| key.parent == child.name) {
        words.push("orphan-is-a-parent".to_owned());
    }
    let ran = case.user_statements().filter(|statement| {
        let mut targets = statement.effect.targets();
        targets.any(|target| target == key.parent) && execution.records.contains_key(&statement.id)
    });
    let kinds = ran.map(|statement| statement.effect.kind);
    words.extend(
        kinds
            .filter(|kind| kind.is_write())
            .map(|kind| kind.to_string()),
    );
    words
}

/// Whether the set-up or a session has changed a setting, or done something that only the engine understands.
fn checks_may_be_off(case: &TestCase) -> bool {
    let harmless = |setting: Option<Setting>| setting.is_some_and(Setting::is_understood);
    let mut statements = case.statements.iter().map(|s| &s.effect);
    let sets = |sql: &str| {
        let word = sql.split_whitespace().next().unwrap_or_default();
        ["SET", "PRAGMA"]
            .iter()
            .any(|set| word.eq_ignore_ascii_case(set))
    };
    case.setup.iter().any(|s| sets(&s.sql))
        || statements.any(|effect| {
            let sets = effect.kind == StatementKind::Set && !harmless(effect.setting);
            sets || effect.kind == StatementKind::Opaque
        })
}

/// The first row that refers by this key to no row of its parent.
fn orphan_of(
    case: &TestCase,
    execution: &Execution,
    child: &TableShape,
    key: &ForeignKey,
) -> Option<Row> {
    let parent = case.table(&key.parent)?;
    let rows = execution.final_state.get(&child.name)?;
    let parents = execution.final_state.get(&parent.name)?;
    let places = |shape: &TableShape, columns: &[String]| -> Option<Vec<usize>> {
        columns.iter().map(|name| shape.column(name)).collect()
    };
    let own = places(child, &key.columns)?;
    let referenced = places(parent, &key.parent_columns)?;
    if own.len() != referenced.len() {
        return None;
    }
    let whole = |row: &&Row, places: &[usize]| {
        let mut values = places.iter().map(|at| row.get(*at));
        values.all(|value| value.is_some_and(|value| *value != Value::Null))
    };
    let integers = |row: &Row, places: &[usize]| -> Option<Vec<i128>> {
        places.iter().map(|at| integer(row.get(*at)?)).collect()
    };
    let known = parents.iter().filter(|row| whole(row, &referenced));
    let known = known.map(|row| integers(row, &referenced));
    let known: BTreeSet<Vec<i128>> = known.collect::<Option<_>>()?;
    let refers = |row: &&Row| integers(row, &own).is_some_and(|key| !known.contains(&key));
    rows.iter().find(refers).cloned()
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(number) => Some(i128::from(*number)),
        Value::Unsigned(number) => Some(i128::from(*number)),
        Value::Null
        | Value::Real(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Temporal(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::reproducer::case_of;

    /// What is told of these rows of `t0 (a)` and `t1 (a, b)`, where `b` refers to `t0`.
    fn told_of(setting: &str, parents: &[Value], children: &[[Value; 2]]) -> Option<String> {
        let dialect = dialect_of("mysql", "9.7");
        let text = format!(
            "/* init */ CREATE TABLE t0 (a BIGINT PRIMARY KEY);\n\
             /* init */ CREATE TABLE t1 (a BIGINT PRIMARY KEY, b BIGINT, FOREIGN KEY (b) REFERENCES t0 (a));\n\
             {setting}/* s1 */ DELETE FROM t0 WHERE a = 3;\n"
        );
        let case = case_of(&text, &dialect);
        let mut execution = Execution::default();
        let parents = parents.iter().map(|value| vec![value.clone()]).collect();
        let children = children.iter().map(|row| row.to_vec()).collect();
        execution.final_state.insert("t0".to_owned(), parents);
        execution.final_state.insert("t1".to_owned(), children);
        find(&case, &execution, &dialect).map(|found| {
            format!(
                "a row of {} refers to no row of {}: {}",
                found.table, found.parent, found.row
            )
        })
    }

    #[test]
    fn a_row_without_the_one_that_it_refers_to_is_found_and_nothing_else_is() {
        let one = |number| Value::Integer(number);
        let parents = [one(1), Value::Unsigned(2)];
        let orphan = [[one(1), one(1)], [one(2), one(3)]];
        let told = told_of("", &parents, &orphan);
        assert_eq!(
            told.as_deref(),
            Some("a row of t1 refers to no row of t0: (2, 3)")
        );
        let sound = [[one(1), one(1)], [one(2), one(2)], [one(3), Value::Null]];
        assert_eq!(told_of("", &parents, &sound), None);
        let off = "/* s1 */ SET SESSION foreign_key_checks = 0;\n";
        assert_eq!(told_of(off, &parents, &orphan), None);
        // Numbers that may be equal and look different.
        assert_eq!(
            told_of("", &[Value::Decimal("3.0".to_owned())], &orphan),
            None
        );
    }
}
