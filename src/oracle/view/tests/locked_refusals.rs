//! Writes of one row that waited and were refused for a row that was gone, or was there, when they went on.

use super::script::{Line, Rows, Script};
use super::{RC, TABLE, is_violation};
use crate::dialect::dialect_of;
use crate::model::{ErrorClass, SqlError, Verdict};
use Line::{Answers, Refused, Resumes, Stands, Waits};

const BY_C: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT UNIQUE)";
const FAMILY: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT, FOREIGN KEY (c) REFERENCES t (pkey))";

/// What T2's write comes to.
enum End {
    Counts(u64, Rows),
    Fails(ErrorClass, &'static str),
}

/// As SQLite, which runs statements alone here, refuses one for a row key and for another key.
const DUPLICATE: End = End::Fails(ErrorClass::Duplicate, "1555");
const DUPLICATE_C: End = End::Fails(ErrorClass::Duplicate, "2067");
const ORPHAN: End = End::Fails(ErrorClass::ForeignKey, "787");

/// A table, its rows, what T1 does to it, and what T2 is sent while T1 is open.
struct Wait {
    table: &'static str,
    initial: Rows,
    first: &'static [(&'static str, Rows)],
    second: &'static str,
}

impl Wait {
    fn verdict(&self, end: End) -> Verdict {
        self.verdict_on("mysql", "9.7.0", end)
    }

    fn verdict_on(&self, engine: &str, version: &str, end: End) -> Verdict {
        let mut lines = vec![Answers(1, "BEGIN", 0), Answers(2, "BEGIN", 0)];
        for (sql, stands) in self.first {
            lines.extend([Answers(1, sql, 1), Stands(stands)]);
        }
        lines.extend([Waits(2, self.second), Answers(1, "COMMIT", 0)]);
        let stood = self.first.last().map_or(self.initial, |(_, stands)| stands);
        match end {
            End::Counts(count, left) => lines.extend([Resumes(2, count), Stands(left)]),
            End::Fails(class, code) => {
                let message = String::new();
                let code = code.to_owned();
                let error = SqlError {
                    code,
                    class,
                    message,
                };
                lines.extend([Refused(2, error), Stands(stood)]);
            }
        }
        lines.push(Answers(2, "COMMIT", 0));
        let dialect = dialect_of(engine, version);
        Script::on(dialect, RC, self.table, self.initial, &lines).verdict()
    }
}

const GIVEN_UP: Wait = Wait {
    table: TABLE,
    initial: &[[1, 1, 0], [2, 2, 5]],
    first: &[("DELETE FROM t WHERE pkey = 1", &[[2, 2, 5]])],
    second: "INSERT INTO t VALUES (1, 1001, 5)",
};

#[test]
fn an_insert_refused_as_a_duplicate_of_a_row_that_went_while_it_waited_is_a_violation() {
    let inserted = End::Counts(1, &[[1, 1001, 5], [2, 2, 5]]);
    assert_eq!(GIVEN_UP.verdict(inserted), Verdict::Agree);
    assert!(is_violation(&GIVEN_UP.verdict(DUPLICATE)));
    let taken_again = Wait {
        first: &[
            ("DELETE FROM t WHERE pkey = 1", &[[2, 2, 5]]),
            (
                "INSERT INTO t VALUES (1, 1000, 7)",
                &[[1, 1000, 7], [2, 2, 5]],
            ),
        ],
        ..GIVEN_UP
    };
    assert_eq!(taken_again.verdict(DUPLICATE), Verdict::Agree);
    // Of several rows one may have been looked at before the wait.
    let several = Wait {
        second: "INSERT INTO t VALUES (1, 1001, 5), (7, 1001, 5)",
        ..GIVEN_UP
    };
    assert_eq!(several.verdict(DUPLICATE), Verdict::Agree);
}

#[test]
fn so_it_is_where_a_statement_that_waited_begins_anew() {
    let on_tidb = |wait: &Wait, end| wait.verdict_on("tidb", "8.5.0", end);
    let inserted = End::Counts(1, &[[1, 1001, 5], [2, 2, 5]]);
    assert_eq!(on_tidb(&GIVEN_UP, inserted), Verdict::Agree);
    assert!(is_violation(&on_tidb(&GIVEN_UP, DUPLICATE)));
    // One key may have been found before the wait for the other.
    let by_two_keys = Wait {
        table: BY_C,
        second: "INSERT INTO t VALUES (1, 1001, 8)",
        ..GIVEN_UP
    };
    assert_eq!(on_tidb(&by_two_keys, DUPLICATE), Verdict::Agree);
}

#[test]
fn an_update_refused_for_a_unique_value_that_was_given_up_while_it_waited_is_a_violation() {
    let wait = Wait {
        table: BY_C,
        initial: &[[1, 1, 3], [2, 2, 5], [3, 3, 6]],
        first: &[(
            "UPDATE t SET vkey = 1000, c = 9 WHERE pkey = 1",
            &[[1, 1000, 9], [2, 2, 5], [3, 3, 6]],
        )],
        second: "UPDATE t SET vkey = 1001, c = 3 WHERE pkey = 2",
    };
    let updated = End::Counts(1, &[[1, 1000, 9], [2, 1001, 3], [3, 3, 6]]);
    assert_eq!(wait.verdict(updated), Verdict::Agree);
    assert!(is_violation(&wait.verdict(DUPLICATE_C)));
    // Still taken: it was given up by nobody.
    let taken = Wait {
        second: "UPDATE t SET vkey = 1001, c = 9 WHERE pkey = 2",
        ..wait
    };
    assert_eq!(taken.verdict(DUPLICATE_C), Verdict::Agree);
    // Which rows a cursor takes for its own it may know from before the wait.
    let by_cursor = Wait {
        second: "UPDATE t SET vkey = 1001, c = 3 WHERE vkey = 2",
        ..taken
    };
    assert_eq!(by_cursor.verdict(DUPLICATE_C), Verdict::Agree);
}

#[test]
fn an_insert_refused_for_a_parent_that_came_while_it_waited_is_a_violation() {
    let came = Wait {
        table: FAMILY,
        initial: &[[1, 1, 1]],
        first: &[(
            "INSERT INTO t VALUES (2, 1000, 1)",
            &[[1, 1, 1], [2, 1000, 1]],
        )],
        second: "INSERT INTO t VALUES (3, 1001, 2)",
    };
    let inserted = End::Counts(1, &[[1, 1, 1], [2, 1000, 1], [3, 1001, 2]]);
    assert_eq!(came.verdict(inserted), Verdict::Agree);
    assert!(is_violation(&came.verdict(ORPHAN)));
    let went = Wait {
        initial: &[[1, 1, 1], [2, 2, 1]],
        first: &[("DELETE FROM t WHERE pkey = 2", &[[1, 1, 1]])],
        ..came
    };
    assert_eq!(went.verdict(ORPHAN), Verdict::Agree);
}
