//! Tables and their indexes at the end of a run: whatever reads a table finds the same rows, and the
//! engine's own check has nothing to say. `docs/oracle-tables.md` says what this may miss.

mod inserted;
mod orphan;

use std::collections::{BTreeMap, BTreeSet};

use self::orphan::OrphanRow;
use super::compare;
use super::signature::{finding_levels, indexed_column};
use crate::dialect::{Capability, Dialect};
use crate::model::{
    Aspect, Difference, Direction, Execution, Finding, FindingKind, ReadMoment, Row, Setting,
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
        let orphan = orphan::find(case, execution, dialect);
        return orphan.map(|found| orphan_finding(case, execution, found));
    };
    let (kind, headline) = told(first);
    Some(Finding {
        signature: Signature::new(
            TABLES,
            kind,
            finding_levels(case),
            words_of(case, execution, first, dialect),
        ),
        headline,
        differences: faults.iter().map(difference).collect(),
        explanation: vec![when_read(first).to_owned()],
    })
}

/// Rows of one table that have the same unique key: no serial run can hold them, so that nothing else
/// can be judged.
pub fn doubled_key(case: &TestCase, execution: &Execution) -> Option<Finding> {
    let keeps_indexes = keeps_indexes(case);
    let (shape, key, rows) = case.tables.iter().find_map(|shape| {
        let rows = execution.final_state.get(&shape.name)?;
        let is_primary = |key: &&Vec<String>| shape.primary_key.as_ref() == Some(*key);
        let keys = shape.unique_keys.iter();
        let mut keys = keys.filter(|key| keeps_indexes || is_primary(key));
        keys.find_map(|key| Some((shape, key, doubled(shape, key, rows)?)))
    })?;
    let (table, rows) = (&shape.name, compare::rows_text(&rows));
    let key = match shape.primary_key.as_ref() == Some(key) {
        true => "primary key".to_owned(),
        false => format!("unique key ({})", key.join(", ")),
    };
    let headline = format!("rows of {table} have the same {key}: {rows}");
    let expected = format!("one row for each {key}");
    let sides = (expected.as_str(), rows.as_str());
    Some(wrong_rows(
        case,
        execution,
        (table, Vec::new()),
        headline,
        sides,
    ))
}

fn orphan_finding(case: &TestCase, execution: &Execution, found: OrphanRow) -> Finding {
    let OrphanRow {
        table,
        parent,
        row,
        words,
    } = found;
    let headline = format!("a row of {table} refers to no row of {parent}: {row}");
    let expected = format!("a row of {parent} for each row");
    let sides = (expected.as_str(), row.as_str());
    wrong_rows(case, execution, (&table, words), headline, sides)
}

