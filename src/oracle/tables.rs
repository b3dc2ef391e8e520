//! Tables and their indexes at the end of a run: whatever reads a table finds the same rows, and the
//! engine's own check has nothing to say. `docs/oracle-tables.md` says what this may miss.

use std::collections::{BTreeMap, BTreeSet};

use super::compare;
use super::signature::finding_levels;
use crate::dialect::{Capability, Dialect};
use crate::model::{
    Aspect, Difference, Direction, Execution, Finding, FindingKind, ForeignKey, Row, Setting,
    Signature, StatementKind, TableFault, TableShape, TestCase, Value,
};

/// The name under which faults of tables are told.
pub const TABLES: &str = "tables";

/// What is wrong with the tables that a run left: an index that disagrees before a complaint of the
/// engine, because it says which rows, and a row that refers to no row.
pub fn fault(case: &TestCase, execution: &Execution, dialect: &Dialect) -> Option<Finding> {
    let is_index = |fault: &&TableFault| matches!(fault, TableFault::Index { .. });
    let faults = &execution.table_faults;
    let Some(first) = faults.iter().find(is_index).or_else(|| faults.first()) else {
        return orphan(case, execution, dialect);
    };
    let (kind, headline) = told(first);
    Some(Finding {
        signature: Signature::new(
            TABLES,
            kind,
            finding_levels(case),
            features(case, execution, first.table()),
        ),
        headline,
        differences: faults.iter().map(difference).collect(),
        explanation: vec!["no transaction was open when the tables were read".to_owned()],
    })
}

/// Rows of one table that have the same primary key: no serial run can hold them, so that nothing else
/// can be judged.
pub fn doubled_key(case: &TestCase, execution: &Execution) -> Option<Finding> {
    let (shape, rows) = case.tables.iter().find_map(|shape| {
        let rows = execution.final_state.get(&shape.name)?;
        Some((shape, doubled(shape, rows)?))
    })?;
    let (table, rows) = (&shape.name, compare::rows_text(&rows));
    let headline = format!("rows of {table} have the same primary key: {rows}");
    let sides = ("one row for each primary key", rows.as_str());
    Some(wrong_rows(case, execution, table, headline, sides))
}

/// A row at the end that refers to no row, though the engine enforces its foreign key: a check or an action went past
/// another transaction. Keys of integers alone are looked at, which are equal only where they look equal.
///
/// A session that did something which only the engine understands may have switched the checks off.
fn orphan(case: &TestCase, execution: &Execution, dialect: &Dialect) -> Option<Finding> {
    if !dialect.supports(Capability::ForeignKey) || checks_may_be_off(case) {
        return None;
    }
    let (child, key, row) = case.tables.iter().find_map(|child| {
        let mut keys = child.foreign_keys.iter();
        keys.find_map(|key| Some((child, key, orphan_of(case, execution, child, key)?)))
    })?;
    let (table, parent) = (&child.name, &key.parent);
    let row = compare::rows_text(&[row]);
    let headline = format!("a row of {table} refers to no row of {parent}: {row}");
    let expected = format!("a row of {parent} for each row");
    let sides = (expected.as_str(), row.as_str());
    Some(wrong_rows(case, execution, table, headline, sides))
}

/// A finding about rows that no table can hold; what is expected of it and what it has.
fn wrong_rows(
    case: &TestCase,
    execution: &Execution,
    table: &str,
    headline: String,
    (expected, got): (&str, &str),
) -> Finding {
    Finding {
        signature: Signature::new(
            TABLES,
            FindingKind::TableCheckFailed,
            finding_levels(case),
            features(case, execution, Some(table)),
        ),
        headline,
        differences: vec![Difference {
            statement: None,
            aspect: Aspect::FinalState,
            direction: Direction::Other,
            expected: format!("{table}: {expected}"),
            got: format!("{table}: {got}"),
        }],
        explanation: vec!["no transaction was open when the table was read".to_owned()],
    }
}

