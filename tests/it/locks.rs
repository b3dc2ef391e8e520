//! The oracle of locks on real servers: what is missing is found, by drawn cases.

use rashomon::dialect::builtin;
use rashomon::engine::{self, OpenOptions, Server};
use rashomon::execute::{Driver, Executor, Instrumentation};
use rashomon::generate::{GenerateOptions, LevelChoice, generate};
use rashomon::grammar::Grammar;
use rashomon::model::{
    Finding, FindingKind, IsolationLevel,
    LockBreach::{
        self, UnfoundedRefusal, UnkeptRange, UnkeptRow, UnlockedRead, UnlockedWrite, Waited,
        WrongSkip,
    },
    Verdict,
};
use rashomon::oracle::{LockOracle, hear};

use crate::execute::case;
use crate::plant::{Fault, Plant, PlantedServer, Rate};
use crate::servers::{Needs, url};

/// The seed of the drawn cases.
const SEED: u64 = 11;

pub(crate) fn open(url: &str, dialect: Option<(String, String)>) -> Box<dyn Server> {
    let options = OpenOptions {
        allow_shared_server: true,
        dialect,
        ..OpenOptions::default()
    };
    engine::open(url, &options).unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// The findings of the first `cases` drawn cases, until `enough` of them.
fn findings(
    server: &dyn Server,
    database: &str,
    level: IsolationLevel,
    cases: u64,
    mut enough: impl FnMut(&Finding) -> bool,
) -> Vec<Finding> {
    let grammar = Grammar::builtin(&server.dialect().engine).expect("the grammar");
    let options = GenerateOptions {
        levels: LevelChoice::One(level),
        ..GenerateOptions::default()
    };
    let mut driver = Driver::open(server, database).expect("a database of our own");
    let mut found = Vec::new();
    for index in 0..cases {
        let case = generate(SEED, index, &options, &grammar, server.dialect()).case;
        let hearing = hear(&case, &mut driver, &[&LockOracle]).unwrap_or_else(|error| {
            panic!("{database} at {level}, case {index}: {error:?}\n{case:#?}")
        });
        let finding = hearing
            .violation(|_| true)
            .and_then(|heard| heard.finding());
        if let Some(finding) = finding {
            found.push(finding.clone());
            if enough(finding) {
                break;
            }
        }
    }
    driver.close().expect("the database goes");
    found
}

pub(crate) fn kind(finding: &Finding) -> FindingKind {
    finding.signature.kind
}

/// Locking reads that lock nothing, and such that lock rows and no gap, between Rashomon and a server
/// that does everything right.
#[test]
fn locks_that_were_taken_away_are_missed_within_a_thousand_cases() {
    let Some(url) = url("locks_taken_away", Needs::MariaDb) else {
        return;
    };
    use IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
    for (fault, level, wanted) in [
        (Fault::MissingRowLocks, ReadCommitted, UnkeptRow),
        (Fault::MissingRowLocks, ReadCommitted, UnlockedRead),
        (Fault::MissingRowLocks, RepeatableRead, UnkeptRow),
        (Fault::MissingRowLocks, Serializable, UnkeptRow),
        (Fault::PhantomUnderLock, RepeatableRead, UnkeptRange),
        (Fault::PhantomUnderLock, Serializable, UnkeptRange),
        (Fault::SerializableWithoutLocks, Serializable, UnkeptRow),
    ] {
        let rate = Rate::Always;
        let planted = PlantedServer::before(&url, Plant { fault, rate });
        let server = open(&planted.url, None);
        let is_wanted = |finding: &Finding| kind(finding) == FindingKind::Lock(wanted);
        let database = "rashomon_it_locks_planted";
        let found = findings(&*server, database, level, 1_000, is_wanted);
        let all: Vec<&str> = found.iter().map(|finding| kind(finding).slug()).collect();
        assert!(found.iter().any(is_wanted), "{fault} at {level}: {all:?}");
    }
}

/// Each form has a path of its own in an engine, and few reads have it.
#[test]
fn locks_that_one_form_of_a_read_does_not_take_are_missed() {
    let Some(url) = url("locks_of_one_form", Needs::MariaDb) else {
        return;
    };
    use IsolationLevel::{ReadCommitted, RepeatableRead};
    for fault in [Fault::SummaryLocksNothing, Fault::JoinLocksNothing] {
        for level in [ReadCommitted, RepeatableRead] {
            let rate = Rate::Always;
            let planted = PlantedServer::before(&url, Plant { fault, rate });
            let server = open(&planted.url, None);
            let is_wanted = |finding: &Finding| matches!(kind(finding), FindingKind::Lock(_));
            let database = "rashomon_it_locks_of_one_form";
            let found = findings(&*server, database, level, 600, is_wanted);
            assert!(found.iter().any(is_wanted), "{fault} at {level}");
        }
    }
}

pub(crate) const TABLE: &str = "
    init: CREATE TABLE t (pkey INT PRIMARY KEY, vkey INT, c INT)
    init: INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (9, 9, 9)
";

/// Both read row 1. Faults show while another transaction is open.
const TWO_READS: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT c FROM t WHERE pkey = 1 FOR UPDATE
    s2: SELECT pkey FROM t WHERE c < 2 FOR UPDATE
    s1: COMMIT
    s2: COMMIT
";

/// The read shows nothing of what the UPDATE changes.
const KEY_READ_AND_UPDATE: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT pkey FROM t WHERE pkey = 1 FOR UPDATE
    s2: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1
    s1: COMMIT
    s2: COMMIT
";

const UPDATE_AND_KEY_READ: &str = "
    s1: BEGIN
    s2: BEGIN
    s2: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1
    s1: SELECT pkey FROM t WHERE pkey = 1 FOR UPDATE
    s2: COMMIT
    s1: COMMIT
";

/// The UPDATE matches no row, and would match the one that is added.
const WRITE_AND_INSERT: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: UPDATE t SET vkey = 1001 WHERE pkey > 3 AND pkey < 7
    s2: INSERT INTO t VALUES (5, 1002, 5)
    s1: COMMIT
    s2: COMMIT
";

/// A queue of jobs: each session takes what no other one has.
const TWO_SKIPS: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT pkey FROM t WHERE c < 5 FOR UPDATE SKIP LOCKED
    s2: SELECT pkey, c FROM t FOR UPDATE SKIP LOCKED
    s1: COMMIT
    s2: COMMIT
";

/// The same of one job at a time.
const TWO_SKIPS_OF_ONE: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT pkey, c FROM t ORDER BY pkey LIMIT 1 FOR UPDATE SKIP LOCKED
    s2: SELECT pkey, c FROM t ORDER BY pkey LIMIT 1 FOR UPDATE SKIP LOCKED
    s1: COMMIT
    s2: COMMIT
";

/// An UPDATE that leaves its row as it is, and one that does not.
const SAME_AND_UPDATE: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: UPDATE t SET c = 1 WHERE pkey = 1
    s2: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1
    s1: COMMIT
    s2: COMMIT
";

const SKIP_AND_UPDATE: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT pkey FROM t WHERE c < 5 FOR UPDATE SKIP LOCKED
    s2: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1
    s1: COMMIT
    s2: COMMIT
";

const SKIP_AND_READ: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT pkey FROM t WHERE c < 5 FOR UPDATE SKIP LOCKED
    s2: SELECT c FROM t WHERE pkey = 2 FOR UPDATE
    s1: COMMIT
    s2: COMMIT
";

const READ_AND_SKIP: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: SELECT c FROM t WHERE pkey = 2 FOR UPDATE
    s2: SELECT pkey FROM t WHERE c < 5 FOR UPDATE SKIP LOCKED
    s1: COMMIT
    s2: COMMIT
";

/// What the locks of a written case come to on the server, and on one with a fault.
fn hear_written(
    url: &str,
    database: &str,
    script: &str,
    (fault, level): (Fault, IsolationLevel),
    wanted: LockBreach,
) {
    for fault in [Fault::None, fault] {
        let rate = Rate::Always;
        let planted = PlantedServer::before(url, Plant { fault, rate });
        let server = open(&planted.url, None);
        let mut driver = Driver::open(&*server, database).expect("one");
        let case = case(&*server, level, &format!("{TABLE}{script}"));
        let hearing = hear(&case, &mut driver, &[&LockOracle]).expect("an answer");
        driver.close().expect("the database goes");
        let heard = hearing.violation(|_| true);
        let found = heard.and_then(|heard| heard.finding()).map(kind);
        let said = hearing.verdict();
        assert!(
            found.is_some() || said == Verdict::Agree,
            "{fault}: {said:?}"
        );
        let wanted = (fault != Fault::None).then_some(FindingKind::Lock(wanted));
        assert_eq!(found, wanted, "{fault} at {level}: {script}");
    }
}

/// Locks that no drawn case needs to meet.
#[test]
fn two_reads_for_a_change_and_a_row_that_a_write_would_match_have_to_wait() {
    let Some(url) = url("locks_written", Needs::MariaDb) else {
        return;
    };
    use IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
    let shared = Fault::ForUpdateIsShared;
    let ungapped = Fault::PhantomUnderWrite;
    let unlocked = Fault::MissingRowLocks;
    let same = Fault::NoOpLocksNothing;
    for (script, fault, level, wanted) in [
        (KEY_READ_AND_UPDATE, unlocked, ReadCommitted, UnkeptRow),
        (KEY_READ_AND_UPDATE, unlocked, RepeatableRead, UnkeptRow),
        (UPDATE_AND_KEY_READ, unlocked, ReadCommitted, UnlockedRead),
        (UPDATE_AND_KEY_READ, unlocked, RepeatableRead, UnlockedRead),
        (TWO_READS, shared, ReadCommitted, UnkeptRow),
        (TWO_READS, shared, RepeatableRead, UnkeptRow),
        (TWO_READS, shared, Serializable, UnkeptRow),
        (WRITE_AND_INSERT, ungapped, RepeatableRead, UnkeptRange),
        (WRITE_AND_INSERT, ungapped, Serializable, UnkeptRange),
        (SAME_AND_UPDATE, same, ReadCommitted, UnkeptRow),
        (SAME_AND_UPDATE, same, RepeatableRead, UnkeptRow),
    ] {
        hear_written(
            &url,
            "rashomon_it_locks_written",
            script,
            (fault, level),
            wanted,
        );
    }
}

/// A second table, into which rows are put, and whose rows are changed by what the first one has.
const SECOND: &str = "
    init: CREATE TABLE u (pkey INT PRIMARY KEY, vkey INT, d INT)
    init: INSERT INTO u VALUES (1, 11, 1), (2, 12, 2)
    s1: BEGIN
    s2: BEGIN
";

/// What a write reads of another table it locks, from REPEATABLE READ on (MySQL manual, "Locks Set by Different SQL
/// Statements in InnoDB").
#[test]
fn what_a_write_reads_of_another_table_it_locks() {
    use IsolationLevel::{RepeatableRead, Serializable};
    let changes = "s2: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1";
    let adds = "s2: INSERT INTO t VALUES (3, 1001, 0)";
    let copies =
        "s1: INSERT INTO u (pkey, vkey, d) SELECT t.pkey + 4096, 1000, t.c FROM t WHERE t.c < 5";
    let finds =
        "s1: UPDATE u SET vkey = 1000, d = 5 WHERE u.pkey IN (SELECT t.pkey FROM t WHERE t.c < 5)";
    let sets = "s1: UPDATE u SET vkey = 1000, d = (SELECT MIN(t.c) FROM t) WHERE u.pkey = 1";
    let deletes = "s1: DELETE FROM u WHERE u.d < (SELECT COUNT(*) FROM t WHERE t.c < 5)";
    let of_insert = Fault::InsertSelectLocksNothing;
    let of_query = Fault::WriteSubqueryLocksNothing;
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("locks_of_sources", needs) else {
            continue;
        };
        for (fault, write, other, wanted) in [
            (of_insert, copies, changes, UnkeptRow),
            (of_insert, copies, adds, UnkeptRange),
            (of_query, finds, changes, UnkeptRow),
            (of_query, sets, changes, UnkeptRow),
            (of_query, deletes, adds, UnkeptRange),
        ] {
            for level in [RepeatableRead, Serializable] {
                let ends = "s2: COMMIT\n s1: COMMIT";
                let kept = format!("{SECOND}\n{write}\n{other}\n{ends}");
                let past = format!("{SECOND}\n{other}\n{write}\n{ends}");
                let database = "rashomon_it_locks_of_sources";
                hear_written(&url, database, &kept, (fault, level), wanted);
                hear_written(&url, database, &past, (fault, level), UnlockedRead);
            }
        }
    }
}

