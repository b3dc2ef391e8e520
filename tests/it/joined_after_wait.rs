//! Joins that waited on InnoDB at READ COMMITTED: which moment each reading of a row showed is open, and that covers no row which
//! did not change, and no version which nobody wrote.

use rashomon::model::IsolationLevel::ReadCommitted;
use rashomon::model::{Execution, Outcome, Row, Value, Verdict};

use crate::lying::{Lie, OneDriver, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::servers::Needs;

const TABLES: &str = "\
    /* init */ CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ CREATE TABLE t1 (pkey BIGINT NOT NULL PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);\n\
    /* init */ INSERT INTO t1 (pkey, vkey, c0) VALUES (1, 4, 10), (2, 5, 20), (3, 6, 30);\n";

const READ: &str = "SELECT r1.pkey, r1.c0, r2.c0 FROM t0 AS r1 JOIN t1 AS r2 ON r1.pkey = r2.pkey WHERE r1.c0 < 25 FOR UPDATE";

const UPDATE: &str =
    "UPDATE t0 JOIN t1 ON t0.pkey = t1.pkey SET t0.vkey = 1001 WHERE t0.c0 < 25 AND t1.c0 < 25";

fn numbers(values: &[i64]) -> Row {
    values.iter().copied().map(Value::Integer).collect()
}

/// The answer of the statement that waited.
fn read(run: &mut Execution) -> &mut Vec<Row> {
    match &mut run.records.get_mut(&id(2, 2)).expect("it ran").outcome {
        Outcome::Rows(rows) => rows,
        other @ (Outcome::Affected(_) | Outcome::Rejected(_)) => panic!("{other}"),
    }
}

fn lacks_an_unchanged_row(run: &mut Execution) {
    read(run).retain(|row| *row != numbers(&[2, 20, 20]));
}

fn gives_another_unchanged_row(run: &mut Execution) {
    read(run).push(numbers(&[3, 30, 30]));
}

fn gives_a_version_that_nobody_wrote(run: &mut Execution) {
    read(run)[0] = numbers(&[1, 12, 10]);
}

fn gives_the_row_as_it_was_before(run: &mut Execution) {
    read(run)[0] = numbers(&[1, 10, 10]);
}

/// The write is said to have touched so many rows, and one of them is seen otherwise from then on.
fn wrote(run: &mut Execution, (touched, from, to): (u64, [i64; 3], [i64; 3])) {
    let record = run.records.get_mut(&id(2, 2)).expect("it ran");
    record.outcome = Outcome::Affected(touched);
    let answered = record.answered;
    let later = run.observations.iter_mut();
    let later = later.filter(|observation| observation.tick >= answered);
    let seen = later.filter_map(|observation| observation.tables.get_mut("t0"));
    for table in seen.chain(run.final_state.get_mut("t0")) {
        for row in table.iter_mut().filter(|row| **row == numbers(&from)) {
            *row = numbers(&to);
        }
    }
}

fn leaves_an_unchanged_row(run: &mut Execution) {
    wrote(run, (1, [2, 1001, 20], [2, 2, 20]));
}

fn writes_another_unchanged_row(run: &mut Execution) {
    wrote(run, (3, [3, 3, 30], [3, 1001, 30]));
}

#[test]
fn a_join_that_waited_does_by_unchanged_rows_what_it_does_without_the_others() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = oracles::server("a_join_that_waited", needs) else {
            continue;
        };
        let driver = OneDriver::of(&*server);
        let said = |waits: &str, lie: Lie| {
            let script = format!(
                "s1 BEGIN\ns1 UPDATE t0 SET vkey = 1000, c0 = 11 WHERE pkey = 1\ns2 BEGIN\ns2 {waits}\ns1 COMMIT\ns2 COMMIT"
            );
            let case = scripted(&*server, ReadCommitted, TABLES, &script);
            hearing_of(&driver, &case, lie).verdict()
        };
        for waits in [READ, UPDATE] {
            assert_eq!(said(waits, honest), Verdict::Agree, "{needs:?}: {waits}");
        }
        let lies: [(&str, &str, Lie); 6] = [
            ("lacks an unchanged row", READ, lacks_an_unchanged_row),
            (
                "gives another unchanged row",
                READ,
                gives_another_unchanged_row,
            ),
            (
                "gives a version that nobody wrote",
                READ,
                gives_a_version_that_nobody_wrote,
            ),
            (
                "gives the row as it was before",
                READ,
                gives_the_row_as_it_was_before,
            ),
            ("leaves an unchanged row", UPDATE, leaves_an_unchanged_row),
            (
                "writes another unchanged row",
                UPDATE,
                writes_another_unchanged_row,
            ),
        ];
        let passed: Vec<String> = lies
            .into_iter()
            .map(|(what, waits, lie)| (what, said(waits, lie)))
            .filter(|(_, said)| !matches!(said, Verdict::Violation(_)))
            .map(|(what, said)| format!("{what}: {said}"))
            .collect();
        assert!(passed.is_empty(), "{needs:?}: {passed:#?}");
    }
}
