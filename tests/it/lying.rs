//! Cases that are judged by every oracle after a driver has changed their record, as if the engine had answered otherwise.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rashomon::dialect::Dialect;
use rashomon::engine::{EngineError, Server};
use rashomon::execute::{Driver, Executor, Instrumentation, SerialRun};
use rashomon::model::{
    ErrorClass, Execution, IsolationLevel, Outcome, SqlError, StatementId, TestCase, TransactionId,
    Verdict,
};
use rashomon::oracle::{Hearing, ORACLES, hear};
use rashomon::reproducer::read;

/// What changes a record after the run.
pub(crate) type Lie = fn(&mut Execution);

/// One driver for all cases of a test: its databases are made once.
pub(crate) struct OneDriver<'s> {
    pub(crate) server: &'s dyn Server,
    driver: RefCell<Option<Driver<'s>>>,
}

impl<'s> OneDriver<'s> {
    pub(crate) fn of(server: &'s dyn Server) -> Self {
        let driver = Driver::open(server, &database()).expect("a database of our own");
        Self {
            server,
            driver: RefCell::new(Some(driver)),
        }
    }

    pub(crate) fn borrow(&self) -> RefMut<'_, Driver<'s>> {
        RefMut::map(self.driver.borrow_mut(), |driver| {
            driver.as_mut().expect("it is open until it is dropped")
        })
    }
}

impl Drop for OneDriver<'_> {
    fn drop(&mut self) {
        let closed = self.driver.get_mut().take().map(Driver::close);
        // A test that fails already says why.
        if !std::thread::panicking() {
            closed.transpose().expect("the databases go");
        }
    }
}

/// A driver whose records are changed before anything judges them.
struct LyingDriver<'d, 's> {
    driver: RefMut<'d, Driver<'s>>,
    lie: Lie,
}

impl Executor for LyingDriver<'_, '_> {
    fn execute(
        &mut self,
        case: &TestCase,
        instrumentation: &Instrumentation,
    ) -> Result<Execution, EngineError> {
        let honest = self.driver.execute(case, instrumentation)?;
        let mut execution = honest.clone();
        (self.lie)(&mut execution);
        keep_to_the_lie(&honest, &mut execution);
        Ok(execution)
    }

    fn serial(&mut self, case: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        self.driver.serial(case)
    }

    fn dialect(&self) -> &Arc<Dialect> {
        self.driver.dialect()
    }
}

pub(crate) fn honest(_: &mut Execution) {}

/// An answer that was changed says nothing else beside it, which would give the lie away.
fn keep_to_the_lie(honest: &Execution, lying: &mut Execution) {
    for (id, record) in &mut lying.records {
        let before = honest.records.get(id);
        if before.is_some_and(|before| before.outcome == record.outcome) {
            continue;
        }
        record.command_tag = None;
        if let Outcome::Rows(rows) = &record.outcome {
            record.reported = record.reported.map(|_| rows.len() as u64);
        }
    }
}

/// The server says that it refused a statement of the second transaction with an error of this class.
pub(crate) fn refuse(run: &mut Execution, statement: u32, code: &str, class: ErrorClass) {
    let record = run.records.get_mut(&id(2, statement)).expect("it ran");
    record.outcome = rejected(code, class);
}

pub(crate) fn rejected(code: &str, class: ErrorClass) -> Outcome {
    Outcome::Rejected(SqlError {
        code: code.to_owned(),
        class,
        message: String::new(),
    })
}

/// An INSERT that is undone and that nobody asks for.
pub(crate) const UNDONE: &str = "s1 SAVEPOINT a
s1 INSERT INTO t0 (pkey, vkey, c0) VALUES (11, 1000, 1)
s1 ROLLBACK TO SAVEPOINT a";

/// A write skew.
pub(crate) const SKEW: &str = "s1 SELECT c0 FROM t0 WHERE pkey = 1
s2 SELECT c0 FROM t0 WHERE pkey = 2
s1 UPDATE t0 SET c0 = 21, vkey = 1001 WHERE pkey = 2
s2 UPDATE t0 SET c0 = 11, vkey = 1002 WHERE pkey = 1
s1 COMMIT
s2 COMMIT";

pub(crate) const SETUP: &str = "\
    /* init */ CREATE TABLE t0 (pkey INT PRIMARY KEY, vkey INT, c0 INT);\n\
    /* init */ INSERT INTO t0 (pkey, vkey, c0) VALUES (1, 1, 10), (2, 2, 20);\n";

/// A case file of a script, whose lines are a session and what it sends.
pub(crate) fn case_text(level: IsolationLevel, setup: &str, script: &str) -> String {
    let lines = script.lines().map(|line| {
        let (session, sql) = line.split_once(' ').expect("a session and a statement");
        format!("/* {session} */ {sql};\n")
    });
    let header = format!("--! format = 1\n--! isolation = \"{}\"\n", level.sql());
    format!("{header}{setup}{}", lines.collect::<String>())
}

/// A case of a script.
pub(crate) fn scripted(
    server: &dyn Server,
    level: IsolationLevel,
    setup: &str,
    script: &str,
) -> TestCase {
    let text = case_text(level, setup, script);
    let file = read(&text, "test.sql").expect("a case file");
    file.test_case(server.dialect()).expect("a case")
}

/// The name of a database that no other test has.
pub(crate) fn database() -> String {
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let number = DATABASES.fetch_add(1, Ordering::Relaxed);
    format!("rashomon_it_lying_{}_{number}", std::process::id())
}

/// What all oracles together say of a script at a level, run by a driver that lies.
pub(crate) fn verdict(
    driver: &OneDriver<'_>,
    level: IsolationLevel,
    claim: Option<IsolationLevel>,
    script: &str,
    lie: Lie,
) -> Verdict {
    hearing(driver, level, claim, script, lie).verdict()
}

/// What each oracle says of it.
pub(crate) fn hearing(
    driver: &OneDriver<'_>,
    level: IsolationLevel,
    claim: Option<IsolationLevel>,
    script: &str,
    lie: Lie,
) -> Hearing {
    let mut case = scripted(driver.server, level, SETUP, script);
    case.claim = claim;
    hearing_of(driver, &case, lie)
}

/// What each oracle says of a case.
pub(crate) fn hearing_of(driver: &OneDriver<'_>, case: &TestCase, lie: Lie) -> Hearing {
    let driver = driver.borrow();
    hear(case, &mut LyingDriver { driver, lie }, ORACLES).expect("an answer")
}

pub(crate) fn id(transaction: u32, position: u32) -> StatementId {
    StatementId {
        transaction: TransactionId(transaction),
        position,
    }
}
