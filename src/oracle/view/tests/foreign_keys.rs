//! Statements that waited and that look into another table for a foreign key.

use super::script::{Line, Rows, Script};
use super::{RC, is_violation};
use crate::model::Verdict;
use Line::{Answers, Resumes, Stands, Waits};

/// No child refers to a row of `t`.
const PARENT: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT);\n\
     /* init */ CREATE TABLE u (pkey INTEGER PRIMARY KEY, vkey INT, f INT, FOREIGN KEY (f) REFERENCES t (pkey))";

/// T1 gives row 1 another `c` while T2 waits for it; the verdict by how many parents T2 deletes and what it leaves.
fn deletes_parents(sql: &'static str, deleted: u64, left: Rows) -> Verdict {
    let lines = [
        Answers(1, "BEGIN", 0),
        Answers(2, "BEGIN", 0),
        Answers(1, "UPDATE t SET vkey = 1000, c = 20 WHERE pkey = 1", 1),
        Stands(&[[1, 1000, 20], [2, 2, 5]]),
        Waits(2, sql),
        Answers(1, "COMMIT", 0),
        Resumes(2, deleted),
        Stands(left),
        Answers(2, "COMMIT", 0),
    ];
    Script::new(RC, PARENT, &[[1, 1, 10], [2, 2, 5]], &lines).verdict()
}

#[test]
fn a_parent_that_was_deleted_by_what_it_was_before_the_wait_is_a_violation() {
    let both: Rows = &[[1, 1000, 20], [2, 2, 5]];
    let by_the_old = "DELETE FROM t WHERE c = 10";
    assert_eq!(deletes_parents(by_the_old, 0, both), Verdict::Agree);
    assert!(is_violation(&deletes_parents(by_the_old, 1, &[[2, 2, 5]])));
    // A row that counts only now was passed over or not.
    let by_the_new = "DELETE FROM t WHERE c = 20";
    assert_eq!(deletes_parents(by_the_new, 1, &[[2, 2, 5]]), Verdict::Agree);
    let agrees = |verdict: &Verdict| matches!(verdict, Verdict::Agree | Verdict::Known(_));
    assert!(agrees(&deletes_parents(by_the_new, 0, both)));
    assert!(is_violation(&deletes_parents(by_the_new, 2, &[])));
}
