//! The oracles on real engines: honest runs agree, claims that do not hold are found.

use std::collections::BTreeMap;

use rashomon::dialect::Dialect;
use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::model::{
    Execution, IsolationLevel, ProbeTag, Row, SessionId, SetupStatement, StatementId, TestCase,
    Value, Verdict,
};
use rashomon::observe::{Account, Learner, Timeline, instrument, learn};
use rashomon::oracle::{Oracle, SerialOracle, TxCheck, hear};
use rashomon::statement;

use crate::servers::{self, Needs};

const OBSERVER: TxCheck = TxCheck {
    learner: Learner::Observer,
};
const PROBES: TxCheck = TxCheck {
    learner: Learner::Probes,
};

const SETUP: &[&str] = &[
    "CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT)",
    "INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20)",
];

/// A case from lines like `s1 BEGIN`.
fn case(
    dialect: &Dialect,
    level: IsolationLevel,
    claim: Option<IsolationLevel>,
    lines: &[&str],
) -> TestCase {
    let setup: Vec<SetupStatement> = SETUP
        .iter()
        .map(|sql| SetupStatement {
            sql: (*sql).to_owned(),
            kind: statement::setup_kind(sql, dialect),
        })
        .collect();
    let tables = statement::shapes(&setup, dialect);
    let lines: Vec<_> = lines
        .iter()
        .map(|line| {
            let (session, sql) = line.split_once(' ').expect("a session and a statement");
            let session = SessionId(session[1..].parse().expect("a session number"));
            (session, sql.to_owned(), statement::analyze(sql, dialect))
        })
        .collect();
    let isolation = lines
        .iter()
        .map(|(session, ..)| (*session, level))
        .collect();
    TestCase::new(setup, tables, lines, isolation, claim)
}

/// A server that other tests use, too.
pub(crate) fn server(test: &str, needs: Needs) -> Option<Box<dyn Server>> {
    let url = servers::url(test, needs)?;
    let options = OpenOptions {
        allow_shared_server: true,
        ..OpenOptions::default()
    };
    Some(engine::open(&url, &options).expect("the test server answers"))
}

/// Judges a case by an oracle on a database of its own.
fn judge(
    server: &dyn Server,
    name: &str,
    oracle: &dyn Oracle,
    level: IsolationLevel,
    claim: Option<IsolationLevel>,
    lines: &[&str],
) -> Verdict {
    let database = format!("rashomon_it_oracles_{name}_{}", std::process::id());
    let mut driver = Driver::open(server, &database).expect("a database of our own");
    let case = case(server.dialect(), level, claim, lines);
    let hearing = hear(&case, &mut driver, &[oracle]).expect("an answer");
    assert_eq!(hearing.inapplicable, []);
    driver.close().expect("the database goes");
    hearing.verdict()
}

/// Whether the case is no finding, and nothing of it was left open.
pub(crate) fn is_decided(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Agree | Verdict::Known(_))
}

/// The kind of a violation, or the verdict.
pub(crate) fn kind(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Violation(finding) => finding.signature.kind.to_string(),
        other @ (Verdict::Agree
        | Verdict::Known(_)
        | Verdict::Undecided(_)
        | Verdict::Flaky { .. }) => other.to_string(),
    }
}

const LOST_UPDATE: &[&str] = &[
    "s1 BEGIN",
    "s1 SELECT c0 FROM t0 WHERE pkey = 1",
    "s2 BEGIN",
    "s2 SELECT c0 FROM t0 WHERE pkey = 1",
    "s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1",
    "s1 COMMIT",
    "s2 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 1",
    "s2 COMMIT",
];

const NON_REPEATABLE_READ: &[&str] = &[
    "s1 BEGIN",
    "s1 SELECT * FROM t0",
    "s2 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1",
    "s1 SELECT * FROM t0",
    "s1 COMMIT",
];

