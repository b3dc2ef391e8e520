//! Numbers from the counter of a column, on real servers: a statement that is run again gets those that it took, and
//! a counter that breaks its promise is heard.

use std::sync::Arc;

use rashomon::dialect::Dialect;
use rashomon::engine::{EngineError, OpenOptions, open};
use rashomon::execute::{Driver, Executor, Instrumentation, SerialRun};
use rashomon::model::{Execution, FindingKind, IsolationLevel, TestCase, UndecidedReason, Verdict};
use rashomon::oracle::{Hearing, ORACLES, hear};

use crate::execute::case;
use crate::servers::{Needs, url};

const TABLE: &str = "
    init: CREATE TABLE t (pkey BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, vkey INT, c INT UNIQUE) ENGINE=InnoDB
    init: INSERT INTO t (pkey, vkey, c) VALUES (1, 1, 1), (2, 2, 2)
";

/// What is wrong with a planted server.
#[derive(Clone, Copy)]
enum Wrong {
    Nothing,
    /// It runs the second text where the first one is sent.
    Runs(&'static str, &'static str),
    /// Its answers name a number one greater than the first that was taken.
    NamesAnotherNumber,
    /// They name none.
    NamesNoNumber,
}

/// A driver before a server that does something wrong.
struct Planted<'d, 's> {
    inner: &'d mut Driver<'s>,
    wrong: Wrong,
}

impl Executor for Planted<'_, '_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        let mut sent = case.clone();
        if let Wrong::Runs(text, other) = self.wrong {
            let found = sent.statements.iter_mut().filter(|s| s.sql == text);
            let count = found.map(|s| s.sql = other.to_owned()).count();
            assert_eq!(count, 1, "{text}");
        }
        let mut execution = self.inner.execute(&sent, instrumentation)?;
        for record in execution.records.values_mut() {
            record.counted = match self.wrong {
                Wrong::Nothing | Wrong::Runs(..) => record.counted,
                Wrong::NamesAnotherNumber => record.counted.map(|number| number + 1),
                Wrong::NamesNoNumber => None,
            };
        }
        Ok(execution)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.inner.serial(case)
    }

    fn dialect(&self) -> &Arc<Dialect> {
        self.inner.dialect()
    }
}

/// Hears a script on each server that there is, and has the hearing looked at.
fn heard(
    test: &'static str,
    level: IsolationLevel,
    script: &str,
    wrong: Wrong,
    look: fn(&Hearing),
) {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url(test, needs) else {
            continue;
        };
        let options = OpenOptions {
            allow_shared_server: true,
            ..OpenOptions::default()
        };
        let server = open(&url, &options).expect("a server");
        let database = format!("rashomon_it_{test}");
        let mut driver = Driver::open(&*server, &database).expect("a driver");
        let case = case(&*server, level, &format!("{TABLE}{script}"));
        let mut planted = Planted {
            inner: &mut driver,
            wrong,
        };
        let hearing = hear(&case, &mut planted, ORACLES).expect("an answer");
        look(&hearing);
        driver.close().expect("the database goes");
    }
}

/// How many statements each oracle left out because nothing says which row took which number.
fn left_out(hearing: &Hearing) -> Vec<usize> {
    let is_cause = |reason: &&UndecidedReason| **reason == UndecidedReason::AutoIncrement;
    let rulings = hearing.rulings.iter();
    let counts = rulings.map(|heard| heard.ruling.untested.values().filter(is_cause).count());
    counts.collect()
}

fn kind(hearing: &Hearing) -> FindingKind {
    match hearing.verdict() {
        Verdict::Violation(finding) => finding.signature.kind,
        other @ (Verdict::Agree
        | Verdict::Known(_)
        | Verdict::Undecided(_)
        | Verdict::Flaky { .. }) => panic!("{other:?}"),
    }
}

/// A number that was lost by a rollback, numbers of several rows, of a query, of a row that takes another's place.
const EVERY_FORM: &str = "
    s1: BEGIN
    s1: INSERT INTO t (vkey, c) VALUES (1000, 10), (1000, 11)
    s2: BEGIN
    s2: INSERT INTO t VALUES (NULL, 1001, 12)
    s1: ROLLBACK
    s2: INSERT INTO t (pkey, vkey, c) VALUES (DEFAULT, 1002, 1) ON DUPLICATE KEY UPDATE vkey = 1002
    s2: INSERT INTO t (pkey, vkey, c) VALUES (0, 1003, 13), (50, 1003, 14)
    s2: INSERT INTO t (vkey) SELECT 1004 FROM t AS r ORDER BY r.pkey
    s2: REPLACE INTO t (vkey, c) VALUES (1005, 12)
    s2: INSERT IGNORE INTO t (vkey, c) VALUES (1006, 13), (1006, 15)
    s2: INSERT INTO t (vkey, c) VALUES (1007, 16), (1007, 13)
    s2: INSERT INTO t (vkey, c) VALUES (1008, 17)
    s2: COMMIT
    s1: SELECT pkey, vkey, c FROM t ORDER BY pkey
