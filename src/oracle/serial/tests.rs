//! What a documented behaviour lets go of a run that no serial order explains, and what stays a violation beside it.

use super::SerialOracle;
use crate::model::{IsolationLevel, Verdict};
use crate::oracle::Oracle;
use crate::oracle::view::tests::script::Line::{Answers, Reads, Resumes, Returns, Stands, Waits};
use crate::oracle::view::tests::script::{Line, Rows, Script};

/// Rows above the number of rows; the subquery is not locked.
const READ: &str = "SELECT * FROM t WHERE (SELECT COUNT(*) FROM t) < pkey FOR UPDATE";

/// What the count of two rows gives, and the newest rows.
const TWO_MOMENTS: Rows = &[[3, 3, 0], [6, 6, 0], [11, 1006, 0]];

/// What the oracle says of a run at SERIALIZABLE.
fn judged(table: &str, initial: Rows, lines: &[Line]) -> Verdict {
    let script = Script::new(IsolationLevel::Serializable, table, initial, lines);
    script.learned(|evidence, serial| {
        let ruling = SerialOracle.judge(evidence, serial);
        ruling.expect("an answer").verdict
    })
}

/// T1 inserts a third row; then comes a read of session 2, and COMMIT before it or behind it.
fn verdict(tail: Vec<Line>) -> Verdict {
    let mut lines = vec![
        Answers(1, "BEGIN", 0),
        Answers(1, "INSERT INTO t VALUES (11, 1006, 0)", 1),
        Stands(TWO_MOMENTS),
    ];
    lines.extend(tail);
    let table = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT)";
    judged(table, &[[3, 3, 0], [6, 6, 0]], &lines)
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

/// Rows lie by `c`.
const UNIQUE_BESIDE_KEY: &str =
    "CREATE TABLE t (pkey INT NOT NULL UNIQUE, vkey INT, c INT PRIMARY KEY)";

/// Before and after row 2 was moved to another key.
const UNMOVED: Rows = &[[1, 0, 1], [2, 0, 50], [3, 0, 99]];
const MOVED: Rows = &[[1, 0, 1], [2, 0, 40], [3, 0, 99]];

/// T1 moves row 2 to another key; a read of session 2 waits for it, gives this, and may be followed by more.
fn beside_a_moved_row(read: &'static str, given: Rows, tail: Vec<Line>) -> Verdict {
    let mut lines = vec![
        Answers(1, "BEGIN", 0),
        Answers(1, "UPDATE t SET c = 40 WHERE pkey = 2", 1),
        Stands(MOVED),
        Waits(2, read),
        Answers(1, "COMMIT", 0),
        Returns(2, given),
    ];
    lines.extend(tail);
    judged(UNIQUE_BESIDE_KEY, UNMOVED, &lines)
}

#[test]
fn a_read_that_waited_for_a_row_that_moved_may_pass_it_over_and_nothing_else() {
    const ROW_2: &str = "SELECT * FROM t WHERE pkey = 2 FOR UPDATE";
    const COUNT: &str = "SELECT COUNT(*), 0, 0 FROM t WHERE pkey = 2 FOR UPDATE";
    let known = Verdict::Known("MySQL#119801".to_owned());
    assert_eq!(beside_a_moved_row(ROW_2, &[], Vec::new()), known);
    assert_eq!(beside_a_moved_row(COUNT, &[[0, 0, 0]], Vec::new()), known);
    assert_eq!(
        beside_a_moved_row(COUNT, &[[1, 0, 0]], Vec::new()),
        Verdict::Agree
    );
    // A row that did not move is missing, or one is there that should not be.
    const ALL: &str = "SELECT * FROM t FOR UPDATE";
    let wrong: [(&str, Rows); 3] = [
        (ALL, &[[1, 0, 1]]),
        (ROW_2, &[[3, 0, 99]]),
        (COUNT, &[[2, 0, 0]]),
    ];
    for (read, given) in wrong {
        let wrong = beside_a_moved_row(read, given, Vec::new());
        assert!(matches!(wrong, Verdict::Violation(_)), "{read}: {wrong:?}");
    }
    // Another read is wrong as well.
    let tail = vec![Reads(1, "SELECT * FROM t WHERE pkey = 3", &[])];
    let and_another = beside_a_moved_row(ROW_2, &[], tail);
    assert!(
        matches!(and_another, Verdict::Violation(_)),
        "{and_another:?}"
    );
}

#[test]
fn an_update_that_passed_over_a_row_that_moved_is_left_out_where_it_changed_nothing() {
    const CHANGED: Rows = &[[1, 0, 1], [2, 7, 40], [3, 0, 99]];
    let verdict = |answered: u64, stands: Rows| {
        let lines = [
            Answers(1, "BEGIN", 0),
            Answers(1, "UPDATE t SET c = 40 WHERE pkey = 2", 1),
            Stands(MOVED),
            Waits(2, "UPDATE t SET vkey = 7 WHERE pkey = 2"),
            Answers(1, "COMMIT", 0),
            Resumes(2, answered),
            Stands(stands),
        ];
        judged(UNIQUE_BESIDE_KEY, UNMOVED, &lines)
    };
    assert_eq!(verdict(1, CHANGED), Verdict::Agree);
    assert_eq!(verdict(0, MOVED), Verdict::Known("MySQL#119801".to_owned()));
    // It says that it changed the row, and did not.
    let lies = verdict(1, MOVED);
    assert!(matches!(lies, Verdict::Violation(_)), "{lies:?}");
}

