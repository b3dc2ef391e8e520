//! A COMMIT that is answered and not done.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::engine::{
    self, Connection, Demand, DiagnosisLine, EngineError, Identity, Leftover, OpenOptions, Server,
    TransactionState, Watcher,
};
use crate::execute::Driver;
use crate::model::{FindingKind, Outcome, StatementId, TransactionId, Verdict};
use crate::oracle::{ORACLES, hear};
use crate::reproducer::case_of;

/// The write behind which a COMMIT is not done.
const LAST_WRITE: &str = "UPDATE t SET vkey = 1000 WHERE pkey = 1";

/// SQLite that answers a COMMIT behind one write, and leaves the transaction open.
struct LeakyServer(Box<dyn Server>);

struct LeakySession {
    inner: Box<dyn Connection>,
    leaks: bool,
}

impl Connection for LeakySession {
    fn id(&self) -> u64 {
        self.inner.id()
    }

    fn execute(&mut self, sql: &str) -> Result<Outcome, EngineError> {
        let leaks = self.leaks && sql == "COMMIT";
        if sql == LAST_WRITE {
            self.leaks = true;
        } else if sql == "COMMIT" || sql == "ROLLBACK" {
            self.leaks = false;
        }
        match leaks {
            true => Ok(Outcome::Affected(0)),
            false => self.inner.execute(sql),
        }
    }

    fn transaction_state(&mut self) -> Result<TransactionState, EngineError> {
        self.inner.transaction_state()
    }

    fn reported(&self) -> Option<u64> {
        self.inner.reported()
    }

    fn dialect(&self) -> &Dialect {
        self.inner.dialect()
    }
}

impl Server for LeakyServer {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn dialect(&self) -> &Dialect {
        self.0.dialect()
    }

    fn waits(&self) -> bool {
        self.0.waits()
    }

    fn create_database(&self, name: &str) -> Result<(), EngineError> {
        self.0.create_database(name)
    }

    fn drop_database(&self, name: &str) -> Result<(), EngineError> {
        self.0.drop_database(name)
    }

    fn connect(&self, database: &str) -> Result<Box<dyn Connection>, EngineError> {
        let inner = self.0.connect(database)?;
        let leaks = false;
        Ok(Box::new(LeakySession { inner, leaks }))
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, EngineError> {
        self.0.watcher()
    }

    fn leftovers(&self) -> Result<Vec<Leftover>, EngineError> {
        self.0.leftovers()
    }

    fn examine_safety(&self, allow_shared_server: bool) -> Result<DiagnosisLine, EngineError> {
        self.0.examine_safety(allow_shared_server)
    }

    fn examine(&self, demand: &Demand) -> Result<Vec<DiagnosisLine>, EngineError> {
        self.0.examine(demand)
    }

    fn statement_counters(&self) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
        self.0.statement_counters()
    }
}

/// What is said of a write and its COMMIT in a transaction with this number, and of which statement.
fn said(server: &dyn Server, writer: u32) -> Option<(FindingKind, Option<StatementId>)> {
    let first = match writer {
        1 => "",
        _ => "/* s1 */ BEGIN;\n/* s1 */ SELECT vkey FROM t WHERE pkey = 2;\n",
    };
    let last = match writer {
        1 => "",
        _ => "/* s1 */ COMMIT;\n",
    };
    let setup = super::TABLES;
    let text = format!(
        "--! isolation = \"SERIALIZABLE\"\n{setup}{first}\
         /* s2 */ BEGIN;\n/* s2 */ {LAST_WRITE};\n/* s2 */ COMMIT;\n{last}"
    );
    let case = case_of(&text, server.dialect());
    let mut driver = Driver::open(server, "rashomon_open_end").expect("a driver");
    let hearing = hear(&case, &mut driver, ORACLES).expect("an answer");
    driver.close().expect("the database goes");
    match hearing.verdict() {
        Verdict::Violation(finding) => {
            let statement = finding.differences[0].statement;
            Some((finding.signature.kind, statement))
        }
        Verdict::Agree | Verdict::Known(_) | Verdict::Flaky { .. } | Verdict::Undecided(_) => None,
    }
}

/// Of a transaction with an even number it is asked at the end of the run only.
#[test]
fn a_transaction_that_is_open_after_its_commit_is_found_whenever_it_is_asked_for() {
    let sqlite = || engine::open("sqlite:", &OpenOptions::default()).expect("it comes along");
    for writer in [1, 2] {
        assert_eq!(said(&*sqlite(), writer), None);
        let commit = StatementId {
            transaction: TransactionId(writer),
            position: 3,
        };
        let found = (FindingKind::WrongTransactionEnd, Some(commit));
        let leaky = LeakyServer(sqlite());
        assert_eq!(said(&leaky, writer), Some(found), "T{writer}");
    }
}