";

#[test]
fn every_statement_that_takes_numbers_is_judged_with_them() {
    const TEST: &str = "counters_judged";
    for level in [IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        heard(TEST, level, EVERY_FORM, Wrong::Nothing, |hearing| {
            assert_eq!(hearing.verdict(), Verdict::Agree);
            assert!(
                left_out(hearing).iter().all(|count| *count == 0),
                "{hearing:?}"
            );
        });
    }
}

#[test]
fn a_row_with_another_number_than_the_answer_names_is_heard() {
    const TEST: &str = "counters_named";
    let level = IsolationLevel::ReadCommitted;
    for wrong in [Wrong::NamesAnotherNumber, Wrong::NamesNoNumber] {
        heard(TEST, level, EVERY_FORM, wrong, |hearing| {
            assert_eq!(kind(hearing), FindingKind::MistoldNumber, "{hearing:?}");
        });
    }
}

/// A number that was given to a transaction that was rolled back.
const GIVEN_AND_LOST: &str = "
    s1: BEGIN
    s1: INSERT INTO t (vkey, c) VALUES (1000, 10)
    s1: ROLLBACK
    s2: INSERT INTO t (vkey, c) VALUES (1001, 11)
";

#[test]
fn a_counter_that_goes_back_at_a_rollback_is_heard() {
    const TEST: &str = "counters_rollback";
    let level = IsolationLevel::ReadCommitted;
    heard(TEST, level, GIVEN_AND_LOST, Wrong::Nothing, |hearing| {
        assert_eq!(hearing.verdict(), Verdict::Agree);
    });
    let again = Wrong::Runs(
        "INSERT INTO t (vkey, c) VALUES (1001, 11)",
        "INSERT INTO t (pkey, vkey, c) VALUES (3, 1001, 11)",
    );
    heard(TEST, level, GIVEN_AND_LOST, again, |hearing| {
        assert_eq!(kind(hearing), FindingKind::NumberGivenAgain);
    });
}

#[test]
fn a_number_that_a_row_already_has_is_heard() {
    let again = Wrong::Runs(
        "INSERT INTO t (vkey, c) VALUES (1001, 11)",
        "INSERT INTO t (pkey, vkey, c) VALUES (2, 1001, 11)",
    );
    let level = IsolationLevel::RepeatableRead;
    heard("counters_taken", level, GIVEN_AND_LOST, again, |hearing| {
        // Refused as a duplicate; given a number that no row has, it is not.
        assert!(
            matches!(kind(hearing), FindingKind::Wrong(_)),
            "{hearing:?}"
        );
    });
}

/// Which of two rows took which number, no order says.
const UNORDERED: &str = "
    s1: BEGIN
    s1: INSERT INTO t (vkey, c) SELECT 1000, r.c + 10 FROM t AS r
    s2: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 2
    s1: COMMIT
";

#[test]
fn a_query_without_an_order_is_left_out_and_nothing_else_is() {
    const TEST: &str = "counters_unordered";
    let level = IsolationLevel::ReadCommitted;
    heard(TEST, level, UNORDERED, Wrong::Nothing, |hearing| {
        assert_eq!(hearing.verdict(), Verdict::Agree);
        assert!(left_out(hearing).contains(&1), "{hearing:?}");
    });
    let lies = Wrong::Runs(
        "UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 2",
        "UPDATE t SET vkey = 1001, c = 8 WHERE pkey = 2",
    );
    heard(TEST, level, UNORDERED, lies, |hearing| {
        assert!(
            matches!(kind(hearing), FindingKind::Wrong(_)),
            "{hearing:?}"
        );
    });
}

/// A row that is given the number which the counter gives the one before it, where the counter was used before.
const MEETS_ITSELF: &str = "
    s1: INSERT INTO t (vkey, c) VALUES (999, 9)
    s1: INSERT INTO t (pkey, vkey, c) VALUES (NULL, 1000, 10), (4, 1000, 11)
    s1: INSERT INTO t (pkey, vkey, c) VALUES (NULL, 1001, 12), (2, 1001, 13)