const WRITE_SKEW: &[&str] = &[
    "s1 BEGIN",
    "s2 BEGIN",
    "s1 SELECT SUM(c0) FROM t0",
    "s2 SELECT SUM(c0) FROM t0",
    "s1 UPDATE t0 SET c0 = 11, vkey = 1000 WHERE pkey = 1",
    "s2 UPDATE t0 SET c0 = 12, vkey = 1001 WHERE pkey = 2",
    "s1 COMMIT",
    "s2 SELECT SUM(c0) FROM t0",
    "s2 COMMIT",
];

const BLOCKED_WRITE: &[&str] = &[
    "s1 BEGIN",
    "s1 UPDATE t0 SET c0 = c0 + 1, vkey = 1000 WHERE pkey = 1",
    "s2 BEGIN",
    "s2 UPDATE t0 SET c0 = c0 + 100, vkey = 1001 WHERE pkey = 1",
    "s1 COMMIT",
    "s2 SELECT * FROM t0",
    "s2 COMMIT",
];

#[test]
fn honest_runs_agree_at_every_level_by_both_learners() {
    let test = "honest_runs_agree_at_every_level_by_both_learners";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = server(test, needs) else {
            continue;
        };
        for level in IsolationLevel::ALL {
            for script in [LOST_UPDATE, NON_REPEATABLE_READ, WRITE_SKEW, BLOCKED_WRITE] {
                for oracle in [OBSERVER, PROBES] {
                    let verdict = judge(&*server, "honest", &oracle, level, None, script);
                    let fine = matches!(verdict, Verdict::Agree | Verdict::Undecided(_));
                    assert!(
                        fine,
                        "{needs:?} {level} {oracle:?} {script:?}: {verdict:#?}"
                    );
                }
                if level == IsolationLevel::Serializable {
                    let verdict = judge(&*server, "honest", &SerialOracle, level, None, script);
                    let fine = matches!(verdict, Verdict::Agree | Verdict::Undecided(_));
                    assert!(fine, "{needs:?} serial {script:?}: {verdict:#?}");
                }
            }
        }
    }
}

#[test]
fn honest_runs_agree_on_sqlite_in_both_journal_modes() {
    for url in ["sqlite:", "sqlite:?journal=delete"] {
        let server = engine::open(url, &OpenOptions::default()).expect("SQLite is built in");
        let level = IsolationLevel::Serializable;
        for script in [LOST_UPDATE, NON_REPEATABLE_READ, WRITE_SKEW, BLOCKED_WRITE] {
            let oracles: [&dyn Oracle; 3] = [&OBSERVER, &PROBES, &SerialOracle];
            for oracle in oracles {
                let verdict = judge(&*server, "sqlite", oracle, level, None, script);
                assert_eq!(
                    kind(&verdict),
                    "agree",
                    "{url} {} {script:?}",
                    oracle.name()
                );
            }
        }
    }
}

#[test]
fn a_false_claim_is_found_by_the_observer_and_not_by_probes() {
    let test = "a_false_claim_is_found_by_the_observer_and_not_by_probes";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = server(test, needs) else {
            continue;
        };
        let (run, claim) = (
            IsolationLevel::ReadCommitted,
            Some(IsolationLevel::RepeatableRead),
        );
        let seen = judge(
            &*server,
            "claim",
            &OBSERVER,
            run,
            claim,
            NON_REPEATABLE_READ,
        );
        assert_eq!(kind(&seen), "wrong-rows", "{needs:?}");
        let blind = judge(&*server, "claim", &PROBES, run, claim, NON_REPEATABLE_READ);
        assert_eq!(kind(&blind), "agree", "{needs:?}");
    }
}

#[test]
fn anomalies_below_serializable_have_no_serial_order() {
    let test = "anomalies_below_serializable_have_no_serial_order";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = server(test, needs) else {
            continue;
        };
        let claim = Some(IsolationLevel::Serializable);
        let anomalies = [
            (IsolationLevel::ReadCommitted, LOST_UPDATE),
            (IsolationLevel::ReadCommitted, NON_REPEATABLE_READ),
            (IsolationLevel::ReadCommitted, WRITE_SKEW),
            (IsolationLevel::RepeatableRead, WRITE_SKEW),
        ];
        for (run, script) in anomalies {
            let verdict = judge(&*server, "anomaly", &SerialOracle, run, claim, script);
            assert_eq!(
                kind(&verdict),
                "not-serializable",
                "{needs:?} {run} {script:?}"
            );
        }
    }
}

