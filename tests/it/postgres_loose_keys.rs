//! Unique indexes that make no set of columns unique: over an expression, or of some rows only.

use rashomon::model::IsolationLevel::{RepeatableRead, Serializable};
use rashomon::model::{Execution, Outcome, Verdict};

use crate::lying::{OneDriver, hearing_of, honest, id, scripted};
use crate::oracles;
use crate::servers::Needs;

/// The second session waits for the first, which gives up the value that it takes.
const TAKEN: &str = "s1 BEGIN
s1 UPDATE t SET c0 = 9, vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 UPDATE t SET c0 = 1, vkey = 1001 WHERE pkey = 2
s1 COMMIT
s2 COMMIT
s1 SELECT * FROM t";

/// It is refused: the first changes another row.
const KEPT: &str = "s1 BEGIN
s1 UPDATE t SET c0 = 9, vkey = 1000 WHERE pkey = 3
s2 BEGIN
s2 UPDATE t SET c0 = 1, vkey = 1001 WHERE pkey = 2
s1 COMMIT
s2 ROLLBACK";

/// Nobody has given up a value.
const FREE: &str = "s1 BEGIN
s1 UPDATE t SET vkey = 1000 WHERE pkey = 1
s2 BEGIN
s2 UPDATE t SET c0 = 4, vkey = 1001 WHERE pkey = 2
s1 COMMIT
s2 COMMIT";

fn setup(index: &str) -> String {
    format!(
        "/* init */ CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
         /* init */ CREATE UNIQUE INDEX i ON t {index};\n\
         /* init */ INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);\n"
    )
}

/// The row is not found.
fn finds_nothing(run: &mut Execution) {
    let record = run.records.get_mut(&id(1, 2)).expect("it ran");
    record.outcome = Outcome::Affected(0);
}

#[test]
fn a_value_that_another_row_has_given_up_may_be_taken_before_the_snapshot_shows_that() {
    let test = "a_value_that_another_row_has_given_up";
    let Some(server) = oracles::server(test, Needs::Postgres) else {
        return;
    };
    let driver = OneDriver::of(&*server);
    for index in ["((c0 + 0))", "(c0) WHERE c0 < 5", "(c0)"] {
        for level in [RepeatableRead, Serializable] {
            let hear = |script, lie| {
                let case = scripted(&*server, level, &setup(index), script);
                hearing_of(&driver, &case, lie)
            };
            for (script, is_judged) in [(TAKEN, false), (KEPT, true), (FREE, true)] {
                let right = hear(script, honest);
                let verdict = right.verdict();
                assert_eq!(verdict, Verdict::Agree, "{index}, {level}: {script}");
                let mut rulings = right.rulings.iter();
                let tested = rulings.find(|heard| heard.oracle == "txcheck");
                let tested = tested.is_some_and(|heard| heard.ruling.tested.contains(&id(2, 2)));
                assert_eq!(tested, is_judged, "{index}, {level}: {script}");
                let wrong = hear(script, finds_nothing).verdict();
                assert!(
                    matches!(wrong, Verdict::Violation(_)),
                    "{index}, {level}: {script}\n{wrong}"
                );
            }
        }
    }
}
