//! Tables at the end of a run: read by each of their indexes, and checked by the engine itself.
//!
//! Every session has ended, so whatever reads a table must find the same rows.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::engine::EngineError;
use crate::model::{ErrorClass, Outcome, Row, SqlError, TableFault, TableShape, TestCase};

use super::hand::{Hand, accepted, text};

/// How a table is read by one of its indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexRead {
    table: String,
    index: String,
    /// Follows the table's name in a SELECT.
    by_index: String,
    /// The same for the scan that must give the same rows; none where it is the whole table.
    by_scan: Option<String>,
}

/// The indexes of the connection's database; none where no SELECT can name one.
pub(super) fn list_indexes(hand: &mut Hand<'_>) -> Result<Vec<IndexRead>, EngineError> {
    let sql = hand.dialect.spelling.list_indexes.trim().to_owned();
    if sql.is_empty() {
        return Ok(Vec::new());
    }
    let rows = hand.run(&sql)?;
    Ok(rows
        .iter()
        .filter_map(|row| match row.as_slice() {
            [table, index, by_index, by_scan] => Some(IndexRead {
                table: text(table)?,
                index: text(index)?,
                by_index: text(by_index)?,
                by_scan: text(by_scan),
            }),
            _ => None,
        })
        .collect())
}

/// At the end of which cases the engine is asked for its own check, where that is dear. Indexes are
/// read at the end of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineCheck {
    Every,
    /// One in as many as the dialect says, by what the case is.
    Sampled,
}

impl EngineCheck {
    pub(super) fn is_due(self, case: &TestCase, dialect: &Dialect) -> bool {
        let one_in = u64::from(dialect.spelling.check_tables_every.max(1));
        self == Self::Every || content_hash(case).is_multiple_of(one_in)
    }
}

