//! READ ONLY that outlives the abort of its transaction: who is refused for it, and who is not.

use super::{Line, Script, id, script};
use crate::model::{ErrorClass, IsolationLevel, Outcome, SqlError, StatementId};
use crate::observe::Timeline;

const READ_ONLY: &str = "START TRANSACTION READ ONLY";
const UPDATE: &str = "UPDATE t SET vkey = 1000 WHERE pkey = 1";

fn reject(script: &mut Script, id: StatementId, class: ErrorClass, survives: bool) {
    let record = script.execution.records.get_mut(&id).expect("it ran");
    record.transaction_survives = survives;
    record.outcome = Outcome::Rejected(SqlError {
        code: String::new(),
        class,
        message: String::new(),
    });
}

/// Whether an UPDATE that is refused as READ ONLY is laid to a transaction before it, in whose second
/// statement this happened.
fn held(begin: &str, end: Option<ErrorClass>, then: &[Line<'_>]) -> bool {
    let select = "SELECT * FROM t WHERE pkey = 2";
    let mut lines: Vec<Line<'_>> = vec![(1, begin, None), (1, select, None), (1, "COMMIT", None)];
    lines.extend(then);
    lines.push((1, UPDATE, None));
    let mut script = script(IsolationLevel::Serializable, None, &lines);
    if let Some(class) = end {
        reject(&mut script, id(1, 2), class, false);
        // What is left of the transaction is not sent.
        script.execution.records.remove(&id(1, 3));
    }
    let update = script.case.statements.last().expect("the UPDATE").id;
    reject(&mut script, update, ErrorClass::ReadOnly, true);
    let timeline = Timeline::new(&script.case, &script.execution, &script.dialect);
    timeline.held_read_only(update)
}

#[test]
fn a_write_after_the_abort_of_a_read_only_transaction_is_held_until_the_next_end() {
    let deadlock = Some(ErrorClass::Deadlock);
    assert!(held(READ_ONLY, deadlock, &[]));
    let select = (1, "SELECT * FROM t WHERE pkey = 9", None);
    assert!(held(READ_ONLY, deadlock, &[select]));
    let whole = [(1, "BEGIN", None), select, (1, "COMMIT", None)];
    assert!(!held(READ_ONLY, deadlock, &whole));
}

#[test]
fn a_refusal_without_such_an_abort_is_excused_by_nothing() {
    assert!(!held("BEGIN", Some(ErrorClass::Deadlock), &[]));
    assert!(!held(READ_ONLY, None, &[]));
    let of_another = [(2, READ_ONLY, None), (2, "COMMIT", None)];
    assert!(!held("BEGIN", None, &of_another));
}