const PLAIN: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT)";
const THREE: Rows = &[[1, 1, 0], [2, 2, 0], [3, 3, 0]];

/// Counts of rows, which show none: what they depend on is told by refutation alone.
const COUNT_1: &str = "SELECT COUNT(*), 0, 0 FROM t WHERE pkey = 1 AND c = 0";
const COUNT_2: &str = "SELECT COUNT(*), 0, 0 FROM t WHERE pkey = 2 AND c = 0";
const COUNT_3: &str = "SELECT COUNT(*), 0, 0 FROM t WHERE pkey = 3 AND c = 0";

fn headline(lines: &[Line]) -> String {
    match judged(PLAIN, THREE, lines) {
        Verdict::Violation(finding) => finding.headline,
        other @ (Verdict::Agree
        | Verdict::Known(_)
        | Verdict::Undecided(_)
        | Verdict::Flaky { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn two_of_three_transactions_that_have_no_order_are_told_as_a_cycle() {
    // T1 sees row 2 as T2 left it, and missed what T2 did to row 1.
    let skew = [
        Answers(1, "BEGIN", 0),
        Reads(1, COUNT_1, &[[1, 0, 0]]),
        Answers(2, "UPDATE t SET vkey = 1001, c = 1 WHERE pkey < 3", 2),
        Stands(&[[1, 1001, 1], [2, 1001, 1], [3, 3, 0]]),
        Answers(3, "UPDATE t SET vkey = 1002, c = 7 WHERE pkey = 3", 1),
        Stands(&[[1, 1001, 1], [2, 1001, 1], [3, 1002, 7]]),
        Reads(1, COUNT_2, &[[0, 0, 0]]),
        Answers(1, "COMMIT", 0),
    ];
    let told = headline(&skew);
    assert!(
        told.ends_with(": cycle: T1 -rw(t)-> T2 -wr(t)-> T1"),
        "{told}"
    );
}

#[test]
fn a_lost_update_that_a_later_read_shows_is_told_of_those_who_wrote() {
    let lost = |between: Vec<Line>, behind: Vec<Line>| {
        let mut lines = vec![
            Answers(1, "BEGIN", 0),
            Reads(1, COUNT_1, &[[1, 0, 0]]),
            Answers(2, "UPDATE t SET vkey = 1001, c = c + 1 WHERE pkey = 1", 1),
            Stands(&[[1, 1001, 1], [2, 2, 0], [3, 3, 0]]),
            Answers(1, "UPDATE t SET vkey = 1002, c = 7 WHERE pkey = 1", 1),
            Stands(&[[1, 1002, 7], [2, 2, 0], [3, 3, 0]]),
            Answers(1, "COMMIT", 0),
        ];
        lines.extend(between);
        let read = "SELECT SUM(c), 0, 0 FROM t WHERE pkey = 1";
        lines.push(Reads(2, read, &[[7, 0, 0]]));
        lines.extend(behind);
        headline(&lines)
    };
    // A third one may write over it, so that nothing shows at the end.
    let over = vec![
        Answers(3, "UPDATE t SET vkey = 1003, c = 8 WHERE pkey = 1", 1),
        Stands(&[[1, 1003, 8], [2, 2, 0], [3, 3, 0]]),
    ];
    // Or one may write something else before it is read.
    let elsewhere = [
        Answers(3, "UPDATE t SET vkey = 1003, c = 8 WHERE pkey = 3", 1),
        Stands(&[[1, 1002, 7], [2, 2, 0], [3, 1003, 8]]),
    ];
    for (between, behind) in [
        (Vec::new(), Vec::new()),
        (Vec::new(), over),
        (Vec::from(elsewhere), Vec::new()),
    ] {
        let told = lost(between, behind);
        let expected = ": cycle: T1 -rw(t)-> T2 -ww(t)-> T1";
        assert!(told.ends_with(expected), "{told}");
    }
}

#[test]
fn three_transactions_of_which_each_two_have_an_order_are_no_cycle_of_two() {
    const LEFT: Rows = &[[1, 1002, 1], [2, 1003, 1], [3, 1001, 1]];
    let circle = [
        Answers(1, "BEGIN", 0),
        Reads(1, COUNT_1, &[[1, 0, 0]]),
        Answers(2, "BEGIN", 0),
        Reads(2, COUNT_2, &[[1, 0, 0]]),
        Answers(3, "BEGIN", 0),
        Reads(3, COUNT_3, &[[1, 0, 0]]),
        Answers(1, "UPDATE t SET vkey = 1001, c = 1 WHERE pkey = 3", 1),
        Stands(&[[1, 1, 0], [2, 2, 0], [3, 1001, 1]]),
        Answers(2, "UPDATE t SET vkey = 1002, c = 1 WHERE pkey = 1", 1),
        Stands(&[[1, 1002, 1], [2, 2, 0], [3, 1001, 1]]),
        Answers(3, "UPDATE t SET vkey = 1003, c = 1 WHERE pkey = 2", 1),
        Stands(LEFT),
        Answers(1, "COMMIT", 0),
        Answers(2, "COMMIT", 0),
        Answers(3, "COMMIT", 0),
    ];
    let told = headline(&circle);
    assert!(told.contains(": in commit order "), "{told}");
}