/// Whether the set-up or a session has changed a setting, or done something that only the engine understands.
fn checks_may_be_off(case: &TestCase) -> bool {
    let harmless = |setting| {
        let known = [Setting::LockTimeout, Setting::Plan, Setting::Mode].map(Some);
        known.contains(&setting)
    };
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

/// The first rows that have the same primary key.
fn doubled(shape: &TableShape, rows: &[Row]) -> Option<Vec<Row>> {
    let places = shape.primary_key.iter().flatten();
    let places: Vec<usize> = places
        .map(|name| shape.column(name))
        .collect::<Option<_>>()?;
    let mut by_key: BTreeMap<Vec<&Value>, Vec<Row>> = BTreeMap::new();
    for row in rows {
        let key = places.iter().map(|at| row.get(*at).filter(|v| is_exact(v)));
        if let Some(key) = key
            .collect::<Option<Vec<_>>>()
            .filter(|key| !key.is_empty())
        {
            by_key.entry(key).or_default().push(row.clone());
        }
    }
    by_key.into_values().find(|rows| rows.len() > 1)
}

/// Whether two values that are read alike are the same: other numbers are rounded when they are shown.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Integer(_) | Value::Unsigned(_) | Value::Text(_) | Value::Bytes(_) => true,
        Value::Null | Value::Real(_) | Value::Decimal(_) | Value::Temporal(_) => false,
    }
}

fn told(fault: &TableFault) -> (FindingKind, String) {
    match fault {
        TableFault::Index {
            table,
            index,
            missing,
            extra,
        } => {
            let headline = format!(
                "index {index} of {table} disagrees with a scan: missing {}; extra {}",
                compare::rows_text(missing),
                compare::rows_text(extra)
            );
            (FindingKind::IndexDisagrees, headline)
        }
        TableFault::Check { table, message } => {
            let place = table
                .as_ref()
                .map_or_else(String::new, |t| format!(" of {t}"));
            let headline = format!("the engine's own check{place} fails: {message}");
            (FindingKind::TableCheckFailed, headline)
        }
    }
}

fn difference(fault: &TableFault) -> Difference {
    let (expected, got, direction) = match fault {
        TableFault::Index {
            table,
            index,
            missing,
            extra,
        } => (
            format!("{table}: {}", compare::rows_text(missing)),
            format!("{table} by {index}: {}", compare::rows_text(extra)),
            compare::difference_direction(missing, extra),
        ),
        TableFault::Check { message, .. } => (
            "a sound table".to_owned(),
            message.clone(),
            Direction::Other,
        ),
    };
    Difference {
        statement: None,
        aspect: Aspect::FinalState,
        direction,
        expected,
        got,
    }
}

/// The kinds of the writes to the table, and what of its form engines special-case.
fn features(case: &TestCase, execution: &Execution, table: Option<&str>) -> Vec<String> {
    let writes = case.user_statements().filter(|statement| {
        let concerns = table.is_none_or(|t| statement.effect.targets().any(|target| target == t));
        concerns && execution.records.contains_key(&statement.id)
    });
    let mut features: BTreeSet<String> = writes
        .map(|statement| statement.effect.kind)
        .filter(|kind| kind.is_write() || *kind == StatementKind::Opaque)
        .map(|kind| kind.to_string())
        .collect();
    if let Some(shape) = table.and_then(|table| case.table(table)) {
        let partitioning = shape.partitioning.iter();
        features.extend(partitioning.map(|p| format!("partitioned-by-{}", p.method)));
        features.extend(shape.indexed_generated_columns().map(|column| {
            let storage = if column.stored { "stored" } else { "virtual" };
            format!("indexed-{storage}-column")
        }));
    }
    features.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::model::{SetupKind, SetupStatement};
    use crate::reproducer::case_of;
    use crate::statement::shapes;

    fn doubled_in(sql: &str, rows: &[[Value; 2]]) -> usize {
        let dialect = dialect_of("sqlite", "99");
        let setup = [SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Schema,
        }];
        let shape = &shapes(&setup, &dialect)[0];
        let rows: Vec<Row> = rows.iter().map(|row| row.to_vec()).collect();
        doubled(shape, &rows).map_or(0, |rows| rows.len())
    }

    #[test]
    fn two_rows_of_one_primary_key_are_found_and_nothing_else_is() {
        let one = |number| Value::Integer(number);
        let same = [[one(1), one(1)], [one(2), one(2)], [one(1), one(3)]];
        assert_eq!(
            doubled_in("CREATE TABLE t (a INT PRIMARY KEY, b INT)", &same),
            2
        );
        assert_eq!(
            doubled_in("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b))", &same),
            0
        );
        assert_eq!(doubled_in("CREATE TABLE t (a INT, b INT)", &same), 0);
        let nulls = [[Value::Null, one(1)], [Value::Null, one(2)]];
        assert_eq!(
            doubled_in("CREATE TABLE t (a INT PRIMARY KEY, b INT)", &nulls),
            0
        );
        let reals = [[Value::Real(0.1), one(1)], [Value::Real(0.1), one(2)]];
        assert_eq!(
            doubled_in("CREATE TABLE t (a REAL PRIMARY KEY, b INT)", &reals),
            0
        );
    }

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
        orphan(&case, &execution, &dialect).map(|finding| finding.headline)
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
