//! Rows of which an index disagrees, and an INSERT of their keys in a transaction that had locked them.

use std::collections::BTreeSet;

use crate::dialect::Dialect;
use crate::model::{
    CaseStatement, Execution, Outcome, Row, StatementKind, TableShape, TestCase, Value,
};
use crate::statement::value_keys;

/// Whether each of these rows of a table has a key that an accepted INSERT put in, in a transaction of which an earlier write or
/// read that locks had met rows of the table.
///
/// Of an INSERT .. SELECT the keys are not told by its text: it may have put in any.
pub(super) fn over_locked_rows(
    case: &TestCase,
    execution: &Execution,
    (table, rows): (&str, &[&Row]),
    dialect: &Dialect,
) -> bool {
    let Some(shape) = case.table(table) else {
        return false;
    };
    let row_key = shape.row_key.as_deref().unwrap_or_default();
    let Some(keys) = keys_of(shape, row_key, rows).filter(|keys| !keys.is_empty()) else {
        return false;
    };
    let mut inserted = BTreeSet::new();
    for statement in &case.statements {
        let mut targets = statement.effect.targets();
        if !targets.any(|target| target == table)
            || !changed_rows(execution, statement)
            || !locked_before(case, execution, statement, table)
        {
            continue;
        }
        let kind = statement.effect.kind;
        if kind == StatementKind::InsertSelect {
            return true;
        }
        if kind == StatementKind::Insert {
            inserted.extend(value_keys(&statement.sql, row_key, dialect).unwrap_or_default());
        }
    }
    keys.is_subset(&inserted)
}

/// None where one of the rows has no integer for its key.
fn keys_of(shape: &TableShape, row_key: &str, rows: &[&Row]) -> Option<BTreeSet<i64>> {
    let place = shape.column(row_key)?;
    let key = |row: &&Row| match row.get(place)? {
        Value::Integer(key) => Some(*key),
        Value::Unsigned(key) => i64::try_from(*key).ok(),
        Value::Null
        | Value::Real(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Temporal(_) => None,
    };
    rows.iter().map(key).collect()
}

fn changed_rows(execution: &Execution, statement: &CaseStatement) -> bool {
    let record = execution.records.get(&statement.id);
    record.is_some_and(|record| record.changed_rows().is_some_and(|rows| rows > 0))
}

/// Whether an earlier statement of the transaction may have locked rows of the table.
fn locked_before(
    case: &TestCase,
    execution: &Execution,
    statement: &CaseStatement,
    table: &str,
) -> bool {
    case.earlier_in_transaction(statement.id).any(|other| {
        let locks = matches!(
            other.effect.kind,
            StatementKind::LockingSelect | StatementKind::Update | StatementKind::Delete
        );
        let record = execution.records.get(&other.id);
        let is_answered =
            record.is_some_and(|record| !matches!(record.outcome, Outcome::Rejected(_)));
        locks && is_answered && other.effect.uses.iter().any(|used| used.table == table)
    })
}

#[cfg(test)]
mod tests {
    use super::super::fault;
    use super::super::tests::changed_one;
    use super::*;
    use crate::dialect::dialect_of;
    use crate::model::{TableFault, Tick};
    use crate::reproducer::case_of;

    /// What is told of an index that gives a row with the key 6 which a scan does not, behind these statements of one session.
    fn words(engine: &str, statements: &[&str]) -> Vec<String> {
        let dialect = dialect_of(engine, "99");
        let mut text = "/* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT);\n\
                        /* init */ INSERT INTO t0 (pkey, vkey) VALUES (6, 1), (7, 2);\n"
            .to_owned();
        for sql in statements {
            text.push_str(&format!("/* s1 */ {sql};\n"));
        }
        let case = case_of(&text, &dialect);
        let mut execution = Execution::default();
        for (at, statement) in case.statements.iter().enumerate() {
            let at = u32::try_from(at).expect("few");
            let record = changed_one(statement.id, Tick(2 * at), Tick(2 * at + 1));
            execution.records.insert(statement.id, record);
        }
        execution.table_faults.push(TableFault::Index {
            table: "t0".to_owned(),
            index: "i0".to_owned(),
            missing: Vec::new(),
            extra: vec![vec![Value::Integer(6), Value::Integer(1)]],
        });
        let finding = fault(&case, &execution, &dialect).expect("a fault");
        finding.signature.features
    }

    #[test]
    fn an_insert_over_a_row_that_its_transaction_has_locked_is_named_and_no_other_is() {
        let locks = "SELECT * FROM t0 FOR UPDATE";
        let named = |statements: &[&str]| {
            let words = words("tidb", statements);
            assert!(
                words.iter().any(|word| word.starts_with("insert")),
                "{words:?}"
            );
            words.iter().any(|word| word == "inserts-over-locked-row")
        };
        let of_6 = "INSERT INTO t0 (pkey, vkey) VALUES (6, 9)";
        assert!(named(&["BEGIN", locks, of_6, "COMMIT"]));
        let of_others = "INSERT INTO t0 (pkey, vkey) VALUES (8, 9)";
        assert!(!named(&["BEGIN", locks, of_others, "COMMIT"]));
        assert!(!named(&["BEGIN", "SELECT * FROM t0", of_6, "COMMIT"]));
        assert!(!named(&["BEGIN", of_6, locks, "COMMIT"]));
        assert!(!named(&["BEGIN", locks, "COMMIT", of_6]));
        let source = "INSERT INTO t0 (pkey, vkey) SELECT pkey, 9 FROM t0";
        assert!(named(&["BEGIN", locks, source, "COMMIT"]));
        let elsewhere = words("mysql", &["BEGIN", locks, of_6, "COMMIT"]);
        assert_eq!(elsewhere, ["insert"]);
    }
}