/// A finding about rows that no table can hold; what is expected of it and what it has.
fn wrong_rows(
    case: &TestCase,
    execution: &Execution,
    (table, words): (&str, Vec<String>),
    headline: String,
    (expected, got): (&str, &str),
) -> Finding {
    let mut words: BTreeSet<String> = words.into_iter().collect();
    words.extend(features(case, execution, Some(table)));
    Finding {
        signature: Signature::new(
            TABLES,
            FindingKind::TableCheckFailed,
            finding_levels(case),
            words.into_iter().collect(),
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

/// Whether every index of the set-up is there to the end, and is looked at: a statement may drop one, and a setting may have
/// the engine leave checks out.
fn keeps_indexes(case: &TestCase) -> bool {
    case.statements.iter().all(|statement| {
        let effect = &statement.effect;
        let kind = effect.kind;
        !matches!(kind, StatementKind::PhysicalDdl | StatementKind::Opaque)
            && effect.setting != Some(Setting::Other)
    })
}

/// The first rows that have the same values in these columns, none of which is NULL.
fn doubled(shape: &TableShape, key: &[String], rows: &[Row]) -> Option<Vec<Row>> {
    let places = key.iter().map(|name| shape.column(name));
    let places = places.collect::<Option<Vec<usize>>>()?;
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

/// What else may have been under way when the table was read.
fn when_read(fault: &TableFault) -> &'static str {
    match fault {
        TableFault::Unreadable {
            moment: ReadMoment::DuringRun,
            ..
        } => "no statement was running when the table was read",
        TableFault::Index { .. }
        | TableFault::Definition { .. }
        | TableFault::Unreadable { .. }
        | TableFault::Check { .. } => "no transaction was open when the tables were read",
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
        TableFault::Definition {
            table,
            index,
            sql,
            is_there,
        } => {
            let state = match is_there {
                true => "still has the",
                false => "has no",
            };
            let headline = format!("{sql} was accepted, and {table} {state} index {index}");
            (FindingKind::TableCheckFailed, headline)
        }
        TableFault::Unreadable {
            table,
            moment,
            message,
        } => {
            let headline = format!("{table} cannot be read {moment}: {message}");
            (FindingKind::TableCheckFailed, headline)
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
        TableFault::Definition {
            index, is_there, ..
        } => {
            let (with, without) = (format!("index {index}"), format!("no index {index}"));
            match is_there {
                true => (without, with, Direction::Other),
                false => (with, without, Direction::Other),
            }
        }
        TableFault::Unreadable { message, .. } | TableFault::Check { message, .. } => (
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

/// What tells a fault from others of its kind: no write has a part in what DDL left undone.
fn words_of(
    case: &TestCase,
    execution: &Execution,
    fault: &TableFault,
    dialect: &Dialect,
) -> Vec<String> {
    match fault {
        TableFault::Definition { .. } => vec![StatementKind::PhysicalDdl.to_string()],
        TableFault::Unreadable { .. } | TableFault::Check { .. } => {
            features(case, execution, fault.table())
        }
        TableFault::Index {
            table,
            missing,
            extra,
            ..
        } => {
            let mut words = features(case, execution, Some(table));
            let rows: Vec<&Row> = missing.iter().chain(extra).collect();
            if dialect.supports(Capability::MergesOwnChanges)
                && inserted::over_locked_rows(case, execution, (table, &rows), dialect)
            {
                words.push("inserts-over-locked-row".to_owned());
            }
            words
        }
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
        features.extend(shape.indexed_generated_columns().map(indexed_column));
    }
    features.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::dialect_of;
    use crate::engine::{self, OpenOptions};
    use crate::execute::{Driver, Executor, Instrumentation};
    use crate::model::{Outcome, SetupKind, SetupStatement, StatementId, StatementRecord, Tick};
    use crate::reproducer::case_of;
    use crate::statement::shapes;

    /// A statement that was accepted and changed one row.
    pub(super) fn changed_one(id: StatementId, sent: Tick, answered: Tick) -> StatementRecord {
        StatementRecord {
            id,
            sent,
            waiting: None,
            waited_for: Vec::new(),
            answered,
            outcome: Outcome::Affected(1),
            transaction_survives: true,
            counted: None,
            reported: None,
            command_tag: None,
        }
    }

    /// What is told of a run on SQLite in which a session has put the first page of a table here.
    fn told_of_root_page(page: &str) -> Option<String> {
        let server = engine::open("sqlite:", &OpenOptions::default()).expect("it comes along");
        let mut driver = Driver::open(&*server, "rashomon_root_page").expect("a driver");
        let text = format!(
            "--! isolation = \"SERIALIZABLE\"\n\
             /* init */ CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER);\n\
             /* init */ INSERT INTO t VALUES (1, 2);\n\
             /* s1 */ PRAGMA writable_schema = ON;\n\
             /* s1 */ UPDATE sqlite_master SET rootpage = {page} WHERE name = 't';\n\
             /* s1 */ PRAGMA schema_version = 7777;\n"
        );
        let case = case_of(&text, server.dialect());
        let plain = Instrumentation::default();
        let execution = driver.execute(&case, &plain).expect("a run that ends");
        // A database that cannot be read cannot be seen to be ours, and stays; it is one in memory.
        drop(driver);
        fault(&case, &execution, server.dialect()).map(|finding| finding.headline)
    }

    #[test]
    fn a_run_that_leaves_a_table_unreadable_is_heard_and_one_that_can_be_read_tells_nothing() {
        let headline = told_of_root_page("9999").expect("a finding");
        let words = "t cannot be read at the end of the run: ";
        assert!(headline.starts_with(words), "{headline}");
        assert_eq!(told_of_root_page("rootpage"), None);
    }

    /// What is told of rows with one value of a unique column, behind a statement.
    fn told_of_doubled_rows(sql: &str) -> Option<String> {
        let dialect = dialect_of("mysql", "9.7");
        let text = format!(
            "--! isolation = \"SERIALIZABLE\"\n\
             /* init */ CREATE TABLE t (a INT PRIMARY KEY, b INT, UNIQUE KEY k (b));\n\
             /* s1 */ {sql};\n"
        );
        let mut execution = Execution::default();
        let rows = [[1, 5], [2, 5]].map(|row| row.map(Value::Integer).to_vec());
        execution.final_state.insert("t".to_owned(), rows.to_vec());
        doubled_key(&case_of(&text, &dialect), &execution).map(|finding| finding.headline)
    }

    #[test]
    fn rows_of_one_unique_key_are_told_unless_its_index_may_be_gone_or_unchecked() {
        let told = told_of_doubled_rows("UPDATE t SET b = 5");
        let words = "rows of t have the same unique key (b): ";
        assert!(told.is_some_and(|told| told.starts_with(words)));
        for sql in ["DROP INDEX k ON t", "SET SESSION unique_checks = 0"] {
            assert_eq!(told_of_doubled_rows(sql), None, "{sql}");
        }
    }

    fn doubled_in(sql: &str, rows: &[[Value; 2]]) -> usize {
        let dialect = dialect_of("sqlite", "99");
        let setup = [SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Schema,
        }];
        let shape = &shapes(&setup, &dialect)[0];
        let rows: Vec<Row> = rows.iter().map(|row| row.to_vec()).collect();
        let mut keys = shape.unique_keys.iter();
        let found = keys.find_map(|key| doubled(shape, key, &rows));
        found.map_or(0, |rows| rows.len())
    }

    #[test]
    fn two_rows_of_one_unique_key_are_found_and_nothing_else_is() {
        let one = |number| Value::Integer(number);
        let same = [[one(1), one(1)], [one(2), one(2)], [one(1), one(3)]];
        assert_eq!(
            doubled_in("CREATE TABLE t (a INT UNIQUE, b INT PRIMARY KEY)", &same),
            2
        );
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
}
