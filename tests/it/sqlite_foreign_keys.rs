//! Foreign keys on SQLite, which counts the children that a statement leaves without a parent, and takes off those that had none.

use rashomon::engine::{self, OpenOptions};
use rashomon::model::{ErrorClass, Execution, Outcome, TransactionId, TransactionStatus, Verdict};
use rashomon::reproducer::read;

use crate::lying::{Lie, OneDriver, hearing_of, honest, id, rejected};
use crate::oracles::kind;

/// `t0` keeps the first session from deleting all of `t2`. The second one deletes the parent of another row of `t2`,
/// which goes with it.
const PARENT_AND_CHILD: &str =
    "corpus/cases/sqlite/deletes-a-parent-and-another-child-serializable.sql";

/// What txcheck says: the row of `t0` that is left without a parent in the end is heard by others.
fn said(text: &str, lie: Lie) -> String {
    let server = engine::open("sqlite:", &OpenOptions::default()).expect("SQLite is built in");
    let driver = OneDriver::of(&*server);
    let file = read(text, "test.sql").expect("a case file");
    let case = file.test_case(server.dialect()).expect("a case");
    let hearing = hearing_of(&driver, &case, lie);
    let verdicts = hearing.rulings.iter();
    let verdict = verdicts.filter(|heard| heard.oracle == "txcheck");
    let verdict: Option<&Verdict> = verdict.map(|heard| &heard.ruling.verdict).next();
    kind(verdict.expect("it applies"))
}

/// As if a statement of the first session had been answered so, and had left these row keys in `t2`.
fn answered(run: &mut Execution, outcome: Outcome, left: &[i64]) {
    let first = run.records.get_mut(&id(1, 1)).expect("it ran");
    let at = first.answered;
    let status = match outcome {
        Outcome::Rejected(_) => TransactionStatus::Aborted(at),
        Outcome::Rows(_) | Outcome::Affected(_) => TransactionStatus::Committed(at),
    };
    first.outcome = outcome;
    run.transactions.insert(TransactionId(1), status);
    let until = run.records[&id(2, 1)].answered;
    for seen in &mut run.observations {
        let keeps = |row: &rashomon::model::Row| {
            let key = row[0].as_integer();
            key.is_some_and(|key| left.contains(&key))
        };
        if seen.tick >= at
            && seen.tick < until
            && let Some(rows) = seen.tables.get_mut("t2")
        {
            rows.retain(keeps);
        }
    }
}

fn was_refused(run: &Execution) {
    let first = run.records[&id(1, 1)].outcome.error_class();
    assert_eq!(first, Some(ErrorClass::ForeignKey));
}

/// SQLite itself takes this for right where the parent of row 3 is missing.
fn deletes_what_is_referenced(run: &mut Execution) {
    was_refused(run);
    answered(run, Outcome::Affected(2), &[]);
}

fn deletes_only_the_other_row(run: &mut Execution) {
    was_refused(run);
    answered(run, Outcome::Affected(1), &[1]);
}

/// Nothing refers to row 3.
fn is_refused_for_nothing(run: &mut Execution) {
    assert_eq!(run.records[&id(1, 1)].outcome, Outcome::Affected(1));
    answered(run, rejected("787", ErrorClass::ForeignKey), &[1, 3]);
}

#[test]
fn a_write_alone_finds_the_parents_of_its_rows() {
    let text = std::fs::read_to_string(PARENT_AND_CHILD).expect("a case");
    assert_eq!(said(&text, |run| was_refused(run)), "agree");
    assert_eq!(said(&text, deletes_what_is_referenced), "wrong-error");
    assert_eq!(said(&text, deletes_only_the_other_row), "wrong-error");
    let other = text.replace("DELETE FROM t2;", "DELETE FROM t2 WHERE pkey = 3;");
    assert_eq!(said(&other, honest), "agree");
    assert_eq!(said(&other, is_refused_for_nothing), "wrong-error");
}