/// An INSERT that meets a row leaves a shared lock on it, refused or not (same page).
#[test]
fn a_row_that_an_insert_met_as_a_duplicate_stays_locked() {
    use IsolationLevel::{ReadCommitted, RepeatableRead};
    let inserts = [
        "s1: INSERT INTO t (pkey, vkey, c) VALUES (1, 1000, 5)",
        "s1: INSERT IGNORE INTO t (pkey, vkey, c) VALUES (1, 1000, 5)",
    ];
    let changes = [
        "s2: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1",
        "s2: DELETE FROM t WHERE pkey = 1",
    ];
    let fault = Fault::DuplicateLocksNothing;
    let database = "rashomon_it_locks_duplicates";
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("locks_duplicates", needs) else {
            continue;
        };
        for insert in inserts {
            for (change, level) in [(changes[0], ReadCommitted), (changes[1], RepeatableRead)] {
                let script = format!(
                    "s1: BEGIN\n s2: BEGIN\n {insert}\n {change}\n s1: COMMIT\n s2: COMMIT"
                );
                hear_written(&url, database, &script, (fault, level), UnkeptRow);
            }
        }
        // A lock that was let go, or that is on another row.
        for script in [
            "s1: SAVEPOINT a\n s1: INSERT INTO t (pkey, vkey, c) VALUES (1, 1000, 5)
             s1: ROLLBACK TO SAVEPOINT a\n s2: DELETE FROM t WHERE pkey = 1\n s1: COMMIT",
            "s1: INSERT INTO t (pkey, vkey, c) VALUES (1, 1000, 5)
             s2: DELETE FROM t WHERE pkey = 2\n s1: COMMIT",
            "s1: INSERT INTO t (pkey, vkey, c) VALUES (1, 1000, 5)
             s1: COMMIT\n s2: DELETE FROM t WHERE pkey = 1",
        ] {
            let rate = Rate::Always;
            let planted = PlantedServer::before(&url, Plant { fault, rate });
            let server = open(&planted.url, None);
            let mut driver = Driver::open(&*server, database).expect("one");
            let script = format!("{TABLE} s1: BEGIN\n s2: BEGIN\n {script}\n s2: COMMIT");
            let case = case(&*server, ReadCommitted, &script);
            let hearing = hear(&case, &mut driver, &[&LockOracle]).expect("an answer");
            driver.close().expect("the database goes");
            assert_eq!(hearing.verdict(), Verdict::Agree, "{script}");
            assert_eq!(planted.planted.try_iter().count(), 1, "{script}");
        }
    }
}

