//! What a documented behaviour lets go of a run that no serial order explains, and what stays a violation beside it.

use super::SerialOracle;
use crate::model::{IsolationLevel, Verdict};
use crate::oracle::Oracle;
use crate::oracle::view::tests::script::Line::{Answers, Reads, Returns, Stands, Waits};
use crate::oracle::view::tests::script::{Line, Rows, Script};

/// Rows above the number of rows; the subquery is not locked.
const READ: &str = "SELECT * FROM t WHERE (SELECT COUNT(*) FROM t) < pkey FOR UPDATE";

/// What the count of two rows gives, and the newest rows.
const TWO_MOMENTS: Rows = &[[3, 3, 0], [6, 6, 0], [11, 1006, 0]];

/// T1 inserts a third row; then comes a read of session 2, and COMMIT before it or behind it.
fn verdict(tail: Vec<Line>) -> Verdict {
    let mut lines = vec![
        Answers(1, "BEGIN", 0),
        Answers(1, "INSERT INTO t VALUES (11, 1006, 0)", 1),
        Stands(TWO_MOMENTS),
    ];
    lines.extend(tail);
    let table = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT)";
    let initial = &[[3, 3, 0], [6, 6, 0]];
    let script = Script::new(IsolationLevel::Serializable, table, initial, &lines);
    script.learned(|evidence, serial| {
        let ruling = SerialOracle.judge(evidence, serial);
        ruling.expect("an answer").verdict
    })
}

#[test]
fn a_locking_read_that_waited_may_have_counted_before_it() {
    let commit = || Answers(1, "COMMIT", 0);
    let waited = || vec![Waits(2, READ), commit(), Returns(2, TWO_MOMENTS)];
    let known = Verdict::Known("documented:subquery-of-a-locking-read".to_owned());
    assert_eq!(verdict(waited()), known);
    // It did not wait, or another read is wrong as well.
    let at_once = verdict(vec![commit(), Reads(2, READ, TWO_MOMENTS)]);
    assert!(matches!(at_once, Verdict::Violation(_)), "{at_once:?}");
    let mut and_another = waited();
    and_another.push(Reads(2, "SELECT * FROM t", &[[3, 3, 0]]));
    let and_another = verdict(and_another);
    assert!(
        matches!(and_another, Verdict::Violation(_)),
        "{and_another:?}"
    );
}
