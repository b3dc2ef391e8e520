//! A case that takes the server down is made smaller on a server that comes back, on scripted engines: what
//! shows the loss is kept, and a loss of another kind is not taken for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rashomon::campaign::{OutageSearch, StopFlag, Workplace};
use rashomon::dialect::Dialect;
use rashomon::engine::EngineError;
use rashomon::execute::{Executor, Instrumentation, Interrupted, SerialRun};
use rashomon::model::{
    Effect, Execution, IsolationLevel, Pace, SessionId, StatementKind, TestCase,
};

use crate::scripted::{Content, lost_at, refused, sqlite_dialect, take_one};

/// A server that goes down at `DELETE 2` where `SELECT 1` came before it, and at `UPDATE 3` where nothing is left
/// before it; after each loss it refuses so many connections.
struct FallsOver {
    dialect: Arc<Dialect>,
    away_for: u32,
    /// Connections that are still refused.
    refusals: AtomicU32,
    losses: AtomicU32,
    /// After so many losses it stays away.
    losses_max: u32,
}

impl FallsOver {
    fn new(away_for: u32, losses_max: u32) -> Self {
        Self {
            dialect: sqlite_dialect(),
            away_for,
            refusals: AtomicU32::new(0),
            losses: AtomicU32::new(0),
            losses_max,
        }
    }
}

struct Falling<'a> {
    server: &'a FallsOver,
    interrupted: Option<Interrupted>,
}

impl Executor for Falling<'_> {
    fn execute(&mut self, case: &TestCase, _: &Instrumentation) -> Result<Execution, EngineError> {
        let mut has_selected = false;
        for (place, statement) in case.statements.iter().enumerate() {
            has_selected |= statement.sql == "SELECT 1";
            let falls = match statement.sql.as_str() {
                "DELETE 2" => has_selected,
                "UPDATE 3" => place == 0,
                _ => false,
            };
            if falls {
                let losses = self.server.losses.fetch_add(1, Ordering::SeqCst) + 1;
                let away = match losses >= self.server.losses_max {
                    true => u32::MAX,
                    false => self.server.away_for,
                };
                self.server.refusals.store(away, Ordering::SeqCst);
                let (interrupted, error) = lost_at(statement.id, &statement.sql);
                self.interrupted = Some(interrupted);
                return Err(error);
            }
        }
        Ok(Execution::default())
    }

    fn serial(&mut self, _: &TestCase) -> Result<Box<dyn SerialRun + '_>, EngineError> {
        Err(EngineError::Target("it runs nothing serially".to_owned()))
    }

    fn dialect(&self) -> &Arc<Dialect> {
        &self.server.dialect
    }

    fn interrupted(&self) -> Option<&Interrupted> {
        self.interrupted.as_ref()
    }
}

impl Workplace for FallsOver {
    fn work(
        &self,
        _: usize,
        job: &mut dyn FnMut(&mut dyn Executor) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if take_one(&self.refusals) {
            return Err(refused());
        }
        job(&mut Falling {
            server: self,
            interrupted: None,
        })
    }
}

fn case_of(lines: &[(u32, &str, StatementKind)]) -> TestCase {
    let levels: BTreeMap<_, _> = lines
        .iter()
        .map(|(session, ..)| (SessionId(*session), IsolationLevel::Serializable))
        .collect();
    let lines = lines
        .iter()
        .map(|(session, sql, kind)| {
            let effect = Effect::of_kind(*kind);
            (SessionId(*session), (*sql).to_owned(), effect)
        })
        .collect();
    let case = TestCase::new(Vec::new(), Vec::new(), lines, levels, None);
    assert_eq!(case.pace, Pace::Scheduled);
    case
}

fn minimize(
    server: &FallsOver,
    case: &TestCase,
    patience: Duration,
) -> Result<Option<Vec<String>>, String> {
    let search = OutageSearch {
        workplace: server,
        oracles: &[&Content],
        dialect: &server.dialect,
        confirmations: 3,
        patience,
        stop: &StopFlag::default(),
    };
    let found = search.minimize(case)?;
    Ok(found.map(|sighting| {
        assert_eq!(sighting.finding.signature.kind.slug(), "crash");
        assert_eq!(sighting.reproduced.hits, 3);
        let statements = sighting.case.statements.iter();
        statements.map(|s| s.sql.clone()).collect()
    }))
}

fn long_case() -> TestCase {
    case_of(&[
        (1, "SELECT 7", StatementKind::Select),
        (1, "SELECT 1", StatementKind::Select),
        (2, "SELECT 8", StatementKind::Select),
        (2, "UPDATE 3", StatementKind::Update),
        (1, "DELETE 2", StatementKind::Delete),
        (2, "SELECT 9", StatementKind::Select),
    ])
}

/// The server needs no time to come back: it refuses a number of connections.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn a_case_that_ends_the_server_comes_down_to_what_it_takes() {
    let server = FallsOver::new(2, u32::MAX);
    let found = minimize(&server, &long_case(), PATIENCE).expect("the server comes back");
    assert_eq!(found.expect("it is found"), ["SELECT 1", "DELETE 2"]);
    let refusals = server.refusals.load(Ordering::SeqCst);
    assert_eq!(
        refusals, 0,
        "the databases were dropped on a server that was back"
    );
}

#[test]
fn a_case_that_ends_no_server_comes_to_nothing() {
    let server = FallsOver::new(0, u32::MAX);
    let case = case_of(&[(1, "SELECT 1", StatementKind::Select)]);
    assert_eq!(minimize(&server, &case, PATIENCE), Ok(None));
}

#[test]
fn a_server_that_stays_away_is_told() {
    let server = FallsOver::new(0, 5);
    let error = minimize(&server, &long_case(), Duration::ZERO).expect_err("it stays away");
    assert!(error.contains("did not come back"), "{error}");
}
