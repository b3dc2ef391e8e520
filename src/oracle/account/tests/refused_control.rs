//! Refusals of statements that look at no row.

use super::{Got, Place, innodb};
use crate::dialect::{dialect_of, dialect_with};
use crate::model::{ErrorClass, FindingKind, IsolationLevel};
use Got::{Done, Ends, Refused};

const REFUSAL: Option<FindingKind> = Some(FindingKind::RefusalWithoutCause);
const WRITE: (u32, &str, Got) = (1, "UPDATE t SET vkey = 3 WHERE pkey = 1", Done);

fn postgres(setup: &str) -> Place {
    let level = IsolationLevel::RepeatableRead;
    let mut place = Place::new(dialect_of("postgres", "18.0"), level);
    place.setup.push_str(setup);
    place
}

fn commit(place: &Place, got: Got) -> Option<FindingKind> {
    place.said(&[(1, "BEGIN", Done), WRITE, (1, "COMMIT", got)])
}

#[test]
fn a_commit_that_nothing_can_refuse_is_not_refused() {
    assert_eq!(commit(&innodb(), Done), None);
    for class in [
        ErrorClass::Duplicate,
        ErrorClass::ForeignKey,
        ErrorClass::ReadOnly,
        ErrorClass::Other,
    ] {
        assert_eq!(commit(&innodb(), Ends(class)), REFUSAL, "{class}");
        assert_eq!(commit(&postgres(""), Ends(class)), REFUSAL, "{class}");
    }
    // A full disk is the environment's.
    assert_eq!(commit(&innodb(), Ends(ErrorClass::Resource)), None);
}

#[test]
fn a_commit_may_be_refused_for_rows_where_it_looks_at_them() {
    let refused = Ends(ErrorClass::ForeignKey);
    let deferred = "/* init */ CREATE TABLE v (pkey INTEGER PRIMARY KEY, \
                    f INT REFERENCES t (pkey) DEFERRABLE INITIALLY DEFERRED);\n";
    assert_eq!(commit(&postgres(deferred), refused), None);
    let at_once =
        "/* init */ CREATE TABLE v (pkey INTEGER PRIMARY KEY, f INT REFERENCES t (pkey));\n";
    assert_eq!(commit(&postgres(at_once), refused), REFUSAL);
    let level = IsolationLevel::RepeatableRead;
    let late = Place::new(dialect_of("tidb", "8.5.0"), level);
    assert_eq!(commit(&late, Ends(ErrorClass::Duplicate)), None);
}

#[test]
fn a_begin_and_a_savepoint_are_not_refused() {
    let other = ErrorClass::Other;
    assert_eq!(innodb().said(&[(1, "BEGIN", Ends(other))]), REFUSAL);
    let marked = |sql, got| innodb().said(&[(1, "BEGIN", Done), WRITE, (1, sql, got)]);
    assert_eq!(marked("SAVEPOINT a", Refused(other)), REFUSAL);
    let gone = "ROLLBACK TO SAVEPOINT gone";
    assert_eq!(marked(gone, Refused(ErrorClass::Missing)), None);
    assert_eq!(marked(gone, Refused(other)), REFUSAL);
}

#[test]
fn a_commit_behind_an_error_that_ended_the_transaction_may_be_refused() {
    let dialect = dialect_with("mysql", "9.7.0", &[("innodb_rollback_on_timeout", "ON")]);
    let place = Place::new(dialect, IsolationLevel::RepeatableRead);
    let run = |got| {
        let commit = (1, "COMMIT", Refused(ErrorClass::Other));
        place.said(&[
            (2, "BEGIN", Done),
            (2, WRITE.1, Done),
            (1, "BEGIN", Done),
            (1, "SELECT vkey FROM t FOR UPDATE NOWAIT", got),
            commit,
        ])
    };
    assert_eq!(run(Refused(ErrorClass::LockTimeout)), REFUSAL);
    assert_eq!(run(Ends(ErrorClass::LockTimeout)), None);
}
