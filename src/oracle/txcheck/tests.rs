//! What txcheck confirms for the oracles that ask after it.

use super::TxCheck;
use crate::model::{IsolationLevel, Verdict};
use crate::observe::Learner;
use crate::oracle::view::tests::script::{Line, Rows, Script};
use crate::oracle::{Oracle, Troc};

const TABLE: &str = "CREATE TABLE t (pkey INTEGER PRIMARY KEY, vkey INT, c INT)";

/// The verdicts of txcheck and troc, which share one run: T1 adds 1 to `c` and leaves these rows, and `overwrite` takes the
/// row away before anybody reads it.
fn shared_verdicts(overwrite: &'static str, added: Rows, left: Rows) -> [Verdict; 2] {
    let lines = [
        Line::Answers(1, "UPDATE t SET vkey = 1000, c = c + 1 WHERE pkey = 1", 1),
        Line::Stands(added),
        Line::Answers(2, overwrite, 1),
        Line::Stands(left),
    ];
    let initial = [[1, 1, 5], [2, 2, 6]];
    let script = Script::new(IsolationLevel::ReadCommitted, TABLE, &initial, &lines);
    let learner = Learner::Observer;
    script.learned(|evidence, serial| {
        let mut evidence = evidence.clone();
        evidence.shared = true;
        let txcheck = TxCheck { learner }.judge(&evidence, serial);
        serial.reset().expect("the set-up again");
        let troc = Troc { learner }.judge(&evidence, serial);
        [txcheck, troc].map(|ruling| ruling.expect("an answer").verdict)
    })
}

#[test]
fn a_wrong_effect_that_is_overwritten_before_anybody_reads_it_is_heard() {
    for (overwrite, left) in [
        (
            "UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1",
            &[[1, 1001, 7], [2, 2, 6]][..],
        ),
        ("DELETE FROM t WHERE pkey = 1", &[[2, 2, 6]]),
    ] {
        let wrong = shared_verdicts(overwrite, &[[1, 1000, 7], [2, 2, 6]], left);
        let heard = wrong.iter().any(|v| matches!(v, Verdict::Violation(_)));
        assert!(heard, "{overwrite}: {wrong:?}");
        let right = shared_verdicts(overwrite, &[[1, 1000, 6], [2, 2, 6]], left);
        assert_eq!(right, [Verdict::Agree, Verdict::Agree], "{overwrite}");
    }
}