/// FNV-1a (64 bits) over the texts of a case: the same on every machine.
pub(super) fn content_hash(case: &TestCase) -> u64 {
    let setup = case.setup.iter().map(|statement| &statement.sql);
    let statements = case.statements.iter().map(|statement| &statement.sql);
    let bytes = setup.chain(statements).flat_map(|sql| sql.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What is wrong with these tables. `scans` holds the rows of each, sorted. An index that the engine
/// does not read is dropped from the list.
pub(super) fn check(
    hand: &mut Hand<'_>,
    indexes: &mut Vec<IndexRead>,
    shapes: &[&TableShape],
    scans: &BTreeMap<String, Vec<Row>>,
) -> Result<Vec<TableFault>, EngineError> {
    let mut faults = Vec::new();
    for shape in shapes {
        let Some(scan) = scans.get(&shape.name) else {
            continue;
        };
        let own = |read: &mut IndexRead| read.table.eq_ignore_ascii_case(&shape.name);
        let mut left = Vec::new();
        for read in indexes.extract_if(.., own) {
            match read_by_index(hand, shape, &read, scan)? {
                IndexAnswer::Agrees => left.push(read),
                IndexAnswer::Fault(fault) => {
                    faults.push(fault);
                    left.push(read);
                }
                IndexAnswer::Refused(message) => {
                    tracing::warn!("{} is not read by {}: {message}", read.table, read.index);
                }
            }
        }
        indexes.extend(left);
    }
    Ok(faults)
}

/// What reading a table by an index came to.
enum IndexAnswer {
    Agrees,
    Fault(TableFault),
    /// The engine does not read the table by this index, and why: it is invisible.
    Refused(String),
}

fn read_by_index(
    hand: &mut Hand<'_>,
    shape: &TableShape,
    read: &IndexRead,
    scan: &[Row],
) -> Result<IndexAnswer, EngineError> {
    let all = hand.dialect.select_all(shape);
    let scan = match &read.by_scan {
        None => scan.to_vec(),
        Some(tail) => match sorted(hand.send(&format!("{all} {tail}"))?) {
            Ok(rows) => rows,
            Err(error) => return Ok(refused(shape, &error)),
        },
    };
    let by_index = match sorted(hand.send(&format!("{all} {}", read.by_index))?) {
        Ok(rows) => rows,
        Err(error) => return Ok(refused(shape, &error)),
    };
    if by_index == scan {
        return Ok(IndexAnswer::Agrees);
    }
    let (missing, extra) = difference(&scan, &by_index);
    Ok(IndexAnswer::Fault(TableFault::Index {
        table: shape.name.clone(),
        index: read.index.clone(),
        missing,
        extra,
    }))
}

/// The rows of an answer, sorted.
fn sorted(outcome: Outcome) -> Result<Vec<Row>, SqlError> {
    match outcome {
        Outcome::Rows(mut rows) => {
            rows.sort_unstable();
            Ok(rows)
        }
        Outcome::Affected(_) => Ok(Vec::new()),
        Outcome::Rejected(error) => Err(error),
    }
}

/// What it means that a table, which a scan reads, is not read by an index.
fn refused(shape: &TableShape, error: &SqlError) -> IndexAnswer {
    let message = format!("error {}: {}", error.code, error.message);
    match error.class {
        // A read has no conflict with anybody where no transaction is open, and changes no row.
        ErrorClass::Internal
        | ErrorClass::Deadlock
        | ErrorClass::LockTimeout
        | ErrorClass::Serialization
        | ErrorClass::Busy
        | ErrorClass::Duplicate
        | ErrorClass::NotNull
        | ErrorClass::ForeignKey
        | ErrorClass::Check
        | ErrorClass::Data
        | ErrorClass::TableChanged
        | ErrorClass::FailedTransaction
        | ErrorClass::ReadOnly => {
            let table = Some(shape.name.clone());
            IndexAnswer::Fault(TableFault::Check { table, message })
        }
        // SQLite has no class for a plan that an index does not give.
        ErrorClass::Missing
        | ErrorClass::Syntax
        | ErrorClass::Unsupported
        | ErrorClass::SchemaChanged
        | ErrorClass::Interrupted
        | ErrorClass::Privilege
        | ErrorClass::Resource
        | ErrorClass::Other => IndexAnswer::Refused(message),
    }
}

/// What only the scan has, and what only the index has; both are sorted.
fn difference(scan: &[Row], by_index: &[Row]) -> (Vec<Row>, Vec<Row>) {
    let (mut missing, mut extra) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (scan.iter().peekable(), by_index.iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a == b => {
                left.next();
                right.next();
            }
            (Some(a), Some(b)) if a < b => missing.extend(left.next().cloned()),
            (_, Some(_)) => extra.extend(right.next().cloned()),
            (Some(_), None) => missing.extend(left.next().cloned()),
            (None, None) => return (missing, extra),
        }
    }
}

/// What the engine's own check says.
pub(super) fn ask_the_engine(
    hand: &mut Hand<'_>,
    shapes: &[&TableShape],
) -> Result<Vec<TableFault>, EngineError> {
    let dialect = hand.dialect;
    let spelling = &dialect.spelling;
    if spelling.check_tables.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = shapes.iter().map(|s| dialect.quote(&s.name)).collect();
    let sql = spelling.check_tables.replace("{tables}", &names.join(", "));
    let rows = match hand.send(&sql)? {
        Outcome::Rejected(error) if error.class == ErrorClass::Internal => {
            let message = format!("error {}: {}", error.code, error.message);
            let table = match shapes {
                [shape] => Some(shape.name.clone()),
                _ => None,
            };
            return Ok(vec![TableFault::Check { table, message }]);
        }
        outcome @ (Outcome::Rows(_) | Outcome::Affected(_) | Outcome::Rejected(_)) => {
            accepted(&sql, outcome)?
        }
    };
    let faults = rows.iter().filter_map(|row| {
        let message = row.last().and_then(text)?;
        if spelling.check_passes.contains(&message) {
            return None;
        }
        // MySQL names the table in the first cell, with its database.
        let named = row.first().filter(|_| row.len() > 1).and_then(text);
        let table = shapes
            .iter()
            .find(|shape| named_by(named.as_deref(), shape));
        Some(TableFault::Check {
            table: table.map(|shape| shape.name.clone()),
            message,
        })
    });
    Ok(faults.collect())
}

fn named_by(named: Option<&str>, shape: &TableShape) -> bool {
    let last = named.and_then(|named| named.rsplit('.').next());
    last.is_some_and(|last| last.eq_ignore_ascii_case(&shape.name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::dialect::dialect_of;
    use crate::model::{SetupKind, SetupStatement, Value};
    use crate::statement::shapes;

    fn case_of(sql: &str) -> TestCase {
        let setup = vec![SetupStatement {
            sql: sql.to_owned(),
            kind: SetupKind::Rows,
        }];
        TestCase::new(setup, Vec::new(), Vec::new(), BTreeMap::new(), None)
    }

    fn due(engine: &str, check: EngineCheck) -> usize {
        let dialect = dialect_of(engine, "99");
        let cases = (0..1600).map(|number| case_of(&format!("INSERT {number}")));
        cases.filter(|case| check.is_due(case, &dialect)).count()
    }

    #[test]
    fn a_dear_check_is_asked_for_in_one_case_of_sixteen_by_the_text_of_the_case() {
        let sampled = due("mysql", EngineCheck::Sampled);
        assert!((60..140).contains(&sampled), "{sampled}");
        assert_eq!(due("mysql", EngineCheck::Sampled), sampled);
        assert_eq!(due("mysql", EngineCheck::Every), 1600);
        assert_eq!(due("mariadb", EngineCheck::Sampled), 1600);
        assert_eq!(due("sqlite", EngineCheck::Sampled), 1600);
    }

    #[test]
    fn an_index_that_only_an_error_of_its_kind_keeps_from_a_read_is_left_out() {
        let setup = case_of("CREATE TABLE t (a INT PRIMARY KEY)").setup;
        let tables = shapes(&setup, &dialect_of("mysql", "9.7"));
        let is_left_out = |class| {
            let (code, message) = ("1".to_owned(), String::new());
            let error = SqlError {
                code,
                class,
                message,
            };
            matches!(refused(&tables[0], &error), IndexAnswer::Refused(_))
        };
        assert!(is_left_out(ErrorClass::Missing));
        assert!(!is_left_out(ErrorClass::Internal));
        assert!(!is_left_out(ErrorClass::Data));
    }

    #[test]
    fn rows_are_compared_as_multisets() {
        let rows = |cells: &[i64]| -> Vec<Row> {
            cells
                .iter()
                .map(|cell| vec![Value::Integer(*cell)])
                .collect()
        };
        let (missing, extra) = difference(&rows(&[1, 2, 2, 4]), &rows(&[0, 2, 4, 4]));
        assert_eq!((missing, extra), (rows(&[1, 2]), rows(&[0, 4])));
    }
}