/// A read that needs no column of a table goes by its smallest index. Where that one is over an expression, it locks entries which a
/// change of another column does not touch.
#[test]
fn a_read_by_an_index_over_an_expression_meets_no_lock_of_the_key() {
    let Some(url) = url("locks_expression_index", Needs::MySql) else {
        return;
    };
    let server = open(&url, None);
    let mut driver = Driver::open(&*server, "rashomon_it_locks_expression").expect("one");
    let index = "init: CREATE INDEX i ON t ((c + 1))";
    for (index, waits) in [(index, false), ("", true)] {
        let script = format!(
            "{TABLE} {index}\n init: CREATE TABLE u (a INT)\n init: INSERT INTO u VALUES (7)\n s1: BEGIN\n s2: BEGIN
             s1: UPDATE t SET vkey = 1000 WHERE pkey = 2\n s2: SELECT u.a FROM t CROSS JOIN u
             s1: COMMIT\n s2: COMMIT"
        );
        let case = case(&*server, IsolationLevel::Serializable, &script);
        let hearing = hear(&case, &mut driver, &[&LockOracle]).expect("an answer");
        assert_eq!(hearing.verdict(), Verdict::Agree, "{script}");
        let execution = driver
            .execute(&case, &Instrumentation::default())
            .expect("an execution");
        let mut records = execution.records.values();
        assert_eq!(
            records.any(|record| record.waiting.is_some()),
            waits,
            "{script}"
        );
    }
    driver.close().expect("the database goes");
}