/// What a statement sees and changes, in rows: comparable between learners.
type Seen = BTreeMap<StatementId, BTreeMap<String, BTreeMap<Value, Option<Row>>>>;

fn rows_seen(account: &Account) -> Seen {
    let row = |version: &Option<_>| version.and_then(|id| account.chains.row(id).cloned());
    account
        .views
        .iter()
        .map(|(id, view)| {
            let tables = view.iter().map(|(table, seen)| {
                let rows = seen
                    .iter()
                    .map(|(id, version)| (id.key.clone(), row(version)));
                (
                    table.clone(),
                    rows.filter(|(_, row)| row.is_some()).collect(),
                )
            });
            (*id, tables.collect())
        })
        .collect()
}

/// Both instrumentations at once, so that both learners look at one run.
fn both(case: &TestCase, dialect: &Dialect) -> Instrumentation {
    let observer = instrument(case, dialect, Learner::Observer);
    let probes = instrument(case, dialect, Learner::Probes);
    Instrumentation {
        observe: observer.observe,
        ..probes
    }
}

/// Runs a case under both learners and compares what they learned of each statement that both are
/// sure of. Returns how many that were.
fn compare_learners(driver: &mut Driver<'_>, case: &TestCase) -> usize {
    let dialect = driver.dialect().clone();
    let execution = driver
        .execute(case, &both(case, &dialect))
        .expect("an answer");
    if execution.unreliable.is_some() {
        return 0;
    }
    let mut serial = driver.serial(case).expect("a serial run");
    let initial: BTreeMap<String, Vec<Row>> = case
        .tables
        .iter()
        .map(|table| {
            (
                table.name.clone(),
                serial.contents(&table.name).expect("rows"),
            )
        })
        .collect();
    drop(serial);
    // Each learner reads its own part of the record.
    let mut by_observer = execution.clone();
    by_observer
        .probes
        .retain(|probe| probe.tag == ProbeTag::FixSnapshot);
    let mut by_probes = execution.clone();
    by_probes.observations.clear();
    let by = |execution: &Execution, learner| {
        let timeline = Timeline::new(case, execution, &dialect);
        learn(case, execution, &timeline, &initial, &dialect, learner)
    };
    let observer = by(&by_observer, Learner::Observer);
    let probes = by(&by_probes, Learner::Probes);
    let (seen_by_observer, seen_by_probes) = (rows_seen(&observer), rows_seen(&probes));
    let mut compared = 0;
    for (id, seen) in &seen_by_probes {
        let sure = !observer.unsure.contains_key(id) && !probes.unsure.contains_key(id);
        let waited = execution
            .records
            .get(id)
            .is_none_or(|record| record.resumed());
        if sure && !waited {
            compared += 1;
            assert_eq!(
                seen_by_observer.get(id),
                Some(seen),
                "{id} at {:?} of {case:#?}\n{execution:#?}",
                case.isolation
            );
        }
    }
    compared
}

#[test]
fn observer_and_probes_learn_the_same_from_one_run() {
    let test = "observer_and_probes_learn_the_same_from_one_run";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(server) = server(test, needs) else {
            continue;
        };
        let database = format!("rashomon_it_learners_{}", std::process::id());
        let mut driver = Driver::open(&*server, &database).expect("a database of our own");
        let mut compared = 0;
        for level in IsolationLevel::ALL {
            for script in [LOST_UPDATE, NON_REPEATABLE_READ, WRITE_SKEW, BLOCKED_WRITE] {
                let case = case(server.dialect(), level, None, script);
                compared += compare_learners(&mut driver, &case);
            }
        }
        driver.close().expect("the database goes");
        assert!(
            compared > 40,
            "{needs:?}: only {compared} statements were compared"
        );
    }
}
