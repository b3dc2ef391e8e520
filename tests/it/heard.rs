//! Faults planted in a real server, and whether they are heard in generated cases, at each level where
//! they can bite.

use std::io::{self, Write};
use std::path::Path;

use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::Driver;
use rashomon::generate::{GenerateOptions, LevelChoice, generate};
use rashomon::grammar::Grammar;
use rashomon::model::{Aspect, FindingKind, IsolationLevel, LockBreach, Verdict};
use rashomon::observe::Learner;
use rashomon::oracle::{ORACLES, TxCheck, hear};
use rashomon::reproducer;

use crate::plant::{Fault, Plant, PlantedServer, Rate, WriteKind};
use crate::servers::{Needs, url};

const LEVELS: [IsolationLevel; 3] = [
    IsolationLevel::ReadCommitted,
    IsolationLevel::RepeatableRead,
    IsolationLevel::Serializable,
];

/// Seven times fewer than the bound that holds for a fault in one statement of seven: what is planted
/// everywhere must be heard sooner.
const CASES: u64 = 140;

/// A server behind which a fault is always planted, and the way to it.
pub(crate) fn open_planted(url: &str, fault: Fault) -> (PlantedServer, Box<dyn Server>) {
    let plant = Plant {
        fault,
        rate: Rate::Always,
    };
    let planted = PlantedServer::before(url, plant);
    let options = OpenOptions {
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    let server = engine::open(&planted.url, &options).expect("the test server answers");
    (planted, server)
}

/// The kind of the first finding in a case in which the fault was planted.
pub(crate) fn first_finding(
    url: &str,
    fault: Fault,
    level: IsolationLevel,
    learner: Learner,
    shape: GenerateOptions,
) -> Option<FindingKind> {
    let (planted, server) = open_planted(url, fault);
    let place = Fault::ALL.iter().position(|(_, known)| *known == fault);
    let database = format!(
        "rashomon_heard_{}_{}_{learner:?}_{}_{}_{}_{}_{}_{}",
        place.unwrap_or_default(),
        LEVELS
            .iter()
            .position(|other| *other == level)
            .unwrap_or_default(),
        shape.plan_setting_percent,
        shape.foreign_key_percent,
        shape.view_percent,
        shape.trigger_percent,
        shape.extra_type_percent,
        shape.mode_percent
    );
    let mut driver = Driver::open(&*server, &database).expect("a database of our own");
    let grammar = Grammar::builtin(&server.dialect().engine).expect("built-in grammars are whole");
    let shape = GenerateOptions {
        levels: LevelChoice::One(level),
        ..shape
    };
    let oracle = TxCheck { learner };
    let found = (0..CASES).find_map(|index| {
        let case = generate(11, index, &shape, &grammar, server.dialect()).case;
        let hearing = hear(&case, &mut driver, &[&oracle]).expect("an answer");
        let was_planted = planted.planted.try_iter().count() > 0;
        let heard = hearing.violation(|_| was_planted)?;
        let finding = heard.finding()?;
        let headline = &finding.headline;
        let _ = writeln!(io::stderr(), "{fault} at {level}, case {index}: {headline}");
        Some(finding.signature.kind)
    });
    driver.close().expect("the database goes");
    found
}

/// Has a fault planted at every level, and tells what was found.
fn heard(test: &str, fault: Fault) -> Vec<FindingKind> {
    heard_at(test, fault, &LEVELS)
}

/// The same at the levels where it can bite.
fn heard_at(test: &str, fault: Fault, levels: &[IsolationLevel]) -> Vec<FindingKind> {
    let Some(url) = url(test, Needs::MariaDb) else {
        return Vec::new();
    };
    let of = |level| {
        first_finding(
            &url,
            fault,
            level,
            Learner::Observer,
            GenerateOptions::default(),
        )
        .unwrap_or_else(|| panic!("{fault} at {level}: not heard in {CASES} cases"))
    };
    levels.iter().copied().map(of).collect()
}

#[test]
fn writes_that_lie_are_heard() {
    for kind in [
        WriteKind::Update,
        WriteKind::Delete,
        WriteKind::Insert,
        WriteKind::InsertSelect,
        WriteKind::Replace,
        WriteKind::Upsert,
    ] {
        heard("writes_that_lie_are_heard", Fault::Lies(kind));
    }
}

#[test]
fn reads_that_miss_repeat_or_reorder_rows_are_heard() {
    let test = "reads_that_miss_repeat_or_reorder_rows";
    for fault in [
        Fault::ReadMissesRow,
        Fault::LoneReadMissesRow,
        Fault::ReadRepeatsRow,
        Fault::OrderForgotten,
    ] {
        heard(test, fault);
    }
    let [read_committed, repeatable_read, _] = LEVELS;
    for fault in [Fault::DirtyRead, Fault::OwnWriteInvisible] {
        heard_at(test, fault, &[read_committed, repeatable_read]);
    }
    for fault in [
        Fault::ReadOutsideSnapshot,
        Fault::RepeatableReadWithoutSnapshot,
    ] {
        heard_at(test, fault, &[repeatable_read]);
    }
}

/// One transaction in seven begins so, and another one has to commit before its first read.
#[test]
fn a_snapshot_that_is_taken_late_is_heard() {
    let Some(url) = url("a_snapshot_that_is_taken_late", Needs::MariaDb) else {
        return;
    };
    let short = GenerateOptions {
        transactions: 3..=5,
        statements: 1..=3,
        lone_percent: 60,
        ..GenerateOptions::default()
    };
    let (fault, level) = (Fault::SnapshotTakenLate, IsolationLevel::RepeatableRead);
    let found = first_finding(&url, fault, level, Learner::Observer, short);
    assert!(found.is_some(), "{fault}: not heard in {CASES} cases");
}

#[test]
fn ends_that_do_something_else_are_heard() {
    for fault in [
        Fault::CommitRollsBack,
        Fault::RollbackCommits,
        Fault::RollbackToIgnored,
        Fault::ReleaseRollsBack,
        Fault::FailedInsertLeavesRows,
        Fault::WriteCommits,
        Fault::RollbackKeepsLastWrite,
    ] {
        heard("ends_that_do_something_else", fault);
    }
}

/// The rows that it lets in cannot be put in place for the statements that see them.
#[test]
fn checks_that_are_forgotten_are_heard() {
    for kind in heard(
        "checks_that_are_forgotten_are_heard",
        Fault::ChecksForgotten,
    ) {
        assert_eq!(kind, FindingKind::Wrong(Aspect::Error));
    }
}

#[test]
fn foreign_keys_that_are_forgotten_are_heard() {
    let test = "foreign_keys_that_are_forgotten_are_heard";
    let shape = GenerateOptions {
        foreign_key_percent: 100,
        ..GenerateOptions::default()
    };
    let on = |needs| Some((needs, url(test, needs)?));
    let on = [Needs::MariaDb, Needs::Postgres].into_iter().filter_map(on);
    let on = on.flat_map(|(needs, url)| LEVELS.map(|level| (needs, url.clone(), level)));
    for (needs, url, level) in on {
        let fault = Fault::ForeignKeysForgotten;
        let found = first_finding(&url, fault, level, Learner::Observer, shape.clone());
        let found =
            found.unwrap_or_else(|| panic!("{needs:?}, {level}: not heard in {CASES} cases"));
        // On a busy machine a case has shown the fault by a refusal first, once. What was refused is printed above.
        let is_heard = matches!(
            found,
            FindingKind::Wrong(_)
                | FindingKind::RefusalWithoutCause
                | FindingKind::TableCheckFailed
        );
        assert!(is_heard, "{level}: {found}");
    }
}

#[test]
fn triggers_that_do_nothing_fire_twice_or_outlive_a_rollback_are_heard() {
    let Some(url) = url("heard_triggers", Needs::MariaDb) else {
        return;
    };
    let shape = GenerateOptions {
        trigger_percent: 100,
        ..GenerateOptions::default()
    };
    for fault in [
        Fault::TriggerDoesNothing,
        Fault::TriggerFiresTwice,
        Fault::TriggerOutlivesRollback,
    ] {
        for level in LEVELS {
            let found = first_finding(&url, fault, level, Learner::Observer, shape.clone());
            let found = found.unwrap_or_else(|| panic!("{fault} at {level}: not heard"));
            // Of what outlives a rollback the first sign may be a read that shows it.
            let is_of_changes = matches!(
                found,
                FindingKind::Wrong(Aspect::Effect | Aspect::FinalState | Aspect::Rows)
                    | FindingKind::UnexplainedChange
            );
            assert!(is_of_changes, "{fault} at {level}: {found}");
        }
    }
}

#[test]
fn collations_and_modes_that_are_forgotten_are_heard() {
    let test = "collations_and_modes_that_are_forgotten_are_heard";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let shape = GenerateOptions {
        extra_type_percent: 100,
        mode_percent: 100,
        ..GenerateOptions::default()
    };
    for fault in [Fault::CollationsForgotten, Fault::ModesForgotten] {
        for level in LEVELS {
            let found = first_finding(&url, fault, level, Learner::Observer, shape.clone());
            let found = found.unwrap_or_else(|| panic!("{fault} at {level}: not heard"));
            assert!(
                matches!(found, FindingKind::Wrong(_)),
                "{fault} at {level}: {found}"
            );
        }
    }
}

/// Neither a collation nor a mode of its own is an excuse for anything.
#[test]
fn faults_are_heard_beside_collations_and_modes() {
    let Some(url) = url(
        "faults_are_heard_beside_collations_and_modes",
        Needs::MariaDb,
    ) else {
        return;
    };
    for fault in [
        Fault::Lies(WriteKind::Update),
        Fault::Lies(WriteKind::Replace),
        Fault::DuplicateAnsweredOk,
        Fault::LostUpdateAfterWait,
    ] {
        let shape = GenerateOptions {
            extra_type_percent: 100,
            mode_percent: 100,
            ..GenerateOptions::default()
        };
        let level = IsolationLevel::ReadCommitted;
        let found = first_finding(&url, fault, level, Learner::Observer, shape);
        assert!(found.is_some(), "{fault}: not heard in {CASES} cases");
    }
}

/// PostgreSQL counts in its command tag, beside the rows that the run has a write return.
#[test]
fn counts_beside_returned_rows_are_heard() {
    let test = "counts_beside_returned_rows_are_heard";
    let Some(url) = url(test, Needs::Postgres) else {
        return;
    };
    for fault in [Fault::CountOffByOne, Fault::CountTooLow] {
        for level in LEVELS {
            let shape = GenerateOptions::default();
            let found = first_finding(&url, fault, level, Learner::Observer, shape);
            let found = found.unwrap_or_else(|| panic!("{fault} at {level}: not heard"));
            let of_counts = [
                FindingKind::MiscountedWrite,
                FindingKind::Wrong(Aspect::Affected),
            ];
            assert!(of_counts.contains(&found), "{fault} at {level}: {found}");
        }
    }
}

#[test]
fn counts_and_rows_off_by_one_are_heard() {
    for fault in [
        Fault::CountOffByOne,
        Fault::CountTooLow,
        Fault::RowTooFew,
        Fault::RowTooMany,
        Fault::InsertDropsRow,
        Fault::DuplicateAnsweredOk,
        Fault::DuplicateAnsweredForeignKey,
    ] {
        heard("counts_and_rows_off_by_one_are_heard", fault);
    }
}

#[test]
fn an_update_that_is_lost_after_a_wait_is_heard() {
    let test = "an_update_that_is_lost_after_a_wait_is_heard";
    heard(test, Fault::LostUpdateAfterWait);
}

#[test]
fn transactions_that_end_or_go_on_unasked_are_findings() {
    let test = "transactions_that_end_or_go_on_unasked_are_findings";
    for fault in [Fault::ErrorEndsTransaction, Fault::CommitLeavesOpen] {
        for kind in heard(test, fault) {
            assert_eq!(kind, FindingKind::WrongTransactionEnd, "{fault}");
        }
    }
}

#[test]
fn refusals_without_a_cause_are_findings() {
    let test = "refusals_without_a_cause_are_findings";
    for kind in heard(test, Fault::DeadlockFromNowhere) {
        assert_eq!(kind, FindingKind::RefusalWithoutCause);
    }
    for kind in heard(test, Fault::TimeoutFromNowhere) {
        assert_eq!(kind, FindingKind::RefusalWithoutCause);
    }
    // Beside DDL that other cases send, which is a cause.
    for kind in heard(test, Fault::DdlFromNowhere) {
        assert_eq!(kind, FindingKind::RefusalWithoutCause);
    }
}

#[test]
fn a_savepoint_that_a_return_to_it_forgets_is_missed() {
    let test = "a_savepoint_that_a_return_to_it_forgets_is_missed";
    for kind in heard(test, Fault::RollbackToForgets) {
        assert_eq!(kind, FindingKind::WrongSavepoint);
    }
}

#[test]
fn a_rollback_that_goes_one_savepoint_too_far_is_heard() {
    let test = "a_rollback_that_goes_one_savepoint_too_far_is_heard";
    heard(test, Fault::RollbackToOneTooMany);
}

#[test]
fn a_write_that_a_read_only_transaction_takes_is_heard() {
    let test = "a_write_that_a_read_only_transaction_takes_is_heard";
    heard(test, Fault::ReadOnlyForgotten);
}

/// A setting of the optimizer is an excuse for nothing: only the session that made it is another one.
#[test]
fn faults_are_heard_where_sessions_choose_their_plans() {
    let Some(url) = url(
        "faults_are_heard_where_sessions_choose_their_plans",
        Needs::MariaDb,
    ) else {
        return;
    };
    for fault in [
        Fault::Lies(WriteKind::Update),
        Fault::ErrorEndsTransaction,
        Fault::RollbackToOneTooMany,
    ] {
        let shape = GenerateOptions {
            plan_setting_percent: 100,
            ..GenerateOptions::default()
        };
        let level = IsolationLevel::RepeatableRead;
        let found = first_finding(&url, fault, level, Learner::Observer, shape);
        assert!(found.is_some(), "{fault}: not heard in {CASES} cases");
    }
}

/// Views and foreign keys are an excuse for nothing.
#[test]
fn faults_are_heard_through_views_and_beside_foreign_keys() {
    let Some(url) = url(
        "faults_are_heard_through_views_and_beside_foreign_keys",
        Needs::MariaDb,
    ) else {
        return;
    };
    for fault in [
        Fault::Lies(WriteKind::Update),
        Fault::Lies(WriteKind::Delete),
        Fault::Lies(WriteKind::Replace),
        Fault::CountOffByOne,
        Fault::LostUpdateAfterWait,
    ] {
        let shape = GenerateOptions {
            foreign_key_percent: 100,
            view_percent: 100,
            ..GenerateOptions::default()
        };
        let level = IsolationLevel::ReadCommitted;
        let found = first_finding(&url, fault, level, Learner::Observer, shape);
        assert!(found.is_some(), "{fault}: not heard in {CASES} cases");
    }
}

#[test]
fn probes_hear_what_the_observer_hears() {
    let Some(url) = url("probes_hear_what_the_observer_hears", Needs::MariaDb) else {
        return;
    };
    for fault in [
        Fault::Lies(WriteKind::Update),
        Fault::Lies(WriteKind::Delete),
        Fault::Lies(WriteKind::InsertSelect),
        Fault::RowTooFew,
        Fault::RowTooMany,
        Fault::LostUpdateAfterWait,
    ] {
        for level in [
            IsolationLevel::ReadCommitted,
            IsolationLevel::RepeatableRead,
        ] {
            let found = first_finding(
                &url,
                fault,
                level,
                Learner::Probes,
                GenerateOptions::default(),
            );
            assert!(
                found.is_some(),
                "{fault} at {level}: not heard in {CASES} cases"
            );
        }
    }
}

/// Its source is read before the wait and its parent after it: the rows of either moment are right, and
/// nothing else is.
#[test]
fn an_insert_that_waits_for_a_parent_of_its_source_and_lies_is_heard() {
    let test = "an_insert_that_waits_for_a_parent";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let path = "corpus/cases/innodb/insert-select-waits-for-a-parent-read-uncommitted.sql";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let file = reproducer::load(&path).expect("it reads");
    let faults = [
        Fault::None,
        Fault::Lies(WriteKind::InsertSelect),
        Fault::CountOffByOne,
        Fault::LostUpdateAfterWait,
    ];
    for fault in faults {
        let (_planted, server) = open_planted(&url, fault);
        let mut driver = Driver::open(&*server, "rashomon_heard_parent").expect("a database");
        let case = file.test_case(server.dialect()).expect("it runs");
        let oracle = TxCheck {
            learner: Learner::Observer,
        };
        let hearing = hear(&case, &mut driver, &[&oracle]).expect("an answer");
        let is_heard = matches!(hearing.verdict(), Verdict::Violation(_));
        assert_eq!(is_heard, fault != Fault::None, "{fault}: {hearing:?}");
        driver.close().expect("the database goes");
    }
}

/// What a write on PostgreSQL is made to return is part of its answer. Nobody reads the rows afterwards, so
/// that nothing else could be heard.
#[test]
fn returned_rows_that_disagree_with_their_write_are_heard() {
    let test = "returned_rows_that_disagree_with_their_write_are_heard";
    let Some(url) = url(test, Needs::Postgres) else {
        return;
    };
    let insert = "INSERT INTO t0 VALUES (3, 1000, 1), (4, 1001, 2)";
    let delete = "DELETE FROM t0 WHERE pkey < 5";
    let (miscounted, wrong_rows) = (
        FindingKind::MiscountedWrite,
        FindingKind::Wrong(Aspect::Rows),
    );
    let trials = [
        (Fault::None, insert, None),
        (Fault::None, delete, None),
        (Fault::ReturningMissesRow, insert, Some(miscounted)),
        (Fault::ReturningHidesRow, insert, Some(wrong_rows)),
        (Fault::ReturningChangesValue, delete, Some(wrong_rows)),
    ];
    for (fault, write, expected) in trials {
        let text = format!(
            "--! format = 1\n--! isolation = \"READ COMMITTED\"\n\
             /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
             /* init */ INSERT INTO t0 VALUES (1, 1, 10), (2, 2, 20), (7, 7, 70);\n\
             /* s2 */ BEGIN;\n/* s2 */ SELECT vkey FROM t0 WHERE pkey = 7;\n\
             /* s1 */ BEGIN;\n/* s1 */ {write};\n/* s1 */ COMMIT;\n/* s2 */ COMMIT;\n"
        );
        let verdict = heard_in(&url, fault, "rashomon_heard_returned", &text);
        let kind = if let Verdict::Violation(finding) = &verdict {
            Some(finding.signature.kind)
        } else {
            None
        };
        assert_eq!(kind, expected, "{fault}: {write}: {verdict:?}");
    }
}

/// What all oracles say of a case file through a server with a fault.
pub(crate) fn heard_in(url: &str, fault: Fault, database: &str, text: &str) -> Verdict {
    let (_planted, server) = open_planted(url, fault);
    let mut driver = Driver::open(&*server, database).expect("a database");
    let file = reproducer::read(text, "heard.sql").expect("a case file");
    let case = file.test_case(server.dialect()).expect("a case");
    let hearing = hear(&case, &mut driver, ORACLES).expect("an answer");
    driver.close().expect("the database goes");
    hearing.verdict()
}

/// The session that commits is asked nothing before the other one reads: a question would wait for the end, as
/// the session's next statement does.
#[test]
fn a_commit_that_is_done_later_than_it_is_answered_is_heard() {
    const LATE: &str = "\
        --! format = 1\n--! isolation = \"READ COMMITTED\"\n\
        /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
        /* init */ INSERT INTO t0 VALUES (1, 1, 10), (2, 2, 20);\n\
        /* s2 */ BEGIN;\n/* s2 */ SELECT vkey FROM t0 WHERE pkey = 2;\n\
        /* s1 */ BEGIN;\n/* s1 */ UPDATE t0 SET vkey = 1000, c0 = 3 WHERE pkey = 1;\n\
        /* s1 */ COMMIT;\n\
        /* s2 */ SELECT pkey, vkey, c0 FROM t0;\n/* s2 */ COMMIT;\n";
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = url("a_commit_that_is_done_later", needs) else {
            continue;
        };
        let said = |fault| heard_in(&url, fault, "rashomon_heard_late", LATE);
        assert_eq!(said(Fault::None), Verdict::Agree);
        let late = said(Fault::CommitComesLate);
        assert!(matches!(late, Verdict::Violation(_)), "{needs:?}: {late:?}");
        // What stays open is found at the end of the run.
        let open = said(Fault::CommitLeavesOpen);
        let is_end = matches!(&open, Verdict::Violation(finding) if finding.signature.kind == FindingKind::WrongTransactionEnd);
        assert!(is_end, "{needs:?}: {open:?}");
    }
}