/// What a SKIP LOCKED gives it has locked, and what another read has locked it does not give.
#[test]
fn a_skip_locked_locks_what_it_gives_and_leaves_out_what_is_locked() {
    use IsolationLevel::{ReadCommitted, RepeatableRead};
    let unlocked = Fault::MissingRowLocks;
    let leaves_none = Fault::SkipLockedSkipsNone;
    for needs in [Needs::MariaDb, Needs::MySql, Needs::Postgres] {
        let Some(url) = url("locks_skipped", needs) else {
            continue;
        };
        for (script, fault, level, wanted) in [
            (TWO_SKIPS, unlocked, ReadCommitted, WrongSkip),
            (TWO_SKIPS, unlocked, RepeatableRead, WrongSkip),
            (TWO_SKIPS_OF_ONE, unlocked, ReadCommitted, WrongSkip),
            (TWO_SKIPS_OF_ONE, unlocked, RepeatableRead, WrongSkip),
            (SKIP_AND_UPDATE, unlocked, ReadCommitted, UnkeptRow),
            (SKIP_AND_UPDATE, unlocked, RepeatableRead, UnkeptRow),
            (SKIP_AND_READ, unlocked, ReadCommitted, UnkeptRow),
            (READ_AND_SKIP, leaves_none, ReadCommitted, WrongSkip),
            (READ_AND_SKIP, leaves_none, RepeatableRead, WrongSkip),
        ] {
            hear_written(
                &url,
                "rashomon_it_locks_skipped",
                script,
                (fault, level),
                wanted,
            );
        }
    }
}

