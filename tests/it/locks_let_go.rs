//! Locks that a driver lets go right after they were got: what a read keeps though its answer does not show it.

use std::sync::Arc;

use rashomon::dialect::{Capability, Dialect};
use rashomon::engine::EngineError;
use rashomon::execute::{Driver, Executor, Instrumentation, SerialRun};
use rashomon::model::LockBreach::UnkeptRow;
use rashomon::model::{Execution, FindingKind, IsolationLevel, SessionId, TestCase, Verdict};
use rashomon::oracle::{LockOracle, hear};

use crate::execute::case;
use crate::locks::{TABLE, kind, open};
use crate::servers::{Needs, url};

/// A driver that sends something else than BEGIN in the second session: its locks are gone when they were got.
struct LooseDriver<'s>(Driver<'s>, &'static str);

impl Executor for LooseDriver<'_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        let mut sent = case.clone();
        let begins = sent.statements.iter_mut();
        let begins = begins.filter(|s| s.session == SessionId(2) && s.sql == "BEGIN");
        let mut loosened = Vec::new();
        for begin in begins {
            begin.sql = self.1.to_owned();
            loosened.push(begin.id);
        }
        let mut execution = self.0.execute(&sent, instrumentation)?;
        for begin in loosened {
            // The words of the answer would give it away.
            if let Some(record) = execution.records.get_mut(&begin) {
                record.command_tag = None;
            }
        }
        Ok(execution)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.0.serial(case)
    }

    fn dialect(&self) -> &Arc<Dialect> {
        self.0.dialect()
    }
}

/// A read that waited, and what another session does then to the row that it gave.
const WAITED_AND_UPDATE: &str = "
    s1: BEGIN
    s2: BEGIN
    s1: UPDATE t SET vkey = 1000, c = 7 WHERE pkey = 1
    s2: SELECT pkey, c FROM t WHERE pkey < 3 FOR UPDATE
    s1: COMMIT
    s3: UPDATE t SET vkey = 1001, c = 8 WHERE pkey = 1
    s2: COMMIT
";

/// A read beside a plain subquery, and a change of the row that does not show in what it gave.
const SUBQUERY_AND_UPDATE: &str = "
    init: CREATE TABLE u (pkey INT PRIMARY KEY, vkey INT, d INT)
    init: INSERT INTO u VALUES (1, 11, 1), (2, 12, 2)
    s1: BEGIN
    s2: BEGIN
    s2: SELECT t.pkey FROM t WHERE t.pkey IN (SELECT u.pkey FROM u WHERE u.d = 1) FOR UPDATE
    s1: UPDATE t SET vkey = 1000, c = 7 WHERE pkey = 1
    s2: COMMIT
    s1: COMMIT
";

/// A shared lock of a row whose table has one index, and a change that does not show in what the read gave.
const SHARED_AND_UPDATE: &str = "
    s1: BEGIN
    s2: BEGIN
    s2: SELECT t.pkey FROM t WHERE t.pkey = 1 LOCK IN SHARE MODE
    s1: UPDATE t SET vkey = 1000, c = 7 WHERE pkey = 1
    s2: COMMIT
    s1: COMMIT
";

/// The same without a lock clause, which SERIALIZABLE adds.
const PLAIN_AND_UPDATE: &str = "
    s1: BEGIN
    s2: BEGIN
    s2: SELECT COUNT(*) FROM (SELECT t.pkey FROM t WHERE t.pkey < 3) AS d
    s1: UPDATE t SET vkey = 1000, c = 7 WHERE pkey = 1
    s2: COMMIT
    s1: COMMIT
";

/// Of two reads of a row one changes it, the other does not.
const UPDATE_AND_SHARED: &str = "
    s1: BEGIN
    s2: BEGIN
    s2: SELECT t.c FROM t WHERE t.pkey = 1 FOR UPDATE
    s1: SELECT t.c FROM t WHERE t.pkey = 1 LOCK IN SHARE MODE
    s2: COMMIT
    s1: COMMIT
";

/// What a read has got after a wait it keeps as what it got at once, though it may have seen other rows of the table otherwise.
#[test]
fn what_a_read_got_after_a_wait_or_beside_a_subquery_or_shares_stays_locked() {
    use IsolationLevel::{ReadCommitted, RepeatableRead, Serializable};
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("locks_after_a_wait", needs) else {
            continue;
        };
        let server = open(&url, None);
        let database = "rashomon_it_locks_after_a_wait";
        for (level, script) in [
            (ReadCommitted, WAITED_AND_UPDATE),
            (RepeatableRead, WAITED_AND_UPDATE),
            (RepeatableRead, SUBQUERY_AND_UPDATE),
            (ReadCommitted, SHARED_AND_UPDATE),
            (RepeatableRead, SHARED_AND_UPDATE),
            (Serializable, PLAIN_AND_UPDATE),
            (ReadCommitted, UPDATE_AND_SHARED),
            (Serializable, UPDATE_AND_SHARED),
        ] {
            let case = case(&*server, level, &format!("{TABLE}{script}"));
            let mut driver = Driver::open(&*server, database).expect("one");
            let said = hear(&case, &mut driver, &[&LockOracle]).expect("an answer");
            assert_eq!(said.verdict(), Verdict::Agree, "{level}");
            let mut driver = LooseDriver(driver, "DO 0");
            let said = hear(&case, &mut driver, &[&LockOracle]).expect("an answer");
            let found = said
                .violation(|_| true)
                .and_then(|heard| heard.finding())
                .map(kind);
            driver.0.close().expect("the database goes");
            let wanted = Some(FindingKind::Lock(UnkeptRow));
            assert_eq!(found, wanted, "{level}: {script}");
        }
    }
}

/// What a read of PostgreSQL has got after a wait, and looked at again, it keeps, whether its answer shows that or not.
#[test]
fn what_a_read_looked_at_again_after_a_wait_stays_locked() {
    let Some(url) = url("locks_looked_at_again", Needs::Postgres) else {
        return;
    };
    let server = open(&url, None);
    let database = "rashomon_it_locks_looked_at_again";
    let unseen = WAITED_AND_UPDATE.replace("SELECT pkey, c", "SELECT pkey");
    let not_met = WAITED_AND_UPDATE.replace("c = 7", "pkey = 7");
    let not_met = not_met.replace(
        "WHERE pkey = 1\n    s2: COMMIT",
        "WHERE pkey = 7\n    s2: COMMIT",
    );
    let not_given = WAITED_AND_UPDATE.replace("pkey < 3", "c < 6");
    let mut scripts = vec![(WAITED_AND_UPDATE, true), (&*unseen, true)];
    scripts.push((&not_given, false));
    // Before 18 nothing tells which row a write has given another key.
    if server.dialect().supports(Capability::ReturningOld) {
        scripts.push((&not_met, false));
    }
    for (script, is_kept) in scripts {
        let level = IsolationLevel::ReadCommitted;
        let case = case(&*server, level, &format!("{TABLE}{script}"));
        let mut driver = Driver::open(&*server, database).expect("one");
        let said = hear(&case, &mut driver, &[&LockOracle]).expect("an answer");
        assert_eq!(said.verdict(), Verdict::Agree, "{script}");
        let mut driver = LooseDriver(driver, "SET application_name = 'rashomon'");
        let said = hear(&case, &mut driver, &[&LockOracle]).expect("an answer");
        let found = said.violation(|_| true).and_then(|heard| heard.finding());
        driver.0.close().expect("the database goes");
        let wanted = is_kept.then_some(FindingKind::Lock(UnkeptRow));
        assert_eq!(found.map(kind), wanted, "{script}");
    }
}