";

#[test]
fn a_statement_that_may_meet_its_own_number_is_left_out_and_one_that_cannot_is_not() {
    const TEST: &str = "counters_meet";
    let level = IsolationLevel::RepeatableRead;
    heard(TEST, level, MEETS_ITSELF, Wrong::Nothing, |hearing| {
        assert_eq!(hearing.verdict(), Verdict::Agree);
        assert!(left_out(hearing).contains(&1), "{hearing:?}");
    });
    let refused = Wrong::Runs(
        "INSERT INTO t (pkey, vkey, c) VALUES (NULL, 1001, 12), (2, 1001, 13)",
        "INSERT INTO t (pkey, vkey, c) VALUES (NULL, 1001, 12), (9, 1001, 13)",
    );
    heard(TEST, level, MEETS_ITSELF, refused, |hearing| {
        assert!(
            matches!(kind(hearing), FindingKind::Wrong(_)),
            "{hearing:?}"
        );
    });
}

const MEETS_ITSELF_FIRST: &str = "
    s1: INSERT INTO t (pkey, vkey, c) VALUES (NULL, 1000, 10), (3, 1000, 11)
";

/// A right engine refuses the statement for a duplicate: a finding must expect that, not what other numbers come to.
#[test]
fn a_statement_that_meets_its_own_number_is_judged_where_nothing_used_the_counter_before() {
    const TEST: &str = "counters_meet_first";
    let level = IsolationLevel::RepeatableRead;
    heard(TEST, level, MEETS_ITSELF_FIRST, Wrong::Nothing, |hearing| {
        assert_eq!(hearing.verdict(), Verdict::Agree);
        assert!(
            left_out(hearing).iter().all(|count| *count == 0),
            "{hearing:?}"
        );
    });
    // It puts in no row, and is refused for another reason.
    for other in [
        "INSERT INTO t (vkey, c) SELECT 1000, 10 FROM t AS r WHERE r.pkey = 9",
        "INSERT INTO t (pkey, vkey, c) VALUES (NULL, 1000, 99999999999)",
    ] {
        let text = "INSERT INTO t (pkey, vkey, c) VALUES (NULL, 1000, 10), (3, 1000, 11)";
        let wrong = Wrong::Runs(text, other);
        heard(TEST, level, MEETS_ITSELF_FIRST, wrong, |hearing| {
            let Verdict::Violation(finding) = hearing.verdict() else {
                panic!("{hearing:?}");
            };
            let first = finding.differences.first().expect("a difference");
            assert!(first.expected.contains("duplicate"), "{finding:?}");
        });
    }
}

/// The statement that waits has taken its number, and the one that it waits for gives a row the same.
const GIVEN_MEANWHILE: &str = "
    s1: BEGIN
    s1: UPDATE t SET vkey = 1000
    s2: INSERT INTO t (vkey, c) VALUES (1001, 10)
    s1: INSERT INTO t (pkey, vkey, c) VALUES (3, 1002, 11)
    s1: COMMIT
";

/// The same, and nobody gives a row a number meanwhile.
const ONLY_MEANWHILE: &str = "
    s1: BEGIN
    s1: UPDATE t SET vkey = 1000
    s2: INSERT INTO t (vkey, c) VALUES (1001, 10)
    s1: DELETE FROM t WHERE pkey = 1
    s1: COMMIT
";

#[test]
fn a_number_that_was_given_to_a_row_while_its_taker_waited_is_left_out_and_no_other_is() {
    const TEST: &str = "counters_meanwhile";
    let level = IsolationLevel::RepeatableRead;
    heard(TEST, level, GIVEN_MEANWHILE, Wrong::Nothing, |hearing| {
        assert_eq!(hearing.verdict(), Verdict::Agree);
        assert!(left_out(hearing).contains(&1), "{hearing:?}");
    });
    heard(TEST, level, ONLY_MEANWHILE, Wrong::Nothing, |hearing| {
        assert_eq!(hearing.verdict(), Verdict::Agree);
        let left_out = left_out(hearing);
        assert!(left_out.iter().all(|count| *count == 0), "{hearing:?}");
    });
    let refused = Wrong::Runs(
        "INSERT INTO t (vkey, c) VALUES (1001, 10)",
        "INSERT INTO t (pkey, vkey, c) VALUES (2, 1001, 10)",
    );
    heard(TEST, level, ONLY_MEANWHILE, refused, |hearing| {
        assert!(
            matches!(kind(hearing), FindingKind::Wrong(_)),
            "{hearing:?}"
        );
    });
}