/// A row of the table is locked, and another one is asked for.
#[test]
fn what_nobody_may_hold_is_neither_refused_nor_left_out() {
    use IsolationLevel::{ReadCommitted, RepeatableRead};
    let Some(url) = url("locks_beside", Needs::Postgres) else {
        return;
    };
    let begin = "s1: BEGIN\n s2: BEGIN\n";
    let holders = [
        "s1: UPDATE t SET vkey = 1001, c = 7 WHERE pkey = 1",
        "s1: SELECT pkey FROM t WHERE pkey = 1 FOR UPDATE",
        "s1: DELETE FROM t WHERE pkey = 1",
    ];
    let nowait = "s2: SELECT * FROM t WHERE pkey = 2 FOR UPDATE NOWAIT";
    let skip = "s2: SELECT * FROM t WHERE pkey < 3 FOR UPDATE SKIP LOCKED";
    let end = "s2: COMMIT\n s1: COMMIT";
    for holds in holders {
        for (read, fault, wanted) in [
            (nowait, Fault::NowaitRefused, UnfoundedRefusal),
            (skip, Fault::SkipLockedSkipsOne, WrongSkip),
        ] {
            for level in [ReadCommitted, RepeatableRead] {
                let script = format!("{begin}\n{holds}\n{read}\n{end}");
                let database = "rashomon_it_locks_beside";
                hear_written(&url, database, &script, (fault, level), wanted);
            }
        }
    }
}

/// Reads that wait though they must not, between Rashomon and a server that does everything right.
#[test]
fn reads_that_wait_and_should_not_are_found() {
    let Some(url) = url("reads_that_wait", Needs::MariaDb) else {
        return;
    };
    use IsolationLevel::{ReadCommitted, RepeatableRead};
    for (fault, level) in [
        (Fault::PlainReadWaits, ReadCommitted),
        (Fault::PlainReadWaits, RepeatableRead),
        (Fault::NowaitWaits, ReadCommitted),
        (Fault::SkipLockedWaits, RepeatableRead),
    ] {
        let rate = Rate::Always;
        let planted = PlantedServer::before(&url, Plant { fault, rate });
        let server = open(&planted.url, None);
        let is_wanted = |finding: &Finding| kind(finding) == FindingKind::Lock(Waited);
        let database = "rashomon_it_locks_waits";
        let found = findings(&*server, database, level, 1_000, is_wanted);
        assert!(found.iter().any(is_wanted), "{fault} at {level}");
    }
}

/// MariaDB's dialect, told that MyISAM has transactions, and drawing tables of it.
fn myisam() -> (String, String) {
    let text = builtin("mariadb").expect("a file");
    let list = "storage-engines-without-transactions = [";
    let start = text.find(list).expect("the list");
    let end = start + text[start..].find(']').expect("its end") + 1;
    let mut lying = text.to_owned();
    lying.replace_range(start..end, &format!("{list}]"));
    let lying = lying.replace(" ENGINE=InnoDB", " ENGINE=MyISAM");
    assert!(lying.contains(" ENGINE=MyISAM"));
    ("myisam.toml".to_owned(), lying)
}

/// A table without row locks, judged as if it had them: each kind within 50 cases.
#[test]
fn an_engine_without_row_locks_is_found_out_within_fifty_cases() {
    let Some(url) = url("locks_myisam", Needs::MariaDb) else {
        return;
    };
    let server = open(&url, Some(myisam()));
    use IsolationLevel::{ReadCommitted, Serializable};
    for (level, wanted, words) in [
        (ReadCommitted, UnlockedWrite, "before it wrote"),
        (ReadCommitted, UnlockedRead, "before it read"),
        (ReadCommitted, UnkeptRow, "for a row that was locked"),
        (Serializable, UnkeptRange, "for a range that was locked"),
    ] {
        // A case may show several kinds, and its finding is told by the first.
        let shows = |finding: &Finding| finding.explanation.iter().any(|line| line.contains(words));
        let database = "rashomon_it_locks_myisam";
        let found = findings(&*server, database, level, 50, shows);
        let last = found.last().is_some_and(shows);
        let kinds: Vec<&str> = found.iter().map(|finding| kind(finding).slug()).collect();
        assert!(last, "{wanted} at {level}: {kinds:?}");
    }
}

/// What a server that locks does is right at every level.
#[test]
fn a_server_that_locks_is_right_at_every_level() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("locks_honest", needs) else {
            continue;
        };
        let server = open(&url, None);
        for level in server.dialect().levels.clone() {
            let found = findings(&*server, "rashomon_it_locks_honest", level, 40, |_| true);
            assert_eq!(found, [], "{needs:?} at {level}");
        }
    }
}