/// Who waits for a transaction whose COMMIT was answered shows that it was not done.
#[test]
fn a_statement_that_waits_for_a_commit_that_was_answered_is_heard() {
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = url("a_statement_that_waits_for_a_commit", needs) else {
            continue;
        };
        for waits in [
            "SELECT pkey, c0 FROM t0 WHERE pkey = 1 FOR UPDATE",
            "UPDATE t0 SET vkey = 1001, c0 = 4 WHERE pkey = 1",
        ] {
            let text = format!(
                "--! format = 1\n--! isolation = \"READ COMMITTED\"\n\
                 /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
                 /* init */ INSERT INTO t0 VALUES (1, 1, 10), (2, 2, 20);\n\
                 /* s2 */ BEGIN;\n/* s2 */ SELECT vkey FROM t0 WHERE pkey = 2;\n\
                 /* s1 */ BEGIN;\n/* s1 */ UPDATE t0 SET vkey = 1000, c0 = 3 WHERE pkey = 1;\n\
                 /* s1 */ COMMIT;\n/* s2 */ {waits};\n/* s2 */ COMMIT;\n"
            );
            let said = |fault| heard_in(&url, fault, "rashomon_heard_outlived", &text);
            assert_eq!(said(Fault::None), Verdict::Agree);
            let late = said(Fault::CommitComesLate);
            let is_wait = matches!(&late, Verdict::Violation(finding)
                if finding.signature.kind == FindingKind::Lock(LockBreach::KeptPastEnd));
            assert!(is_wait, "{needs:?}: {waits}: {late:?}");
        }
    }
}
